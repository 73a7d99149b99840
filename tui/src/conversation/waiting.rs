//! The queued messages: the queues that all clients share.
//!
//! Invariant: an item that was said or withdrawn is not shown again, in whatever order the answer to
//! its request and the events come.

use harness_protocol::{Event, Queue, QueueItem};

use super::part::Author;
use super::pending::Pending;

/// A message that waits, in its shown form. All texts are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingMessage {
    /// Names it within its conversation.
    pub(crate) item: u64,
    /// The queue in which it waits.
    pub(crate) queue: Queue,
    /// The text.
    pub(crate) content: String,
    /// Number of files that go with it.
    pub(crate) files: usize,
    /// The author.
    pub(crate) by: Author,
}

/// The queues of a conversation, in the order in which they are said: steering first.
#[derive(Debug, Default)]
pub(super) struct WaitingQueues {
    items: Vec<WaitingMessage>,
    /// The greatest name that has come.
    last: u64,
}

impl WaitingQueues {
    /// The queued messages.
    pub(super) fn items(&self) -> &[WaitingMessage] {
        &self.items
    }

    /// Begins with the queues of a snapshot.
    pub(super) fn restore(&mut self, items: &[QueueItem], pending: &mut Pending) {
        self.items.clear();
        for item in items {
            if let Some(key) = &item.key {
                pending.remove(key);
            }
            self.add(WaitingMessage {
                item: item.item,
                queue: item.queue,
                content: item.content.clone(),
                files: item.attachments.len(),
                by: pending.author(item.key.as_deref(), item.by.as_deref()),
            });
        }
    }

    /// Takes a change of the queues from an event. Returns true if they changed.
    pub(super) fn take(&mut self, event: &Event, pending: &mut Pending) -> bool {
        match event {
            Event::Queued {
                item,
                queue,
                content,
                attachments,
                key,
                by,
                ..
            } => {
                if let Some(key) = key {
                    pending.remove(key);
                }
                self.add(WaitingMessage {
                    item: *item,
                    queue: *queue,
                    content: content.clone(),
                    files: attachments.len(),
                    by: pending.author(key.as_deref(), by.as_deref()),
                })
            }
            Event::User {
                item: Some(item), ..
            } => self.remove(&[*item]),
            Event::Withdrawn { items, .. } => self.remove(items),
            _ => false,
        }
    }

    /// The service let a message of ours wait. Its event may have come, and even its end.
    pub(super) fn accepted(&mut self, item: u64, queue: Queue, content: String, files: usize) {
        if item > self.last {
            self.add(WaitingMessage {
                item,
                queue,
                content,
                files,
                by: Author::You,
            });
        }
    }

    /// Another conversation is opened.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds an item; whether it was not there.
    fn add(&mut self, waits: WaitingMessage) -> bool {
        self.last = self.last.max(waits.item);
        if self.items.iter().any(|known| known.item == waits.item) {
            return false;
        }
        let place = |of: &WaitingMessage| (of.queue == Queue::FollowUp, of.item);
        let at = self
            .items
            .partition_point(|known| place(known) < place(&waits));
        self.items.insert(at, waits);
        true
    }

    fn remove(&mut self, items: &[u64]) -> bool {
        let before = self.items.len();
        self.last = items.iter().copied().fold(self.last, u64::max);
        self.items.retain(|waits| !items.contains(&waits.item));
        self.items.len() < before
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
