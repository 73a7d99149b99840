//! The conversation that works, with the findings of the last look at it.

use tokio::time::Instant;

use super::idle::Idle;
use crate::directory::Conversation;
use crate::journal::Totals;
use crate::workflow::facts::Place;

/// The conversation that works.
pub(super) struct Watched {
    /// The place in the workflow.
    pub(super) at: Place,
    pub(super) conversation: Conversation,
    /// The sums before its run.
    pub(super) before: Totals,
    /// The waits of the run, which are not work.
    pub(super) idle: Idle,
    /// Since when.
    pub(super) since: Instant,
    /// The approval that was reported last.
    pub(super) asks: Option<String>,
}
