//! The contents of attachments in files, each under its hash: `attachments/ab/ab…`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::claims::Claims;
use super::disk::{Disk, DiskFile, FileKind, Opening, append_all};
use super::folder::failed;
use super::journal::gone;
use super::pool::Pool;
use super::state_size::StateSize;
use super::system_disk::SystemDisk;
use crate::attachment::{AttachmentStore, Fate, changed, is_sha256, missing, sha256};
use crate::clock::Clock;
use crate::storage::{StorageError, StorageFuture};

/// How the name of an unfinished file ends; it begins with a dot.
const UNFINISHED: &str = ".tmp";
/// More than any attachment has; what is longer is not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How many contents are read or written at once.
const THREADS: usize = 2;

/// Keeps the contents of attachments in a folder. A file is whole and flushed before it gets its
/// name, and never changed. The threads end with the store.
pub struct FolderAttachments {
    contents: Arc<Contents>,
    pool: Pool,
}

/// What was found of the attachments of a state folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttachmentsReport {
    /// How many contents are there.
    pub kept: usize,
    /// Those that cannot be read, or are not what was kept, each with the reason.
    pub damaged: Vec<(String, StorageError)>,
}

impl FolderAttachments {
    /// The attachments of a state folder on the machine's file system. What a crash left
    /// unfinished there is removed.
    #[must_use]
    pub fn at(home: &Path) -> Self {
        Self::on(home, Arc::new(SystemDisk))
    }

    /// The same, in a state folder of a bounded size.
    #[must_use]
    pub fn within(home: &Path, size: StateSize) -> Self {
        let contents = Contents::of(home, Arc::new(SystemDisk));
        Self::of(Contents { size, ..contents })
    }

    /// The same on another file system.
    #[must_use]
    pub fn on(home: &Path, disk: Arc<dyn Disk>) -> Self {
        Self::of(Contents::of(home, disk))
    }

    fn of(contents: Contents) -> Self {
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
        let started = thread::Builder::new()
            .name("attachments-sweep".to_owned())
            .spawn(sweep);
        if let Err(error) = started {
            log::warn!("attachments that no journal names stay: {error}");
        }
    }

    /// Reads every attachment of a state folder, and changes nothing. Blocks.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn inspect(home: &Path) -> Result<AttachmentsReport, StorageError> {
        Contents::of(home, Arc::new(SystemDisk)).inspect()
    }

    /// Has a thread that may wait for the disk do something.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Contents) -> Result<T, StorageError> + Send + 'static,
    ) -> StorageFuture<Result<T, StorageError>> {
        let (reply, answer) = oneshot::channel();
        let contents = Arc::clone(&self.contents);
        self.pool.run(move || {
            // Who does not wait any more does not need it.
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
            // Who does not wait any more gives no order.
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

/// The folder of the contents.
pub(super) struct Contents {
    pub(super) home: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) claims: Mutex<Claims>,
    /// The size of the state folder.
    pub(super) size: StateSize,
}

impl Contents {
    pub(super) fn of(home: &Path, disk: Arc<dyn Disk>) -> Self {
        Self {
            home: home.to_owned(),
            folder: home.join("attachments"),
            disk,
            claims: Mutex::default(),
            size: StateSize::default(),
        }
    }

    /// Makes the folder, so that its name lasts.
    fn prepare(&self) -> io::Result<()> {
        self.disk.make_folder(&self.folder)?;
        self.disk.sync_folder(&self.home)
    }

    /// Removes what a crash left unfinished. Whoever is making a file holds its lock.
    fn sweep(&self) -> io::Result<()> {
        for name in self.disk.names(&self.folder)? {
            if !name.starts_with('.') || !name.ends_with(UNFINISHED) {
                continue;
            }
            let path = self.folder.join(name);
            let opened = self.disk.open(&path, Opening::Read);
            let removed = opened.and_then(|file| match file.try_lock()? {
                true => self.disk.remove(&path),
                false => Ok(()),
            });
            // One that cannot be removed is no reason to leave the others.
            if let Err(error) = removed {
                log::warn!("cannot remove {}: {error}", path.display());
            }
        }
        Ok(())
    }

    /// The folder and the file of a content. The name must be a hash.
    pub(super) fn place(&self, sha256: &str) -> (PathBuf, PathBuf) {
        let folder = self.folder.join(&sha256[..2]);
        let path = folder.join(sha256);
        (folder, path)
    }

    /// Keeps a content for an order. It is claimed before it is looked at, so that nobody removes
    /// it in between.
    fn hold(&self, content: &[u8]) -> Result<String, StorageError> {
        let sha256 = sha256(content);
        self.claim(&sha256);
        let kept = self.keep(content, &sha256);
        if kept.is_err() {
            self.settle(&sha256, Fate::Refused);
        }
        kept.map(|()| sha256)
    }

    fn keep(&self, content: &[u8], sha256: &str) -> Result<(), StorageError> {
        let (folder, path) = self.place(sha256);
        let is_kept = self.read(&path).is_ok_and(|kept| kept == content);
        let written = if is_kept {
            Ok(())
        } else {
            self.write(content, &folder, &path)
        };
        // The names may be those of a writer that has not flushed them yet.
        written
            .and_then(|()| self.disk.sync_folder(&self.folder))
            .and_then(|()| self.disk.sync_folder(&folder))
            .map_err(|error| failed("write", &path, &error))
    }

    /// Writes a file that is whole before it gets its name.
    fn write(&self, content: &[u8], folder: &Path, path: &Path) -> io::Result<()> {
        self.size.check(content.len() as u64)?;
        let number = fastrand::u64(..);
        let unfinished = self.folder.join(format!(".{number:016x}{UNFINISHED}"));
        let file = match self.disk.open(&unfinished, Opening::New) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.prepare()?;
                self.disk.open(&unfinished, Opening::New)?
            }
            opened => opened?,
        };
        let written = file
            .try_lock()
            .and_then(|_| append_all(&*file, content))
            .and_then(|()| file.sync())
            .and_then(|()| self.disk.make_folder(folder))
            // Whatever lies there is not this content.
            .and_then(|()| self.disk.rename(&unfinished, path));
        if written.is_ok() {
            self.size.grew(content.len());
        }
        if written.is_err()
            && let Err(error) = self.disk.remove(&unfinished)
        {
            log::warn!("cannot remove {}: {error}", unfinished.display());
        }
        written
    }

    fn get(&self, sha256: &str) -> Result<Bytes, StorageError> {
        if !is_sha256(sha256) {
            return Err(missing(sha256));
        }
        let (_, path) = self.place(sha256);
        let content = self.read(&path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                missing(sha256)
            } else {
                failed("read", &path, &error)
            }
        })?;
        if self::sha256(&content) != sha256 {
            return Err(changed(sha256));
        }
        Ok(content.into())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_all(&*self.disk.open(path, Opening::Read)?)
    }

    fn inspect(&self) -> Result<AttachmentsReport, StorageError> {
        let mut report = AttachmentsReport::default();
        for name in self.all()? {
            report.kept += 1;
            if let Err(error) = self.get(&name) {
                report.damaged.push((name, error));
            }
        }
        Ok(report)
    }

    /// The hashes of all contents, in order.
    pub(super) fn all(&self) -> Result<Vec<String>, StorageError> {
        let mut all = Vec::new();
        for folder in self.folders(&self.folder)? {
            let names = self.names(&folder)?.into_iter();
            all.extend(names.filter(|name| {
                let folder = folder.file_name().and_then(|folder| folder.to_str());
                is_sha256(name) && folder == Some(&name[..2])
            }));
        }
        Ok(all)
    }

    /// The folders of a folder, in order.
    fn folders(&self, folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
        let paths = self
            .names(folder)?
            .into_iter()
            .map(|name| folder.join(name));
        let is_folder = |path: &PathBuf| {
            let stat = self.disk.stat(path);
            stat.is_ok_and(|stat| stat.kind == FileKind::Folder)
        };
        Ok(paths.filter(is_folder).collect())
    }

    /// The names in a folder, in order; none if there is no folder.
    pub(super) fn names(&self, folder: &Path) -> Result<Vec<String>, StorageError> {
        let mut names = match self.disk.names(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names.map_err(|error| failed("list", folder, &error))?,
        };
        names.sort();
        Ok(names)
    }
}

/// The whole content of a file.
fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let length = file.stat()?.length;
    if length > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut content = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut read = 0;
    while read < content.len() {
        match file.read_at(&mut content[read..], read as u64) {
            Ok(0) => content.truncate(read),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(content)
}

#[cfg(test)]
#[path = "attachments_tests.rs"]
mod tests;
