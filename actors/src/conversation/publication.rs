//! What a conversation shows, before the clock puts its time on it.

use harness_protocol::{Event, State};

use crate::reply::Object;

/// An event without its time.
#[derive(Debug, Clone, PartialEq)]
pub enum Publication {
    /// A prompt was accepted.
    User(String),
    /// A text block is complete, or was cut short by a cancel.
    Text {
        /// The text.
        content: String,
        /// Whether it was cut short.
        partial: bool,
    },
    /// A thinking block is complete.
    Reasoning(String),
    /// The model asked for a tool.
    ToolCall {
        /// Links the call to its result.
        id: String,
        /// The tool.
        name: String,
        /// Its input.
        input: Object,
    },
    /// A tool call ended.
    ToolResult {
        /// The id of the call.
        id: String,
        /// What came out.
        result: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// The conversation's state.
    Status(State, String),
}

impl Publication {
    /// The event, with its time in Unix seconds.
    #[must_use]
    pub fn at(self, timestamp: u64) -> Event {
        match self {
            Self::User(content) => Event::User { content, timestamp },
            Self::Text { content, partial } => Event::Text {
                content,
                partial,
                timestamp,
            },
            Self::Reasoning(content) => Event::Reasoning { content, timestamp },
            Self::ToolCall { id, name, input } => Event::ToolCall {
                id,
                name,
                input,
                timestamp,
            },
            Self::ToolResult {
                id,
                result,
                is_error,
            } => Event::ToolResult {
                id,
                result,
                is_error,
                timestamp,
            },
            Self::Status(state, message) => Event::Status {
                state,
                message,
                timestamp,
            },
        }
    }
}
