//! The files of a conversation's folder.

use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/conversations/{id}/files`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FoundFiles {
    /// The letters that were looked for.
    pub query: String,
    /// The paths below the folder, the best first.
    pub files: Vec<String>,
    /// Number of files that were searched.
    pub known: usize,
    /// True if the search covered all files of the folder.
    pub is_whole: bool,
}
