//! The state that all journals of a store share.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::oneshot;

use super::super::{
    AppendError, Header, JournalEntries, ListedJournal, OpenError, conversation_name,
};
use super::disk::OpenMode;
use super::folder::{JournalFolder, failed};
use super::jobs::JournalOrder;
use super::journal::{FileJournal, Life, MADE_MEANWHILE};
use super::listing::JournalListing;
use super::pool::{Pool, lock};
use super::whole::Whole;
use crate::storage::StorageError;

/// Number of threads that wait for the disk when it writes.
const SLOW_THREADS: usize = 4;
/// Number of threads that read.
const READERS: usize = 3;

/// The folders, the threads and the open journals.
pub(super) struct JournalShared {
    pub(super) folder: JournalFolder,
    /// One thread that never waits for a flush.
    pub(super) writer: Pool,
    /// Flushes, and makes, replaces and removes files.
    pub(super) slow: Pool,
    pub(super) readers: Pool,
    /// The reason for each conversation that takes no further record.
    pub(super) halted: Mutex<HashMap<String, String>>,
    open: Mutex<HashMap<String, Weak<FileJournal>>>,
    /// Told when a journal was closed.
    closed: Condvar,
    /// The last list of all journals.
    listing: JournalListing,
}

type OpenJournals<'a> = MutexGuard<'a, HashMap<String, Weak<FileJournal>>>;

impl JournalShared {
    pub(super) fn new(folder: JournalFolder) -> Self {
        Self {
            folder,
            writer: Pool::start("journal-write", 1),
            slow: Pool::start("journal-flush", SLOW_THREADS),
            readers: Pool::start("journal-read", READERS),
            halted: Mutex::default(),
            open: Mutex::default(),
            closed: Condvar::new(),
            listing: JournalListing::default(),
        }
    }

    /// The journal if it is open. Waits for one that is being closed, so that its lock is released.
    fn live<'a>(&'a self, id: &str) -> (OpenJournals<'a>, Option<Arc<FileJournal>>) {
        let mut open = lock(&self.open);
        while let Some(journal) = open.get(id) {
            if let Some(journal) = journal.upgrade() {
                return (open, Some(journal));
            }
            let told = self.closed.wait(open);
            open = told.unwrap_or_else(PoisonError::into_inner);
        }
        (open, None)
    }

    fn find(&self, id: &str) -> Result<Option<Arc<FileJournal>>, OpenError> {
        if !conversation_name::is_valid(id) {
            return Err(self.missing(id));
        }
        Ok(self.live(id).1)
    }

    /// Registers a journal. Returns the one that another thread opened meanwhile, if there is one.
    fn register(&self, journal: FileJournal) -> Arc<FileJournal> {
        let journal = Arc::new(journal);
        let (mut open, live) = self.live(&journal.id);
        if let Some(live) = live {
            drop(open);
            return live;
        }
        open.insert(journal.id.clone(), Arc::downgrade(&journal));
        drop(open);
        journal
    }

    /// A journal's files are closed.
    pub(super) fn close(&self, journal: &FileJournal) {
        self.forget(journal);
        self.closed.notify_all();
    }

    /// Makes a journal unavailable to later searches.
    pub(super) fn forget(&self, journal: &FileJournal) {
        let mut open = lock(&self.open);
        let is_it = |known: &Weak<FileJournal>| std::ptr::eq(known.as_ptr(), journal);
        if open.get(&journal.id).is_some_and(is_it) {
            open.remove(&journal.id);
        }
    }

    pub(super) fn open(self: &Arc<Self>, id: &str) -> Result<Arc<FileJournal>, OpenError> {
        match self.find(id)? {
            Some(live) if live.is_new() => self.look_again(&live),
            Some(live) => Ok(live),
            None => Ok(self.register(FileJournal::found(self, id)?)),
        }
    }

    /// Opens a journal whose file was not there when it was asked for. Another process may have
    /// made the file; who holds the journal without one cannot use it then.
    fn look_again(
        self: &Arc<Self>,
        live: &Arc<FileJournal>,
    ) -> Result<Arc<FileJournal>, OpenError> {
        let mut writing = lock(&live.writing);
        if !matches!(writing.life, Life::New) {
            return Ok(Arc::clone(live));
        }
        let found = FileJournal::found(self, &live.id)?;
        drop(live.refuse(&mut writing, MADE_MEANWHILE));
        drop(writing);
        self.forget(live);
        Ok(self.register(found))
    }

    pub(super) fn open_or_new(
        self: &Arc<Self>,
        header: Header,
    ) -> Result<Arc<FileJournal>, OpenError> {
        let id = header.conversation.to_string();
        if let Some(live) = self.find(&id)? {
            if !live.is_new() {
                return Ok(live);
            }
            return match self.look_again(&live) {
                Err(OpenError::NotFound { .. }) => Ok(live),
                found => found,
            };
        }
        match FileJournal::found(self, &id) {
            Err(OpenError::NotFound { .. }) => {
                let journal = FileJournal::unmade(self, header)
                    .map_err(|reason| OpenError::Storage(self.refused(&id, &reason)))?;
                Ok(self.register(journal))
            }
            found => Ok(self.register(found?)),
        }
    }

    pub(super) fn create(
        self: &Arc<Self>,
        header: Header,
        entries: JournalEntries,
    ) -> Result<Arc<FileJournal>, OpenError> {
        let id = header.conversation.to_string();
        let failed = |error| OpenError::Storage(failed("make", &self.folder.journal(&id), &error));
        let exists = || OpenError::Exists { id: id.clone() };
        if self.find(&id)?.is_some() || self.folder.exists(&id).map_err(failed)? {
            return Err(exists());
        }
        let mut whole = Whole::empty(&header)
            .map_err(|reason| OpenError::Storage(self.refused(&id, &reason)))?;
        let size = &self.folder.size;
        let written = self
            .folder
            .prepare_with(&id, |file| whole.write(entries, file, size));
        let unfinished = written.map_err(failed)?;
        let inode = unfinished.file.stat().map_err(failed)?.inode;
        let names = match self.folder.publish(&unfinished, &id) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(exists()),
            published => published.map_err(failed)?,
        };
        if let Err(error) = names.sync() {
            self.folder.try_remove(&self.folder.journal(&id));
            return Err(failed(error));
        }
        self.listing.forget();
        let journal = FileJournal::made(self, header, &whole, unfinished.file, inode);
        Ok(self.register(journal))
    }

    pub(super) fn list(
        &self,
        after: Option<&ListedJournal>,
        limit: usize,
    ) -> Result<Vec<ListedJournal>, StorageError> {
        self.listing.page(&self.folder, after, limit)
    }

    /// Moves a journal to the trash; one that is open does it itself, after what it has to do.
    pub(super) fn remove(&self, id: &str, reply: oneshot::Sender<Result<String, OpenError>>) {
        let removed = match self.find(id) {
            Ok(Some(live)) => return live.give(JournalOrder::Remove { reply }),
            Ok(None) => self.throw_away(id),
            Err(error) => Err(error),
        };
        // The receiver may be gone; nothing to do then.
        drop(reply.send(removed));
    }

    /// Moves a journal to the trash that this process has not locked.
    pub(super) fn throw_away(&self, id: &str) -> Result<String, OpenError> {
        let path = self.folder.journal(id);
        let failed = |error| OpenError::Storage(failed("remove", &path, &error));
        let file = match self.folder.disk.open(&path, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.missing(id));
            }
            opened => opened.map_err(failed)?,
        };
        if !file.try_lock().map_err(failed)? {
            let path = path.display().to_string();
            let taken = AppendError::Taken { path }.to_string();
            return Err(failed(io::Error::other(taken)));
        }
        self.throw_away_ours(id)
    }

    /// Moves a journal that no other process writes to the trash.
    pub(super) fn throw_away_ours(&self, id: &str) -> Result<String, OpenError> {
        let thrown = self.folder.throw_away(id);
        self.listing.forget();
        thrown
            .map(|path| path.display().to_string())
            .map_err(|error| OpenError::Storage(failed("remove", &self.folder.journal(id), &error)))
    }

    pub(super) fn missing(&self, id: &str) -> OpenError {
        let id = id.to_owned();
        OpenError::NotFound { id }
    }

    fn refused(&self, id: &str, reason: &str) -> StorageError {
        let error = io::Error::other(reason.to_owned());
        failed("make", &self.folder.journal(id), &error)
    }
}
