//! The effects that a conversation wants.

use std::sync::Arc;

use harness_protocol::FileChange;

use crate::compaction::SummaryRequest;
use crate::conversation::messages::{CompactError, Compacted, RunOutcome};
use crate::conversation::past::Dropped;
use crate::event::Passing;
use crate::ids::{CallId, RunId};
use crate::journal::Record;
use crate::model::ModelChoice;
use crate::tool::ToolCall;

/// An effect to carry out. One behind a record is carried out when the record is in the journal.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "few effects are made at once, and none lasts"
)]
pub enum Effect {
    /// Write this down, then show it.
    Record(Record),
    /// Show this to those who are attached.
    Show(Passing),
    /// Ask the model, with the present history.
    CallModel(CallId),
    /// Look up what a model can do.
    DescribeModel {
        /// Names the call.
        call_id: CallId,
        /// The model.
        model: ModelChoice,
        /// Where the key comes from.
        key_source: Option<Arc<str>>,
    },
    /// Tell the next piece of what a cut drops: that takes as long as there is of it.
    TellDropped(CallId, Dropped),
    /// Ask a model for a summary.
    Summarize(CallId, SummaryCall),
    /// Put the summary in place of the past for good; then the operator's order is done.
    Rewrite {
        /// The answer that follows then.
        compacted: Compacted,
        /// The name of the client that asked for it.
        by: Option<String>,
    },
    /// Tell who asked for a compaction that it has ended.
    EndCompaction(Result<Compacted, CompactError>),
    /// Drop a call of the model.
    CancelModel(CallId),
    /// Run a tool. It changes only what has this digest; without one it says first what it would
    /// change.
    RunTool(CallId, ToolCall, Option<String>),
    /// Make a change of the call's command that an operator keeps, if nothing else changed its file.
    KeepChange(CallId, ToolCall, Box<FileChange>),
    /// Stop a tool.
    CancelTool(CallId),
    /// Tell who waits for it that the run has ended.
    EndRun(RunId, RunOutcome),
}

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryCall {
    /// Which model to ask.
    pub model: ModelChoice,
    /// Where the key comes from.
    pub key_source: Option<Arc<str>>,
    /// The request for it.
    pub request: SummaryRequest,
}
