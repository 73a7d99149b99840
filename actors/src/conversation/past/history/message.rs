//! A message as requests hold it.

use std::sync::Arc;

use bytes::Bytes;
use harness_protocol::Attachment;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::estimate::{self, MessageSize};
use super::sendable::{answers_earlier_call, open_server_calls};
use crate::model::RequestPiece;
use crate::reply::Block;

/// How the messages of each side begin.
const USER: &str = r#"{"role":"user","content":["#;
const ASSISTANT: &str = r#"{"role":"assistant","content":["#;
const END: &str = "]}";

/// The parts of a message.
#[derive(Debug)]
pub(super) enum Item {
    /// A content block, serialized.
    Json(String),
    /// Files that go with the text behind them.
    Attachments(Arc<[Attachment]>),
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageAuthor {
    /// The user's.
    User {
        /// Whether it holds results of tools.
        answers: bool,
    },
    /// The model's.
    Assistant {
        /// Whether it holds thinking.
        thinks: bool,
        /// Whether it begins with thinking.
        begins_thinking: bool,
        /// True if it has a call of the API's own tools without its result.
        awaits_results: bool,
        /// True if it has a result whose call is in the reply before it.
        answers_earlier: bool,
    },
}

/// A message that no longer changes, serialized, without the comma in front of it.
#[derive(Debug, Clone)]
pub(super) struct SerializedMessage {
    kind: MessageAuthor,
    /// Its size, as [`estimate`] counts.
    chars: u64,
    pieces: Vec<RequestPiece>,
}

impl SerializedMessage {
    /// A message of the user.
    pub(super) fn user(items: Vec<Item>, answers: bool, chars: u64) -> Self {
        Self {
            kind: MessageAuthor::User { answers },
            chars,
            pieces: pieces(USER, items, None),
        }
    }

    /// A message of the model.
    pub(super) fn assistant(content: &[&Block], mark: Option<&str>) -> Self {
        let items = content.iter().map(|block| {
            let json = super::sendable::wire_block(block);
            Item::Json(json.to_string())
        });
        let kind = MessageAuthor::Assistant {
            thinks: content.iter().any(|block| block.is_thinking()),
            begins_thinking: content.first().is_some_and(|block| block.is_thinking()),
            awaits_results: !open_server_calls(content.iter().copied()).is_empty(),
            answers_earlier: answers_earlier_call(content.iter().copied()),
        };
        Self {
            kind,
            chars: content.iter().map(|block| estimate::block(block)).sum(),
            pieces: pieces(ASSISTANT, items.collect(), mark),
        }
    }

    /// True if the kept part of the past may begin with it: not with results, whose calls would be missing.
    pub(super) fn may_begin(&self) -> bool {
        match self.kind {
            MessageAuthor::User { answers } => !answers,
            MessageAuthor::Assistant {
                answers_earlier, ..
            } => !answers_earlier,
        }
    }

    /// True if it has a call of the API's own tools without its result.
    pub(super) fn awaits_results(&self) -> bool {
        matches!(
            self.kind,
            MessageAuthor::Assistant {
                awaits_results: true,
                ..
            }
        )
    }

    /// The blocks of a reply that is sent back.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let message = self.value();
        let content = message.get("content").and_then(Value::as_array);
        let object = |block: &Value| block.as_object().cloned().map(Block::new);
        content.into_iter().flatten().filter_map(object).collect()
    }

    /// Whether it is a prompt, without results.
    pub(super) fn is_prompt(&self) -> bool {
        matches!(self.kind, MessageAuthor::User { answers: false })
    }

    /// Whether it is the user's.
    pub(super) fn is_user(&self) -> bool {
        matches!(self.kind, MessageAuthor::User { .. })
    }

    /// Whether it begins with thinking.
    pub(super) fn begins_thinking(&self) -> bool {
        matches!(
            self.kind,
            MessageAuthor::Assistant {
                begins_thinking: true,
                ..
            }
        )
    }

    /// Its estimate.
    pub(super) fn tokens(&self) -> u64 {
        estimate::tokens(self.chars)
    }

    pub(super) fn size(&self) -> MessageSize {
        let sizes = self.pieces.iter().map(|piece| match piece {
            RequestPiece::Json(json) => MessageSize {
                bytes: json.len() as u64,
                files: 0,
            },
            RequestPiece::Attachments(files) => MessageSize {
                bytes: 0,
                files: files.len() as u64,
            },
        });
        sizes.fold(MessageSize::default(), MessageSize::plus)
    }

    /// As it is sent.
    pub(super) fn pieces(&self) -> &[RequestPiece] {
        &self.pieces
    }

    /// As it is sent, to be moved to other memory.
    pub(super) fn pieces_mut(&mut self) -> &mut [RequestPiece] {
        &mut self.pieces
    }

    /// As one JSON object; what goes with a prompt is only described in it.
    pub(super) fn json(&self) -> Bytes {
        if let [RequestPiece::Json(json)] = self.pieces.as_slice() {
            return json.clone();
        }
        let mut json = Vec::new();
        for piece in &self.pieces {
            match piece {
                RequestPiece::Json(part) => json.extend_from_slice(part),
                RequestPiece::Attachments(attachments) => {
                    let described: Vec<String> = attachments.iter().map(describe).collect();
                    json.extend_from_slice(described.join(",").as_bytes());
                }
            }
        }
        json.into()
    }

    /// As [`Self::json`] says it, to be read.
    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.json()).unwrap_or_default()
    }

    /// Leaves thinking out; tells whether there was any.
    pub(super) fn strip_thinking(&mut self) -> bool {
        let MessageAuthor::Assistant {
            thinks: true,
            awaits_results,
            answers_earlier,
            ..
        } = self.kind
        else {
            return false;
        };
        let json = self.json();
        let Ok(message) = serde_json::from_slice::<RawMessage<'_>>(&json) else {
            return false;
        };
        let mut items = Vec::new();
        let mut chars = 0;
        for raw in message.content {
            let Ok(block) = serde_json::from_str::<Block>(raw.get()) else {
                continue;
            };
            if !block.is_thinking() {
                chars += estimate::block(&block);
                items.push(Item::Json(raw.get().to_owned()));
            }
        }
        *self = Self {
            kind: MessageAuthor::Assistant {
                thinks: false,
                begins_thinking: false,
                awaits_results,
                answers_earlier,
            },
            chars,
            pieces: pieces(ASSISTANT, items, None),
        };
        true
    }

    /// Puts a text in front of a user message.
    pub(super) fn put_in_front(&mut self, text: &str) {
        if let Some(RequestPiece::Json(first)) = self.pieces.first_mut() {
            let block = text_block(text);
            let rest = first.get(USER.len()..).unwrap_or_default();
            *first = [USER.as_bytes(), block.as_bytes(), b",", rest]
                .concat()
                .into();
            self.chars = self.chars.saturating_add(estimate::chars(text));
        }
    }

    /// Takes a text away that is before a user message; tells whether anything is left.
    pub(super) fn take_from_front(&mut self, text: &str) -> bool {
        let Some(RequestPiece::Json(first)) = self.pieces.first_mut() else {
            return true;
        };
        let front = format!("{USER}{}", text_block(text));
        let Some(rest) = first.strip_prefix(front.as_bytes()) else {
            return true;
        };
        let Some(rest) = rest.strip_prefix(b",") else {
            return false;
        };
        *first = [USER.as_bytes(), rest].concat().into();
        self.chars = self.chars.saturating_sub(estimate::chars(text));
        true
    }

    /// The same in memory of its own, so that no other message is kept for its sake.
    pub(super) fn copied(mut self) -> Self {
        for piece in &mut self.pieces {
            if let RequestPiece::Json(json) = piece {
                *json = Bytes::copy_from_slice(json);
            }
        }
        self
    }
}

/// A message of the model whose blocks are left unchanged.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

/// The pieces of a message of the user that may still change.
pub(super) fn open_pieces(items: Vec<Item>, mark: Option<&str>) -> Vec<RequestPiece> {
    pieces(USER, items, mark)
}

/// `mark` is added to the last block, which is no thinking and no attachment.
fn pieces(begin: &str, mut items: Vec<Item>, mark: Option<&str>) -> Vec<RequestPiece> {
    let last = items.iter_mut().rev().find_map(|item| match item {
        Item::Json(json) => Some(json),
        Item::Attachments(_) => None,
    });
    if let (Some(mark), Some(last)) = (mark, last)
        && last.pop().is_some()
    {
        last.push_str(mark);
        last.push('}');
    }
    let mut pieces = Vec::with_capacity(1);
    let sizes = items.iter().map(|item| match item {
        Item::Json(json) => json.len() + 1,
        Item::Attachments(_) => 1,
    });
    let mut json = String::with_capacity(begin.len() + sizes.sum::<usize>() + END.len());
    json.push_str(begin);
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            json.push(',');
        }
        match item {
            Item::Json(block) => json.push_str(&block),
            Item::Attachments(attachments) => {
                pieces.push(RequestPiece::Json(std::mem::take(&mut json).into()));
                pieces.push(RequestPiece::Attachments(attachments));
            }
        }
    }
    json.push_str(END);
    pieces.push(RequestPiece::Json(json.into()));
    pieces
}

/// A text as a content block.
pub(super) fn text_block(text: &str) -> String {
    json!({"type": "text", "text": text}).to_string()
}

/// The text for a file where its content is not told.
fn describe(attachment: &Attachment) -> String {
    json!({"type": "attachment", "attachment": attachment}).to_string()
}
