//! The first event for clients that attach before anything happens.

use harness_protocol::ActivityState;

/// The state that a client receives when it attaches, after the last events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The state of the conversation.
    pub state: ActivityState,
    /// The text of that state: the running tool, an error or a remark.
    pub message: String,
    /// The time at which it was entered, in Unix seconds.
    pub timestamp: u64,
    /// The run that is going.
    pub run_id: Option<u64>,
    /// True if the last run was interrupted by the end of a service, and is not on record as interrupted yet.
    pub interrupted: bool,
}
