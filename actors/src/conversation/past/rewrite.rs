//! Makes a compaction permanent: the journal is replaced by one that begins with the summary, and
//! the old one is archived.
//!
//! The new journal has a `checkpoint` with what the records before the first kept message add up
//! to, and behind it the records from there on as they were, the `compacted` one among them. That
//! one does again what it did: so what the model is sent next is the same to the byte, whichever of
//! both journals is read.
//!
//! The actor's part: it is idle and its outbox is empty; it has appended the `compacted` record, or
//! an earlier one stands. It calls [`rewrite`] with the number of its last record, and takes no
//! order until that is answered. Then, if something was rewritten, it
//!
//! 1. takes [`Rewritten::position`] as its position, and its number as that of the last record
//!    handed to the journal,
//! 2. publishes `Publish::Rewritten` with it, which ends all streams, so that clients come back and
//!    are sent a `reset`,
//! 3. drops its machine, so that the next order reads the new journal: the old machine would continue
//!    as well, but this is what every later start does,
//! 4. answers with [`Rewritten::archive`].
//!
//! After an error the journal is the old one, and nothing is to be done but to answer.
//!
//! Invariant: a journal is only replaced by one that adds up to the same.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::history::History;
use super::ledger::Ledger;
use super::read_back::each_entry;
use crate::budget::RunBudget;
use crate::ids::RunId;
use crate::journal::{
    AppendError, Epoch, Header, Journal, JournalEntry, NewRecord, Position, Record, Status,
};
use crate::model::{Caching, RequestPiece};
use crate::storage::{StorageError, aside};

/// A journal that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::conversation) struct Rewritten {
    /// Right behind the last record of the new one.
    pub(in crate::conversation) position: Position,
    /// Where the old one is kept.
    pub(in crate::conversation) archive: String,
}

/// Replaces a journal, whose last record is `end`, by one that begins with the summary of its last
/// compaction; nothing is done if there was none since the journal began, or if it keeps all.
///
/// # Errors
/// See [`AppendError`]; the journal is unchanged.
pub(in crate::conversation) async fn rewrite(
    journal: Arc<dyn Journal>,
    end: u64,
    by: Option<String>,
    now_millis: u64,
) -> Result<Option<Rewritten>, AppendError> {
    let path = journal.header().conversation.to_string();
    let read = Arc::clone(&journal);
    let planning = aside(path, async move { plan(&*read, end, by, now_millis).await });
    let Some(entries) = planning.await.map_err(AppendError::Storage)? else {
        return Ok(None);
    };
    let header = Header {
        epoch: Epoch::random(),
        ..journal.header()
    };
    let replaced = journal.replace(end, header, entries).await?;
    Ok(Some(Rewritten {
        position: replaced.position,
        archive: replaced.archive,
    }))
}

/// The records of the new journal; none if it stays unchanged.
async fn plan(
    journal: &dyn Journal,
    end: u64,
    by: Option<String>,
    now: u64,
) -> Result<Option<Vec<Bytes>>, StorageError> {
    let mut old = Ledger::default();
    let mut starts = Starts::default();
    let mut last = 0;
    each_entry(journal, 0, end, |entry| {
        last = entry.position.seq;
        old.apply(&entry.record);
        starts.note(&entry, old.history());
    })
    .await?;
    if last != end {
        // What cannot be read back now must not be replaced.
        return Err(StorageError {
            doing: "rewrite".to_owned(),
            path: journal.header().conversation.to_string(),
            reason: format!("only {last} of its {end} records can be read"),
        });
    }
    let Some(cut) = starts.cut else {
        return Ok(None);
    };

    let mut before = Ledger::default();
    // Another checkpoint in place of the first would be the same journal.
    let mut is_shorter = false;
    let mut new: Option<Result<Building, StorageError>> = None;
    each_entry(journal, 0, end, |entry| {
        if entry.position.seq < cut.first {
            before.apply(&entry.record);
            is_shorter |= !matches!(
                entry.record,
                Record::Checkpoint { .. } | Record::RunStarted { .. } | Record::Status { .. }
            );
            return;
        }
        let building = new.get_or_insert_with(|| Building::begin(&before, &cut.summary, &by, now));
        if let Ok(building) = building {
            building.add(&entry);
        }
    })
    .await?;
    let Some(new) = new.filter(|_| is_shorter).transpose()? else {
        return Ok(None);
    };
    if new.ledger.is_same(&old) {
        Ok(Some(new.entries))
    } else {
        Err(StorageError {
            doing: "rewrite".to_owned(),
            path: journal.header().conversation.to_string(),
            reason: "it would not add up to the same".to_owned(),
        })
    }
}

/// The part of the new journal that is built.
struct Building {
    entries: Vec<Bytes>,
    /// Their sum.
    ledger: Ledger,
}

impl Building {
    /// The checkpoint, and the run that is going at that place.
    fn begin(
        before: &Ledger,
        summary: &str,
        by: &Option<String>,
        at: u64,
    ) -> Result<Self, StorageError> {
        let mut keys: Vec<_> = before.run_keys().collect();
        keys.sort_unstable_by_key(|(key, run)| (run.0, *key));
        let mut item_keys: Vec<_> = before.item_keys().collect();
        item_keys.sort_unstable_by_key(|(key, item)| (item.0, *key));
        let checkpoint = Record::Checkpoint {
            summary: summary.to_owned(),
            totals: before.totals().clone(),
            keys: named(keys),
            item_keys: named(item_keys),
            digests: before.digests(),
            tools: before.tools().map(|tools| tools.to_vec()),
            by: by.clone(),
        };
        let run = before.run().map(|run| Record::RunStarted {
            run,
            by: None,
            rules: before.approvals().to_run(),
            spending_limit_micro_usd: before.budget().map(RunBudget::limit),
            schema: before.schema().map(|schema| Box::new(Value::clone(schema))),
        });
        let Status { activity, message } = before.status().clone();
        let is_told = *before.status() != Status::default();
        let status = is_told.then_some(Record::Status { activity, message });
        let mut building = Self {
            entries: Vec::new(),
            ledger: Ledger::default(),
        };
        for record in std::iter::once(checkpoint).chain(run).chain(status) {
            building.ledger.apply(&record);
            building.entries.push(NewRecord { at, record }.to_json()?);
        }
        Ok(building)
    }

    fn add(&mut self, entry: &JournalEntry) {
        self.ledger.apply(&entry.record);
        self.entries.push(entry.json.clone());
    }
}

fn named<T>(keys: Vec<(&str, T)>) -> Vec<(String, T)> {
    let owned = |(key, named): (&str, T)| (key.to_owned(), named);
    keys.into_iter().map(owned).collect()
}

/// Where a journal is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
struct JournalCut {
    /// The first record that is kept.
    first: u64,
    /// The summary of those before.
    summary: String,
}

/// With which record each message of the next request begins.
#[derive(Debug, Default)]
struct Starts {
    /// The records; 1 for the messages of a summary.
    messages: Vec<u64>,
    /// The first prompt that no reply followed.
    prompt: Option<u64>,
    /// The first turn of the reply that is under way.
    turn: Option<u64>,
    /// True if that reply was paused and continues.
    paused: bool,
    /// The beginning of a run, if that was the record before.
    run: Option<(u64, RunId)>,
    /// The messages and the prompt that the API refused, as long as they can come back.
    left_out: Option<(Vec<u64>, Option<u64>)>,
    /// The beginning of the compaction that is under way.
    compaction: Option<u64>,
    /// The cut of the last compaction.
    cut: Option<JournalCut>,
}

impl Starts {
    /// Notes a record that was added, and gives the result.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: the ledger owns the records, and tells by its history what each did"
    )]
    fn note(&mut self, entry: &JournalEntry, history: &History) {
        let count = usize::try_from(history.len()).unwrap_or(usize::MAX);
        if !history.has_left_out() && !matches!(entry.record, Record::ReplyLeftOut { .. }) {
            self.left_out = None;
        }
        let seq = entry.position.seq;
        let run_before = self.run.take();
        match &entry.record {
            Record::RunStarted { run, .. } => self.run = Some((seq, *run)),
            Record::Prompt { run, .. } => {
                let start = match run_before {
                    Some((start, started)) if started == *run => start,
                    Some(_) | None => seq,
                };
                // A reply that was paused or broke off ends with it.
                self.replied(count.saturating_sub(1), seq);
                self.prompt.get_or_insert(start);
                self.resize(count, start);
            }
            Record::Compacted { summary, kept, .. } => {
                self.compacted(seq, summary, *kept, count);
            }
            Record::Checkpoint { .. } => self.resize(count, seq),
            Record::TurnStarted { .. } => {
                // A reply whose end is missing.
                self.replied(count, seq);
                if !self.paused {
                    self.turn = Some(seq);
                }
            }
            Record::ReplyEnded { paused: true, .. } => {
                self.paused = true;
            }
            Record::ReplyFailed { refused: true, .. }
            | Record::ReplyEnded { refused: true, .. } => {
                self.replied(count, seq);
                if history.has_left_out() {
                    let gone = self.messages.split_off(count.min(self.messages.len()));
                    self.left_out = Some((gone, self.prompt.take()));
                } else {
                    // Only what a pause had begun was left out.
                    self.messages.truncate(count);
                }
            }
            Record::ReplyLeftOut { .. } => {
                if let Some((gone, prompt)) = self.left_out.take() {
                    self.messages.extend(gone);
                    self.prompt = prompt;
                    self.replied(count, seq);
                } else {
                    self.replied(count, seq);
                    if count < self.messages.len() {
                        // What the reply was to may go on.
                        self.messages.truncate(count);
                        self.prompt = self.messages.last().copied();
                    }
                }
            }
            Record::CompactionStarted { .. } => self.compaction = Some(seq),
            Record::CompactionFailed { .. } => self.compaction = None,
            // They come while a reply is under way, and bring no message.
            Record::SpendingReserved { .. } | Record::SpendingReleased { .. } => {}
            Record::Block { .. } => {
                self.turn.get_or_insert(seq);
            }
            // The count of messages says what any other record did: a message that came with it is of
            // the reply that was under way, and most bring none.
            _ => self.replied(count, seq),
        }
    }

    /// The messages that are new, but for prompts, are of the reply that was under way.
    fn replied(&mut self, count: usize, seq: u64) {
        if count > self.messages.len() {
            let start = self.turn.take().unwrap_or(seq);
            self.resize(count, start);
            self.prompt = None;
            self.paused = false;
        }
    }

    fn resize(&mut self, count: usize, start: u64) {
        // What a reply left out takes with it is at the end, too.
        self.messages.resize(count, start);
    }

    fn compacted(&mut self, seq: u64, summary: &str, kept: u64, count: usize) {
        let kept = usize::try_from(kept).unwrap_or(usize::MAX);
        let from = self.messages.len().saturating_sub(kept);
        let tail = self.messages.split_off(from);
        // What comes with the summary though no message is kept: the prompts behind it.
        let loose = self.prompt.or(self.compaction.take()).unwrap_or(seq);
        self.cut = Some(JournalCut {
            first: tail.first().copied().unwrap_or(loose),
            summary: summary.to_owned(),
        });
        self.messages = vec![1; count.saturating_sub(tail.len())];
        self.messages.extend(tail);
        self.messages.truncate(count);
        self.compaction = None;
    }
}

impl Ledger {
    /// True if a conversation continues from both in the same way.
    fn is_same(&self, other: &Self) -> bool {
        let keys = |ledger: &Self| {
            let mut runs = named(ledger.run_keys().collect());
            let mut items = named(ledger.item_keys().collect());
            runs.sort_unstable();
            items.sort_unstable();
            (runs, items)
        };
        self.totals() == other.totals()
            && self.status() == other.status()
            && (self.run(), self.turn()) == (other.run(), other.turn())
            && self.has_failed() == other.has_failed()
            && keys(self) == keys(other)
            && self.digests() == other.digests()
            && pieces(self) == pieces(other)
    }
}

/// The content of the next request, however it is cut into pieces.
fn pieces(ledger: &Ledger) -> Vec<RequestPiece> {
    let mut joined: Vec<RequestPiece> = Vec::new();
    let mut json = Vec::new();
    for piece in ledger.history().pieces(Caching::Off) {
        match piece {
            RequestPiece::Json(more) => json.extend_from_slice(&more),
            RequestPiece::Attachments(_) => {
                joined.push(RequestPiece::Json(std::mem::take(&mut json).into()));
                joined.push(piece);
            }
        }
    }
    joined.push(RequestPiece::Json(json.into()));
    joined
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
