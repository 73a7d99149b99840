//! The parts of a request that the API does not take are left out, so that one file does not end a
//! conversation.
//!
//! A request with files that the API refuses for its content, or fails with again and again, is made
//! once more without the newest files and once more without any. If that is taken, the files were
//! the reason.

use std::collections::HashSet;

use harness_protocol::Attachment;

use super::ModelError;

/// Maximum number of file names in a remark.
const MAX_NAMED: usize = 3;

/// The parts that a request is made without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LeftOut {
    /// The digests of files.
    files: HashSet<String>,
}

impl LeftOut {
    /// Without these files.
    pub(super) fn of_files(files: impl IntoIterator<Item = String>) -> Self {
        Self {
            files: files.into_iter().collect(),
        }
    }

    /// Without what either lacks.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        self
    }

    /// True if that file is left out.
    pub(super) fn has_file(&self, file: &Attachment) -> bool {
        self.files.contains(&file.sha256)
    }

    /// The digests of the files.
    pub(super) fn files(&self) -> impl Iterator<Item = &String> {
        self.files.iter()
    }

    /// Leaves out the newest of these files, in the order of their messages, else all; tells their
    /// names. Nothing if there is none left.
    pub(super) fn next_files<'a>(
        &mut self,
        files: impl Iterator<Item = &'a [Attachment]>,
    ) -> Option<String> {
        let files: Vec<&[Attachment]> = files.collect();
        let is_left = |file: &&Attachment| !self.has_file(file);
        let all: Vec<&Attachment> = files.iter().copied().flatten().filter(is_left).collect();
        let newest = files.last().copied().unwrap_or_default();
        let newest: Vec<&Attachment> = newest.iter().filter(is_left).collect();
        let files = if newest.is_empty() { all } else { newest };
        let names = names(&files)?;
        let digests: Vec<String> = files.iter().map(|file| file.sha256.clone()).collect();
        self.files.extend(digests);
        Some(names)
    }
}

/// The names of files for a remark; nothing if there are none.
fn names(files: &[&Attachment]) -> Option<String> {
    let named = files.iter().take(MAX_NAMED);
    let named: Vec<&str> = named
        .map(|file| file.name.as_deref().unwrap_or("a file without a name"))
        .collect();
    let more = files.len().saturating_sub(MAX_NAMED);
    match (named.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(named.join(", ")),
        (false, more) => Some(format!("{} and {more} more", named.join(", "))),
    }
}

/// True if the files of a request can be the reason of a failure, once no other attempt is worth it. A failure that
/// never `reached` the server, or whose reason the API names, has another reason.
pub(super) fn may_be_for_files(error: &ModelError, reached: bool) -> bool {
    match error {
        ModelError::Api { status: 529, .. } => false,
        ModelError::Api { status, .. } => {
            matches!(status, 400 | 404 | 415 | 422 | 500..) && !error.is_too_long()
        }
        ModelError::Connection { .. } => reached,
        ModelError::Truncated
        | ModelError::NoAnswer { .. }
        | ModelError::Stalled { .. }
        | ModelError::Malformed { .. } => true,
        ModelError::ToolInput { .. }
        | ModelError::NotAStream { .. }
        | ModelError::Redirected { .. }
        | ModelError::TooLarge { .. }
        | ModelError::TooLong { .. }
        | ModelError::Compaction { .. }
        | ModelError::Prompt { .. }
        | ModelError::Projection { .. }
        | ModelError::NoRoom { .. }
        | ModelError::SpendingLimit { .. }
        | ModelError::Key { .. }
        | ModelError::NoClient
        | ModelError::Panicked
        | ModelError::Unavailable
        | ModelError::Cancelled => false,
    }
}

/// True if an error is reason enough to leave the files out of later requests at once. A server that was busy or down
/// may take them later.
pub(super) fn holds_for_later(error: &ModelError) -> bool {
    matches!(error, ModelError::Api { status, .. } if !matches!(status, 502..=504))
}

/// True if the error itself names the images: waiting does not help then.
///
/// Source: llama.cpp's server, which answers 500 with "image input is not supported".
pub(super) fn names_images(error: &ModelError) -> bool {
    let ModelError::Api { message, .. } = error else {
        return false;
    };
    let message = message.to_ascii_lowercase();
    message.contains("image")
        && ["not support", "unsupported"]
            .iter()
            .any(|said| message.contains(said))
}
