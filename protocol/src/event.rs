//! The events of a conversation: one JSON object each, told apart by `type`.
//!
//! `GET /events` carries the first six types only; `GET /v1/conversations/{id}/events` carries all.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Attachment, Queue, Settings};

/// One event of a conversation. Lasting events carry `timestamp`, in whole Unix seconds, and their
/// position as the SSE id; those that carry none are passing and never repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// An operator's prompt was accepted.
    User {
        /// The prompt, as it was submitted.
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
        /// Its name there; it waits no more. Not on `GET /events`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<u64>,
        /// What goes with it. Not on `GET /events`.
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
        /// What the tool returned, or a JSON object with the field `error`.
        result: String,
        /// Whether the call failed. Always present.
        #[serde(rename = "isError")]
        is_error: bool,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A thinking block of the reply is complete.
    Reasoning {
        /// The whole text of the block.
        content: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// What the conversation is doing now.
    Status {
        /// The state that was entered.
        state: State,
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
    /// A run is over.
    RunEnded {
        /// The run.
        run_id: u64,
        /// How.
        outcome: Outcome,
        /// Why, when it is not the usual end; may be empty.
        message: String,
        /// The token counts of the whole conversation so far.
        usage: Usage,
        /// The token counts of the run.
        #[serde(default)]
        run_usage: Usage,
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
        /// How.
        outcome: Outcome,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The model's reply is complete.
    ReplyEnded {
        /// The model that replied.
        model: String,
        /// Why the reply ended, in the API's words.
        stop_reason: String,
        /// The token counts of the reply, as the API reported them.
        usage: Map<String, Value>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// There is no complete reply.
    ReplyFailed {
        /// Why.
        error: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// A block of the reply is complete that has nothing to read, such as redacted thinking.
    Block {
        /// The API's type of the block.
        block_type: String,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The calls of the reply that have no result get none.
    CallsSkipped {
        /// What the model is told of them.
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
    /// A message waits to be said.
    Queued {
        /// Names it within its conversation.
        item: u64,
        /// Where it waits.
        queue: Queue,
        /// The text.
        content: String,
        /// What goes with it.
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
    /// Messages wait no more, and will not be said.
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
        /// What differs from the service's settings.
        settings: Settings,
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
        /// Why.
        reason: CompactionReason,
        /// The estimate of the next request, in tokens.
        tokens: u64,
        /// The name of the client that asked for it; none if it began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The past but for its end was summarized; the model is told the summary in its place.
    Compacted {
        /// Why.
        reason: CompactionReason,
        /// The summary.
        summary: String,
        /// The estimate of the next request before, in tokens.
        tokens_before: u64,
        /// The estimate of the next request now, in tokens.
        tokens_after: u64,
        /// The token counts of the requests that made the summary.
        usage: Usage,
        /// Unix seconds.
        timestamp: u64,
    },
    /// The past was not summarized.
    CompactionFailed {
        /// Why not.
        error: String,
        /// The name of the client that asked for it; none if it began by itself.
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
        /// What the piece belongs to.
        kind: DeltaKind,
        /// Where the piece begins in its block, in bytes of UTF-8. 0 begins the block anew.
        offset: u64,
        /// The piece.
        text: String,
    },
    /// What came of the unfinished blocks is void: the model is asked again, or not any more.
    /// Passing.
    Discarded {},
    /// Who is attached. Passing.
    Presence {
        /// How many clients.
        count: usize,
        /// The names of those that gave one, at most 32.
        names: Vec<String>,
    },
    /// The client has everything up to here; from now on events come as they happen. Passing.
    Attached {
        /// The conversation.
        conversation: String,
        /// Where the stream is.
        position: String,
        /// What the conversation is doing.
        state: State,
        /// What the state is about; may be empty.
        message: String,
        /// The run that is going.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<u64>,
    },
    /// The position that the client showed cannot be served; it starts anew from the snapshot.
    /// Passing.
    Reset {
        /// Why.
        reason: String,
        /// The conversation as it is now. Events follow from its position on.
        snapshot: Box<crate::Snapshot>,
    },
    /// Records between these two cannot be read; they were set aside. Passing.
    Gap {
        /// The last record before the gap.
        after: u64,
        /// The first record behind it.
        before: u64,
    },
    /// An event that this version does not know. Never sent; only read, from newer services.
    #[serde(other)]
    Unknown,
}

/// How a turn or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
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

/// Why the past is summarized.
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

/// What a delta is a piece of.
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
pub struct Usage {
    /// Sent to the model, without what its cache had.
    pub input_tokens: u64,
    /// Replied by the model.
    pub output_tokens: u64,
    /// Written to the API's cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the API's cache.
    pub cache_read_input_tokens: u64,
}

/// The states of a conversation. A run ends with exactly one `Idle` or `Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No run is going. As the end of a run, `message` says why when it is not the usual end.
    Idle,
    /// The model is being asked. `message` tells of a wait before a retry.
    Thinking,
    /// A tool call was made. `message` is the tool's name.
    RunningTool,
    /// The run failed. `message` says why.
    Error,
    /// A state that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of each variant. Adding a variant stops this from compiling, as a reminder
    /// to add its line to `specs/examples/events.jsonl`.
    fn name(event: &Event) -> &'static str {
        match event {
            Event::User { .. } => "user",
            Event::Text { .. } => "text",
            Event::ToolCall { .. } => "tool_call",
            Event::ToolResult { .. } => "tool_result",
            Event::Reasoning { .. } => "reasoning",
            Event::Status { .. } => "status",
            Event::RunStarted { .. } => "run_started",
            Event::RunEnded { .. } => "run_ended",
            Event::TurnStarted { .. } => "turn_started",
            Event::TurnEnded { .. } => "turn_ended",
            Event::ReplyEnded { .. } => "reply_ended",
            Event::ReplyFailed { .. } => "reply_failed",
            Event::Block { .. } => "block",
            Event::CallsSkipped { .. } => "calls_skipped",
            Event::Renamed { .. } => "renamed",
            Event::Queued { .. } => "queued",
            Event::Withdrawn { .. } => "withdrawn",
            Event::SettingsChanged { .. } => "settings_changed",
            Event::ReplyLeftOut { .. } => "reply_left_out",
            Event::CompactionStarted { .. } => "compaction_started",
            Event::Compacted { .. } => "compacted",
            Event::CompactionFailed { .. } => "compaction_failed",
            Event::Checkpoint { .. } => "checkpoint",
            Event::Record { .. } => "record",
            Event::Delta { .. } => "delta",
            Event::Discarded {} => "discarded",
            Event::Presence { .. } => "presence",
            Event::Attached { .. } => "attached",
            Event::Reset { .. } => "reset",
            Event::Gap { .. } => "gap",
            Event::Unknown => "unknown",
        }
    }

    const NAMES: [&str; 30] = [
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
        "reply_left_out",
        "compaction_started",
        "compacted",
        "compaction_failed",
        "checkpoint",
        "record",
        "delta",
        "discarded",
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
            seen.push(name(&event));
        }
        seen.dedup();
        assert_eq!(seen, NAMES);
    }

    /// Spec: [EVENT-03]
    #[test]
    fn an_event_of_a_newer_service_is_read_as_unknown() {
        let event: Event = serde_json::from_str(r#"{"type":"later","x":1}"#).unwrap();
        assert_eq!(event, Event::Unknown);
    }
}
