//! A message of the past, as a Rust value.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::reply::Object;

/// A message, in the API's format: a role, and blocks of content. It is serialized as that, and converted to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Message(Object);

/// The side that a message is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// A block of a message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content<'a> {
    /// Text.
    Text(&'a str),
    /// A thought of the model; empty if the API keeps it to itself.
    Thinking(&'a str),
    /// The model called a tool.
    ToolCall {
        /// Links the call to its result.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// The tool's input.
        input: &'a Object,
    },
    /// A call ended.
    ToolResult {
        /// The call.
        id: &'a str,
        /// The result.
        text: Cow<'a, str>,
        /// True if the call failed.
        is_error: bool,
    },
    /// A block of another type, as the API has it.
    Other(&'a Object),
}

impl Message {
    pub(super) fn from_value(value: Value) -> Self {
        match value {
            Value::Object(message) => Self(message),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => Self(Object::from_iter([("content".to_owned(), other)])),
        }
    }

    /// The side that it is of.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.0.get("role").and_then(Value::as_str) {
            Some("assistant") => Role::Assistant,
            _ => Role::User,
        }
    }

    /// Its blocks, in order.
    #[must_use]
    pub fn content(&self) -> Vec<Content<'_>> {
        match self.0.get("content") {
            Some(Value::String(text)) => vec![Content::Text(text)],
            Some(Value::Array(blocks)) => {
                let blocks = blocks.iter().filter_map(Value::as_object);
                blocks.map(Content::from_block).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Its text: that of its text blocks, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let content = self.content().into_iter();
        let texts = content.filter_map(|block| match block {
            Content::Text(text) => Some(text),
            Content::Thinking(_)
            | Content::ToolCall { .. }
            | Content::ToolResult { .. }
            | Content::Other(_) => None,
        });
        texts.collect()
    }

    /// The message as the API has it.
    #[must_use]
    pub fn json(&self) -> &Object {
        &self.0
    }
}

impl From<Message> for Value {
    fn from(message: Message) -> Self {
        Self::Object(message.0)
    }
}

/// Its JSON, on one line.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&json)
    }
}

impl<'a> Content<'a> {
    fn from_block(block: &'a Object) -> Self {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => Self::Text(text("text").unwrap_or_default()),
            Some("thinking") => Self::Thinking(text("thinking").unwrap_or_default()),
            Some("tool_use") => match (text("id"), text("name"), block.get("input")) {
                (Some(id), Some(name), Some(Value::Object(input))) => {
                    Self::ToolCall { id, name, input }
                }
                _ => Self::Other(block),
            },
            Some("tool_result") => match text("tool_use_id") {
                Some(id) => Self::ToolResult {
                    id,
                    text: result(block.get("content")),
                    is_error: block.get("is_error").and_then(Value::as_bool) == Some(true),
                },
                None => Self::Other(block),
            },
            _ => Self::Other(block),
        }
    }
}

/// The text of a result, which may be in blocks.
fn result(content: Option<&Value>) -> Cow<'_, str> {
    match content {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Array(blocks)) => {
            let texts = blocks
                .iter()
                .filter_map(|block| block.get("text")?.as_str());
            Cow::Owned(texts.collect())
        }
        _ => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [LIB-323]
    #[test]
    fn blocks_are_told_by_their_types_and_the_rest_as_it_is() {
        let json = json!({"role": "assistant", "content": [
            {"type": "text", "text": "I "}, {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
            {"type": "text", "text": "read."}, {"type": "tool_use", "id": 7}, {"type": "image"},
        ]});
        let message = Message::from_value(json.clone());
        let input = json!({"path": "a"});
        let content = message.content();
        assert_eq!(message.role(), Role::Assistant);
        assert_eq!(content[0], Content::Text("I "));
        assert_eq!(content[1], Content::Thinking("hm"));
        let call = Content::ToolCall {
            id: "t1",
            name: "read",
            input: input.as_object().unwrap(),
        };
        assert_eq!(content[2], call);
        assert!(matches!(
            content[4..],
            [Content::Other(_), Content::Other(_)]
        ));
        assert_eq!(message.text(), "I read.");
        assert_eq!(
            (json!(message), message.to_string()),
            (json.clone(), json.to_string())
        );

        let results = Message::from_value(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "two", "is_error": true},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "three"}]},
        ]}));
        let result = |id, text, is_error| Content::ToolResult {
            id,
            text: Cow::Borrowed(text),
            is_error,
        };
        assert_eq!(results.role(), Role::User);
        assert_eq!(
            results.content(),
            [result("t1", "two", true), result("t2", "three", false)]
        );
    }
}
