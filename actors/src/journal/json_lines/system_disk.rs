//! The file system of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::OFlag;

use super::disk::{Disk, DiskFile, DiskFolder, FileKind, OpenMode, Stat};

/// The mode of a folder.
const FOLDER: u32 = 0o700;
/// The mode of a file.
const FILE: u32 = 0o600;
/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// The file system of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

/// A file, and whether it is locked.
struct SystemFile(File, AtomicBool);

struct SystemFolder(File);

fn stat(metadata: &fs::Metadata) -> Stat {
    let kind = metadata.file_type();
    let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000;
    let changed_at = nanoseconds + i128::from(metadata.mtime_nsec());
    Stat {
        kind: if kind.is_file() {
            FileKind::File
        } else if kind.is_dir() {
            FileKind::Folder
        } else {
            FileKind::Other
        },
        inode: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
        links: metadata.nlink(),
        changed_at: u64::try_from(changed_at.max(0)).unwrap_or(u64::MAX),
    }
}

/// Opens a path itself, never what a link at it leads to.
fn open(path: &Path, options: &mut OpenOptions, further: OFlag) -> io::Result<File> {
    options
        .mode(FILE)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | further).bits())
        .open(path)
}

/// Takes away everyone's permissions but the owner's, and gives the owner those that the umask
/// may have taken.
fn make_private(file: &File, mode: u32) -> io::Result<()> {
    let now = file.metadata()?.mode();
    if now & OTHERS != 0 || now & mode != mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

impl Disk for SystemDisk {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match opening {
            OpenMode::Read => {}
            OpenMode::Append => {
                options.append(true);
            }
            OpenMode::AppendOrNew => {
                options.append(true).create(true);
            }
            OpenMode::New => {
                options.append(true).create_new(true);
            }
        }
        // Without O_NONBLOCK a named pipe would hold us up for ever.
        let file = open(path, &mut options, OFlag::O_NONBLOCK)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if opening != OpenMode::Read {
            make_private(&file, FILE)?;
        }
        Ok(Arc::new(SystemFile(file, AtomicBool::new(false))))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(stat(&fs::symlink_metadata(path)?))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // The journals' names are text; other names are skipped.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(target_os = "linux")]
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        use nix::errno::Errno;
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
            // A file system that cannot.
            Err(Errno::EINVAL | Errno::ENOSYS) => link_and_remove(from, to),
            result => Ok(result?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        link_and_remove(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER)
            .create(folder)?;
        let opened = open(folder, OpenOptions::new().read(true), OFlag::O_DIRECTORY)?;
        make_private(&opened, FOLDER)
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Arc<dyn DiskFolder>> {
        let opened = open(folder, OpenOptions::new().read(true), OFlag::O_DIRECTORY)?;
        Ok(Arc::new(SystemFolder(opened)))
    }
}

/// Moves a file in two steps that never replace anything. A crash between them leaves both names.
fn link_and_remove(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

impl DiskFolder for SystemFolder {
    fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl DiskFile for SystemFile {
    fn stat(&self) -> io::Result<Stat> {
        Ok(stat(&self.0.metadata()?))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &self.0, bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => {
                self.1.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A program that is being started has a copy of every descriptor until it is there, and the lock would last as
/// long.
impl Drop for SystemFile {
    fn drop(&mut self) {
        if *self.1.get_mut()
            && let Err(error) = self.0.unlock()
        {
            log::warn!("a file stays locked until no program has it any more: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [JRNL-122]
    #[test]
    fn a_lock_ends_with_its_file_also_while_a_program_that_starts_has_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let open = || {
            let file = File::options()
                .create(true)
                .append(true)
                .open(&path)
                .unwrap();
            SystemFile(file, AtomicBool::new(false))
        };
        let first = open();
        assert!(first.try_lock().unwrap());
        let copy = first.0.try_clone().unwrap();
        let second = open();
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
        drop(copy);
        assert!(!open().try_lock().unwrap());
    }
}
