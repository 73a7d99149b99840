//! The events of a conversation: one JSON object each, told apart by `type`.
//!
//! `GET /events` carries the first six types only; `GET /v1/conversations/{id}/events` carries all.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Approval, Attachment, ContextWindow, Extent, FileChange, HeldRule, JobChanges, JobEnd,
    ModelFallback, Queue, Scope, Settings, UndoneFile, Verdict, WebSource, WebStep, Withdrawal,
};

/// One event of a conversation. Lasting events carry `timestamp`, in whole Unix seconds, and their
/// position as the SSE id; those that carry none are passing and never repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// An operator's prompt was accepted.
    User {
        /// The text of the prompt, unchanged.
        content: String,
        /// The run that it started. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<u64>,
        /// The key that it was sent with. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The name of the client that sent it. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The queue that it waited in. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<Queue>,
        /// The name that it had in the queue; it no longer waits there. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<u64>,
        /// Files that go with it. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A text block of the reply is complete.
    Text {
        /// The whole text of the block.
        content: String,
        /// True when a cancel cut the block short; left out otherwise.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// The pages that it cites, each once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sources: Vec<WebSource>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The model asked for a tool.
    ToolCall {
        /// Links this call to its `tool_result`.
        id: String,
        /// The tool's name.
        name: String,
        /// The tool's input, a JSON object.
        input: Map<String, Value>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A tool call ended.
    ToolResult {
        /// The id of the `tool_call`.
        id: String,
        /// The tool's result, or a JSON object with the field `error`.
        result: String,
        /// True if the call failed. Always present.
        #[serde(rename = "isError")]
        is_error: bool,
        /// Duration of the call in milliseconds. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Size of the result, if the tool counts it. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extent: Option<Extent>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A thinking block of the reply is complete.
    Reasoning {
        /// The whole text of the block.
        content: String,
        /// Duration of the model's thinking in milliseconds, from the request or from the block before. Not on `GET
        /// /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The state of the conversation has changed.
    Status {
        /// The state that was entered.
        state: ActivityState,
        /// The running tool's name, an error's text, or a remark; may be empty.
        message: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A run began.
    RunStarted {
        /// The run.
        run_id: u64,
        /// The name of the client that started it, if no prompt did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A request to the model is about to leave in a run with a spending limit.
    SpendingReserved {
        /// The run.
        run_id: u64,
        /// The largest possible cost of the request and its reply, in millionths of a US dollar.
        micro_usd: u64,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A part of what was reserved is no longer needed: the usage is known, or nothing was used.
    SpendingReleased {
        /// The run.
        run_id: u64,
        /// The part, in millionths of a US dollar.
        micro_usd: u64,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A run is over.
    RunEnded {
        /// The run.
        run_id: u64,
        /// The outcome of the run.
        outcome: EndOutcome,
        /// The reason of an unusual end; may be empty.
        message: String,
        /// The token counts of the whole conversation so far.
        usage: TokenUsage,
        /// The token counts of the run.
        #[serde(default)]
        run_usage: TokenUsage,
        /// Duration of the run in milliseconds. `None` if the service was restarted meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The name of the client that cancelled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The model is asked.
    TurnStarted {
        /// The run.
        run_id: u64,
        /// Counts the turns of the run from 1.
        turn: u32,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A turn is over, with its tools.
    TurnEnded {
        /// The run.
        run_id: u64,
        /// Counts the turns of the run from 1.
        turn: u32,
        /// The outcome of the turn.
        outcome: EndOutcome,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The model's reply is complete.
    ReplyEnded {
        /// The model that replied.
        model: String,
        /// The reason why the reply ended, in the API's words.
        stop_reason: String,
        /// The token counts of the reply, as the API reported them.
        usage: Map<String, Value>,
        /// The window of the model, if it is known. After the reply the conversation occupies the sum of the tokens in
        /// `usage`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<ContextWindow>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The model's reply failed before it was complete.
    ReplyFailed {
        /// The error.
        error: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A block of the reply without readable content is complete, for example redacted thinking, or
    /// a step of a tool that the API runs itself.
    Block {
        /// The API's type of the block.
        block_type: String,
        /// The step of a tool of the API.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        web: Option<WebStep>,
        /// The change of the model, if the block marks one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<ModelFallback>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The calls of the reply that have no result get none.
    CallsSkipped {
        /// The reason that the model gets.
        reason: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The conversation has another title.
    Renamed {
        /// The title.
        title: String,
        /// The name of the client that gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The conversation is offered other tools from the next run on.
    ToolsRenewed {
        /// The names of all of them, in their order.
        tools: Vec<String>,
        /// The name of the client that renewed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A message waits to be said.
    Queued {
        /// Names it within its conversation.
        item: u64,
        /// The queue that it waits in.
        queue: Queue,
        /// The text.
        content: String,
        /// Files that go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The key that it was sent with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The name of the client that sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// Queued messages were withdrawn; they will not be sent to the model.
    Withdrawn {
        /// Their names.
        items: Vec<u64>,
        /// The name of the client that withdrew them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The conversation has other settings from the next run on.
    SettingsChanged {
        /// The settings in which it differs from the service.
        settings: Box<Settings>,
        /// The name of the client that changed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The last reply, which failed or was cancelled, is left out of later requests.
    ReplyLeftOut {
        /// The name of the client that asked for another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The past is about to be summarized.
    CompactionStarted {
        /// The reason of the summary.
        reason: CompactionReason,
        /// The estimate of the next request, in tokens.
        tokens: u64,
        /// The name of the client that asked for it. `None` if the service began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The past except for its end was summarized; the model receives the summary in its place.
    Compacted {
        /// The reason of the summary.
        reason: CompactionReason,
        /// The summary.
        summary: String,
        /// The estimate of the next request before, in tokens.
        tokens_before: u64,
        /// The estimate of the next request now, in tokens.
        tokens_after: u64,
        /// The token counts of the requests that made the summary.
        usage: TokenUsage,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The past was not summarized.
    CompactionFailed {
        /// The error.
        error: String,
        /// The name of the client that asked for it. `None` if the service began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The journal begins here: what was before was replaced by a summary for good.
    Checkpoint {
        /// The summary.
        summary: String,
        /// The name of the client that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A tool waits for an operator's answer.
    ApprovalAsked {
        /// The approval.
        #[serde(flatten)]
        approval: Box<Approval>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// An operator answered.
    ApprovalAnswered {
        /// The approval.
        id: u64,
        /// The answer.
        answer: Verdict,
        /// The scope of the answer.
        scope: Scope,
        /// A line for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The name of the client that said it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// An approval was closed without an answer.
    ApprovalWithdrawn {
        /// The approval.
        id: u64,
        /// The reason of the withdrawal.
        reason: Withdrawal,
        /// The name of the client that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A tool call is about to change something.
    EffectBegan {
        /// The id of the call.
        call: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A command ended, and operators are asked about what it changed at protected places. The result follows.
    ToolReturned {
        /// The id of the call.
        call: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A change that a command made at a protected place was kept or taken back.
    ProposalDecided {
        /// The id of the call.
        call: String,
        /// The path of the file.
        path: String,
        /// The decision, as the model receives it.
        decision: String,
        /// Unix seconds.
        timestamp: u64,
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
        /// Unix seconds.
        timestamp: u64,
    },
    /// An operator took changes of tools back.
    Undone {
        /// The outcome for each file.
        files: Vec<UndoneFile>,
        /// The name of the client that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// An operator ran a command.
    CommandRan {
        /// The command.
        command: String,
        /// The output, with one last line: how the command ended.
        result: String,
        /// True if the command failed.
        is_error: bool,
        /// True if the command and its output are hidden from the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_hidden: bool,
        /// The name of the client that ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A client forked this conversation and continues in the fork.
    Branched {
        /// The other conversation.
        conversation: String,
        /// The last record that both have.
        seq: u64,
        /// The name of the client that did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A command runs in the background.
    JobStarted {
        /// Names it within its conversation; counts from 1.
        job: u64,
        /// The id of the call that started it.
        call: String,
        /// The line for the shell, at most its first 1,024 bytes.
        command: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A job ended.
    JobEnded {
        /// The job.
        job: u64,
        /// The end of the job.
        #[serde(flatten)]
        end: JobEnd,
        /// The files that changed while the job ran. `None` if that is not known, or if the job could not write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<JobChanges>,
        /// Unix seconds.
        timestamp: u64,
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
        /// Unix seconds.
        timestamp: u64,
    },
    /// One fact of a workflow; only on the stream of a workflow.
    Workflow {
        /// The record with the `type` and the `data` that it has in the workflow's journal.
        record: Value,
        /// Unix seconds.
        timestamp: u64,
    },
    /// Something that only a newer service knows.
    Record {
        /// The type of the record in the journal.
        record_type: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A piece of an unfinished block. Passing.
    Delta {
        /// The block's place in the reply.
        index: u64,
        /// The kind of block that the piece belongs to.
        kind: DeltaKind,
        /// Offset of the piece in its block, in bytes of UTF-8. Offset 0 restarts the block.
        offset: u64,
        /// The piece.
        text: String,
    },
    /// The pieces of unfinished blocks so far are void: the request to the model failed, and may be repeated. Passing.
    Discarded {},
    /// A running tool shows something before its result is there. The event has no id and is not in the journal; the
    /// result need not contain the text.
    ToolOutput {
        /// The id of the call.
        id: String,
        /// Offset of the text in the whole output of the call, in bytes.
        offset: u64,
        /// The new text.
        text: String,
    },
    /// A running check of a workflow shows something. Passing, and in no record; only on the stream of a
    /// workflow.
    StepOutput {
        /// The iteration; 0 for a verification.
        iteration: u32,
        /// The attempt in it, or the number of the verification.
        attempt: u32,
        /// The step, such as `check:suite`.
        step: String,
        /// Offset of the text in the whole output of the step, in bytes.
        offset: u64,
        /// The new text.
        text: String,
    },
    /// The clients that are attached. Passing.
    Presence {
        /// Number of attached clients.
        count: usize,
        /// The names of those that gave one, at most 32.
        names: Vec<String>,
    },
    /// The client has everything up to here; from now on events come as they happen. Passing.
    Attached {
        /// The conversation.
        conversation: String,
        /// The position of the stream.
        position: String,
        /// The conversation's state.
        state: ActivityState,
        /// The text that goes with the state; may be empty.
        message: String,
        /// The run that is going.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<u64>,
    },
    /// The position that the client sent cannot be served; the client starts again from the snapshot. Passing.
    Reset {
        /// The reason why the position cannot be served.
        reason: String,
        /// The present state of the conversation. Events follow from its position on.
        snapshot: Box<crate::ConversationSnapshot>,
    },
    /// Records between these two cannot be read; they were set aside. Passing.
    Gap {
        /// The last record before the gap.
        after: u64,
        /// The first record after the gap.
        before: u64,
    },
    /// An event that this version does not know. Never sent; only read, from newer services.
    #[serde(other)]
    Unknown,
}

/// The default treatment of events, for readers that have no rule for an event's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A fact of the conversation: readers show it at its place in the history.
    Fact,
    /// News of the stream that is soon outdated.
    Passing,
    /// Something that only a newer service knows.
    Foreign,
}

/// The facts that every type of event has.
struct EventFacts<'a> {
    type_name: &'static str,
    family: Family,
    timestamp: Option<u64>,
    by: Option<&'a str>,
}

impl<'a> EventFacts<'a> {
    /// A fact of the conversation, recorded then.
    const fn typed(type_name: &'static str, timestamp: u64) -> Self {
        Self {
            type_name,
            family: Family::Fact,
            timestamp: Some(timestamp),
            by: None,
        }
    }

    /// The same, caused by a client.
    fn by(type_name: &'static str, timestamp: u64, by: &'a Option<String>) -> Self {
        Self {
            by: by.as_deref(),
            ..Self::typed(type_name, timestamp)
        }
    }

    const fn passing(type_name: &'static str) -> Self {
        Self {
            family: Family::Passing,
            timestamp: None,
            ..Self::typed(type_name, 0)
        }
    }

    const fn foreign(type_name: &'static str, timestamp: Option<u64>) -> Self {
        Self {
            family: Family::Foreign,
            timestamp,
            ..Self::typed(type_name, 0)
        }
    }
}

impl Event {
    /// The value of `type` on the wire. Each type has its lines in `specs/examples/events.jsonl`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.facts().type_name
    }

    /// The treatment of the event by readers that have no rule for its type.
    #[must_use]
    pub fn family(&self) -> Family {
        self.facts().family
    }

    /// The time of the event in Unix seconds. `None` for passing events.
    #[must_use]
    pub fn timestamp(&self) -> Option<u64> {
        self.facts().timestamp
    }

    /// The name of the client that caused it, if it gave one.
    #[must_use]
    pub fn by(&self) -> Option<&str> {
        self.facts().by
    }

    fn facts(&self) -> EventFacts<'_> {
        match self {
            Self::User { timestamp, by, .. } => EventFacts::by("user", *timestamp, by),
            Self::Text { timestamp, .. } => EventFacts::typed("text", *timestamp),
            Self::ToolCall { timestamp, .. } => EventFacts::typed("tool_call", *timestamp),
            Self::ToolResult { timestamp, .. } => EventFacts::typed("tool_result", *timestamp),
            Self::Reasoning { timestamp, .. } => EventFacts::typed("reasoning", *timestamp),
            Self::Status { timestamp, .. } => EventFacts::typed("status", *timestamp),
            Self::RunStarted { timestamp, by, .. } => EventFacts::by("run_started", *timestamp, by),
            Self::RunEnded { timestamp, by, .. } => EventFacts::by("run_ended", *timestamp, by),
            Self::TurnStarted { timestamp, .. } => EventFacts::typed("turn_started", *timestamp),
            Self::TurnEnded { timestamp, .. } => EventFacts::typed("turn_ended", *timestamp),
            Self::ReplyEnded { timestamp, .. } => EventFacts::typed("reply_ended", *timestamp),
            Self::ReplyFailed { timestamp, .. } => EventFacts::typed("reply_failed", *timestamp),
            Self::Block { timestamp, .. } => EventFacts::typed("block", *timestamp),
            Self::CallsSkipped { timestamp, .. } => EventFacts::typed("calls_skipped", *timestamp),
            Self::Renamed { timestamp, by, .. } => EventFacts::by("renamed", *timestamp, by),
            Self::Queued { timestamp, by, .. } => EventFacts::by("queued", *timestamp, by),
            Self::Withdrawn { timestamp, by, .. } => EventFacts::by("withdrawn", *timestamp, by),
            Self::SettingsChanged { timestamp, by, .. } => {
                EventFacts::by("settings_changed", *timestamp, by)
            }
            Self::ToolsRenewed { timestamp, by, .. } => {
                EventFacts::by("tools_renewed", *timestamp, by)
            }
            Self::ReplyLeftOut { timestamp, by, .. } => {
                EventFacts::by("reply_left_out", *timestamp, by)
            }
            Self::CompactionStarted { timestamp, by, .. } => {
                EventFacts::by("compaction_started", *timestamp, by)
            }
            Self::Compacted { timestamp, .. } => EventFacts::typed("compacted", *timestamp),
            Self::CompactionFailed { timestamp, by, .. } => {
                EventFacts::by("compaction_failed", *timestamp, by)
            }
            Self::Checkpoint { timestamp, by, .. } => EventFacts::by("checkpoint", *timestamp, by),
            Self::ApprovalAsked { timestamp, .. } => {
                EventFacts::typed("approval_asked", *timestamp)
            }
            Self::ApprovalAnswered { timestamp, by, .. } => {
                EventFacts::by("approval_answered", *timestamp, by)
            }
            Self::ApprovalWithdrawn { timestamp, by, .. } => {
                EventFacts::by("approval_withdrawn", *timestamp, by)
            }
            Self::EffectBegan { timestamp, .. } => EventFacts::typed("effect_began", *timestamp),
            Self::ToolReturned { timestamp, .. } => EventFacts::typed("tool_returned", *timestamp),
            Self::ProposalDecided { timestamp, .. } => {
                EventFacts::typed("proposal_decided", *timestamp)
            }
            Self::SpendingReserved { timestamp, .. } => {
                EventFacts::typed("spending_reserved", *timestamp)
            }
            Self::SpendingReleased { timestamp, .. } => {
                EventFacts::typed("spending_released", *timestamp)
            }
            Self::FilesChanged { timestamp, .. } => EventFacts::typed("files_changed", *timestamp),
            Self::Undone { timestamp, by, .. } => EventFacts::by("undone", *timestamp, by),
            Self::CommandRan { timestamp, by, .. } => EventFacts::by("command_ran", *timestamp, by),
            Self::Branched { timestamp, by, .. } => EventFacts::by("branched", *timestamp, by),
            Self::JobStarted { timestamp, .. } => EventFacts::typed("job_started", *timestamp),
            Self::JobEnded { timestamp, end, .. } => EventFacts {
                by: end.by(),
                ..EventFacts::typed("job_ended", *timestamp)
            },
            Self::RulesChanged { timestamp, by, .. } => {
                EventFacts::by("rules_changed", *timestamp, by)
            }
            Self::Workflow { timestamp, .. } => EventFacts::typed("workflow", *timestamp),
            Self::Record { timestamp, .. } => EventFacts::foreign("record", Some(*timestamp)),
            Self::Delta { .. } => EventFacts::passing("delta"),
            Self::Discarded {} => EventFacts::passing("discarded"),
            Self::ToolOutput { .. } => EventFacts::passing("tool_output"),
            Self::StepOutput { .. } => EventFacts::passing("step_output"),
            Self::Presence { .. } => EventFacts::passing("presence"),
            Self::Attached { .. } => EventFacts::passing("attached"),
            Self::Reset { .. } => EventFacts::passing("reset"),
            Self::Gap { .. } => EventFacts::passing("gap"),
            Self::Unknown => EventFacts::foreign("unknown", None),
        }
    }
}

/// The outcome of a turn or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndOutcome {
    /// As it should, or at a limit.
    Completed,
    /// An operator cancelled it.
    Cancelled,
    /// It failed.
    Error,
    /// The service was stopped or died.
    Interrupted,
    /// An outcome that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The reason why the past is summarized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// It outgrew the window less the reserve.
    Threshold,
    /// The API said that it is too long.
    Overflow,
    /// A client asked for it.
    Manual,
    /// A reason that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The kind of block that a delta belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// A text.
    Text,
    /// Thinking.
    Reasoning,
    /// The input of a tool call, as JSON text.
    ToolInput,
    /// A kind that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Sent to the model, without what its cache had.
    pub input_tokens: u64,
    /// Replied by the model.
    pub output_tokens: u64,
    /// Written to the API's cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the API's cache.
    pub cache_read_input_tokens: u64,
    /// Searches of the web, which have a price of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_search_requests: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl TokenUsage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// The difference to earlier counts.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    fn each(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: both(self.input_tokens, other.input_tokens),
            output_tokens: both(self.output_tokens, other.output_tokens),
            cache_creation_input_tokens: both(
                self.cache_creation_input_tokens,
                other.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: both(
                self.cache_read_input_tokens,
                other.cache_read_input_tokens,
            ),
            web_search_requests: both(self.web_search_requests, other.web_search_requests),
        }
    }

    /// All tokens together: what the next request sends of the past, if it follows a reply.
    #[must_use]
    pub fn total(&self) -> u64 {
        let cached = self
            .cache_creation_input_tokens
            .saturating_add(self.cache_read_input_tokens);
        let sent = self.input_tokens.saturating_add(cached);
        sent.saturating_add(self.output_tokens)
    }
}

/// The states of a conversation. A run ends with exactly one `Idle` or `Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityState {
    /// No run is going. As the end of a run, `message` says why when it is not the usual end.
    Idle,
    /// The model is being asked. `message` tells of a wait before a retry.
    Thinking,
    /// A tool call was made. `message` is the tool's name.
    RunningTool,
    /// The run failed. `message` says why.
    Error,
    /// A tool waits for an operator's answer. Not in a `status`, which says `running_tool`.
    WaitingApproval,
    /// A state that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 49] = [
        "user",
        "text",
        "tool_call",
        "tool_result",
        "reasoning",
        "status",
        "run_started",
        "run_ended",
        "turn_started",
        "turn_ended",
        "reply_ended",
        "reply_failed",
        "block",
        "calls_skipped",
        "renamed",
        "queued",
        "withdrawn",
        "settings_changed",
        "tools_renewed",
        "reply_left_out",
        "compaction_started",
        "compacted",
        "compaction_failed",
        "checkpoint",
        "approval_asked",
        "approval_answered",
        "approval_withdrawn",
        "effect_began",
        "tool_returned",
        "proposal_decided",
        "spending_reserved",
        "spending_released",
        "files_changed",
        "rules_changed",
        "command_ran",
        "branched",
        "undone",
        "job_started",
        "job_ended",
        "workflow",
        "record",
        "delta",
        "discarded",
        "tool_output",
        "step_output",
        "presence",
        "attached",
        "reset",
        "gap",
    ];

    /// Spec: [EVENT-01] [EVENT-02] [EVENT-09]
    #[test]
    fn every_example_reads_and_writes_back_unchanged() {
        let examples = include_str!("../../specs/examples/events.jsonl");
        let mut seen = Vec::new();
        for line in examples.lines() {
            let event: Event = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), line);
            seen.push(event.type_name());
        }
        seen.dedup();
        assert_eq!(seen, NAMES);
    }

    /// Spec: [CLI-113]
    #[test]
    fn what_is_asked_of_every_event_is_what_the_wire_says() {
        let examples = include_str!("../../specs/examples/events.jsonl");
        for line in examples.lines() {
            let event: Event = serde_json::from_str(line).unwrap();
            let wire: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(Some(event.type_name()), wire["type"].as_str(), "{line}");
            assert_eq!(event.timestamp(), wire["timestamp"].as_u64(), "{line}");
            assert_eq!(event.by(), wire["by"].as_str(), "{line}");
        }
    }

    /// Spec: [EVENT-03]
    #[test]
    fn an_event_of_a_newer_service_is_read_as_unknown() {
        let event: Event = serde_json::from_str(r#"{"type":"later","x":1}"#).unwrap();
        assert_eq!(event, Event::Unknown);
    }
}
