//! One content block of a message, and how it streams.

use serde_json::{Value, json};

use crate::capabilities::Capabilities;
use crate::messages_request::MessagesRequest;
use crate::signature::sign;

/// A content block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    /// Signed when the request that it answers is known.
    Unsigned(String),
    /// The input is kept as text, so that a test can have the model send invalid JSON.
    ToolUse {
        id: String,
        name: String,
        input: String,
    },
    /// Any other block: its `content_block_start` contains all of it, and no deltas follow.
    Whole(Value),
}

/// Number of characters of a tool's input in one delta.
const INPUT_PIECE: usize = 12;

impl Block {
    /// The finished block.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Thinking {
                thinking,
                signature,
            } => {
                json!({"type": "thinking", "thinking": thinking, "signature": signature})
            }
            Self::Unsigned(thinking) => {
                json!({"type": "thinking", "thinking": thinking, "signature": ""})
            }
            Self::ToolUse { id, name, input } => {
                let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            Self::Whole(block) => block.clone(),
        }
    }

    /// The block as `content_block_start` shows it.
    pub(crate) fn start(&self) -> Value {
        match self {
            Self::Text(_) => json!({"type": "text", "text": ""}),
            Self::Thinking { .. } | Self::Unsigned(_) => {
                json!({"type": "thinking", "thinking": "", "signature": ""})
            }
            Self::ToolUse { id, name, .. } => {
                json!({"type": "tool_use", "id": id, "name": name, "input": {}})
            }
            Self::Whole(block) => block.clone(),
        }
    }

    /// The deltas that make the finished block out of the started one.
    pub(crate) fn deltas(&self, words: usize) -> Vec<Value> {
        match self {
            Self::Text(text) => in_words(text, words)
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
            Self::Thinking {
                thinking,
                signature,
            } => in_words(thinking, words)
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .chain([json!({"type": "signature_delta", "signature": signature})])
                .collect(),
            // The real API opens each input with an empty piece.
            Self::ToolUse { input, .. } => std::iter::once(String::new())
                .chain(in_characters(input, INPUT_PIECE))
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect(),
            Self::Unsigned(_) | Self::Whole(_) => Vec::new(),
        }
    }

    /// The block in the form of the reply of that model to a request: thinking gets its signature, and loses its text if the request,
    /// or its model by default, omits that.
    pub(crate) fn signed(self, request: &MessagesRequest, model: &str) -> Self {
        let Self::Unsigned(thinking) = self else {
            return self;
        };
        let asked = &request.body["thinking"];
        let is_quiet = match asked["display"].as_str() {
            Some(display) => display == "omitted",
            None => asked["type"] == "adaptive" && Capabilities::for_model(model).quiet,
        };
        let thinking = if is_quiet { String::new() } else { thinking };
        Self::Thinking {
            signature: sign(request, model, &thinking),
            thinking,
        }
    }
}

impl From<Value> for Block {
    /// Takes the blocks that have deltas apart, as long as nothing would be lost by it.
    fn from(block: Value) -> Self {
        let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        let known = match block["type"].as_str() {
            Some("text") => Self::Text(text("text")),
            Some("thinking") => Self::Thinking {
                thinking: text("thinking"),
                signature: text("signature"),
            },
            Some("tool_use") => Self::ToolUse {
                id: text("id"),
                name: text("name"),
                input: block["input"].to_string(),
            },
            Some(_) | None => return Self::Whole(block),
        };
        if known.to_value() == block {
            known
        } else {
            Self::Whole(block)
        }
    }
}

/// Cuts a text after every few words; the pieces join to the text again.
fn in_words(text: &str, words: usize) -> impl Iterator<Item = String> {
    let split: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let pieces: Vec<String> = split.chunks(words.max(1)).map(<[&str]>::concat).collect();
    pieces.into_iter()
}

fn in_characters(text: &str, length: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters
        .chunks(length)
        .map(|piece| piece.iter().collect())
        .collect();
    pieces.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts a block together from its stream, as a client would.
    fn assembled(block: &Block) -> Value {
        let mut whole = block.start();
        let mut input = String::new();
        for delta in block.deltas(2) {
            for field in ["text", "thinking", "signature"] {
                if let Some(piece) = delta[field].as_str() {
                    whole[field] = format!("{}{piece}", whole[field].as_str().unwrap()).into();
                }
            }
            input.push_str(delta["partial_json"].as_str().unwrap_or_default());
        }
        if !input.is_empty() {
            whole["input"] = serde_json::from_str(&input).unwrap();
        }
        whole
    }

    #[test]
    fn the_stream_of_a_block_makes_the_block() {
        for whole in [
            json!({"type": "text", "text": "a b  c\n\nd é"}),
            json!({"type": "thinking", "thinking": "one two three", "signature": "sig=="}),
            json!({"type": "tool_use", "id": "a", "name": "x", "input": {"path": "ä b", "n": [1]}}),
            json!({"type": "redacted_thinking", "data": "x"}),
            json!({"type": "text", "text": "a", "citations": []}),
        ] {
            let block = Block::from(whole.clone());
            assert_eq!(block.to_value(), whole);
            assert_eq!(assembled(&block), whole);
        }
    }

    #[test]
    fn only_blocks_without_more_fields_are_taken_apart() {
        let cited = json!({"type": "text", "text": "a", "citations": []});
        assert_eq!(Block::from(cited.clone()), Block::Whole(cited));
        assert_eq!(
            Block::from(json!({"type": "text", "text": "a"})),
            Block::Text("a".to_owned())
        );
    }
}
