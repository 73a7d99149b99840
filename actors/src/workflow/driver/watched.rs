//! The conversation that works, with the findings of the last look at it.

use tokio::time::Instant;

use super::idle::Idle;
use crate::directory::OpenedConversation;
use crate::journal::Totals;
use crate::workflow::facts::StepPlace;

/// The conversation that works.
pub(super) struct WatchedConversation {
    /// The place in the workflow.
    pub(super) at: StepPlace,
    pub(super) conversation: OpenedConversation,
    /// The sums before its run.
    pub(super) before: Totals,
    /// The waits of the run, which are not work.
    pub(super) idle: Idle,
    /// Since when.
    pub(super) since: Instant,
    /// The approval that was reported last.
    pub(super) asks: Option<String>,
}
