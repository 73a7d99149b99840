//! Reading a conversation back from its journal: all of it to continue, or its end to show it.

use std::sync::Arc;

use serde_json::Value;

use super::ledger::Ledger;
use crate::conversation::messages::Overview;
use crate::journal::{Journal, JournalEntry, JournalPage, PageLimit, Position, Record};
use crate::storage::{StorageError, StorageFuture, aside};

/// How much is read at once to continue.
const PAGE: PageLimit = PageLimit {
    records: 8192,
    bytes: 1024 * 1024,
};
/// How many records at the end are looked at first: a run that has ended ends with one that tells all.
const FIRST_LOOK: u64 = 4;

/// A look at the end of a journal.
#[derive(Debug)]
pub struct Glance {
    /// The end.
    pub position: Position,
    /// The sums of the whole journal, and the state that it ends in. The history in it is that of
    /// the last run only.
    pub ledger: Ledger,
    /// When the last record was written, in milliseconds since the Unix epoch; 0 if there is none.
    pub active_at: u64,
}

impl From<Glance> for Overview {
    fn from(glance: Glance) -> Self {
        Self {
            position: glance.position,
            status: glance.ledger.resting_status(),
            run: glance.ledger.run(),
            is_running: false,
            approval: glance.ledger.open_approval(),
            rules: glance.ledger.rules(),
            unfinished: glance.ledger.unfinished().to_vec(),
            totals: glance.ledger.totals().clone(),
            active_at: glance.active_at,
        }
    }
}

/// Looks at the end of a journal: as far back as the end of the last run, which tells the sums of
/// everything before it, with the settings and what waited then; what changed since is added.
///
/// # Errors
/// When the storage cannot be read.
pub async fn glance(journal: &dyn Journal) -> Result<Glance, StorageError> {
    let position = journal.end();
    let (ledger, active_at) = glance_at(journal, position.seq).await?;
    Ok(Glance {
        position,
        ledger,
        active_at,
    })
}

/// The same at record `end`; with the ledger it tells when that record was written.
///
/// # Errors
/// When the storage cannot be read.
pub(crate) async fn glance_at(
    journal: &dyn Journal,
    end: u64,
) -> Result<(Ledger, u64), StorageError> {
    let mut look = FIRST_LOOK;
    loop {
        let from = end.saturating_sub(look);
        let mut ledger = Ledger::default();
        let mut is_whole = from == 0;
        let mut active_at = 0;
        let mut ended_block = from;
        each_entry(journal, from, end, |entry| {
            let is_sum = matches!(
                entry.record,
                Record::RunEnded { .. } | Record::Checkpoint { .. }
            );
            if is_sum && !is_whole {
                ledger = Ledger::default();
                is_whole = true;
            }
            ledger.apply(&entry.record);
            active_at = entry.at;
            if entry.record.ends_block() {
                ended_block = entry.position.seq;
            }
        })
        .await?;
        if is_whole {
            if end == journal.end().seq {
                leave_unfinished(journal, &mut ledger, ended_block).await?;
            }
            return Ok((ledger, active_at));
        }
        look = look.saturating_mul(8);
    }
}

/// Adds a whole journal up, on a thread that may block; tells the last record that was added.
///
/// # Errors
/// When the storage cannot be read.
pub async fn revive(journal: Arc<dyn Journal>) -> Result<(Ledger, u64), StorageError> {
    let path = journal.header().conversation.to_string();
    let reviving = async move {
        let mut ledger = Ledger::default();
        let end = journal.end().seq;
        let mut ended_block = 0;
        each_entry(&*journal, 0, end, |entry| {
            // It may be as large as the record.
            drop(entry.json);
            ledger.apply(&entry.record);
            if entry.record.ends_block() {
                ended_block = entry.position.seq;
            }
        })
        .await?;
        leave_unfinished(&*journal, &mut ledger, ended_block).await?;
        Ok((ledger, end))
    };
    aside(path, reviving).await
}

/// Adds what was kept of a reply that a service left open when it died. Record `ended_block` is the
/// last that ended a block.
///
/// # Errors
/// When the storage cannot be read.
async fn leave_unfinished(
    journal: &dyn Journal,
    ledger: &mut Ledger,
    ended_block: u64,
) -> Result<(), StorageError> {
    if ledger.is_replying() {
        ledger.leave_unfinished(journal.kept(ended_block).await?);
    }
    Ok(())
}

/// All that was said, oldest first, as messages in the API's format: also what was summarized, as
/// far as the journal still has it.
///
/// # Errors
/// When the storage cannot be read.
pub async fn transcript(journal: Arc<dyn Journal>) -> Result<Vec<Value>, StorageError> {
    let path = journal.header().conversation.to_string();
    let reading = async move {
        loop {
            let mut ledger = Ledger::keeping_all();
            let end = journal.end();
            each_entry(&*journal, 0, end.seq, |entry| ledger.apply(&entry.record)).await?;
            // Else it was replaced meanwhile, and half of either was read.
            if journal.end().epoch == end.epoch {
                return Ok(ledger.history().values());
            }
        }
    };
    aside(path, reading).await
}

/// Reads the records behind `after` up to `end`.
///
/// # Errors
/// When the storage cannot be read.
pub(crate) async fn each_entry(
    journal: &dyn Journal,
    after: u64,
    end: u64,
    mut take: impl FnMut(JournalEntry),
) -> Result<(), StorageError> {
    let mut reading = Reading::new(journal, after, end);
    while let Some(entries) = reading.next().await? {
        entries.into_iter().for_each(&mut take);
    }
    Ok(())
}

/// Reads records, a few at a time: the next ones while those before them are used.
pub(crate) struct Reading<'a> {
    journal: &'a dyn Journal,
    end: u64,
    next: Option<StorageFuture<Result<JournalPage, StorageError>>>,
}

impl<'a> Reading<'a> {
    /// Those behind `after` up to `end`.
    pub(crate) fn new(journal: &'a dyn Journal, after: u64, end: u64) -> Self {
        Self {
            journal,
            end,
            next: (after < end).then(|| journal.read(after, PAGE)),
        }
    }

    /// The next ones; nothing behind the last.
    ///
    /// # Errors
    /// When the storage cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<JournalEntry>>, StorageError> {
        let Some(next) = self.next.take() else {
            return Ok(None);
        };
        let JournalPage {
            mut entries,
            at_end,
        } = next.await?;
        if let Some(last) = entries.last().filter(|_| !at_end) {
            let after = last.position.seq;
            self.next = (after < self.end).then(|| self.journal.read(after, PAGE));
        }
        entries.retain(|entry| entry.position.seq <= self.end);
        Ok(Some(entries))
    }
}

#[cfg(test)]
#[path = "read_back_tests.rs"]
mod tests;
