//! Helpers that the tests of journals share.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use super::{
    AppendError, Durability, Header, Journal, JournalEntry, NewRecord, PageLimit, Position, Record,
};
use crate::ids::{ConversationId, RunId};

/// Waits on this thread.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

pub(super) fn id(name: &str) -> ConversationId {
    ConversationId::new(name)
}

pub(super) fn header(name: &str) -> Header {
    Header::new(id(name), 1_763_770_000_000)
}

/// A prompt as a record.
pub(super) fn prompt(content: &str) -> NewRecord {
    NewRecord {
        at: 1_763_770_000_123,
        record: Record::Prompt {
            run: RunId(1),
            content: content.to_owned(),
            key: None,
            by: None,
            attachments: Vec::new(),
            item: None,
            queue: None,
        },
    }
}

/// The text of a prompt.
pub(super) fn text(entry: &JournalEntry) -> Option<&str> {
    if let Record::Prompt { content, .. } = &entry.record {
        return Some(content);
    }
    None
}

pub(super) const ALL: PageLimit = PageLimit {
    records: usize::MAX,
    bytes: usize::MAX,
};

/// Everything in a journal.
pub(super) fn everything(journal: &Arc<dyn Journal>) -> Vec<JournalEntry> {
    let page = wait(journal.read(0, ALL)).unwrap();
    assert!(page.at_end);
    page.entries
}

/// The prompts of a journal.
pub(super) fn prompts(journal: &Arc<dyn Journal>) -> Vec<String> {
    let entries = everything(journal);
    entries.iter().filter_map(text).map(str::to_owned).collect()
}

/// Appends one prompt at the end.
pub(super) fn say(
    journal: &Arc<dyn Journal>,
    content: &str,
    durability: Durability,
) -> Result<Position, AppendError> {
    let end = journal.end().seq;
    wait(journal.append(end, vec![prompt(content)], durability)).map(|positions| positions[0])
}
