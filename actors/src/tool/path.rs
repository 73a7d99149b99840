//! The paths that tools are asked for.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ToolContext, ToolError, Touched, input};
use crate::blocking;
use crate::reply::Object;

/// The absolute path for one that the model gave: relative ones start at the workspace.
fn resolve(workspace: &Path, path: &str) -> Result<PathBuf, ToolError> {
    if path.is_empty() {
        return Err("path is required".into());
    }
    input::no_nul("path", path)?;
    Ok(workspace.join(path))
}

/// Does work at a path that the model gave. The file system may hang, so that it is not waited for
/// on an arbiter. `doing` begins the error for work that was not done.
pub(super) async fn work_at<T: Send + 'static>(
    path: &str,
    context: &ToolContext,
    doing: &str,
    work: impl FnOnce(&Path) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let place = resolve(&context.folder, path)?;
    blocking(move || work(&place))
        .await
        .map_err(|error| ToolError(format!("{doing} failed: {error}")))?
}

/// The files that a tool touches which reads the field `path` of its input.
pub(super) fn read_of(input: &Object) -> Vec<Touched> {
    let path = input.get("path").and_then(Value::as_str);
    path.map(|path| Touched::Read(path.to_owned()))
        .into_iter()
        .collect()
}

/// The file that the input names, which the call changes.
pub(super) fn changed_of(input: &Object) -> Vec<Touched> {
    let path = input.get("path").and_then(Value::as_str);
    path.map(|path| Touched::Changed(path.to_owned()))
        .into_iter()
        .collect()
}

/// The metadata of the file at a path; `missing` is the error if there is none.
pub(super) fn look(path: &Path, missing: &str) -> Result<Metadata, ToolError> {
    std::fs::metadata(path).map_err(|error| io_error(&error, missing))
}

/// An error of the file system, in the words that the model sees.
pub(super) fn io_error(error: &std::io::Error, missing: &str) -> ToolError {
    let kind = error.kind();
    if kind == ErrorKind::NotFound {
        missing.into()
    } else if kind == ErrorKind::PermissionDenied {
        "permission denied".into()
    } else {
        ToolError(error.to_string())
    }
}
