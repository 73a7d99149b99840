//! The records of a journal: one durable fact each.
//!
//! Records have a separate format, which is neither the wire format nor the input of the machine: journals outlive
//! both.

use std::collections::BTreeMap;

use harness_protocol::{
    Approval, Attachment, CompactionReason, ContextWindow, Extent, FileChange, HeldRule,
    JobChanges, JobEnd, Queue, QueueItem, RunRules, Scope, Settings, Subject, TokenUsage,
    UndoneFile, Verdict, Withdrawal,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ids::{ItemId, RunId};
use crate::reply::{Block, Object};
use crate::tool::{JobNote, SeenFile};

/// The point at which an append counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Done when the records outlive this process.
    Written,
    /// Done when the records outlive a power cut.
    Synced,
}

/// One durable fact of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Record {
    /// A run began.
    RunStarted {
        /// The run.
        run: RunId,
        /// The name of the client that started it, if no prompt did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The rules of its prompt for the changes that tools make in it.
        #[serde(default, skip_serializing_if = "RunRules::is_empty")]
        rules: RunRules,
        /// The spending limit of the run, in millionths of a US dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spending_limit_micro_usd: Option<u64>,
        /// The JSON Schema that the replies of the run are to fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Box<Value>>,
    },
    /// A prompt was accepted.
    Prompt {
        /// The run that it started.
        run: RunId,
        /// The text.
        content: String,
        /// The key under which a repetition of the prompt is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The name of the client that sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The queue that it waited in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<Queue>,
        /// The name that it had in the queue; it no longer waits there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemId>,
        /// Files that go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// The conversation is doing something else now.
    Status {
        /// The activity.
        activity: Activity,
        /// The running tool's name, an error's text or a remark.
        message: String,
    },
    /// A tool waits for an operator's answer.
    ApprovalAsked(Box<Approval>),
    /// An operator answered.
    ApprovalAnswered {
        /// The approval.
        id: u64,
        /// The answer.
        answer: Verdict,
        /// The scope of the answer.
        #[serde(default)]
        scope: Scope,
        /// A line for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The name of the client that gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The key under which a repetition is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// The approval needs no answer any longer.
    ApprovalWithdrawn {
        /// The approval.
        id: u64,
        /// The reason.
        reason: Withdrawal,
        /// The name of the client that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A tool call is about to do something. Its result tells that it has.
    EffectBegan {
        /// The id of the call.
        call: String,
        /// The action, without the diff.
        #[serde(flatten)]
        subject: Box<Subject>,
    },
    /// A tool call changed files.
    FilesChanged {
        /// The id of the call.
        call: String,
        /// The files that it changed.
        changes: Vec<FileChange>,
        /// Further changes, which are not listed one by one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The tool of a call returned, and operators are asked about what its command changed at protected places. The call
    /// has its result when all of that is decided.
    ToolReturned {
        /// The id of the call.
        call: String,
        /// The result so far.
        result: String,
        /// True if the call failed.
        is_error: bool,
        /// The changes that operators are asked about. They were taken back.
        proposals: Vec<FileChange>,
        /// The folder in which the next command starts, if it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// Time that the tool ran, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// The first change that operators were asked about and that was not decided is decided.
    ProposalDecided {
        /// The id of the call.
        call: String,
        /// The path of the file.
        path: String,
        /// The decision, as the model receives it.
        decision: String,
    },
    /// An operator took changes back.
    Undone {
        /// The changes after this record were taken back.
        behind: u64,
        /// The outcome for each file.
        files: Vec<UndoneFile>,
        /// The name of the client that did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An operator ran a command.
    CommandRan {
        /// The command.
        command: String,
        /// The output, with one last line: how the command ended.
        result: String,
        /// True if the command failed.
        is_error: bool,
        /// True if the model never receives it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_hidden: bool,
        /// The name of the client that ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A client continued from here in another conversation.
    Branched {
        /// The other conversation.
        conversation: String,
        /// The last record that both have.
        behind: u64,
        /// The name of the client that did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A command runs in the background.
    JobStarted {
        /// Names it within its conversation; counts from 1.
        job: u64,
        /// The id of the call that started it.
        call: String,
        /// The beginning of the command.
        command: String,
    },
    /// A job ended.
    JobEnded {
        /// The job.
        job: u64,
        /// The outcome of the job.
        #[serde(flatten)]
        end: JobEnd,
        /// The files that changed while the job ran. `None` if that is not known, or if the job could not write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<JobChanges>,
    },
    /// The rules of the conversation are others.
    RulesChanged {
        /// The rules that hold from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        added: Vec<HeldRule>,
        /// The rules that no longer hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<HeldRule>,
        /// The name of the client that changed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The model is asked.
    TurnStarted {
        /// The run.
        run: RunId,
        /// Counts the turns of the run from 1.
        turn: u32,
        /// Identifies the beginning of the request: the model, the tools and the system prompt. Thinking that was
        /// signed after another beginning is not sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The tools that the conversation is offered from now on, in the API's format. `None` if they are on record
        /// already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<Value>>,
        /// The jobs whose ends the request has for the first time. In older journals the first
        /// request of a run has all of them, and none is named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        jobs: Vec<u64>,
    },
    /// A request to the model is about to leave in a run with a spending limit.
    SpendingReserved {
        /// The run.
        run: RunId,
        /// The largest possible cost of the request and its reply, in millionths of a US dollar.
        micro_usd: u64,
    },
    /// A part of what was reserved is no longer needed: the usage is on record, or nothing was used.
    SpendingReleased {
        /// The run.
        run: RunId,
        /// The part, in millionths of a US dollar.
        micro_usd: u64,
    },
    /// A block of the reply is complete, or a cancel cut it short.
    Block {
        /// Its place in the reply.
        index: u64,
        /// The block as the API sent it.
        block: Block,
        /// True if the block was cut short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// Time that the model thought, in milliseconds; set for thinking only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// The reply is complete.
    ReplyEnded {
        /// The API's id of the reply.
        id: String,
        /// The model that replied.
        model: String,
        /// The reason for the end of the reply, in the API's words.
        stop_reason: String,
        /// The token counts as the API reported them.
        usage: Object,
        /// True if the model continues the reply when it is sent back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        paused: bool,
        /// The answer for those calls that get no result.
        unanswered: Unanswered,
        /// True if the window was full, so that the reply is not sent back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overflow: bool,
        /// True if the API declined to answer, so that the reply and what was new in its request
        /// are left out of later ones.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        /// The window of the model, where it is known; none in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<ContextWindow>,
    },
    /// The model's reply failed before it was complete.
    ReplyFailed {
        /// The error text.
        error: String,
        /// The answer for its calls.
        unanswered: Unanswered,
        /// True if the API refused the request for its content, so that what was new in it is left out of later ones.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        /// True if the request was too long and is made once more behind a summary, so that a paused reply can be
        /// continued.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overflow: bool,
    },
    /// A tool call has its result.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The result.
        result: String,
        /// True if the call failed.
        is_error: bool,
        /// The files that the model has seen by it, whole or in part.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<SeenFile>,
        /// The folder in which the next command starts, if it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// Time that the tool ran, in milliseconds. `None` if it did not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Size of the result, if the tool counts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extent: Option<Extent>,
    },
    /// The calls of the reply that have no result get none.
    CallsSkipped {
        /// The reason.
        reason: Unanswered,
    },
    /// A turn is over, with its tools.
    TurnEnded {
        /// The run.
        run: RunId,
        /// Counts the turns of the run from 1.
        turn: u32,
        /// The outcome of the turn.
        outcome: Outcome,
    },
    /// A run is over.
    RunEnded {
        /// The run.
        run: RunId,
        /// The outcome of the run.
        outcome: Outcome,
        /// The reason, when it is not the usual end.
        message: String,
        /// The sums over the whole conversation so far, so that its end tells of its beginning.
        totals: Totals,
        /// The token counts of the run.
        #[serde(default, skip_serializing_if = "is_unused")]
        run_usage: TokenUsage,
        /// Duration in milliseconds. `None` if the service restarted meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The name of the client that cancelled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation has another title.
    Renamed {
        /// The title.
        title: String,
        /// The name of the client that gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A message waits to be said.
    Queued {
        /// Names it; counts from 1.
        item: ItemId,
        /// The queue in which it waits.
        queue: Queue,
        /// The text.
        content: String,
        /// Files that go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The key under which a repetition of the message is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The name of the client that sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Queued messages were withdrawn; they will not be sent to the model.
    Withdrawn {
        /// Their names.
        items: Vec<ItemId>,
        /// The name of the client that withdrew them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation has these settings from the next run on.
    SettingsChanged {
        /// All that differs from the service's settings.
        settings: Settings,
        /// The name of the client that changed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation is offered other tools from the next run on.
    ToolsRenewed {
        /// All of them, in the API's format.
        tools: Vec<Value>,
        /// The name of the client that renewed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The last reply, which failed or was cancelled, is left out of later requests.
    ReplyLeftOut {
        /// The name of the client that asked for another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The past is about to be summarized.
    CompactionStarted {
        /// The reason.
        reason: CompactionReason,
        /// The estimate of the next request, in tokens.
        tokens: u64,
        /// The name of the client that asked for it. `None` if the service began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The past but for its end was summarized. The records of it stay; requests tell the summary
    /// in its place.
    Compacted {
        /// The reason.
        reason: CompactionReason,
        /// The summary of all that is not kept; it contains that of earlier summaries.
        summary: String,
        /// Number of the last messages that are kept. The user message that has no reply yet counts as one; with 0 of
        /// it only what is not a tool's result is kept.
        kept: u64,
        /// The estimate of the next request before, in tokens.
        tokens_before: u64,
        /// The estimate of the next request now, in tokens.
        tokens_after: u64,
        /// The model that wrote the summary; empty if no model did.
        #[serde(default)]
        model: String,
        /// The token counts of the requests that made the summary, as the API names them.
        #[serde(default)]
        usage: Object,
    },
    /// The past was not summarized.
    CompactionFailed {
        /// The error text.
        error: String,
        /// The model that was asked for it; empty in older journals.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        /// The token counts of the requests that were made for it.
        #[serde(default)]
        usage: Object,
        /// The name of the client that asked for it. `None` if the service began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The journal begins here: what was before was replaced by a summary for good. The first
    /// record of its journal.
    Checkpoint {
        /// The summary of what was before; empty if all of it is kept.
        summary: String,
        /// The sums over all that was before, with the settings and what waits.
        totals: Totals,
        /// The keys of prompts that were before, each with its run.
        #[serde(default)]
        keys: Vec<(String, RunId)>,
        /// The keys of messages that were queued before, each with its name there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        item_keys: Vec<(String, ItemId)>,
        /// The digests of the texts and files of those messages, each with its key; empty in journals of older
        /// versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        digests: Vec<(String, String)>,
        /// The tools that the conversation is offered, in the API's format, if they are on record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<Value>>,
        /// The name of the client that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// One durable fact of a workflow, in a separate journal; the type and the data as the workflow wrote them.
    Workflow(Value),
    /// A record of a type that this version does not know; kept unchanged.
    #[serde(skip)]
    Unknown {
        /// Its type.
        kind: String,
        /// Its data.
        data: Box<RawValue>,
    },
}

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The activity.
    pub activity: Activity,
    /// The text that goes with it.
    pub message: String,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            activity: Activity::Idle,
            message: String::new(),
        }
    }
}

/// The activity of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// No run is going.
    Idle,
    /// The model is being asked.
    Thinking,
    /// A tool call was made.
    RunningTool,
    /// The run failed.
    Error,
}

/// Outcome of a turn or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It completed as it should, or at a limit.
    Completed,
    /// An operator cancelled it.
    Cancelled,
    /// It failed.
    Error,
    /// The service was stopped or died.
    Interrupted,
}

/// The reason for a call without an own result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// An earlier call of the same reply failed.
    EarlierToolFailed,
    /// An operator cancelled the run.
    Cancelled,
    /// The reply broke off.
    #[default]
    Interrupted,
    /// The API declined to answer.
    Refused,
}

impl Unanswered {
    /// The text for the model.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::EarlierToolFailed => "not executed: an earlier tool failed",
            Self::Cancelled => "not executed: cancelled by user",
            Self::Interrupted => "not executed: the reply was interrupted",
            Self::Refused => "not executed: the request was refused",
        }
    }
}

/// Sums over a whole conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// The title, if it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The title from the first prompt; one that was given takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_title: Option<String>,
    /// Number of runs that were started; also the number of the last one.
    pub runs: u64,
    /// Number of prompts that were accepted.
    pub prompts: u64,
    /// Number of turns that were started.
    pub turns: u64,
    /// Tokens that the model was sent, without those from its cache.
    pub input_tokens: u64,
    /// Tokens that the model replied with.
    pub output_tokens: u64,
    /// Tokens that the API wrote to its cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens that the API read from its cache.
    pub cache_read_input_tokens: u64,
    /// Searches of the web that the API ran.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_search_requests: u64,
    /// The token counts by model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelTotals>,
    /// The largest possible cost of requests whose usage is not on record, in runs with a spending limit; in millionths
    /// of a US dollar.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsettled_micro_usd: u64,
    /// The settings, if they were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Box<Settings>>,
    /// The name of the last message that was queued.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub items: u64,
    /// The queued messages, in the order in which they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueItem>,
    /// The name of the last approval.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub approvals: u64,
    /// The rules of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<HeldRule>,
    /// The folder of the last command at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_folder: Option<String>,
    /// The operators' commands that the model receives with the next prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The jobs that run, those whose ends no request has had, and the last ones of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobNote>,
    /// True if the model receives a summary in place of the beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacted: bool,
    /// True if a message of the user repeats what a tool or a command brought.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeats_others: bool,
    /// The names of the tools that the conversation is offered, if they are on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// Token counts of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelTotals {
    /// Of the requests with at most [`ModelTotals::LONG`] tokens.
    #[serde(default)]
    pub usage: TokenUsage,
    /// Of the longer ones, which may have another price.
    #[serde(default, skip_serializing_if = "is_unused")]
    pub long: TokenUsage,
}

impl ModelTotals {
    /// The counts of one reply.
    #[must_use]
    pub fn of_reply(usage: &TokenUsage) -> Self {
        let input = usage
            .input_tokens
            .saturating_add(usage.cache_creation_input_tokens)
            .saturating_add(usage.cache_read_input_tokens);
        let mut totals = Self::default();
        if input > Self::LONG {
            totals.long = *usage;
        } else {
            totals.usage = *usage;
        }
        totals
    }

    /// The size of a request from which on a model may have another price, in tokens.
    ///
    /// Source: the API's documentation of prices, which has a step at 100,000 tokens for one model.
    pub const LONG: u64 = 100_000;
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_unused(usage: &TokenUsage) -> bool {
    *usage == TokenUsage::default()
}

impl Record {
    /// The types that this version knows.
    pub const KNOWN: [&'static str; 37] = [
        "run_started",
        "prompt",
        "status",
        "turn_started",
        "block",
        "reply_ended",
        "reply_failed",
        "tool_result",
        "calls_skipped",
        "turn_ended",
        "run_ended",
        "renamed",
        "queued",
        "withdrawn",
        "settings_changed",
        "reply_left_out",
        "compaction_started",
        "compacted",
        "compaction_failed",
        "checkpoint",
        "tools_renewed",
        "approval_asked",
        "approval_answered",
        "approval_withdrawn",
        "effect_began",
        "files_changed",
        "rules_changed",
        "undone",
        "command_ran",
        "branched",
        "job_started",
        "job_ended",
        "workflow",
        "tool_returned",
        "proposal_decided",
        "spending_reserved",
        "spending_released",
    ];

    /// True if no block that was begun before this record is unfinished after it.
    #[must_use]
    pub fn ends_block(&self) -> bool {
        matches!(
            self,
            Self::Block { .. }
                | Self::TurnStarted { .. }
                | Self::ReplyEnded { .. }
                | Self::ReplyFailed { .. }
                | Self::RunEnded { .. }
                | Self::Checkpoint { .. }
        )
    }

    /// The event that the record has to outlive before any later effect is carried out: an operator who was answered,
    /// and a run that was shown to end, rely on it.
    #[must_use]
    pub fn durability(&self) -> Durability {
        match self {
            Self::Prompt { .. }
            | Self::RunEnded { .. }
            | Self::Renamed { .. }
            | Self::Queued { .. }
            | Self::Withdrawn { .. }
            | Self::SettingsChanged { .. }
            | Self::ToolsRenewed { .. }
            | Self::ApprovalAsked(_)
            | Self::ApprovalAnswered { .. }
            | Self::ApprovalWithdrawn { .. }
            | Self::EffectBegan { .. }
            | Self::FilesChanged { .. }
            | Self::ToolReturned { .. }
            | Self::ProposalDecided { .. }
            | Self::RulesChanged { .. }
            | Self::Undone { .. }
            | Self::CommandRan { .. }
            | Self::Branched { .. }
            | Self::SpendingReserved { .. }
            | Self::JobEnded { .. } => Durability::Synced,
            Self::RunStarted { .. }
            | Self::Status { .. }
            | Self::TurnStarted { .. }
            | Self::SpendingReleased { .. }
            | Self::Block { .. }
            | Self::ReplyEnded { .. }
            | Self::ReplyFailed { .. }
            | Self::ToolResult { .. }
            | Self::JobStarted { .. }
            | Self::CallsSkipped { .. }
            | Self::TurnEnded { .. }
            | Self::ReplyLeftOut { .. }
            | Self::CompactionStarted { .. }
            | Self::Compacted { .. }
            | Self::CompactionFailed { .. }
            | Self::Checkpoint { .. }
            | Self::Workflow(_)
            | Self::Unknown { .. } => Durability::Written,
        }
    }
}

/// As JSON, since unknown data has no other form.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let json = |record: &Self| {
            if let Self::Unknown { kind, data } = record {
                return Some(format!("{kind}{data}"));
            }
            serde_json::to_string(record).ok()
        };
        json(self) == json(other)
    }
}
