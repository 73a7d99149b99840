//! What operators tell a conversation.

use actix::Message;
use derive_more::{Display, Error};

use crate::ids::RunId;
use crate::model::ModelFailure;

/// Starts a run. Sent by HTTP; answered at once, before the model is asked.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RunId, SubmitError>")]
pub struct SubmitPrompt {
    /// What to ask; must not be blank.
    pub content: String,
}

/// Why a prompt was not taken. Nothing was changed and nothing was published.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum SubmitError {
    /// A run is going; one at a time.
    #[display("a run is going; wait for its end or cancel it")]
    Busy,
    /// The prompt has no visible character.
    #[display("content must not be blank")]
    Blank,
    /// The service is stopping.
    #[display("the service is stopping")]
    Stopping,
}

/// Stops the run that is going. Sent by HTTP; answered when it has stopped: true if there was
/// one, false if the conversation was idle.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct CancelRun;

/// Stops the run that is going and takes no more prompts. Sent when the service stops; answered
/// when the run has ended.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct StopRuns;

/// Asks how a run ended. Answered at its end; `None` for a run that is neither the one that is
/// going nor the last one that ended.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Option<RunOutcome>")]
pub struct WaitForEnd {
    /// The run.
    pub run: RunId,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// As it should. `remark` says why when it is not the usual end; else it is empty.
    Ended {
        /// For the operator: a limit that was reached, a refusal.
        remark: String,
    },
    /// An operator cancelled it.
    Cancelled,
    /// It failed.
    Failed(ModelFailure),
}
