//! Journals in files: JSON Lines, one file a conversation, each written by one process.

mod append;
mod attachments;
mod check;
mod claims;
mod contents;
mod damage;
mod disk;
mod doctor;
mod ends;
mod folder;
mod jobs;
mod journal;
mod keep;
mod lines;
mod listing;
mod pool;
mod replace;
mod scan;
mod search;
mod shared;
#[cfg(test)]
pub(super) mod simulated;
mod state_disk;
mod state_size;
mod sync;
mod system_disk;
mod trash;
mod unnamed;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

pub use attachments::{AttachmentsReport, FolderAttachments};
pub use disk::{Disk, DiskFile, DiskFolder, FileKind, OpenMode, Stat};
pub use doctor::{Doctor, JournalReport, Repaired};
pub use state_disk::StateDisk;
pub use state_size::StateSize;
pub use system_disk::SystemDisk;
pub use trash::{JournalTrash, RestoreError, TrashedJournal};

use self::folder::JournalFolder;
use self::journal::{Handle, gone};
use self::shared::JournalShared;
use super::{Header, Journal, JournalEntries, JournalStore, ListedJournal, OpenError};
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::storage::{StorageError, StorageFuture};

/// The store of the journals in a folder. Its threads end with the last of the store and its
/// journals.
pub struct JsonLinesStore(Arc<JournalShared>);

impl JsonLinesStore {
    /// The journals in a folder. What a crash left unfinished there is removed.
    #[must_use]
    pub fn new(folder: PathBuf, trash: PathBuf, disk: Arc<dyn Disk>, clock: Clock) -> Self {
        Self::in_folder(JournalFolder {
            path: folder,
            trash,
            disk,
            clock,
            size: StateSize::default(),
        })
    }

    /// The journals of a state folder on the machine's file system.
    #[must_use]
    pub fn at(home: &Path, clock: Clock) -> Self {
        Self::in_folder(JournalFolder::at(
            home,
            Arc::new(StateDisk::for_home(home)),
            clock,
        ))
    }

    /// The same, in a state folder of a bounded size.
    #[must_use]
    pub fn within(home: &Path, clock: Clock, size: StateSize) -> Self {
        let folder = JournalFolder::at(home, Arc::new(StateDisk::for_home(home)), clock);
        Self::in_folder(JournalFolder { size, ..folder })
    }

    /// The journals of the workflows of a state folder of a bounded size.
    #[must_use]
    pub fn of_workflows(home: &Path, clock: Clock, size: StateSize) -> Self {
        let folder = JournalFolder::at(home, Arc::new(StateDisk::for_home(home)), clock);
        let path = home.join("workflows");
        Self::in_folder(JournalFolder {
            path,
            size,
            ..folder
        })
    }

    fn in_folder(folder: JournalFolder) -> Self {
        let prepared = folder.disk.make_folder(&folder.path);
        if let Err(error) = prepared.and_then(|()| folder.sweep()) {
            // What cannot be done will say so when it is needed.
            log::warn!("cannot prepare {}: {error}", folder.path.display());
        }
        Self(Arc::new(JournalShared::new(folder)))
    }

    /// Has a thread that may wait for the disk do something.
    fn ask<T: Send + 'static>(
        &self,
        id: &str,
        question: impl FnOnce(&Arc<JournalShared>) -> Result<T, OpenError> + Send + 'static,
    ) -> StorageFuture<Result<T, OpenError>> {
        let (reply, answer) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        self.0.readers.run(move || {
            // The receiver may be gone; nothing to do then.
            drop(reply.send(question(&shared)));
        });
        self.answered(id, answer)
    }

    fn answered<T: Send + 'static>(
        &self,
        id: &str,
        answer: oneshot::Receiver<Result<T, OpenError>>,
    ) -> StorageFuture<Result<T, OpenError>> {
        let path = self.0.folder.path.join(id).display().to_string();
        let gone = || Err(OpenError::Storage(gone(path)));
        Box::pin(async move { answer.await.unwrap_or_else(|_| gone()) })
    }
}

impl JournalStore for JsonLinesStore {
    fn open(&self, id: &ConversationId) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        let name = id.to_string();
        self.ask(id.as_str(), move |shared| {
            let journal = shared.open(&name)?;
            Ok(Arc::new(Handle(journal)) as Arc<dyn Journal>)
        })
    }

    fn open_or_new(&self, header: Header) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        let name = header.conversation.to_string();
        self.ask(&name, move |shared| {
            let journal = shared.open_or_new(header)?;
            Ok(Arc::new(Handle(journal)) as Arc<dyn Journal>)
        })
    }

    fn create_from(
        &self,
        header: Header,
        entries: JournalEntries,
    ) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        let (reply, answer) = oneshot::channel();
        let name = header.conversation.to_string();
        let shared = Arc::clone(&self.0);
        self.0.slow.run(move || {
            let created = shared.create(header, entries);
            let created = created.map(|journal| Arc::new(Handle(journal)) as Arc<dyn Journal>);
            // The receiver may be gone; nothing to do then.
            drop(reply.send(created));
        });
        self.answered(&name, answer)
    }

    fn list(
        &self,
        after: Option<ListedJournal>,
        limit: usize,
    ) -> StorageFuture<Result<Vec<ListedJournal>, StorageError>> {
        let (reply, answer) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        self.0.readers.run(move || {
            // The receiver may be gone; nothing to do then.
            drop(reply.send(shared.list(after.as_ref(), limit)));
        });
        let path = self.0.folder.path.display().to_string();
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone(path))) })
    }

    fn remove(&self, id: &ConversationId) -> StorageFuture<Result<String, OpenError>> {
        let (reply, answer) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        let name = id.to_string();
        self.0.slow.run(move || shared.remove(&name, reply));
        self.answered(id.as_str(), answer)
    }
}

#[cfg(test)]
#[path = "damage_tests.rs"]
mod damage_tests;
#[cfg(test)]
#[path = "fault_tests.rs"]
mod fault_tests;
#[cfg(test)]
#[path = "file_tests.rs"]
mod file_tests;
#[cfg(test)]
mod huge_tests;
#[cfg(test)]
#[path = "workflow_tests.rs"]
mod workflow_tests;
