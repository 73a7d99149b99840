//! Orders and questions of operators to a conversation.

use actix::Message;
use derive_more::{Display, Error, From};

use harness_protocol::words::{self, by as told_by, verdict as told};
use harness_protocol::{
    AnswerOrder, Answered, Approval, Attachment, HeldRule, Order, Queue, RunRules, SettingsAnswer,
    SettingsPatch, UndoAnswer, UndoTo, Verdict, Withdrawal,
};

use crate::ids::{ItemId, RunId};
use crate::journal::{BlockPiece, Header, Position, Status, Totals};
use crate::model::{ModelFailure, ReplySchema};
use crate::storage::StorageError;

/// Starts a run. Sent by HTTP; answered when the prompt is safe on disk, before the model replies.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "Result<RunId, SubmitError>")]
pub struct SubmitPrompt {
    /// The question; must not be blank.
    pub content: String,
    /// A prompt with a key that the conversation has seen is answered as the first one was, and
    /// not run again.
    pub key: Option<String>,
    /// The name of the client that sends it, for the other clients.
    pub by: Option<String>,
    /// Files that go with it. Their contents are kept already.
    pub attachments: Vec<Attachment>,
    /// The rules for the changes that tools make in its run.
    pub rules: RunRules,
    /// Maximum cost of its run, in millionths of a US dollar.
    pub spending_limit_micro_usd: Option<u64>,
    /// The schema that the replies of its run are to fit, where the server takes one.
    pub schema: Option<ReplySchema>,
}

/// Queues a message: for the next model request or for the end of the run, see [`Queue`]. While
/// no run is going it waits for the next one. Sent by HTTP; answered when it is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<ItemId, SubmitError>")]
pub struct QueueMessage {
    /// Where it waits.
    pub queue: Queue,
    /// The text; must not be blank.
    pub content: String,
    /// A message with a key that the conversation has seen is answered as the first one was, and
    /// not queued again.
    pub key: Option<String>,
    /// The name of the client that sends it, for the other clients.
    pub by: Option<String>,
    /// Files that go with it. Their contents are kept already.
    pub attachments: Vec<Attachment>,
}

/// Asks whether a message would be taken now, by what is known without its attachments.
/// Sent by HTTP before the files of a message are kept; answered with why it would not.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), SubmitError>")]
pub struct WouldTake {
    /// Where it is to wait; it is to start a run if none.
    pub queue: Option<Queue>,
    /// The text.
    pub content: String,
    /// Its key.
    pub key: Option<String>,
}

/// Withdraws what waits. Sent by HTTP; answered, when that is safe on disk, with what was
/// withdrawn: what was said in the meantime is not.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "Result<Vec<ItemId>, SubmitError>")]
pub struct WithdrawMessages {
    /// Only this message; all if none.
    pub item: Option<ItemId>,
    /// The name of the client that withdraws it, for the other clients.
    pub by: Option<String>,
}

/// Starts a run without a new prompt. Sent by HTTP; answered when that is on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RunId, SubmitError>")]
pub struct ContinueRun {
    /// Whether the last reply, if it failed or was cancelled, is left out and asked for again.
    pub resumption: Resumption,
    /// The name of the client that asks for it, for the other clients.
    pub by: Option<String>,
    /// The mode and the rules of the run. Those of the run before it do not count any more.
    pub rules: RunRules,
    /// Maximum cost of the run, in millionths of a US dollar. That of the run before it no longer holds.
    pub spending_limit_micro_usd: Option<u64>,
}

/// How a run without a new prompt begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// With the unchanged past; with what waits, if it ends with a reply.
    Continue,
    /// Without the last reply, if that failed or was cancelled.
    Retry,
}

/// Changes settings, from the next run on. Sent by HTTP; answered when that is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<SettingsAnswer, ChangeError>")]
pub struct ChangeConversationSettings {
    /// The changes.
    pub patch: SettingsPatch,
    /// The name of the client that changes them, for the other clients.
    pub by: Option<String>,
}

/// Says that jobs of the conversation have ended. Sent by the directory; answered when that is on record.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct NoteJobs;

/// Asks for the settings. Sent by HTTP.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<SettingsAnswer, StorageError>")]
pub struct GetSettings;

/// The reason why settings were not changed. They are unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum ChangeError {
    /// A value cannot be.
    #[display("{_0}")]
    Invalid(#[error(not(source))] String),
    /// There is no such tool.
    #[display("there is no tool {name:?}; the tools are {tools}")]
    UnknownTool {
        /// The name.
        name: String,
        /// The names of those that there are.
        tools: String,
    },
    /// As for a prompt.
    #[display("{_0}")]
    #[from]
    Order(SubmitError),
}

/// An order in the form in which it crosses the wire. Sent by HTTP and the library; answered when it is
/// on record.
#[derive(Debug, Clone)]
pub struct GivenOrder<O>(pub O);

impl<O: Order> Message for GivenOrder<O> {
    type Result = Result<O::Answer, SubmitError>;
}

/// Replaces the past but for its end by a summary, for good. Sent by HTTP; answered when the new
/// journal is in place.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "Result<Compacted, CompactError>")]
pub struct CompactConversation {
    /// Whether it is done even if the past is well within the window.
    pub force: bool,
    /// The focus of the summary.
    pub instructions: Option<String>,
    /// The name of the client that asks for it, for the other clients.
    pub by: Option<String>,
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Whether there was anything to do.
    pub compacted: bool,
    /// The estimate of the next request before, in tokens.
    pub tokens_before: u64,
    /// The estimate of the next request now, in tokens.
    pub tokens_after: u64,
    /// Where the journal that was replaced is kept.
    pub archive: Option<String>,
}

/// The reason why nothing was compacted. The conversation is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum CompactError {
    /// As for a prompt.
    #[display("{_0}")]
    Order(SubmitError),
    /// There is no summary.
    #[display("the summary failed: {_0}")]
    Summary(#[error(not(source))] String),
    /// A client cancelled it.
    #[display("cancelled")]
    Cancelled,
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
    /// There is nothing to continue from.
    #[display("there is nothing to continue or retry: the conversation is empty")]
    Empty,
    /// The last word is the model's, and nothing waits to be said.
    #[display(
        "there is nothing to continue or retry: the model has replied and nothing is queued; send a prompt"
    )]
    Replied,
    /// The system prompt cannot be built.
    #[display("{_0}")]
    Prompt(#[error(not(source))] String),
    /// The queues are full.
    #[display("{max} messages wait already; withdraw some or wait")]
    QueueFull {
        /// How many may wait.
        max: usize,
    },
    /// The queues hold as much text as they may.
    #[display("the messages that wait may have {max_bytes} bytes together; withdraw some or wait")]
    QueueTooLarge {
        /// How many bytes.
        max_bytes: usize,
    },
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
    /// The name of the client that gives it, for the other clients.
    pub by: Option<String>,
}

/// Notes a command that an operator ran. Sent by HTTP when it has ended; answered when it is on record.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), SubmitError>")]
pub struct NoteCommand {
    /// The command.
    pub command: String,
    /// The output, with one last line: how the command ended.
    pub result: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the model is not told of it.
    pub is_hidden: bool,
    /// The name of the client that ran it.
    pub by: Option<String>,
}

/// Notes that a client continued from here in another conversation. Sent by HTTP when that one was made;
/// answered when it is on record.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), SubmitError>")]
pub struct NoteBranch {
    /// The other conversation.
    pub conversation: String,
    /// The last record that both have.
    pub behind: u64,
    /// The name of the client that did.
    pub by: Option<String>,
}

/// An operator's answer to an approval.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Answered, AnswerError>")]
pub struct AnswerApproval {
    /// The approval.
    pub id: u64,
    /// The answer.
    pub order: AnswerOrder,
}

/// Takes back what tools changed, or tells what that would do. Sent by HTTP; answered when it is on record.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<UndoAnswer, UndoError>")]
pub struct UndoChanges {
    /// The first change to take back. `None` for those of the last run that changed something.
    pub to: Option<UndoTo>,
    /// Whether it is only told what would be done.
    pub dry_run: bool,
    /// The name of the client that asks for it, for the other clients.
    pub by: Option<String>,
}

/// Why nothing was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum UndoError {
    /// Nothing was changed that was not taken back.
    #[display(
        "there is nothing to take back: no tool has changed a file there, or it was taken back"
    )]
    #[from(ignore)]
    Nothing,
    /// As for a prompt.
    #[display("{_0}")]
    Order(SubmitError),
}

/// Says that the rules of folders have changed: open approvals are decided again. Sent by their keeper.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct RulesChanged;

/// Changes the rules of the conversation. Sent by HTTP; answered when that is safe on disk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<HeldRule>, RulesError>")]
pub struct ChangeConversationRules {
    /// Rules to add.
    pub add: Vec<HeldRule>,
    /// Rules to remove.
    pub remove: Vec<HeldRule>,
    /// The name of the client that changes them, for the other clients.
    pub by: Option<String>,
}

/// The reason why rules were not changed. They are unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum RulesError {
    /// There is no such rule to take back.
    #[display("there is no rule {_0:?} to remove")]
    #[from(ignore)]
    Unknown(#[error(not(source))] String),
    /// There would be too many.
    #[display("a conversation has at most {MAX_RULES} rules; remove some")]
    TooMany,
    /// As for a prompt.
    #[display("{_0}")]
    #[from]
    Order(SubmitError),
}

/// How many rules a conversation, or a folder, has at most.
pub const MAX_RULES: usize = 100;

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
pub enum AnswerError {
    /// Another message has the key.
    #[display("approval {id} was {}{} before", told(*answer), told_by(by.as_deref()))]
    #[from(ignore)]
    Answered {
        /// The approval.
        id: u64,
        /// The answer.
        answer: Verdict,
        /// The name of the client that gave it.
        by: Option<String>,
    },
    /// It was withdrawn.
    #[display("approval {id} was withdrawn: {}", words::withdrawal(*reason))]
    #[from(ignore)]
    Withdrawn {
        /// The approval.
        id: u64,
        /// Why.
        reason: Withdrawal,
    },
    /// There is none of that number.
    #[display("there is no approval {id} in this conversation")]
    #[from(ignore)]
    Unknown {
        /// The number in the order.
        id: u64,
    },
    /// The answer names no change or another one.
    #[display("to allow, the answer names the digest of approval {id}: look at what it is now")]
    #[from(ignore)]
    OtherDigest {
        /// The approval.
        id: u64,
    },
    /// It may not reach that far.
    #[display("an answer to approval {id} may not reach that far; its scopes are in the approval")]
    #[from(ignore)]
    NoScope {
        /// The approval.
        id: u64,
    },
    /// The conversation has as many rules as it may have.
    #[display("a conversation has at most {MAX_RULES} rules; allow it once, or remove some")]
    #[from(ignore)]
    TooManyRules,
    /// It says neither.
    #[display("an answer is \"allow\" or \"deny\"")]
    #[from(ignore)]
    NoVerdict,
    /// As for all orders.
    #[display("{_0}")]
    Order(SubmitError),
}

/// Stops the run that is going. Sent by HTTP; answered when it has stopped: true if there was
/// one, false if the conversation was idle or another run continues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Message)]
#[rtype(result = "bool")]
pub struct CancelRun {
    /// Only this run; whatever runs if none.
    pub run: Option<RunId>,
    /// The name of the client that cancels it, for the other clients.
    pub by: Option<String>,
    /// Whether what waits in the queues is withdrawn, too.
    pub clear_queue: bool,
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
    /// Its status.
    pub status: Status,
    /// The run that has not ended.
    pub run: Option<RunId>,
    /// Whether that run is going; else it was interrupted.
    pub is_running: bool,
    /// The blocks that an interrupted run left unfinished.
    pub unfinished: Vec<BlockPiece>,
    /// The approval that waits for an operator's answer.
    pub approval: Option<Box<Approval>>,
    /// The rules of the run and of the conversation.
    pub rules: Vec<HeldRule>,
    /// The sums so far.
    pub totals: Totals,
    /// When its last record was written, in milliseconds since the Unix epoch.
    pub active_at: u64,
}

impl Overview {
    /// The title: one that was given, else that of the first prompt.
    #[must_use]
    pub fn title(&self, header: &Header) -> Option<String> {
        let given = self.totals.title.as_ref().or(header.title.as_ref());
        given.or(self.totals.prompt_title.as_ref()).cloned()
    }
}

/// Makes a conversation take nothing more, unless a run is going. Sent by the directory before the
/// journal is moved; answered with whether it takes nothing more.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct EndIfIdle;

/// Asks a conversation to end if it is idle and no client is attached. Sent by the directory;
/// answered with whether it ends.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct RetireIfIdle;

/// Asks whether a run is going. Sent by the directory; it reads nothing from disk.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct IsRunning;

/// Asks a conversation to end at once if it is idle and no client is attached, to make a place for
/// another. Sent by the directory; answered with whether it ends.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct MakeWay;

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

/// Asks for the end of a run's next reply, when it was counted. Answered with true if the run continues.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "bool")]
pub struct WaitForReply {
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
