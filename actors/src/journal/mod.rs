//! Journals: everything that must not be lost, one append-only log a conversation.
//!
//! [`Journal`] and [`JournalStore`] are the actors' interface. Two implementations come with the crate; one on a remote
//! log needs to implement no more than these two traits.

#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod conversation_name;
mod entries;
mod header;
#[cfg(feature = "journal")]
mod header_line;
#[cfg(feature = "journal")]
mod json_lines;
#[cfg_attr(
    not(feature = "journal"),
    expect(dead_code, reason = "journals in files look closer at their lines")
)]
mod line;
mod listed;
mod memory;
mod position;
mod record;
#[cfg(any(test, feature = "testing"))]
mod testing;
mod unfinished;

use std::sync::Arc;

use bytes::Bytes;
use derive_more::{Display, Error};

pub use entries::{BrokenOff, EntriesSender, JournalEntries};
pub use header::{FORMAT_VERSION, ForkedFrom, Header, Workspace};
#[cfg(feature = "journal")]
pub use json_lines::{
    AttachmentsReport, Disk, DiskFile, DiskFolder, Doctor, FileKind, FolderAttachments,
    JournalReport, JournalTrash, JsonLinesStore, OpenMode, Repaired, RestoreError, Stat, StateDisk,
    StateSize, SystemDisk, TrashedJournal,
};
pub use listed::ListedJournal;
pub use memory::{MemoryJournal, MemoryStore};
pub use position::{Epoch, Position, PositionError};
pub use record::{Activity, Durability, ModelTotals, Outcome, Record, Status, Totals, Unanswered};
pub use unfinished::BlockPiece;

use crate::ids::ConversationId;
use crate::storage::{StorageError, StorageFuture};

/// A new record to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// The time of the fact, in milliseconds since the Unix epoch. It is reported, and never decides an order.
    pub at: u64,
    /// The fact.
    pub record: Record,
}

/// A record that was read back.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    /// The position after the record.
    pub position: Position,
    /// The time of the fact, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The fact.
    pub record: Record,
    /// The JSON object that the record was read from, without its checksum; holds the fields
    /// that this version does not know, too.
    pub json: Bytes,
}

/// Consecutive records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalPage {
    /// In the order of the journal. A gap between their numbers is a damaged part of the journal.
    pub entries: Vec<JournalEntry>,
    /// True if no record follows them.
    pub at_end: bool,
}

/// Limit of one read. At least one record is read whatever its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Maximum number of records.
    pub records: usize,
    /// Maximum size, in bytes.
    pub bytes: usize,
}

/// The part of a journal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalDamage {
    /// Number of damaged parts that were set aside.
    pub parts: u64,
    /// Size of those parts, in bytes.
    pub bytes: u64,
    /// The file that has their copies; empty if they were not copied.
    pub file: String,
}

impl JournalDamage {
    /// True if nothing is damaged.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.parts == 0
    }
}

/// The outcome of replacing a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The position after the last record of the new one.
    pub position: Position,
    /// The archive of the old journal, as errors name it; empty if there was none.
    pub archive: String,
}

/// The log of one conversation. Clones of the `Arc` share it; the last one that goes closes it.
pub trait Journal: Send + Sync + 'static {
    /// The header.
    fn header(&self) -> Header;

    /// The position after the last record that was appended.
    fn end(&self) -> Position;

    /// Appends records after record `expected`, all or none, and returns the position of each. Appends are done in the
    /// order in which they were asked for. The first one takes the journal for this process alone, and mends its end.
    ///
    /// # Errors
    /// See [`AppendError`]; the journal is unchanged.
    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>>;

    /// Reads the records after record `after`. Changes nothing.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>>;

    /// Checks for room for about `bytes` more bytes. The caller asks before it takes an order, not before each append:
    /// a run that began must be recorded up to its end. Never waits.
    ///
    /// # Errors
    /// Fails with the reason for the lack of room.
    fn room(&self, bytes: u64) -> Result<(), StorageError> {
        let _ = bytes;
        Ok(())
    }

    /// Keeps pieces of blocks that are not finished, after those that were kept before. They are not records: a record
    /// that ends their block takes their place ([`Record::ends_block`]). They outlive the process, and need not outlive
    /// a power cut. `handed` is the last record that was handed to the journal before; it must be called in the order
    /// of appends. With a journal that keeps nothing, the part of a reply that was shown is lost when the process dies.
    ///
    /// # Errors
    /// When the storage refuses. Pieces that were kept before are unchanged.
    fn keep(
        &self,
        handed: u64,
        pieces: Vec<BlockPiece>,
    ) -> StorageFuture<Result<(), StorageError>> {
        drop((handed, pieces));
        Box::pin(std::future::ready(Ok(())))
    }

    /// Forgets the kept pieces, and leaves nothing of them. Asked for in the order of appends.
    fn forget(&self) {}

    /// The blocks that are kept and were not finished by record `after`, which ended the last
    /// block: what was kept when that record, or a later one, was the last that was handed. The
    /// offset of each is 0.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn kept(&self, after: u64) -> StorageFuture<Result<Vec<BlockPiece>, StorageError>> {
        let _ = after;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Looks at the whole journal, unless that was done, and copies what is damaged to a place beside it, once. The
    /// journal itself is unchanged.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>>;

    /// Puts another past in place of this one, atomically, under this new header. `entries` are JSON objects as in
    /// [`JournalEntry::json`]. The old journal is kept as an archive. A reader that reads meanwhile tells the old
    /// records from the new ones by the epoch of their positions.
    ///
    /// # Errors
    /// See [`AppendError`]; the journal is unchanged.
    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>>;
}

/// The storage of all journals.
pub trait JournalStore: Send + Sync + 'static {
    /// Opens a journal. Writes nothing, and reads its two ends only.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open(&self, id: &ConversationId) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>>;

    /// Opens a journal, or one that is made with this header at its first append.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open_or_new(&self, header: Header) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>>;

    /// Makes a journal with these records, as JSON objects like [`JournalEntry::json`]. It is durable
    /// when this returns.
    ///
    /// # Errors
    /// When the conversation exists or the storage fails.
    fn create(
        &self,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        self.create_from(header, JournalEntries::from_lines(entries))
    }

    /// The same with records that come a few at a time, and are written as they come.
    ///
    /// # Errors
    /// When the conversation exists, the records break off or the storage fails.
    fn create_from(
        &self,
        header: Header,
        entries: JournalEntries,
    ) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>>;

    /// The conversations, the last changed first, after the one in `after`.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn list(
        &self,
        after: Option<ListedJournal>,
        limit: usize,
    ) -> StorageFuture<Result<Vec<ListedJournal>, StorageError>>;

    /// Moves a journal to the trash; tells where it is then.
    ///
    /// # Errors
    /// When there is none or the storage fails.
    fn remove(&self, id: &ConversationId) -> StorageFuture<Result<String, OpenError>>;
}

/// The reason for a refused append.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum AppendError {
    /// The journal ends at another record: another process appended, or an earlier append failed.
    #[display("the journal ends at record {end}, not at {expected}")]
    Conflict {
        /// The end that the appender expected.
        expected: u64,
        /// The real end.
        end: u64,
    },
    /// The storage refused; it was rolled back, and a later append may work.
    #[display("{_0}")]
    Storage(StorageError),
    /// The storage may have lost what it had taken. The journal takes nothing more until the
    /// service is started again.
    #[display("{reason}; the conversation takes nothing more until the service is started again")]
    Halted {
        /// The reason.
        reason: String,
    },
    /// Another process writes the journal.
    #[display("{path} is written by another process; stop that one first")]
    Taken {
        /// The journal.
        path: String,
    },
    /// The journal was changed, replaced or deleted from outside.
    #[display("{path} was changed by another program: {what}")]
    Tampered {
        /// The journal.
        path: String,
        /// The state that stops the start.
        what: String,
    },
    /// A record that this version does not know cannot be made.
    #[display("a record of the unknown type {kind} cannot be appended")]
    UnknownType {
        /// The type.
        kind: String,
    },
}

/// The reason why a journal cannot be opened or made.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum OpenError {
    /// There is none.
    #[display("there is no conversation {id}")]
    NotFound {
        /// The conversation.
        id: String,
    },
    /// There is one already.
    #[display("the conversation {id} exists already")]
    Exists {
        /// The conversation.
        id: String,
    },
    /// Its first line is not a header.
    #[display("{path} is damaged: {reason}; run `harness doctor`")]
    Unreadable {
        /// The journal.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A newer version wrote it.
    #[display(
        "{path} has format {version}, and this version reads up to {FORMAT_VERSION}; use the newer version"
    )]
    Newer {
        /// The journal.
        path: String,
        /// Its format.
        version: u32,
    },
    /// The service is stopping.
    #[display("the service is stopping")]
    Stopping,
    /// All that may be open at once are in use.
    #[display(
        "too many conversations are in use at once: {max}; wait for a run to end or detach a client"
    )]
    TooMany {
        /// Maximum number.
        max: usize,
    },
    /// The storage refused.
    #[display("{_0}")]
    Storage(StorageError),
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod contract_tests;
