//! What the parts of a conversation are called in lines to read.

use harness_protocol::{ConversationState, Queue, QueueItem, Settings};
use serde_json::Value;

use crate::client::visible;

/// How many characters of a message that waits are shown.
const MAX_SHOWN: usize = 200;

/// What a conversation is doing, in a word.
pub(super) fn state_name(state: ConversationState) -> &'static str {
    match state {
        ConversationState::Idle => "idle",
        ConversationState::Running => "running",
        ConversationState::Interrupted => "interrupted",
        ConversationState::Unreadable => "unreadable",
        ConversationState::Unknown => "unknown",
    }
}

/// What a queue is called.
pub(super) fn queue_name(queue: Queue) -> &'static str {
    match queue {
        Queue::Steer => "steering",
        Queue::FollowUp => "follow-up",
    }
}

/// A message that waits, on one line.
pub(super) fn waiting(item: &QueueItem) -> String {
    let by = item.by.as_ref().map_or_else(String::new, |by| {
        format!("({}) ", visible::short(by, MAX_SHOWN))
    });
    let content = visible::short(&item.content, MAX_SHOWN);
    let files = match item.attachments.len() {
        0 => String::new(),
        1 => " [1 file]".to_owned(),
        count => format!(" [{count} files]"),
    };
    let queue = queue_name(item.queue);
    format!("{} {queue:9} {by}{content}{files}", item.item)
}

/// The settings that are set, by name.
pub(super) fn named(settings: &Settings) -> Vec<(String, String)> {
    let Ok(Value::Object(settings)) = serde_json::to_value(settings) else {
        return Vec::new();
    };
    let text = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(items) => {
            let texts = items.iter().map(|item| item.as_str().unwrap_or_default());
            texts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    settings
        .into_iter()
        .map(|(name, value)| (name, text(value)))
        .collect()
}
