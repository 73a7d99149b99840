//! The files that a prompt may name by their path: those in the working folder.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use harness_actors::attachment::MAX_ATTACHED_BYTES;
use harness_actors::beneath::{BeneathError, FolderHandle, LinkPolicy};
use harness_actors::tool::check_opened_file;

/// The working folder without the state folder, which may be in it, and without what is closed to
/// tools: those who may prompt may not read the token, the keys and other conversations.
#[derive(Debug, Clone)]
pub(crate) struct Attachable {
    workspace: PathBuf,
    home: PathBuf,
    closed: Arc<[PathBuf]>,
}

impl Attachable {
    /// The files in the working folder that are not in the state folder, and not closed to tools.
    pub(crate) fn new(workspace: &Path, home: &Path, closed: &Arc<[PathBuf]>) -> Self {
        Self {
            workspace: workspace.to_owned(),
            home: home.to_owned(),
            closed: Arc::clone(closed),
        }
    }

    /// The content of a file; links in the path are followed as long as they stay in the folder.
    /// Blocks.
    ///
    /// # Errors
    /// The fault in it, worded to follow the name of the file.
    pub(super) fn read(&self, path: &str) -> Result<Bytes, String> {
        let shown = path.escape_debug();
        let unreadable = |error: io::Error| format!("cannot be read at {shown}: {error}");
        let folder = FolderHandle::open(&self.workspace).map_err(unreadable)?;
        let opened = folder
            .without(&self.home)
            .open_file(Path::new(path), LinkPolicy::Inside);
        let file = opened.map_err(|error| match error {
            BeneathError::LeadsOut | BeneathError::Link => format!(
                "is at {shown}, which is outside of the working folder; send its content as `data`"
            ),
            BeneathError::LeftOut => format!(
                "is at {shown}, which is in the service's state folder; nothing there is attached"
            ),
            BeneathError::NotAFile => format!("is at {shown}, which is not a file"),
            BeneathError::Io(error) => unreadable(error),
        })?;
        check_opened_file(&file, &self.workspace.join(path), &self.closed)
            .map_err(|refusal| format!("cannot be read at {shown}: {refusal}"))?;
        let mut content = Vec::new();
        file.take(MAX_ATTACHED_BYTES as u64 + 1)
            .read_to_end(&mut content)
            .map_err(unreadable)?;
        if content.len() > MAX_ATTACHED_BYTES {
            return Err(format!(
                "has more than {MAX_ATTACHED_BYTES} bytes, which is what a prompt may have"
            ));
        }
        Ok(content.into())
    }
}

#[cfg(test)]
#[path = "attachable_tests.rs"]
mod tests;
