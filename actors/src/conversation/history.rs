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

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::reply::{Block, BlockKind};

/// Why a call of the last reply has no result of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// An earlier call of the same reply failed.
    EarlierToolFailed,
    /// An operator cancelled the run.
    Cancelled,
    /// The reply broke off.
    Interrupted,
    /// The API declined to answer.
    Refused,
}

impl Unanswered {
    fn text(self) -> &'static str {
        match self {
            Self::EarlierToolFailed => "not executed: an earlier tool failed",
            Self::Cancelled => "not executed: cancelled by user",
            Self::Interrupted => "not executed: the reply was interrupted",
            Self::Refused => "not executed: the request was refused",
        }
    }
}

/// The past of a conversation. Append-only: nothing that was said is changed or removed; what
/// the API refused is left out of later requests.
#[derive(Debug, Default)]
pub struct History {
    /// Messages that no longer change, serialized, each with a comma in front but the first.
    sealed: Vec<Bytes>,
    /// The message that the next request ends with.
    open: Open,
    /// All ids of tool calls so far.
    ids: HashSet<String>,
}

#[derive(Debug)]
enum Open {
    /// A user message: the results for the last reply's calls, then prompts.
    User {
        calls: Vec<Call>,
        unanswered: Unanswered,
        prompts: Vec<String>,
    },
    /// A reply that the API paused; it goes on from there.
    Paused(Vec<Block>),
}

impl Default for Open {
    fn default() -> Self {
        Self::User {
            calls: Vec::new(),
            unanswered: Unanswered::Interrupted,
            prompts: Vec::new(),
        }
    }
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
        self.seal_paused();
        if let Open::User { prompts, .. } = &mut self.open {
            prompts.push(content.to_owned());
        }
    }

    /// Adds a reply. `unanswered` is what those of its calls are answered with that get no
    /// result.
    pub fn push_reply(&mut self, blocks: Vec<Block>, unanswered: Unanswered) {
        let mut reply = self.take_paused();
        reply.extend(blocks);
        self.seal_reply(&reply, unanswered);
    }

    /// Adds a reply that the API paused.
    pub fn push_paused(&mut self, blocks: Vec<Block>) {
        let mut reply = self.take_paused();
        reply.extend(blocks);
        if sendable(&reply, true).is_empty() {
            return; // Nothing to send back, so the same request is made again.
        }
        self.seal_user();
        self.open = Open::Paused(reply);
    }

    /// Adds the result of a call of the last reply.
    pub fn push_result(&mut self, id: &str, result: &str, is_error: bool) {
        if let Open::User { calls, .. } = &mut self.open
            && let Some(call) = calls.iter_mut().find(|call| call.id == id)
        {
            call.result = Some((result.to_owned(), is_error));
        }
    }

    /// Says why the calls of the last reply that have no result will get none.
    pub fn leave_unanswered(&mut self, reason: Unanswered) {
        if let Open::User { unanswered, .. } = &mut self.open {
            *unanswered = reason;
        }
    }

    /// The API refused the last request: what was new in it is left out from now on, or every
    /// later request would be refused for it too.
    pub fn leave_out_refused(&mut self) {
        self.seal_paused();
        if let Open::User { calls, prompts, .. } = &mut self.open {
            prompts.clear();
            for call in calls {
                let note = "not available: the API refused the request with this result";
                call.result = Some((note.to_owned(), true));
            }
        }
    }

    /// An id for a call: the given one if the API takes it and it is new, else one made from it.
    pub fn unique_id(&mut self, given: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let mut base: String = given
            .chars()
            .map(|c| if allowed(c) { c } else { '_' })
            .collect();
        if base.is_empty() {
            "call".clone_into(&mut base);
        }
        let mut id = base.clone();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}_{number}");
            number += 1;
        }
        id
    }

    /// The messages of the next request, serialized, with commas between them.
    #[must_use]
    pub fn messages(&self) -> Vec<Bytes> {
        let mut messages = self.sealed.clone();
        messages.extend(self.open_message().map(|message| self.serialized(&message)));
        messages
    }

    fn open_message(&self) -> Option<Value> {
        match &self.open {
            Open::User {
                calls,
                unanswered,
                prompts,
            } => user_message(calls, *unanswered, prompts),
            Open::Paused(blocks) => Some(assistant_message(&sendable(blocks, true))),
        }
    }

    fn seal(&mut self, message: &Value) {
        let message = self.serialized(message);
        self.sealed.push(message);
    }

    fn serialized(&self, message: &Value) -> Bytes {
        let comma = if self.sealed.is_empty() { "" } else { "," };
        format!("{comma}{message}").into()
    }

    fn seal_user(&mut self) {
        if let Some(message) = self.open_message() {
            self.seal(&message);
        }
        self.open = Open::default();
    }

    /// Ends a reply that was paused and will not go on.
    fn seal_paused(&mut self) {
        let reply = self.take_paused();
        if !reply.is_empty() {
            self.seal_reply(&reply, Unanswered::Interrupted);
        }
    }

    /// Seals the user message that a reply answers, and the reply. A reply with nothing to send
    /// back leaves the user message open, so that roles alternate.
    fn seal_reply(&mut self, reply: &[Block], unanswered: Unanswered) {
        let content = sendable(reply, false);
        if content.is_empty() {
            return;
        }
        self.seal_user();
        self.seal(&assistant_message(&content));
        self.open = Open::User {
            calls: calls_of(reply),
            unanswered,
            prompts: Vec::new(),
        };
    }

    fn take_paused(&mut self) -> Vec<Block> {
        match &mut self.open {
            Open::User { .. } => Vec::new(),
            Open::Paused(blocks) => {
                let blocks = std::mem::take(blocks);
                self.open = Open::default();
                blocks
            }
        }
    }
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

fn user_message(calls: &[Call], unanswered: Unanswered, prompts: &[String]) -> Option<Value> {
    let result = |call: &Call| {
        let (text, is_error) = match &call.result {
            Some((text, is_error)) => (text.as_str(), *is_error),
            None => (unanswered.text(), true),
        };
        json!({
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": text,
            "is_error": is_error,
        })
    };
    let prompt = |text: &String| json!({"type": "text", "text": text});
    let content: Vec<Value> = calls
        .iter()
        .map(result)
        .chain(prompts.iter().map(prompt))
        .collect();
    (!content.is_empty()).then(|| json!({"role": "user", "content": content}))
}

fn assistant_message(content: &[Value]) -> Value {
    json!({"role": "assistant", "content": content})
}

/// The blocks of a reply that the API takes back, in an order that it takes. `paused`: the reply
/// goes on, so a call of the API's own tools may still wait for its result.
fn sendable(reply: &[Block], paused: bool) -> Vec<Value> {
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
    kept.into_iter().map(wire_block).collect()
}

/// A block as it was received, but for a tool name that no tool can have: the model made it up,
/// its call was answered with an error, and the API would refuse to see it again.
fn wire_block(block: &Block) -> Value {
    let mut json = block.json().clone();
    if let BlockKind::ToolCall { name, .. } = block.kind() {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let mut clean: String = name
            .chars()
            .take(64)
            .map(|c| if allowed(c) { c } else { '_' })
            .collect();
        if clean.is_empty() {
            "unknown".clone_into(&mut clean);
        }
        if clean != name {
            json.insert("name".to_owned(), clean.into());
        }
    }
    Value::Object(json)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
