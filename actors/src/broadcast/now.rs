//! The first event for clients that attach before anything happens.

use harness_protocol::State;

/// The state that a client is told when it attaches, as the last events left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The state of the conversation.
    pub state: State,
    /// The text of that state: the running tool, an error or a remark.
    pub message: String,
    /// When it was entered, in Unix seconds.
    pub timestamp: u64,
    /// The run that is going.
    pub run_id: Option<u64>,
    /// Whether the last run was left by a service that died, which no record says yet.
    pub interrupted: bool,
}
