//! The size of a tool call's result, as the tool counted it.

use serde::{Deserialize, Serialize};

/// The size of a tool call's result. Each tool fills in the fields that it counts; records of old versions have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// Lines that were returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Lines that the file has in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_lines: Option<u64>,
    /// Lines that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Files that they are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Entries of a folder, without the folder itself and the one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Lines that are new in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines that were removed from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// True if the result is incomplete and the rest was not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
