//! The events of `GET /events`: one JSON object each, told apart by `type`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One event of a conversation. Every event carries `timestamp`, in whole Unix seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// An operator's prompt was accepted.
    User {
        /// The prompt, as it was submitted.
        content: String,
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
    /// An event that this version does not know. Never sent; only read, from newer services.
    #[serde(other)]
    Unknown,
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
            Event::Unknown => "unknown",
        }
    }

    /// Spec: [EVENT-01] [EVENT-02]
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
        assert_eq!(
            seen,
            [
                "user",
                "text",
                "tool_call",
                "tool_result",
                "reasoning",
                "status"
            ]
        );
    }

    /// Spec: [EVENT-03]
    #[test]
    fn an_event_of_a_newer_service_is_read_as_unknown() {
        let event: Event = serde_json::from_str(r#"{"type":"later","x":1}"#).unwrap();
        assert_eq!(event, Event::Unknown);
    }
}
