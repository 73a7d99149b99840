//! What was said in a conversation, as the Messages API wants to hear it again.
//!
//! Messages that no longer change are serialized once and shared by all later requests. What may
//! still change is the user message at the end: it grows until the model replies to it.
//!
//! Invariant: every request that comes out passes the API's rules: roles alternate, every tool
//! call has its result in the very next message, results come first, no text is blank, ids are
//! unique, no reply ends in thinking.
//!
//! Source: `messages-api` documentation on tool use, and the 400s that public trackers report.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::journal::Unanswered;
use crate::reply::{Block, BlockKind};

/// What stands where a damaged journal lacks what a reply is to.
const LOST: &str = "(what was said here is lost)";

/// The past of a conversation, as later requests tell it. Append-only: what the API has taken is
/// never changed or removed; what it refused is left out.
#[derive(Debug, Default)]
pub struct History {
    sealed: Sealed,
    /// The user message at the end, which grows until the model replies to it.
    open: Open,
    /// A reply to it that the API paused, as it is sent back; the reply goes on from there.
    paused: Vec<Block>,
    /// All ids of tool calls so far, each with the number that its next repetition gets.
    ids: HashMap<String, u64>,
}

/// Messages that no longer change, serialized, each with a comma in front but the first. Many are
/// joined to one piece, so that a request of a long conversation has few.
#[derive(Debug, Default)]
struct Sealed {
    joined: Vec<Bytes>,
    last: Vec<Bytes>,
}

/// How many messages are joined.
const JOINED: usize = 64;

impl Sealed {
    fn push(&mut self, message: &Value) {
        let comma = if self.joined.is_empty() && self.last.is_empty() {
            ""
        } else {
            ","
        };
        self.last.push(format!("{comma}{message}").into());
        if self.last.len() == JOINED {
            self.joined.push(self.last.concat().into());
            self.last.clear();
        }
    }

    fn pieces(&self) -> Vec<Bytes> {
        // A user message and a paused reply may follow.
        let mut pieces = Vec::with_capacity(self.joined.len() + self.last.len() + 2);
        pieces.extend_from_slice(&self.joined);
        pieces.extend_from_slice(&self.last);
        pieces
    }
}

/// A user message: the results for the last reply's calls, then prompts.
#[derive(Debug, Default)]
struct Open {
    calls: Vec<Call>,
    unanswered: Unanswered,
    prompts: Vec<String>,
}

/// A call of the last reply.
#[derive(Debug)]
struct Call {
    id: String,
    result: Option<(String, bool)>,
}

impl History {
    /// Adds a prompt.
    pub fn push_prompt(&mut self, content: &str) {
        // A reply that was paused does not go on any more.
        self.push_reply(Vec::new(), Unanswered::Interrupted);
        // The service takes no blank prompt, but a journal may hold one.
        if !content.trim().is_empty() {
            self.open.prompts.push(content.to_owned());
        }
    }

    /// Adds a reply, or what followed on its pause. `unanswered` is what those of its calls are
    /// answered with that get no result. A reply with nothing to send back leaves the user
    /// message open, so that roles alternate.
    pub fn push_reply(&mut self, blocks: Vec<Block>, unanswered: Unanswered) {
        let mut reply = std::mem::take(&mut self.paused);
        reply.extend(blocks);
        let content = sendable(&reply, false);
        if content.is_empty() {
            return;
        }
        self.begin_with_user();
        let answers = Open {
            calls: calls_of(&reply),
            unanswered,
            prompts: Vec::new(),
        };
        if let Some(message) = user_message(&std::mem::replace(&mut self.open, answers)) {
            self.sealed.push(&message);
        }
        self.sealed.push(&assistant_message(&content));
    }

    /// Adds a reply that the API paused. Without anything to send back the same request is made
    /// again.
    pub fn push_paused(&mut self, blocks: Vec<Block>) {
        let mut reply = std::mem::take(&mut self.paused);
        reply.extend(blocks);
        // What follows is a reply to what is sent back, so what is not sent now never is.
        self.paused = sendable(&reply, true).into_iter().cloned().collect();
        if !self.paused.is_empty() {
            self.begin_with_user();
        }
    }

    /// A reply follows on a user message, even where a damaged journal has none.
    fn begin_with_user(&mut self) {
        if self.open.calls.is_empty() && self.open.prompts.is_empty() {
            self.open.prompts.push(LOST.to_owned());
        }
    }

    /// Adds the result of a call of the last reply.
    pub fn push_result(&mut self, id: &str, result: &str, is_error: bool) {
        let mut calls = self.open.calls.iter_mut();
        if let Some(call) = calls.find(|call| call.id == id && call.result.is_none()) {
            call.result = Some((result.to_owned(), is_error));
        }
    }

    /// Says why the calls of the last reply that have no result will get none.
    pub fn leave_unanswered(&mut self, reason: Unanswered) {
        self.open.unanswered = reason;
    }

    /// Calls of the last reply that have no result by now get none.
    pub fn settle(&mut self) {
        let reason = self.open.unanswered.text();
        for call in &mut self.open.calls {
            call.result.get_or_insert_with(|| (reason.to_owned(), true));
        }
    }

    /// The API refused the last request: what was new in it is left out from now on, or every
    /// later request would be refused for it too.
    pub fn leave_out_refused(&mut self) {
        if !self.paused.is_empty() {
            self.paused.clear();
            return; // The API took the message before it: it replied to it.
        }
        self.open.prompts.clear();
        for call in &mut self.open.calls {
            let note = "not available: the API refused the request with this result";
            call.result = Some((note.to_owned(), true));
        }
    }

    /// An id for a call: the given one if the API takes it and it is new, else one made from it.
    #[must_use]
    pub fn unique_id(&self, given: &str) -> String {
        let base = as_name(given, "call");
        let Some(next) = self.ids.get(&base) else {
            return base;
        };
        let numbered = (*next..).map(|number| format!("{base}_{number}"));
        let mut free = numbered.filter(|id| !self.ids.contains_key(id));
        free.next().unwrap_or(base)
    }

    /// Notes that a call has that id.
    pub fn note_id(&mut self, id: &str) {
        self.ids.entry(id.to_owned()).or_insert(2);
        // The next one that is made from the same id need not try the numbers before.
        if let Some((base, number)) = id.rsplit_once('_')
            && let Ok(number) = number.parse::<u64>()
            && let Some(next) = self.ids.get_mut(base)
        {
            *next = number.saturating_add(1).max(*next);
        }
    }

    /// The calls of the last reply that have no result and were not skipped.
    #[must_use]
    pub fn dangling(&self) -> Vec<String> {
        if self.open.unanswered != Unanswered::Interrupted {
            return Vec::new();
        }
        let calls = self.open.calls.iter();
        let dangling = calls.filter(|call| call.result.is_none());
        dangling.map(|call| call.id.clone()).collect()
    }

    /// The messages of the next request, serialized, with commas between them.
    #[must_use]
    pub fn messages(&self) -> Vec<Bytes> {
        let mut messages = self.sealed.pieces();
        if let Some(message) = user_message(&self.open) {
            push_message(&mut messages, &message);
        }
        if !self.paused.is_empty() {
            let paused: Vec<&Block> = self.paused.iter().collect();
            push_message(&mut messages, &assistant_message(&paused));
        }
        messages
    }
}

fn push_message(messages: &mut Vec<Bytes>, message: &Value) {
    let comma = if messages.is_empty() { "" } else { "," };
    messages.push(format!("{comma}{message}").into());
}

fn calls_of(reply: &[Block]) -> Vec<Call> {
    let call = |block: &Block| {
        let BlockKind::ToolCall { id, .. } = block.kind() else {
            return None;
        };
        Some(Call {
            id: id.to_owned(),
            result: None,
        })
    };
    reply.iter().filter_map(call).collect()
}

fn user_message(open: &Open) -> Option<Value> {
    let result = |call: &Call| {
        let (text, is_error) = match &call.result {
            Some((text, is_error)) => (text.as_str(), *is_error),
            None => (open.unanswered.text(), true),
        };
        json!({
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": text,
            "is_error": is_error,
        })
    };
    let prompt = |text: &String| json!({"type": "text", "text": text});
    let results = open.calls.iter().map(result);
    let content: Vec<Value> = results.chain(open.prompts.iter().map(prompt)).collect();
    (!content.is_empty()).then(|| json!({"role": "user", "content": content}))
}

fn assistant_message(content: &[&Block]) -> Value {
    let content: Vec<Value> = content.iter().map(|block| wire_block(block)).collect();
    json!({"role": "assistant", "content": content})
}

/// The blocks of a reply that the API takes back, in an order that it takes. `paused`: the reply
/// goes on, so a call of the API's own tools may still wait for its result.
fn sendable(reply: &[Block], paused: bool) -> Vec<&Block> {
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
        .filter(|block| match block.kind() {
            BlockKind::Text(text) => !text.trim().is_empty(),
            BlockKind::Thinking { signature, .. } => signature.is_some(),
            BlockKind::RedactedThinking | BlockKind::ToolCall { .. } => true,
            BlockKind::ServerToolCall { id } => paused || answered.contains(id),
            BlockKind::ServerToolResult { call_id } => called.contains(call_id),
            BlockKind::Unknown => false,
        })
        .collect();
    // The API refuses text after a tool call, so all calls go to the end then.
    let is_call = |block: &Block| matches!(block.kind(), BlockKind::ToolCall { .. });
    let is_text = |block: &&Block| matches!(block.kind(), BlockKind::Text(_));
    if let Some(first_call) = kept.iter().position(|block| is_call(block))
        && kept[first_call..].iter().any(is_text)
    {
        kept.sort_by_key(|block| is_call(block));
    }
    let is_thinking = |block: &&Block| {
        matches!(
            block.kind(),
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking
        )
    };
    while kept.last().is_some_and(is_thinking) {
        kept.pop();
    }
    kept
}

/// A block as it was received, but for what the API would refuse to see again: fields that it
/// does not know, and a tool name that no tool can have. The model made such a name up, and its
/// call was answered with an error.
fn wire_block(block: &Block) -> Value {
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
fn as_name(text: &str, if_empty: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let text = if text.is_empty() { if_empty } else { text };
    text.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
