//! A change of a file: what a tool is about to do, or did.

use serde::{Deserialize, Serialize};

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The absolute path of the opened file. Characters that cannot be displayed are replaced.
    pub path: String,
    /// The absolute path that was asked for, if it leads to the file through a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The kind of change.
    pub action: ChangeAction,
    /// The kind of file that is at the path, or that was there before a removal.
    #[serde(default, skip_serializing_if = "PathKind::is_regular")]
    pub kind: PathKind,
    /// The kind of file before, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind_before: Option<PathKind>,
    /// SHA-256 of the bytes before, in hexadecimal digits; those of a link are its target. `None` if there was no file, or
    /// if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256 of the bytes after. `None` if there is no file, or if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// True if a command made the change. It was detected after the command, and the model has not seen the content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_command: bool,
    /// The permissions of a file or folder that was removed, those from before if a command changed them, or those of a
    /// program that a command made; for example 0o644.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The permissions after a command that changed them, or that made a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_after: Option<u32>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// The unified diff, at most 64 KiB of it. In a longer one, long lines are shortened around what differs.
    pub diff: String,
    /// True if `diff` is only the beginning of the diff.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff_cut: bool,
    /// The place of the file.
    pub place: FilePlace,
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

/// The kind of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// A regular file.
    #[default]
    Regular,
    /// A symbolic link.
    Link,
    /// A folder. Only those are named whose changes the changes of files do not tell.
    Folder,
    /// A pipe, a socket or a device.
    Special,
    /// A kind that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

impl PathKind {
    /// True for a regular file.
    #[must_use]
    pub const fn is_regular(&self) -> bool {
        matches!(self, Self::Regular)
    }
}

/// The place of a file, relative to the folder of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilePlace {
    /// In the folder of the conversation.
    Workspace,
    /// In that folder, at a path from which other programs read instructions.
    Protected,
    /// Anywhere else.
    Outside,
    /// A place that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}
