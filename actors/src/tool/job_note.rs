//! The facts about a job that the sums of a conversation keep.

use harness_protocol::{JobChanges, JobEnd};
use serde::{Deserialize, Serialize};

/// A job that ended, with the files that changed while it ran. `None` if that is not known, or if it could not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedJob {
    /// Names it within its conversation.
    pub job: u64,
    /// Its end.
    pub end: JobEnd,
    /// The files.
    pub changes: Option<JobChanges>,
}

/// A job of a conversation, as its records tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNote {
    /// Names it within its conversation; counts from 1.
    pub job: u64,
    /// The id of the call that started it.
    pub call: String,
    /// The beginning of its command.
    pub command: String,
    /// How it ended; no record says so if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<JobEnd>,
    /// The words about the files that changed while it ran, if any are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// True if the model knows the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_told: bool,
}
