//! The conversation that works, as far as it was looked at.

use tokio::time::Instant;

use super::idle::Idle;
use crate::directory::Conversation;
use crate::journal::Totals;
use crate::workflow::facts::Place;

/// The conversation that works.
pub(super) struct Watched {
    /// Where in the workflow.
    pub(super) at: Place,
    pub(super) conversation: Conversation,
    /// The sums before its run.
    pub(super) before: Totals,
    /// How much of that was no work.
    pub(super) idle: Idle,
    /// Since when.
    pub(super) since: Instant,
    /// The approval that was told last.
    pub(super) asks: Option<String>,
}
