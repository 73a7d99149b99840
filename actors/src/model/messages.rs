//! The messages to the model's actor, and its answers.

use std::sync::Arc;
use std::time::Duration;

use actix::{Message, Recipient};
use harness_protocol::DeltaKind;

use super::error::{ModelError, ModelFailure};
use super::info::ModelInfo;
use super::request::{ModelChoice, ModelRequest};
use crate::budget::RequestSize;
use crate::ids::CallId;
use crate::reply::{Block, ReplyEnd};

/// Asks the model for one reply. Sent by a conversation; ends with one `Finished` or `Failed`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct StartModelCall {
    /// Names this call in every answer.
    pub call_id: CallId,
    /// The request to send.
    pub request: ModelRequest,
    /// The receiver of the answers.
    pub reply_to: Recipient<ModelEvent>,
    /// Keeper of the run's spending limit. `None` if there is no limit.
    pub spending: Option<Recipient<ReserveSpending>>,
}

/// Reserves the largest possible cost of an attempt at a call. Sent by the model's actor before each attempt; answered
/// with the maximum size of the reply, in tokens, when the reservation is on record.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<u32, ModelError>")]
pub struct ReserveSpending {
    /// The call.
    pub call_id: CallId,
    /// The model that is asked.
    pub model: Arc<str>,
    /// The largest possible size of the request and its reply.
    pub size: RequestSize,
}

/// Asks what a model can do. Sent by a conversation; ends with one `Described`, or, if it is
/// dropped, one `Failed`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct DescribeModel {
    /// Names this call in the answer.
    pub call_id: CallId,
    /// The model.
    pub model: ModelChoice,
    /// Source of the key. `None` uses the key of the settings.
    pub key_source: Option<Arc<str>>,
    /// The receiver of the answer.
    pub reply_to: Recipient<ModelEvent>,
}

/// Asks which models there are. Answered from memory if that is not older than an hour.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<Vec<Arc<ModelInfo>>, ModelError>")]
pub struct ListModels;

/// Drops a call, which closes its connection. The call still ends with its `Failed`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CancelModelCall {
    /// The call.
    pub call_id: CallId,
}

impl ModelEvent {
    /// The end of a call without any reply.
    pub(crate) fn failed(call_id: CallId, error: ModelError) -> Self {
        Self::Failed {
            call_id,
            failure: error.into(),
            partial: Vec::new(),
        }
    }

    /// The call that it is about.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Retrying { call_id, .. }
            | Self::RetryBegan { call_id }
            | Self::NotCharged { call_id }
            | Self::Adapted { call_id, .. }
            | Self::Remarked { call_id, .. }
            | Self::ModelReplaced { call_id, .. }
            | Self::Delta { call_id, .. }
            | Self::BlockFinished { call_id, .. }
            | Self::Finished { call_id, .. }
            | Self::Described { call_id, .. }
            | Self::Failed { call_id, .. } => call_id,
        }
    }
}

/// Progress of a call of the model.
#[derive(Debug, Clone, PartialEq, Message)]
#[rtype(result = "()")]
pub enum ModelEvent {
    /// An attempt failed; the next one follows after a wait.
    Retrying {
        /// The call.
        call_id: CallId,
        /// Counts the retries of this call from 1.
        retry: u32,
        /// Maximum number of retries that the settings allow.
        max_retries: u32,
        /// Delay before the next attempt.
        delay: Duration,
        /// The error of the failed attempt.
        error: ModelError,
    },
    /// The wait is over, and the next attempt begins.
    RetryBegan {
        /// The call.
        call_id: CallId,
    },
    /// An attempt cost nothing: it did not reach the API, or the API answered with an error. Only said of calls with a
    /// spending limit.
    NotCharged {
        /// The call.
        call_id: CallId,
    },
    /// The API refuses the request in this form; the next attempt sends another form of it.
    Adapted {
        /// The call.
        call_id: CallId,
        /// The difference, and its reason.
        remark: String,
    },
    /// The request differs from what the settings say.
    Remarked {
        /// The call.
        call_id: CallId,
        /// The change and its reason.
        remark: String,
    },
    /// The default model is retired; this and later calls use another of its family.
    ModelReplaced {
        /// The call.
        call_id: CallId,
        /// The retired model.
        from: String,
        /// The model that is asked instead.
        to: String,
    },
    /// A piece of a block arrived.
    Delta {
        /// The call.
        call_id: CallId,
        /// The block's place in the reply, from 0.
        index: u64,
        /// The kind of block that the piece belongs to.
        kind: DeltaKind,
        /// Offset of the piece in its block, in bytes. A new attempt begins its blocks at 0 again.
        offset: u64,
        /// The piece; never empty.
        text: String,
    },
    /// A block of the reply is complete.
    BlockFinished {
        /// The call.
        call_id: CallId,
        /// The block's place in the reply, from 0.
        index: u64,
        /// The block.
        block: Block,
    },
    /// The reply is complete.
    Finished {
        /// The call.
        call_id: CallId,
        /// The end of the reply.
        end: ReplyEnd,
    },
    /// The abilities of a model; nothing if the API does not list them.
    Described {
        /// The call.
        call_id: CallId,
        /// The abilities.
        info: Option<Arc<ModelInfo>>,
    },
    /// The reply failed before it was complete, and no further attempt is made.
    Failed {
        /// The call.
        call_id: CallId,
        /// The reason.
        failure: ModelFailure,
        /// Text blocks that a cancel cut short, with their places in the reply.
        partial: Vec<(u64, Block)>,
    },
}
