//! The inputs of a conversation.

use crate::compaction::DroppedPiece;
use crate::conversation::messages::CancelRun;
use crate::conversation::past::Dropped;
use crate::ids::CallId;
use crate::model::messages::ModelEvent;
use crate::tool::EndedJob;
use crate::tool::messages::ToolEvent;

/// An input of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// An operator cancels.
    CancelRequested(CancelRun),
    /// The service stops.
    StopRequested,
    /// The model's actor answered.
    Model(ModelEvent),
    /// A piece of the part that a cut drops was described.
    Told {
        /// The summary's call.
        call_id: CallId,
        /// The piece, and what is dropped behind it.
        told: (DroppedPiece, Option<Dropped>),
    },
    /// The tools' actor answered.
    Tool(ToolEvent),
    /// The rules of folders are others; that of the conversation has this inode, if it is there.
    RulesChanged(Option<u64>),
    /// Jobs of the conversation have ended.
    JobsEnded(Vec<EndedJob>),
    /// No operator answered this approval in time.
    ApprovalExpired(u64),
    /// The actor that has the call will not answer: it did not take it, or is gone.
    CallLost(CallId),
}
