//! A model's reply: content blocks and how the reply ended.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::secret::Redaction;

/// A JSON object, its fields in the order in which they came.
pub type Object = Map<String, Value>;

/// One finished content block, kept exactly as the API sent it, so that it can be sent back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block(Object);

/// The field of a call whose input is not a JSON object: the error that answers it. Its `input` is
/// empty then, since the API takes nothing but an object back. The API does not see the field.
pub(crate) const INPUT_ERROR: &str = "input_error";

/// The kind of a block, for those that the service treats apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockKind<'a> {
    /// Text for the operator.
    Text(&'a str),
    /// Thinking, with the signature that lets it be sent back.
    Thinking {
        /// The thought; empty when the API was asked to leave it out.
        thinking: &'a str,
        /// Missing when the block was cut before it arrived.
        signature: Option<&'a str>,
    },
    /// Thinking that only the API can read.
    RedactedThinking,
    /// A call of one of our tools.
    ToolCall {
        /// Links the call to its result.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// The tool's input.
        input: &'a Object,
    },
    /// A call of a tool that the API runs itself.
    ServerToolCall {
        /// Links the call to its result.
        id: &'a str,
    },
    /// The result of a tool that the API ran itself.
    ServerToolResult {
        /// The id of the call.
        call_id: &'a str,
    },
    /// A block of a type that this version does not know.
    Unknown,
}

impl Block {
    /// Whether it is thinking, readable or not.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        matches!(
            self.kind(),
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking
        )
    }

    /// True if the block marks that the API refused with one model and replies with another one
    /// from here on.
    #[must_use]
    pub(crate) fn is_fallback(&self) -> bool {
        self.type_name() == "fallback"
    }

    /// A block as the API sent it.
    #[must_use]
    pub fn new(json: Object) -> Self {
        Self(json)
    }

    /// A text block.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut json = Object::new();
        json.insert("type".into(), "text".into());
        json.insert("text".into(), text.into());
        Self(json)
    }

    /// A call of one of our tools.
    #[must_use]
    pub fn tool_call(id: &str, name: &str, input: Object) -> Self {
        let mut json = Object::new();
        json.insert("type".into(), "tool_use".into());
        json.insert("id".into(), id.into());
        json.insert("name".into(), name.into());
        json.insert("input".into(), Value::Object(input));
        Self(json)
    }

    /// The kind of the block.
    #[must_use]
    pub fn kind(&self) -> BlockKind<'_> {
        let text = |key: &str| self.0.get(key).and_then(Value::as_str);
        match self.type_name() {
            "text" => BlockKind::Text(text("text").unwrap_or_default()),
            "thinking" => BlockKind::Thinking {
                thinking: text("thinking").unwrap_or_default(),
                signature: text("signature").filter(|signature| !signature.is_empty()),
            },
            "redacted_thinking" if text("data").is_some() => BlockKind::RedactedThinking,
            "tool_use" => match (text("id"), text("name"), self.0.get("input")) {
                (Some(id), Some(name), Some(Value::Object(input))) => {
                    BlockKind::ToolCall { id, name, input }
                }
                _ => BlockKind::Unknown,
            },
            "server_tool_use" | "mcp_tool_use" if text("name").is_some() => {
                text("id").map_or(BlockKind::Unknown, |id| BlockKind::ServerToolCall { id })
            }
            kind if kind.ends_with("_tool_result") => text("tool_use_id")
                .map_or(BlockKind::Unknown, |call_id| BlockKind::ServerToolResult {
                    call_id,
                }),
            _ => BlockKind::Unknown,
        }
    }

    /// The error that answers a call whose input is not a JSON object.
    #[must_use]
    pub fn input_error(&self) -> Option<&str> {
        self.0.get(INPUT_ERROR).and_then(Value::as_str)
    }

    /// The API's type of the block.
    #[must_use]
    pub fn type_name(&self) -> &str {
        let name = self.0.get("type").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// The block as the API sent it.
    #[must_use]
    pub fn json(&self) -> &Object {
        &self.0
    }

    /// A text without the white space at its end.
    pub(crate) fn trim_end(&mut self) {
        if let BlockKind::Text(text) = self.kind() {
            let text = text.trim_end().to_owned();
            self.0.insert("text".into(), text.into());
        }
    }

    /// The block without the citations that are not wanted.
    pub(crate) fn retain_citations(&mut self, is_wanted: impl FnMut(&Value) -> bool) {
        let Some(Value::Array(citations)) = self.0.get_mut("citations") else {
            return;
        };
        let before = citations.len();
        citations.retain(is_wanted);
        // A list that came empty is sent back so.
        if before > 0 && citations.is_empty() {
            self.0.remove("citations");
        }
    }

    /// The block under another id.
    pub(crate) fn set_id(&mut self, id: String) {
        self.0.insert("id".into(), id.into());
    }
}

/// Why a reply ended.
///
/// Source: the API's documentation of `stop_reason`. A value that is not listed counts as an end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StopReason {
    /// The model was done. Also when the API gave no reason.
    #[default]
    EndTurn,
    /// The limit of output tokens was reached.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// The model waits for tool results.
    ToolUse,
    /// A long turn was paused; it continues when the reply is sent back unchanged.
    PauseTurn,
    /// The API declined to answer.
    Refusal,
    /// The context window is full.
    ContextWindowExceeded,
    /// A reason that this version does not know.
    Other(String),
}

impl StopReason {
    /// True if the API awaits results before it continues, of tools that the client runs or of its
    /// own.
    #[must_use]
    pub(crate) fn awaits_results(&self) -> bool {
        matches!(self, Self::ToolUse | Self::PauseTurn)
    }
}

impl From<&str> for StopReason {
    fn from(reason: &str) -> Self {
        match reason {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "tool_use" => Self::ToolUse,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            "model_context_window_exceeded" => Self::ContextWindowExceeded,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Token counts of a reply, as the API reported them; later reports replace earlier ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage(Object);

impl From<Object> for Usage {
    fn from(report: Object) -> Self {
        Self(report)
    }
}

impl Usage {
    /// Takes over every field of a report that is not null.
    pub fn update(&mut self, report: &Object) {
        for (key, value) in report {
            if !value.is_null() {
                self.0.insert(key.clone(), value.clone());
            }
        }
    }

    /// A count by its name in the API, such as `output_tokens`. Missing, negative or absurd
    /// counts become 0 or the largest count: servers other than the API send all of these.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(Value::Number(number)) => number.as_u64().unwrap_or_else(|| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the cast saturates, which is what is wanted"
                )]
                number.as_f64().map_or(0, |count| count as u64)
            }),
            _ => 0,
        }
    }

    /// The counts that have a price.
    #[must_use]
    pub fn counts(&self) -> harness_protocol::TokenUsage {
        harness_protocol::TokenUsage {
            input_tokens: self.count("input_tokens"),
            output_tokens: self.count("output_tokens"),
            cache_creation_input_tokens: self.count("cache_creation_input_tokens"),
            cache_read_input_tokens: self.count("cache_read_input_tokens"),
            web_search_requests: self.searches(),
        }
    }

    /// The searches of the web that the API ran.
    fn searches(&self) -> u64 {
        let ran = self.0.get("server_tool_use").and_then(Value::as_object);
        ran.map_or(0, |ran| Self(ran.clone()).count("web_search_requests"))
    }

    /// Everything that was reported.
    #[must_use]
    pub fn json(&self) -> &Object {
        &self.0
    }
}

/// How a whole reply ended, with what the API said about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyEnd {
    /// The API's id of the reply; empty if it gave none.
    pub id: String,
    /// The model that replied, as the API named it.
    pub model: String,
    /// Why the reply ended.
    pub stop_reason: StopReason,
    /// The stop sequence that was met.
    pub stop_sequence: Option<String>,
    /// Details that the API added to the reason, such as a refusal's category.
    pub stop_details: Object,
    /// The final token counts.
    pub usage: Usage,
}

impl ReplyEnd {
    /// The end without what must not be seen.
    #[must_use]
    pub(crate) fn redacted(self, redaction: &Redaction) -> Self {
        let details = Value::from(self.stop_details).to_string();
        Self {
            id: redaction.apply(self.id),
            model: redaction.apply(self.model),
            stop_reason: match self.stop_reason {
                StopReason::Other(other) => StopReason::Other(redaction.apply(other)),
                known @ (StopReason::EndTurn
                | StopReason::MaxTokens
                | StopReason::StopSequence
                | StopReason::ToolUse
                | StopReason::PauseTurn
                | StopReason::Refusal
                | StopReason::ContextWindowExceeded) => known,
            },
            stop_sequence: self.stop_sequence.map(|text| redaction.apply(text)),
            // It stays JSON, unless a secret is some.
            stop_details: serde_json::from_str(&redaction.apply(details)).unwrap_or_default(),
            usage: self.usage,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextWindowExceeded => "model_context_window_exceeded",
            Self::Other(other) => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-19]
    #[test]
    fn absurd_token_counts_saturate() {
        let mut usage = Usage::default();
        let report = r#"{"a":5,"b":-3,"c":1e300,"d":null,"e":"x","f":7.9}"#;
        usage.update(&serde_json::from_str(report).unwrap());
        let counts: Vec<u64> = ["a", "b", "c", "d", "e", "f", "missing"]
            .map(|name| usage.count(name))
            .to_vec();
        assert_eq!(counts, [5, 0, u64::MAX, 0, 0, 7, 0]);
    }
}
