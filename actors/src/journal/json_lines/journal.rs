//! One journal in a file: what is known of it, and what is asked of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::super::header_line::HeaderError;
use super::super::{
    AppendError, BlockPiece, Durability, Header, Journal, JournalDamage, JournalPage, NewRecord,
    OpenError, PageLimit, Position, Replaced,
};
use super::check::Checked;
use super::disk::{DiskFile, FileKind, OpenMode};
use super::ends::{self, JournalEnd};
use super::folder::{failed, short};
use super::jobs::{JournalOrder, Orders};
use super::keep::UnfinishedFile;
use super::pool::lock;
use super::shared::JournalShared;
use super::sync::WaitingAppends;
use super::whole::Whole;
use crate::storage::{StorageError, StorageFuture};
use crate::threads::PASSES;

/// The reason where another process made a file that was not there before.
pub(super) const MADE_MEANWHILE: &str = "it was made meanwhile";

/// A journal that is open in this process. All handles of a conversation share it.
pub(super) struct FileJournal {
    pub(super) id: String,
    pub(super) shared: Arc<JournalShared>,
    /// True if the file is locked and mended, so that an append is quick.
    pub(super) is_taken: AtomicBool,
    /// True if a file of unfinished blocks may exist.
    pub(super) may_keep: AtomicBool,
    /// The file of those blocks. The lock is held while the file is written.
    pub(super) kept: Mutex<UnfinishedFile>,
    /// Held for moments only.
    pub(super) shown: Mutex<ReaderState>,
    /// Held while the file is written.
    pub(super) writing: Mutex<Writing>,
    pub(super) orders: Mutex<Orders>,
    pub(super) waiting: Mutex<WaitingAppends>,
    /// The end of the last page that was not the last one of the journal: the record and the epoch, and the byte at
    /// which the next page begins.
    pub(super) next_page: Mutex<Option<(Position, u64)>>,
    /// Held while the file is checked.
    pub(super) checked: Mutex<Checked>,
}

/// The state that readers see.
#[derive(Clone)]
pub(super) struct ReaderState {
    pub(super) header: Header,
    /// None before the first append makes it.
    pub(super) file: Option<Arc<dyn DiskFile>>,
    /// The end of the journal when it had no records.
    pub(super) start: JournalEnd,
    /// The end of the finished appends.
    pub(super) end: JournalEnd,
    /// Size of a torn line after that end, in bytes.
    pub(super) torn: u64,
}

/// The state that the writer knows.
pub(super) struct Writing {
    pub(super) life: Life,
    /// The place of the next record; after the end that is shown while a flush is awaited.
    pub(super) end: JournalEnd,
    /// The reason why this journal takes no further record.
    pub(super) refusal: Option<AppendError>,
}

/// Progress of a journal's file.
pub(super) enum Life {
    /// There is none.
    New,
    /// There is one, and it is this one.
    Found { inode: (u64, u64) },
    /// It is locked and mended.
    Taken {
        inode: (u64, u64),
        file: Arc<dyn DiskFile>,
    },
}

impl FileJournal {
    fn new(shared: &Arc<JournalShared>, shown: ReaderState, life: Life) -> Self {
        Self {
            id: shown.header.conversation.to_string(),
            shared: Arc::clone(shared),
            is_taken: AtomicBool::new(matches!(life, Life::Taken { .. })),
            may_keep: AtomicBool::new(matches!(life, Life::Found { .. })),
            kept: Mutex::default(),
            writing: Mutex::new(Writing {
                life,
                end: shown.end,
                refusal: None,
            }),
            shown: Mutex::new(shown),
            orders: Mutex::default(),
            waiting: Mutex::default(),
            next_page: Mutex::default(),
            checked: Mutex::default(),
        }
    }

    /// A journal that the first append makes.
    ///
    /// # Errors
    /// When the header has no text.
    pub(super) fn unmade(shared: &Arc<JournalShared>, header: Header) -> Result<Self, String> {
        let Whole { start, end, .. } = Whole::empty(&header)?;
        let shown = ReaderState {
            header,
            file: None,
            start,
            end,
            torn: 0,
        };
        Ok(Self::new(shared, shown, Life::New))
    }

    /// A journal that was just made.
    pub(super) fn made(
        shared: &Arc<JournalShared>,
        header: Header,
        whole: &Whole,
        file: Arc<dyn DiskFile>,
        inode: (u64, u64),
    ) -> Self {
        let shown = ReaderState {
            header,
            file: Some(Arc::clone(&file)),
            start: whole.start,
            end: whole.end,
            torn: 0,
        };
        Self::new(shared, shown, Life::Taken { inode, file })
    }

    /// A journal that is there. Reads its two ends.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(super) fn found(shared: &Arc<JournalShared>, id: &str) -> Result<Self, OpenError> {
        let path = shared.folder.journal(id);
        let storage = |error| OpenError::Storage(failed("open", &path, &error));
        let unreadable = |reason: String| OpenError::Unreadable {
            path: short(&path),
            reason,
        };
        let disk = &shared.folder.disk;
        let opened = disk.stat(&path).and_then(|stat| match stat.kind {
            FileKind::File => disk.open(&path, OpenMode::Read).map(Some),
            FileKind::Folder | FileKind::Other => Ok(None),
        });
        let file = match opened {
            Ok(Some(file)) => file,
            Ok(None) => return Err(unreadable("it is not a file".to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(OpenError::NotFound { id: id.to_owned() });
            }
            Err(error) => return Err(storage(error)),
        };
        let stat = file.stat().map_err(storage)?;
        let head = match ends::head(&*file, stat.length).map_err(storage)? {
            Ok(head) => head,
            Err(HeaderError::Unreadable(reason)) => return Err(unreadable(reason)),
            Err(HeaderError::Newer(version)) => {
                let path = path.display().to_string();
                return Err(OpenError::Newer { path, version });
            }
        };
        let tail = ends::tail(&*file, head.end, stat.length).map_err(storage)?;
        let shown = ReaderState {
            header: Header {
                // The name of the file is what was asked for, whatever was copied there.
                conversation: crate::ids::ConversationId::new(id),
                ..head.header
            },
            file: Some(file),
            start: head.end,
            end: tail.end,
            torn: tail.torn,
        };
        let inode = stat.inode;
        Ok(Self::new(shared, shown, Life::Found { inode }))
    }

    /// The state that readers see now.
    pub(super) fn published(&self) -> ReaderState {
        lock(&self.shown).clone()
    }

    /// True if the file does not exist yet.
    pub(super) fn is_new(&self) -> bool {
        lock(&self.shown).file.is_none()
    }

    /// Lets readers see up to there.
    pub(super) fn show(&self, end: JournalEnd) {
        let mut shown = lock(&self.shown);
        if end.bytes > shown.end.bytes {
            shown.end = end;
        }
    }

    /// The path for messages.
    pub(super) fn path(&self) -> String {
        short(&self.shared.folder.journal(&self.id))
    }

    /// The system's error about the journal.
    pub(super) fn failed(&self, doing: &str, error: &std::io::Error) -> StorageError {
        failed(doing, &self.shared.folder.journal(&self.id), error)
    }

    pub(super) fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Acquire)
    }

    pub(super) fn may_keep(&self) -> bool {
        self.may_keep.load(Ordering::Acquire)
    }

    /// See [`Journal::keep`].
    pub(super) fn keep(&self, handed: u64, pieces: Vec<BlockPiece>) -> Result<(), StorageError> {
        self.may_keep.store(true, Ordering::Release);
        let behind = (self.published().header.epoch, handed);
        lock(&self.kept).add(&self.shared.folder, &self.id, behind, pieces)
    }

    /// See [`Journal::forget`].
    pub(super) fn forget_kept(&self) {
        *lock(&self.kept) = UnfinishedFile::default();
        self.may_keep.store(false, Ordering::Release);
        self.shared.folder.forget_kept(&self.id);
    }
}

impl Drop for FileJournal {
    /// Closes the files first: a store that opens the journal again waits for the lock to be gone.
    fn drop(&mut self) {
        lock(&self.writing).life = Life::New;
        lock(&self.shown).file = None;
        *lock(&self.kept) = UnfinishedFile::default();
        self.shared.close(self);
    }
}

/// A handle that actors hold.
pub(super) struct Handle(pub(super) Arc<FileJournal>);

/// The error where the store has no thread to do something.
pub(super) fn gone(path: String) -> StorageError {
    StorageError {
        doing: "use".to_owned(),
        path,
        reason: format!("the store has no thread for it; {PASSES}"),
    }
}

impl Handle {
    /// Has a reader thread do something.
    fn ask_reader<T: Send + 'static>(
        &self,
        question: impl FnOnce(&FileJournal) -> Result<T, StorageError> + Send + 'static,
    ) -> StorageFuture<Result<T, StorageError>> {
        let (reply, answer) = oneshot::channel();
        let journal = Arc::clone(&self.0);
        self.0.shared.readers.run(move || {
            let answered = question(&journal);
            // Who drops the last handle after an answer has closed the journal.
            drop(journal);
            drop(reply.send(answered));
        });
        let path = self.0.path();
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone(path))) })
    }

    /// Has the writer do something, in the order of these calls.
    fn order<T: Send + 'static>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, AppendError>>) -> JournalOrder,
    ) -> StorageFuture<Result<T, AppendError>> {
        let (reply, answer) = oneshot::channel();
        self.0.give(order(reply));
        let path = self.0.path();
        let gone = || Err(AppendError::Storage(gone(path)));
        Box::pin(async move { answer.await.unwrap_or_else(|_| gone()) })
    }
}

impl Journal for Handle {
    fn header(&self) -> Header {
        lock(&self.0.shown).header.clone()
    }

    fn end(&self) -> Position {
        lock(&self.0.shown).end.position
    }

    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        self.order(|reply| JournalOrder::Append {
            expected,
            records,
            durability,
            reply,
        })
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        self.ask_reader(move |journal| journal.page(after, limit))
    }

    fn keep(
        &self,
        handed: u64,
        pieces: Vec<BlockPiece>,
    ) -> StorageFuture<Result<(), StorageError>> {
        let (reply, answer) = oneshot::channel();
        self.0.give(JournalOrder::Keep {
            handed,
            pieces,
            reply,
        });
        let path = self.0.path();
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone(path))) })
    }

    fn forget(&self) {
        self.0.give(JournalOrder::Forget);
    }

    fn kept(&self, after: u64) -> StorageFuture<Result<Vec<BlockPiece>, StorageError>> {
        self.ask_reader(move |journal| {
            let epoch = journal.published().header.epoch;
            let folder = &journal.shared.folder;
            folder.read_kept(&journal.id, epoch, after)
        })
    }

    fn room(&self, bytes: u64) -> Result<(), StorageError> {
        let room = self.0.shared.folder.size.check(bytes);
        room.map_err(|error| self.0.failed("write", &error))
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        let handle = Self(Arc::clone(&self.0));
        Box::pin(async move {
            // Each part waits for its turn after the reads of other journals.
            loop {
                if let Some(damage) = handle.ask_reader(FileJournal::check).await? {
                    return Ok(damage);
                }
            }
        })
    }

    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<Replaced, AppendError>> {
        self.order(|reply| JournalOrder::Replace {
            expected,
            header: Box::new(header),
            entries,
            reply,
        })
    }
}
