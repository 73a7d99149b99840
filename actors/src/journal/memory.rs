//! Journals that end with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use futures_util::future::ready;

use super::line::{self, Seal};
use super::unfinished::{self, KeptPiece};
use super::{
    AppendError, BlockPiece, BrokenOff, Durability, Header, Journal, JournalDamage, JournalEntries,
    JournalEntry, JournalPage, JournalStore, ListedJournal, NewRecord, OpenError, PageLimit,
    Position, Record, Replaced, conversation_name,
};
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::storage::{StorageError, StorageFuture};

/// A journal in memory.
#[derive(Clone)]
pub struct MemoryJournal {
    log: Arc<Mutex<MemoryLog>>,
    clock: Clock,
}

struct MemoryLog {
    header: Header,
    entries: Vec<JournalEntry>,
    kept: Vec<KeptPiece>,
    changed_at: u64,
    state: LogState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogState {
    /// Nothing was appended to it yet.
    New,
    /// It exists.
    Made,
    /// It was removed.
    Removed,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now(clock: Clock) -> u64 {
    let since = clock.now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

impl MemoryLog {
    fn end(&self) -> Position {
        self.entries
            .last()
            .map_or(Position::start(self.header.epoch), |entry| entry.position)
    }

    fn check(&self, expected: u64) -> Result<(), AppendError> {
        let end = self.end().seq;
        if self.state == LogState::Removed {
            return Err(AppendError::Tampered {
                path: path(&self.header.conversation),
                what: "it was moved to the trash".to_owned(),
            });
        }
        if end != expected {
            return Err(AppendError::Conflict { expected, end });
        }
        Ok(())
    }

    fn changed(&mut self, clock: Clock) {
        self.state = LogState::Made;
        self.changed_at = now(clock);
    }
}

fn path(id: &ConversationId) -> String {
    format!("memory:{id}")
}

fn refused(id: &ConversationId, reason: &str) -> StorageError {
    StorageError {
        doing: "write".to_owned(),
        path: path(id),
        reason: reason.to_owned(),
    }
}

/// The entries under the numbers 1, 2, 3 and so on, as if they were read from this journal.
fn renumbered(header: &Header, entries: &[Bytes]) -> Result<Vec<JournalEntry>, StorageError> {
    let seal = Seal::new(header.epoch);
    (1..)
        .zip(entries)
        .map(|(seq, json)| {
            let mut text = Vec::new();
            line::renumber(json, seq, seal, &mut text)
                .and_then(|_| read_back(&text, header))
                .map_err(|reason| refused(&header.conversation, &format!("entry {seq}: {reason}")))
        })
        .collect()
}

fn read_back(text: &[u8], header: &Header) -> Result<JournalEntry, &'static str> {
    let found = line::find(text, Seal::new(header.epoch))?;
    line::decode(text, &found, header.epoch).ok_or("it is not a record")
}

impl MemoryJournal {
    /// An empty journal that is in no store.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self::with_entries(header, Vec::new(), LogState::New, Clock::system())
    }

    fn with_entries(
        header: Header,
        entries: Vec<JournalEntry>,
        state: LogState,
        clock: Clock,
    ) -> Self {
        Self {
            log: Arc::new(Mutex::new(MemoryLog {
                header,
                entries,
                kept: Vec::new(),
                changed_at: now(clock),
                state,
            })),
            clock,
        }
    }

    fn append_now(
        &self,
        expected: u64,
        records: &[NewRecord],
    ) -> Result<Vec<Position>, AppendError> {
        let mut log = lock(&self.log);
        log.check(expected)?;
        let seal = Seal::new(log.header.epoch);
        let mut entries = Vec::with_capacity(records.len());
        for (seq, new) in (expected + 1..).zip(records) {
            if let Record::Unknown { kind, .. } = &new.record {
                return Err(AppendError::UnknownType { kind: kind.clone() });
            }
            let mut text = Vec::new();
            let entry = line::encode(new, seq, seal, &mut text)
                .map_err(|error| error.to_string())
                .and_then(|_| Ok(read_back(&text, &log.header)?))
                .map_err(|reason| {
                    AppendError::Storage(refused(&log.header.conversation, &reason))
                })?;
            entries.push(entry);
        }
        let positions = entries.iter().map(|entry| entry.position).collect();
        log.entries.extend(entries);
        if records.iter().any(|new| new.record.ends_block()) {
            log.kept.clear();
        }
        log.changed(self.clock);
        Ok(positions)
    }

    fn replace_now(
        &self,
        expected: u64,
        header: Header,
        entries: &[Bytes],
    ) -> Result<Replaced, AppendError> {
        let mut log = lock(&self.log);
        log.check(expected)?;
        let entries = renumbered(&header, entries).map_err(AppendError::Storage)?;
        let Header {
            conversation,
            epoch,
            ..
        } = std::mem::replace(&mut log.header, header);
        // Memory keeps no archive, but its name tells one life from another all the same.
        let archive = if log.state == LogState::New {
            String::new()
        } else {
            format!("{}.{epoch}.archive", path(&conversation))
        };
        log.entries = entries;
        log.kept.clear();
        log.changed(self.clock);
        Ok(Replaced {
            position: log.end(),
            archive,
        })
    }

    fn page(&self, after: u64, limit: PageLimit) -> JournalPage {
        let log = lock(&self.log);
        let first = log
            .entries
            .partition_point(|entry| entry.position.seq <= after);
        let mut page = JournalPage::default();
        let mut bytes = 0;
        for entry in &log.entries[first..] {
            bytes += entry.json.len();
            let is_full = page.entries.len() >= limit.records || bytes > limit.bytes;
            if is_full && !page.entries.is_empty() {
                return page;
            }
            page.entries.push(entry.clone());
        }
        page.at_end = true;
        page
    }
}

impl Journal for MemoryJournal {
    fn header(&self) -> Header {
        lock(&self.log).header.clone()
    }

    fn end(&self) -> Position {
        lock(&self.log).end()
    }

    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        _: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        Box::pin(ready(self.append_now(expected, &records)))
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        Box::pin(ready(Ok(self.page(after, limit))))
    }

    fn keep(
        &self,
        handed: u64,
        pieces: Vec<BlockPiece>,
    ) -> StorageFuture<Result<(), StorageError>> {
        let mut log = lock(&self.log);
        let epoch = log.header.epoch;
        let pieces = pieces.into_iter();
        log.kept
            .extend(pieces.map(|piece| KeptPiece::new(epoch, handed, piece)));
        Box::pin(ready(Ok(())))
    }

    fn forget(&self) {
        lock(&self.log).kept.clear();
    }

    fn kept(&self, after: u64) -> StorageFuture<Result<Vec<BlockPiece>, StorageError>> {
        let log = lock(&self.log);
        let blocks = unfinished::join(log.kept.iter().cloned(), log.header.epoch, after);
        Box::pin(ready(Ok(blocks)))
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        Box::pin(ready(Ok(JournalDamage::default())))
    }

    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>> {
        Box::pin(ready(self.replace_now(expected, header, &entries)))
    }
}

/// A store of journals in memory. Clones share it.
#[derive(Clone)]
pub struct MemoryStore {
    journals: Arc<Mutex<BTreeMap<String, MemoryJournal>>>,
    clock: Clock,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Clock::system())
    }
}

impl MemoryStore {
    /// An empty store that takes the time from this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            journals: Arc::default(),
            clock,
        }
    }

    fn find(&self, id: &ConversationId) -> Option<MemoryJournal> {
        let journals = lock(&self.journals);
        let journal = journals.get(id.as_str())?;
        let is_made = lock(&journal.log).state == LogState::Made;
        is_made.then(|| journal.clone())
    }

    fn find_or_new(&self, header: Header) -> Result<MemoryJournal, OpenError> {
        let id = header.conversation.to_string();
        if !conversation_name::is_valid(&id) {
            return Err(OpenError::NotFound { id });
        }
        let mut journals = lock(&self.journals);
        if let Some(journal) = journals.get(&id) {
            // A new journal without a holder was never used.
            let is_held = Arc::strong_count(&journal.log) > 1;
            if is_held || lock(&journal.log).state == LogState::Made {
                return Ok(journal.clone());
            }
        }
        let journal = MemoryJournal::with_entries(header, Vec::new(), LogState::New, self.clock);
        journals.insert(id, journal.clone());
        Ok(journal)
    }

    fn create_now(&self, header: Header, entries: &[Bytes]) -> Result<MemoryJournal, OpenError> {
        let entries = renumbered(&header, entries).map_err(OpenError::Storage)?;
        let journal = self.find_or_new(header.clone())?;
        let mut log = lock(&journal.log);
        // Two clones are this one and the store's; a third one belongs to a caller.
        if log.state != LogState::New || Arc::strong_count(&journal.log) > 2 {
            let id = header.conversation.to_string();
            return Err(OpenError::Exists { id });
        }
        log.header = header;
        log.entries = entries;
        log.changed(self.clock);
        drop(log);
        Ok(journal)
    }

    fn listed(&self, after: Option<&ListedJournal>, limit: usize) -> Vec<ListedJournal> {
        let journals = lock(&self.journals);
        let made = journals.iter().filter_map(|(id, journal)| {
            let log = lock(&journal.log);
            (log.state == LogState::Made).then(|| ListedJournal {
                changed_at: log.changed_at,
                id: id.clone(),
            })
        });
        ListedJournal::page(&ListedJournal::sorted(made.collect()), after, limit)
    }

    fn remove_now(&self, id: &ConversationId) -> Result<String, OpenError> {
        let journal = self.find(id).ok_or_else(|| not_found(id))?;
        lock(&self.journals).remove(id.as_str());
        lock(&journal.log).state = LogState::Removed;
        Ok(path(id))
    }
}

fn not_found(id: &ConversationId) -> OpenError {
    let id = id.to_string();
    OpenError::NotFound { id }
}

fn broken_off(id: &str, error: BrokenOff) -> OpenError {
    OpenError::Storage(StorageError {
        doing: "make".to_owned(),
        path: id.to_owned(),
        reason: error.to_string(),
    })
}

fn shared(journal: MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal)
}

impl JournalStore for MemoryStore {
    fn open(&self, id: &ConversationId) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        let found = self.find(id).ok_or_else(|| not_found(id));
        Box::pin(ready(found.map(shared)))
    }

    fn open_or_new(&self, header: Header) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        Box::pin(ready(self.find_or_new(header).map(shared)))
    }

    fn create_from(
        &self,
        header: Header,
        mut entries: JournalEntries,
    ) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        let store = self.clone();
        Box::pin(async move {
            let mut all = Vec::new();
            loop {
                let broken = |error| broken_off(header.conversation.as_str(), error);
                let part = entries.next().await.map_err(broken)?;
                if part.is_empty() {
                    return store.create_now(header, &all).map(shared);
                }
                all.extend(part);
            }
        })
    }

    fn list(
        &self,
        after: Option<ListedJournal>,
        limit: usize,
    ) -> StorageFuture<Result<Vec<ListedJournal>, StorageError>> {
        Box::pin(ready(Ok(self.listed(after.as_ref(), limit))))
    }

    fn remove(&self, id: &ConversationId) -> StorageFuture<Result<String, OpenError>> {
        Box::pin(ready(self.remove_now(id)))
    }
}
