//! The attachments of a state folder, written and read on separate threads.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::contents::Contents;
use super::disk::Disk;
use super::journal::gone;
use super::pool::Pool;
use super::state_disk::StateDisk;
use super::state_size::StateSize;
use super::system_disk::SystemDisk;
use crate::attachment::{AttachmentStore, Fate};
use crate::clock::Clock;
use crate::storage::{StorageError, StorageFuture};
use crate::threads::start_thread;

/// Number of contents that are read or written at the same time.
const THREADS: usize = 2;

/// Keeps the contents of attachments in a folder. A file is whole and flushed before it gets its
/// name, and never changed. The threads end with the store.
pub struct FolderAttachments {
    contents: Arc<Contents>,
    pool: Pool,
}

/// The findings about the attachments of a state folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttachmentsReport {
    /// Number of contents that are there.
    pub kept: usize,
    /// Those that cannot be read, or are not what was kept, each with the reason.
    pub damaged: Vec<(String, StorageError)>,
}

impl FolderAttachments {
    /// The attachments of a state folder on the machine's file system. What a crash left
    /// unfinished there is removed.
    #[must_use]
    pub fn at(home: &Path) -> Self {
        Self::on(home, Arc::new(StateDisk::for_home(home)))
    }

    /// The same, in a state folder of a bounded size.
    #[must_use]
    pub fn within(home: &Path, size: StateSize) -> Self {
        let contents = Contents::within(home, Arc::new(StateDisk::for_home(home)));
        Self::with_contents(Contents { size, ..contents })
    }

    /// The same on another file system.
    #[must_use]
    pub fn on(home: &Path, disk: Arc<dyn Disk>) -> Self {
        Self::with_contents(Contents::within(home, disk))
    }

    fn with_contents(contents: Contents) -> Self {
        if let Err(error) = contents.prepare().and_then(|()| contents.sweep()) {
            // What cannot be done will say so when it is needed.
            log::warn!("cannot prepare {}: {error}", contents.folder.display());
        }
        Self {
            contents: Arc::new(contents),
            pool: Pool::start("attachments", THREADS),
        }
    }

    /// Has a thread remove what no journal of the state folder names, which may take long.
    pub fn sweep_unnamed(&self, clock: Clock) {
        let contents = Arc::clone(&self.contents);
        let sweep = move || match contents.sweep_unnamed(clock) {
            Ok(0) => {}
            Ok(removed) => {
                log::info!("removed {removed} of the attachments: no journal names them");
            }
            Err(error) => log::warn!(
                "attachments that no journal names stay in {}: {error}",
                contents.folder.display()
            ),
        };
        if let Err(error) = start_thread("attachments-sweep", sweep) {
            log::warn!("attachments that no journal names stay: {error}");
        }
    }

    /// Reads every attachment of a state folder, and changes nothing. Blocks.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn inspect(home: &Path) -> Result<AttachmentsReport, StorageError> {
        let contents = Contents::within(home, Arc::new(SystemDisk));
        let mut report = AttachmentsReport::default();
        for name in contents.all()? {
            report.kept += 1;
            if let Err(error) = contents.get(&name) {
                report.damaged.push((name, error));
            }
        }
        Ok(report)
    }

    /// Has a thread that may wait for the disk do something.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Contents) -> Result<T, StorageError> + Send + 'static,
    ) -> StorageFuture<Result<T, StorageError>> {
        let (reply, answer) = oneshot::channel();
        let contents = Arc::clone(&self.contents);
        self.pool.run(move || {
            // The receiver may be gone; nothing to do then.
            drop(reply.send(question(&contents)));
        });
        Box::pin(async move {
            answer
                .await
                .unwrap_or_else(|_| Err(gone("attachments".into())))
        })
    }
}

impl AttachmentStore for FolderAttachments {
    fn put(&self, content: Bytes) -> StorageFuture<Result<String, StorageError>> {
        self.ask(move |contents| {
            let sha256 = contents.hold(&content)?;
            contents.settle(&sha256, Fate::Named);
            Ok(sha256)
        })
    }

    fn hold(&self, content: Bytes) -> StorageFuture<Result<String, StorageError>> {
        let (reply, answer) = oneshot::channel();
        let contents = Arc::clone(&self.contents);
        self.pool.run(move || {
            let held = contents.hold(&content);
            // The receiver may be gone; nothing to do then.
            if let Err(Ok(sha256)) = reply.send(held) {
                contents.settle(&sha256, Fate::Refused);
            }
        });
        let gone = || Err(gone("attachments".into()));
        Box::pin(async move { answer.await.unwrap_or_else(|_| gone()) })
    }

    fn settle(&self, sha256: &str, fate: Fate) {
        self.contents.settle(sha256, fate);
    }

    fn get(&self, sha256: &str) -> StorageFuture<Result<Bytes, StorageError>> {
        let sha256 = sha256.to_owned();
        self.ask(move |contents| contents.get(&sha256))
    }
}

#[cfg(test)]
#[path = "attachments_tests.rs"]
mod tests;
