//! The part of a reply that is sent back.

use std::collections::HashSet;

use serde_json::Value;

use crate::reply::{Block, BlockKind};

/// The blocks of a reply that the API takes back, in an order that it takes. `paused`: the reply
/// goes on, so a call of the API's own tools may still wait for its result.
///
/// Calls before the last fallback belong to an attempt that was refused. The API refuses a fallback
/// block in a request without the beta of that name, and then thinking beside it, so neither is
/// sent.
pub(super) fn sendable(reply: &[Block], paused: bool) -> Vec<&Block> {
    let fallback = reply.iter().rposition(Block::is_fallback);
    let is_superseded = |place: usize| fallback.is_some_and(|fallback| place < fallback);
    let mut called = HashSet::new();
    let mut answered = HashSet::new();
    for block in reply {
        if let BlockKind::ServerToolCall { id } = block.kind() {
            called.insert(id);
        } else if let BlockKind::ServerToolResult { call_id } = block.kind() {
            answered.insert(call_id);
        }
    }
    let mut kept: Vec<&Block> = reply
        .iter()
        .enumerate()
        .filter(|(place, block)| match block.kind() {
            BlockKind::Text(text) => !text.trim().is_empty(),
            BlockKind::Thinking { signature, .. } => fallback.is_none() && signature.is_some(),
            BlockKind::RedactedThinking => fallback.is_none(),
            BlockKind::ToolCall { .. } => !is_superseded(*place),
            BlockKind::ServerToolCall { id } => {
                (paused && !is_superseded(*place)) || answered.contains(id)
            }
            BlockKind::ServerToolResult { call_id } => called.contains(call_id),
            BlockKind::Unknown => false,
        })
        .map(|(_, block)| block)
        .collect();
    // The API refuses text after a tool call, so all calls go to the end then.
    let is_call = |block: &Block| matches!(block.kind(), BlockKind::ToolCall { .. });
    let is_text = |block: &&Block| matches!(block.kind(), BlockKind::Text(_));
    if let Some(first_call) = kept.iter().position(|block| is_call(block))
        && kept[first_call..].iter().any(is_text)
    {
        kept.sort_by_key(|block| is_call(block));
    }
    while kept.last().is_some_and(|block| block.is_thinking()) {
        kept.pop();
    }
    kept
}

/// A block as it was received, but for what the API would refuse to see again: fields that it
/// does not know, and a tool name that no tool can have. The model made such a name up, and its
/// call was answered with an error.
pub(super) fn wire_block(block: &Block) -> Value {
    let mut json = block.json().clone();
    let fields: Option<&[&str]> = match block.kind() {
        BlockKind::Text(_) => Some(&["type", "text", "citations"]),
        BlockKind::Thinking { .. } => Some(&["type", "thinking", "signature"]),
        BlockKind::RedactedThinking => Some(&["type", "data"]),
        BlockKind::ToolCall { name, .. } => {
            let name: String = as_name(name, "unknown").chars().take(64).collect();
            json.insert("name".to_owned(), name.into());
            Some(&["type", "id", "name", "input", "caller"])
        }
        // These are the API's own, and it adds to them.
        BlockKind::ServerToolCall { .. }
        | BlockKind::ServerToolResult { .. }
        | BlockKind::Unknown => None,
    };
    if let Some(fields) = fields {
        json.retain(|field, _| fields.contains(&field.as_str()));
    }
    Value::Object(json)
}

/// A text as an id or a name that the API takes.
pub(super) fn as_name(text: &str, if_empty: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let text = if text.is_empty() { if_empty } else { text };
    text.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}
