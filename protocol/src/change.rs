//! A change of a file: what a tool is about to do, or did.

use serde::{Deserialize, Serialize};

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The absolute path, as it was opened; what cannot be shown is replaced.
    pub path: String,
    /// The absolute path that was asked for, if it leads to the file through a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The kind of change.
    pub action: ChangeAction,
    /// SHA-256 of the bytes before, in hexadecimal digits; none if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256 of the bytes after; none if there is no file, or if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether a command did it: it was found behind the command, and the model has not seen the content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_command: bool,
    /// The permissions of a file that was removed, such as 0o644.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many lines are new.
    pub added: u64,
    /// How many lines are gone.
    pub removed: u64,
    /// The unified diff, at most 64 KiB of it. In a longer one, long lines are shortened around what differs.
    pub diff: String,
    /// Whether the diff goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff_cut: bool,
    /// Where the file is.
    pub place: Place,
    /// The folders that are made for it, or that went with it, the uppermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Remarks that an operator needs to judge it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The kind of a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// It is made.
    Made,
    /// It is changed.
    Changed,
    /// It is removed.
    Removed,
    /// An action that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// Where a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the folder of the conversation.
    Workspace,
    /// There, at a place that tells other programs what to do.
    Protected,
    /// Anywhere else.
    Outside,
    /// A place that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}
