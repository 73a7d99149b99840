//! Undo: taking back what tools changed.

use serde::{Deserialize, Serialize};

/// The body of `POST /v1/conversations/{id}/undo`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoOrder {
    /// The point to go back to; if left out, before the last run that changed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<UndoTo>,
    /// True if the service only reports what it would do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The point that an undo goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoTo {
    /// Takes back the changes of this run and of later ones.
    Run(u64),
    /// Takes back the changes after this record.
    Seq(u64),
}

/// The answer to `POST /v1/conversations/{id}/undo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoAnswer {
    /// The outcome for each file, or the expected one.
    pub files: Vec<UndoneFile>,
    /// Further changes that are not taken back, a line for each command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The outcome of an undo for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneFile {
    /// The absolute path.
    pub path: String,
    /// The outcome, or the expected one.
    pub outcome: UndoOutcome,
    /// The reason why nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// SHA-256 of the content that a command had left and that undo has replaced or removed. It is kept in the folder
    /// `before` of the state folder under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// The change, as a unified diff of at most 64 KiB; only in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The kinds of outcome of an undo for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoOutcome {
    /// It has the content from before.
    Restored,
    /// A file that the changes had made was removed.
    Removed,
    /// The file was left unchanged, because other changes would be lost.
    Conflict,
    /// An outcome that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}
