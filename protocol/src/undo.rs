//! Undo: taking back what tools changed.

use serde::{Deserialize, Serialize};

/// The body of `POST /v1/conversations/{id}/undo`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoOrder {
    /// How far back; the last run that changed something if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<UndoTo>,
    /// Whether it is only told what would be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How far back changes are taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoTo {
    /// Those of this run and of later ones.
    Run(u64),
    /// Those behind this record.
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
    /// Why nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
    /// It was made, and is gone.
    Removed,
    /// It is as it was: nobody's change is lost.
    Conflict,
    /// An outcome that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}
