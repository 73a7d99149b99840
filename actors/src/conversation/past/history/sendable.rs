//! The part of a reply that is sent back.

use std::collections::HashSet;

use serde_json::Value;

use crate::reply::{Block, BlockKind};

/// The end of a reply. It decides on the calls of the API's own tools that have no result in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyEnding {
    /// The API continues the reply: they stay.
    Paused,
    /// The API awaits the results of the calls of our tools: beside such a call they stay, and the
    /// next reply begins with their results.
    ToolUse,
    /// The reply is complete: they are left out.
    Final,
}

/// The blocks of a reply that the API takes back, in an order that it takes. `awaited`: the calls of
/// the API's own tools that the reply before it left open.
///
/// Calls and thinking before the last fallback belong to an attempt that was refused, and are not sent. The marks
/// themselves are, where a reply follows on them; a request without their beta leaves them out.
pub(super) fn sendable<'a>(
    reply: &'a [Block],
    ending: ReplyEnding,
    awaited: &HashSet<String>,
) -> Vec<&'a Block> {
    let fallback = reply.iter().rposition(Block::is_fallback);
    let is_superseded = |place: usize| fallback.is_some_and(|fallback| place < fallback);
    let called = ids(reply, server_call);
    let answered = ids(reply, server_result);
    let is_own_call = |(place, block): (usize, &Block)| is_call(block) && !is_superseded(place);
    let keeps_open = match ending {
        ReplyEnding::Paused => true,
        ReplyEnding::ToolUse => reply.iter().enumerate().any(is_own_call),
        ReplyEnding::Final => false,
    };
    let mut kept: Vec<&Block> = reply
        .iter()
        .enumerate()
        .filter(|(place, block)| match block.kind() {
            BlockKind::Text(text) => !text.trim().is_empty(),
            BlockKind::Thinking { signature, .. } => !is_superseded(*place) && signature.is_some(),
            BlockKind::RedactedThinking => !is_superseded(*place),
            BlockKind::ToolCall { .. } => !is_superseded(*place),
            BlockKind::ServerToolCall { id } => {
                (keeps_open && !is_superseded(*place)) || answered.contains(id)
            }
            BlockKind::ServerToolResult { call_id } => {
                called.contains(call_id) || awaited.contains(call_id)
            }
            BlockKind::Unknown => block.is_fallback(),
        })
        .map(|(_, block)| block)
        .collect();
    // The API refuses text after a tool call, so all calls go to the end then.
    let is_text = |block: &&Block| matches!(block.kind(), BlockKind::Text(_));
    if let Some(first_call) = kept.iter().position(|block| is_call(block))
        && kept[first_call..].iter().any(is_text)
    {
        kept.sort_by_key(|block| is_call(block));
    }
    trim_end(&mut kept);
    kept
}

/// A reply that was sent back with open calls of the API's own tools, without those of them that
/// `next`, the reply behind it, does not answer.
pub(super) fn without_unanswered<'a>(reply: &'a [Block], next: &[&Block]) -> Vec<&'a Block> {
    let answered = ids(next.iter().copied(), server_result);
    let here = ids(reply, server_result);
    let is_kept = |block: &&Block| match server_call(block) {
        Some(id) => here.contains(id) || answered.contains(id),
        None => true,
    };
    let mut kept: Vec<&Block> = reply.iter().filter(is_kept).collect();
    trim_end(&mut kept);
    kept
}

/// The calls of the API's own tools in a reply that have no result in it.
pub(super) fn open_server_calls<'a>(
    reply: impl Iterator<Item = &'a Block> + Clone,
) -> HashSet<&'a str> {
    let answered = ids(reply.clone(), server_result);
    let called = ids(reply, server_call);
    called.difference(&answered).copied().collect()
}

/// True if a reply has the result of a call that is in none of its blocks.
pub(super) fn answers_earlier_call<'a>(reply: impl Iterator<Item = &'a Block> + Clone) -> bool {
    let answered = ids(reply.clone(), server_result);
    !answered.is_subset(&ids(reply, server_call))
}

/// No reply may end in thinking, and a change of the model that nothing follows on is none.
fn trim_end(kept: &mut Vec<&Block>) {
    let is_end = |block: &&Block| block.is_thinking() || block.is_fallback();
    while kept.last().is_some_and(is_end) {
        kept.pop();
    }
}

fn is_call(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::ToolCall { .. })
}

/// The id of a call of the API's own tools.
fn server_call(block: &Block) -> Option<&str> {
    let BlockKind::ServerToolCall { id } = block.kind() else {
        return None;
    };
    Some(id)
}

/// The id of the call that a result of the API's own tools answers.
fn server_result(block: &Block) -> Option<&str> {
    let BlockKind::ServerToolResult { call_id } = block.kind() else {
        return None;
    };
    Some(call_id)
}

fn ids<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    id: impl Fn(&'a Block) -> Option<&'a str>,
) -> HashSet<&'a str> {
    blocks.into_iter().filter_map(id).collect()
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
