//! The records of a journal that is made, as they come: a few at a time, to their end.

use bytes::Bytes;
use derive_more::{Display, Error};
use tokio::sync::mpsc;

/// Maximum number of parts that wait for the journal that is made.
const WAITING: usize = 1;

/// The records of a journal that is made, as JSON objects like [`super::JournalEntry::json`].
pub struct JournalEntries(mpsc::Receiver<Vec<Bytes>>);

/// Gives records to a journal that is made. It is made when they are said to have ended, and not if
/// this is dropped before.
pub struct EntriesSender(mpsc::Sender<Vec<Bytes>>);

/// The records ended before they were said to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
#[display("its records broke off")]
pub struct BrokenOff;

impl JournalEntries {
    /// Records that are sent from elsewhere.
    #[must_use]
    pub fn channel() -> (EntriesSender, Self) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (EntriesSender(sender), Self(receiver))
    }

    /// Records that are there.
    #[must_use]
    pub fn from_lines(entries: Vec<Bytes>) -> Self {
        let (sender, receiver) = mpsc::channel(2);
        for part in [entries, Vec::new()] {
            // There is room for both, and none that is lost would go unnoticed.
            drop(sender.try_send(part));
        }
        Self(receiver)
    }

    /// The next ones; empty after the last.
    ///
    /// # Errors
    /// If the sender was dropped before the end.
    pub async fn next(&mut self) -> Result<Vec<Bytes>, BrokenOff> {
        self.0.recv().await.ok_or(BrokenOff)
    }

    /// The same on a thread that may block.
    ///
    /// # Errors
    /// If the sender was dropped before the end.
    pub fn wait(&mut self) -> Result<Vec<Bytes>, BrokenOff> {
        self.0.blocking_recv().ok_or(BrokenOff)
    }
}

impl EntriesSender {
    /// Gives some records; waits as long as the ones before have not been taken. Tells whether the
    /// journal is still being made.
    pub async fn send(&self, entries: Vec<Bytes>) -> bool {
        entries.is_empty() || self.0.send(entries).await.is_ok()
    }

    /// Ends the entries. Returns true if the journal is still being made.
    pub async fn end(self) -> bool {
        self.0.send(Vec::new()).await.is_ok()
    }
}
