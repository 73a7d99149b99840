//! The results of runs of workflows.

use crate::workflow::facts::{Checkpoint, ProgressEntry, Rejection, Spent};
use crate::workflow::state::IterationStatus;

/// The initializer's result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InitializerResult {
    /// The workflow.
    pub session: String,
    /// True if this call made it ready; false if it was ready before.
    pub created: bool,
    /// The version of its manifest, from 1 on.
    pub manifest_version: u32,
    /// The features, in their order.
    pub features: Vec<String>,
    /// The first line of progress.
    pub progress: Option<ProgressEntry>,
    /// The first checkpoint.
    pub checkpoint: Option<Checkpoint>,
}

/// The outcome of one feature in one iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IterationReport {
    /// Its number in the workflow.
    pub n: u32,
    /// The feature.
    pub feature: String,
    /// The outcome of the iteration.
    pub status: IterationStatus,
    /// The commit, if it was accepted.
    pub commit: Option<String>,
    /// The reasons why the last candidate was rejected, if it was.
    pub reasons: Vec<Rejection>,
    /// The conversation in which the model worked, if it got that far.
    pub conversation: Option<String>,
    /// The model's handover.
    pub note: String,
    /// Its consumption.
    pub usage: Spent,
    /// Its line of progress.
    pub progress: ProgressEntry,
    /// Its terminal checkpoint.
    pub checkpoint: Checkpoint,
}

/// The result of a run of iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskIterationResult {
    /// The workflow.
    pub session: String,
    /// The key of the run.
    pub run_id: String,
    /// The first feature that was chosen. `None` if there was nothing to do.
    pub selected_feature: Option<String>,
    /// True if everything that was judged was accepted; work that a pause interrupted was not judged.
    pub validated: bool,
    /// True if the workflow is done: every required feature passes, and all checks passed together on the head.
    pub completed: bool,
    /// Each iteration, in order.
    pub iterations: Vec<IterationReport>,
}

/// The result of the phase that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeRunOutcome {
    /// The workflow was made ready.
    Initializer(InitializerResult),
    /// Features were worked on.
    TaskIteration(TaskIterationResult),
}
