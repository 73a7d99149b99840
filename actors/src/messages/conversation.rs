//! What operators tell a conversation.

use actix::Message;
use derive_more::{Display, Error};

use crate::conversation::Status;
use crate::ids::RunId;
use crate::journal::{Position, StorageError, Totals};
use crate::model::ModelFailure;

/// Starts a run. Sent by HTTP; answered when the prompt is safe on disk, before the model replies.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "Result<RunId, SubmitError>")]
pub struct SubmitPrompt {
    /// What to ask; must not be blank.
    pub content: String,
    /// A prompt with a key that the conversation has seen is answered as the first one was, and
    /// not run again.
    pub key: Option<String>,
    /// Who sends it, for the other clients.
    pub by: Option<String>,
}

/// Why a prompt was not taken. Nothing was changed and nothing was shown.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum SubmitError {
    /// A run is going; one at a time.
    #[display("a run is going; wait for its end or cancel it")]
    Busy,
    /// The prompt has no visible character.
    #[display("content must not be blank")]
    Blank,
    /// The key belongs to another prompt.
    #[display("the key was used for another prompt; use a new one")]
    KeyReused,
    /// The conversation is being deleted.
    #[display("the conversation was deleted")]
    Deleted,
    /// The journal cannot take it.
    #[display("the prompt could not be kept: {_0}")]
    NotKept(#[error(not(source))] String),
    /// The service is stopping.
    #[display("the service is stopping")]
    Stopping,
}

/// Gives the conversation another title. Sent by HTTP; answered when that is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), SubmitError>")]
pub struct RenameConversation {
    /// The title.
    pub title: String,
    /// Who gives it, for the other clients.
    pub by: Option<String>,
}

/// Stops the run that is going. Sent by HTTP; answered when it has stopped: true if there was
/// one, false if the conversation was idle or another run goes on.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "bool")]
pub struct CancelRun {
    /// Only this run; whatever runs if none.
    pub run: Option<RunId>,
    /// Who cancels it, for the other clients.
    pub by: Option<String>,
}

/// Asks how a conversation is. Sent by HTTP; answered when everything before it was written.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<Overview, StorageError>")]
pub struct GetOverview;

/// How a conversation is, at a position of its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Where it was looked at.
    pub position: Position,
    /// What it is doing.
    pub status: Status,
    /// The run that has not ended.
    pub run: Option<RunId>,
    /// Whether that run is going; else it was interrupted.
    pub is_running: bool,
    /// The sums so far.
    pub totals: Totals,
    /// When its last record was written, in milliseconds since the Unix epoch.
    pub active_at: u64,
}

/// Makes a conversation take nothing more, unless a run is going. Sent by the directory before the
/// journal is moved; answered with whether it takes nothing more.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct EndIfIdle;

/// Asks a conversation to end if it is idle and nobody is attached. Sent by the directory;
/// answered with whether it ends.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct RetireIfIdle;

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
    /// The journal took no more, so the run was dropped.
    NotKept(String),
}
