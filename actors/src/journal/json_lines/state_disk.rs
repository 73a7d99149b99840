//! The file system below a state folder, which may go away and come back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use nix::fcntl::OFlag;

use super::disk::{Away, Disk, DiskFile, DiskFolder, OpenMode, Stat};
use super::system_disk::SystemDisk;

/// The folders below the state folder that are never remade either, since they hold what was kept.
const KEPT: [&str; 3] = ["conversations", "attachments", "workflows"];

/// The machine's file system, for as long as the folders are the ones of the start: a disk may be
/// unmounted, a folder moved, or another one put in its place. Then everything that goes by a path
/// fails, until the right folders are back.
#[derive(Debug)]
pub struct StateDisk([PinnedFolder; 4]);

/// A folder that stays the same one.
#[derive(Debug)]
struct PinnedFolder {
    path: PathBuf,
    /// The folder; nothing before it was made. It is open, so that no other gets its number when
    /// it is removed.
    folder: OnceLock<File>,
}

impl StateDisk {
    /// The file system below a state folder. The folders that there are now are those that count;
    /// one that is missing is the one that is made first.
    #[must_use]
    pub fn for_home(home: &Path) -> Self {
        let [conversations, attachments, workflows] = KEPT.map(|name| home.join(name));
        let places = [home.to_owned(), conversations, attachments, workflows];
        Self(places.map(|path| {
            let folder = open(&path).map_or_else(|_| OnceLock::new(), OnceLock::from);
            PinnedFolder { path, folder }
        }))
    }

    /// Does something at a path, if the folders above it are the right ones.
    fn at<T>(&self, path: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let check = || {
            let mut above = self.0.iter().filter(|place| path.starts_with(&place.path));
            above.try_for_each(PinnedFolder::check)
        };
        check()?;
        let done = work();
        // What is missing may have gone away with its folder.
        if done.is_err() {
            check()?;
        }
        done
    }
}

impl PinnedFolder {
    fn check(&self) -> io::Result<()> {
        let Some(folder) = self.folder.get() else {
            return match open(&self.path) {
                Ok(folder) => {
                    self.folder.get_or_init(|| folder);
                    Ok(())
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
        };
        let (known, found) = (folder.metadata()?, fs::metadata(&self.path));
        match found {
            Ok(found) if (found.dev(), found.ino()) == (known.dev(), known.ino()) => Ok(()),
            Ok(_) => Err(io::Error::other(Away)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(io::Error::other(Away))
            }
            Err(error) => Err(error),
        }
    }
}

/// Opens a folder. The state folder of a library may be a link.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlag::O_DIRECTORY.bits());
    options.open(path)
}

impl Disk for StateDisk {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.at(path, || SystemDisk.open(path, opening))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.at(path, || SystemDisk.stat(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.at(folder, || SystemDisk.names(folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(to, || SystemDisk.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(to, || SystemDisk.rename_new(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(to, || SystemDisk.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.at(path, || SystemDisk.remove(path))
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.at(folder, || SystemDisk.make_folder(folder))?;
        self.at(folder, || Ok(()))
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Arc<dyn DiskFolder>> {
        self.at(folder, || SystemDisk.open_folder(folder))
    }
}

#[cfg(test)]
#[path = "state_disk_tests.rs"]
mod tests;
