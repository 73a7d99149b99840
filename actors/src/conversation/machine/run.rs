//! A run that is going: what of it is not in the ledger.

use std::collections::HashSet;

use super::plan::RunPlan;
use super::tools::PendingCalls;
use crate::ids::{CallId, RunId};
use crate::model::RequestHead;

/// The state of the current run that is not derived from records.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) plan: RunPlan,
    /// The head of the requests of the turn.
    pub(super) head: RequestHead,
    /// How many turns it had.
    pub(super) turns: u32,
    /// How many of them since an operator said something.
    pub(super) asked: u32,
    pub(super) pauses: u32,
    pub(super) step: RunStep,
    pub(super) ending: Option<RunEnding>,
    /// The name of the first client that cancelled it.
    pub(super) cancelled_by: Option<String>,
    /// Whether the last status says something of the model's call.
    pub(super) has_remark: bool,
    /// Remarks that were made about its requests.
    pub(super) remarks: HashSet<String>,
    /// Whether steering was said since the last request.
    pub(super) is_steered: bool,
    /// The inode of the conversation's folder, if it is known.
    pub(super) folder_inode: Option<u64>,
    pub(super) reserved: RunReservations,
}

impl Run {
    /// A run that is about to begin.
    pub(super) fn new(id: RunId, plan: RunPlan, head: RequestHead) -> Self {
        Self {
            id,
            plan,
            head,
            turns: 0,
            asked: 0,
            pauses: 0,
            step: RunStep::Summarize,
            ending: None,
            cancelled_by: None,
            has_remark: false,
            remarks: HashSet::new(),
            is_steered: false,
            folder_inode: None,
            reserved: RunReservations::default(),
        }
    }
}

/// The reservations of a run that can still be released, in millionths of a US dollar.
#[derive(Debug, Default)]
pub(super) struct RunReservations {
    /// That of the attempt under way. One of an earlier attempt that broke off stays: the API may charge for it.
    pub(super) attempt: u64,
    /// Those of the requests for the summary under way, whose usage is recorded with the summary.
    pub(super) summary: u64,
}

/// The answer that a run waits for.
#[derive(Debug)]
pub(super) enum RunStep {
    /// The model's abilities.
    Describe(CallId),
    /// A summary.
    Summarize,
    /// A reply.
    Model(CallId),
    /// Tools.
    Tools(PendingCalls),
}

/// Why a run is to end as soon as what it waits for has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnding {
    Cancelled,
    Stopped,
}
