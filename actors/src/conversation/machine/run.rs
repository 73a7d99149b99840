//! A run that is going: what of it is not in the ledger.

use std::sync::Arc;

use super::plan::Plan;
use super::tools::Tools;
use crate::ids::{CallId, RunId};
use crate::model::{ModelInfo, RequestHead};

/// What of a run is not in the ledger.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) plan: Plan,
    /// What the requests of the turn begin with.
    pub(super) head: RequestHead,
    /// How many turns it had.
    pub(super) turns: u32,
    /// How many of them since an operator said something.
    pub(super) asked: u32,
    pub(super) pauses: u32,
    pub(super) step: Step,
    pub(super) ending: Option<Ending>,
    /// Who cancelled it first.
    pub(super) cancelled_by: Option<String>,
    /// Whether it was looked up what the model can do.
    pub(super) is_described: bool,
    /// What the model can do, as far as the API says it.
    pub(super) info: Option<Arc<ModelInfo>>,
    /// How many compactions were begun since the last reply.
    pub(super) attempts: u32,
    /// How many compactions failed since the last one that did not.
    pub(super) failures: u32,
    /// Whether the API said since the last reply that the request is too long.
    pub(super) overflowed: bool,
    /// Whether steering was said since the last request.
    pub(super) is_steered: bool,
}

/// What a run waits for.
#[derive(Debug)]
pub(super) enum Step {
    /// What the model can do.
    Describe(CallId),
    /// A summary.
    Summarize,
    /// A reply.
    Model(CallId),
    /// Tools.
    Tools(Tools),
}

/// Why a run is to end as soon as what it waits for has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Cancelled,
    Stopped,
}
