//! The contents of attachments in files, each under its hash: `attachments/ab/ab…`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::claims::Claims;
use super::disk::{Disk, DiskFile, FileKind, OpenMode, append_all};
use super::folder::failed;
use super::pool::lock;
use super::state_size::StateSize;
use crate::attachment::{Fate, changed, is_sha256, missing, sha256};
use crate::storage::StorageError;

/// The end of the name of an unfinished file, whose name begins with a dot.
pub(super) const UNFINISHED: &str = ".tmp";
/// More than any attachment has; what is longer is not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

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
    pub(super) fn within(home: &Path, disk: Arc<dyn Disk>) -> Self {
        Self {
            home: home.to_owned(),
            folder: home.join("attachments"),
            disk,
            claims: Mutex::default(),
            size: StateSize::default(),
        }
    }

    /// Makes the folder, so that its name lasts.
    pub(super) fn prepare(&self) -> io::Result<()> {
        self.disk.make_folder(&self.folder)?;
        self.disk.sync_folder(&self.home)
    }

    /// Removes files that a crash left unfinished. A process that is making one holds its lock.
    pub(super) fn sweep(&self) -> io::Result<()> {
        for name in self.disk.names(&self.folder)? {
            if !name.starts_with('.') || !name.ends_with(UNFINISHED) {
                continue;
            }
            let path = self.folder.join(name);
            let opened = self.disk.open(&path, OpenMode::Read);
            let removed = opened.and_then(|file| match file.try_lock()? {
                true => self.disk.remove(&path),
                false => Ok(()),
            });
            // A failure to remove one must not keep the others.
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

    /// Claims a content for an order.
    pub(super) fn claim(&self, sha256: &str) {
        lock(&self.claims).claim(sha256, || self.is_missing(sha256));
    }

    /// Ends a claim.
    pub(super) fn settle(&self, sha256: &str, fate: Fate) {
        let mut claims = lock(&self.claims);
        if claims.settle(sha256, fate) {
            self.remove(sha256);
        }
    }

    /// True if the content certainly does not exist.
    fn is_missing(&self, sha256: &str) -> bool {
        let (_, path) = self.place(sha256);
        let looked = self.disk.stat(&path);
        looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Removes a content. The lock of the claims must be held.
    pub(super) fn remove(&self, sha256: &str) {
        let (_, path) = self.place(sha256);
        let length = self.disk.stat(&path).map_or(0, |stat| stat.length);
        match self.disk.remove(&path) {
            Ok(()) => self.size.shrank(length),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // The next start finds it.
            Err(error) => log::warn!("cannot remove {}: {error}", path.display()),
        }
    }

    /// Keeps a content for an order. It is claimed before it is looked at, so that no sweep removes it in between.
    pub(super) fn hold(&self, content: &[u8]) -> Result<String, StorageError> {
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
        let file = match self.disk.open(&unfinished, OpenMode::New) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.prepare()?;
                self.disk.open(&unfinished, OpenMode::New)?
            }
            opened => opened?,
        };
        let written = file
            .try_lock()
            .and_then(|_| append_all(&*file, content))
            .and_then(|()| file.sync())
            .and_then(|()| self.disk.make_folder(folder))
            // Another file at that path is not this content.
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

    pub(super) fn get(&self, sha256: &str) -> Result<Bytes, StorageError> {
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
        read_all(&*self.disk.open(path, OpenMode::Read)?)
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

    /// The names in a folder, in order; empty if the folder does not exist.
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
