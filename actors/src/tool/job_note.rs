//! The facts about a job that the sums of a conversation keep.

use harness_protocol::JobEnd;
use serde::{Deserialize, Serialize};

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
    /// Whether the model was told of that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_told: bool,
}
