//! The folder for temporary files of one command.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// How often another name is tried.
const TRIES: usize = 16;

/// A folder that no other user can use. It is removed with all that is in it when this is dropped, which
/// blocks. While its service runs it is locked: a folder without a lock is one that a killed service left.
#[derive(Debug)]
pub(crate) struct TempFolder {
    path: PathBuf,
    /// `None` where the file system has no locks.
    _lock: Option<Flock<File>>,
}

impl TempFolder {
    /// Makes one. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(crate) fn new() -> io::Result<Self> {
        let above = fs::canonicalize(std::env::temp_dir())?;
        for _ in 0..TRIES {
            let path = above.join(format!("harness-{:016x}", fastrand::u64(..)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            match locked(&path) {
                Ok(lock) => return Ok(Self { path, _lock: lock }),
                // A service that starts has taken it for one that was left.
                Err(error) if is_swept(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(ErrorKind::AlreadyExists))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a new folder, which is still at its path then.
fn locked(path: &Path) -> io::Result<Option<Flock<File>>> {
    let id = |folder: &Metadata| (folder.dev(), folder.ino());
    match Flock::lock(File::open(path)?, FlockArg::LockSharedNonblock) {
        Ok(lock) if id(&lock.metadata()?) == id(&fs::metadata(path)?) => Ok(Some(lock)),
        Ok(_) => Err(io::Error::from(ErrorKind::NotFound)),
        Err((_, Errno::EWOULDBLOCK)) => Err(io::Error::from(ErrorKind::WouldBlock)),
        Err(_) => Ok(None),
    }
}

fn is_swept(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock)
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.path) {
            Ok(()) => {}
            // What held the command has removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::warn!("the folder {} stays: {error}", self.path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-534]
    #[test]
    fn a_folder_is_locked_while_it_is_used() {
        let folder = TempFolder::new().unwrap();
        let path = folder.path().to_owned();
        let lock = || Flock::lock(File::open(&path).unwrap(), FlockArg::LockExclusiveNonblock);
        assert!(lock().is_err());
        drop(folder);
        assert!(!path.exists());
    }
}
