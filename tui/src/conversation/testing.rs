//! Conversations for tests.

use std::time::Duration;

use harness_protocol::{
    ActivityState, ConversationSnapshot, ConversationState, ConversationSummary, Event,
    HistoryPage, PastEvent, Settings, TokenUsage,
};
use serde_json::json;

use super::{CallOutcome, ConversationStore, EventApplied, Part, PartKind};

/// The life of the journals of tests.
pub(crate) const EPOCH: &str = "00000000000000aa";

pub(crate) fn event(json: serde_json::Value) -> Event {
    let mut json = json;
    if json.get("timestamp").is_none() {
        json["timestamp"] = json!(1);
    }
    serde_json::from_value(json).unwrap()
}

pub(crate) fn user(content: &str) -> Event {
    event(json!({"type": "user", "content": content, "by": "ana"}))
}

pub(crate) fn text(content: &str) -> Event {
    event(json!({"type": "text", "content": content}))
}

pub(crate) fn reasoning(content: &str) -> Event {
    event(json!({"type": "reasoning", "content": content}))
}

pub(crate) fn call(id: &str) -> Event {
    event(json!({"type": "tool_call", "id": id, "name": "read", "input": {"path": id}}))
}

pub(crate) fn result(id: &str, result: &str) -> Event {
    event(json!({"type": "tool_result", "id": id, "result": result, "isError": false}))
}

pub(crate) fn status(state: &str, message: &str) -> Event {
    event(json!({"type": "status", "state": state, "message": message}))
}

pub(crate) fn run_ended(outcome: &str, message: &str) -> Event {
    let usage = serde_json::to_value(TokenUsage::default()).unwrap();
    event(
        json!({"type": "run_ended", "run_id": 1, "outcome": outcome, "message": message, "usage": usage}),
    )
}

pub(crate) fn delta(index: u64, kind: &str, offset: usize, text: &str) -> Event {
    event(json!({"type": "delta", "index": index, "kind": kind, "offset": offset, "text": text}))
}

pub(crate) fn position(seq: u64) -> String {
    format!("{EPOCH}-{seq}-{seq:08x}")
}

/// The records `first..=last` of these, counted from 1.
pub(crate) fn history(records: &[Event], first: u64, last: u64) -> HistoryPage {
    let events = (first..=last).map(|seq| PastEvent {
        seq,
        id: position(seq),
        event: records[usize::try_from(seq).unwrap() - 1].clone(),
    });
    HistoryPage {
        events: events.collect(),
        before: (first > 1).then_some(first),
        after: None,
    }
}

/// A snapshot behind record `last` with the records from `first` on.
pub(crate) fn snapshot(records: &[Event], first: u64, last: u64) -> ConversationSnapshot {
    ConversationSnapshot {
        approvals: Vec::new(),
        jobs: Vec::new(),
        summary: ConversationSummary {
            workspace: None,
            id: "c".to_owned(),
            title: None,
            state: ConversationState::Running,
            run_id: Some(1),
            prompts: 0,
            turns: 0,
            records: last,
            usage: TokenUsage::default(),
            created_at: 0,
            active_at: 0,
            jobs: 0,
            error: None,
            failure: None,
        },
        state: ActivityState::Thinking,
        message: String::new(),
        settings: Settings::default(),
        queue: vec![],
        forked_from: None,
        attached: 1,
        history: history(records, first, last),
        position: position(last),
        damage: None,
        unfinished: Vec::new(),
        context_files: Vec::new(),
    }
}

/// A conversation that saw all of these come.
pub(crate) fn conversation(records: &[Event]) -> ConversationStore {
    let mut conversation = ConversationStore::new("own".to_owned());
    conversation.restore(&snapshot(&[], 1, 0), Duration::ZERO);
    for (seq, event) in (1..).zip(records) {
        take(&mut conversation, seq, event);
    }
    conversation
}

/// Takes record `seq`.
pub(crate) fn take(conversation: &mut ConversationStore, seq: u64, event: &Event) -> EventApplied {
    conversation.apply(event, Some(&position(seq)), Duration::ZERO)
}

/// Takes what passes.
pub(crate) fn pass(conversation: &mut ConversationStore, event: &Event) -> EventApplied {
    conversation.apply(event, None, Duration::ZERO)
}

/// The shown extent of a part, in a word.
pub(crate) fn shown(part: &Part) -> String {
    match &part.kind {
        PartKind::User {
            content,
            by,
            is_pending,
            ..
        } => format!("{by:?}: {content}{}", if *is_pending { " …" } else { "" }),
        PartKind::Text {
            content,
            is_live,
            is_cut,
        } => {
            let live = if *is_live { " …" } else { "" };
            format!("{content}{live}{}", if *is_cut { " (cut)" } else { "" })
        }
        PartKind::Reasoning {
            content, is_live, ..
        } => {
            format!("({content}){}", if *is_live { " …" } else { "" })
        }
        PartKind::Tool(tool) => {
            let outcome = match &tool.outcome {
                CallOutcome::Ended(result) => format!("= {}", result.text),
                CallOutcome::Skipped { reason } => format!("skipped: {reason}"),
                other => format!("{other:?}"),
            };
            format!("{} {} {outcome}", tool.call_id, tool.input)
        }
        PartKind::Command(ran) => format!("! {} = {}", ran.command, ran.result.text),
        PartKind::RunEnd { facts } => format!("-- {facts}"),
        PartKind::Change { title, diff, .. } => format!("{{{title}}} {diff}"),
        PartKind::Summary { title, content } => format!("[{title}] {content}"),
        PartKind::Note { text, is_error } => {
            format!("{}{text}", if *is_error { "! " } else { "- " })
        }
    }
}

/// The rows, from top to bottom.
pub(crate) fn all(conversation: &ConversationStore) -> Vec<String> {
    conversation.parts().map(shown).collect()
}

/// The ids of all parts.
pub(crate) fn ids(conversation: &ConversationStore) -> Vec<i64> {
    conversation.parts().map(|part| part.id.0).collect()
}
