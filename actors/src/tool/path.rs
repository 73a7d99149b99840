//! The paths that tools are asked for.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ToolError, Touched, input};
use crate::reply::Object;

/// Where a path that the model gave lies: relative ones start at the workspace.
pub(super) fn resolve(workspace: &Path, path: &str) -> Result<PathBuf, ToolError> {
    if path.is_empty() {
        return Err("path is required".into());
    }
    input::no_nul("path", path)?;
    Ok(workspace.join(path))
}

/// What a tool touches that reads the field `path` of its input.
pub(super) fn read_of(input: &Object) -> Vec<Touched> {
    let path = input.get("path").and_then(Value::as_str);
    path.map(|path| Touched::Read(path.to_owned()))
        .into_iter()
        .collect()
}

/// What lies at a path; `missing` is the error for nothing.
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
