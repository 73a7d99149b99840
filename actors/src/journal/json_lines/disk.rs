//! The few things that the store asks of a file system, so that tests can make each of them fail.

use std::io;
use std::path::Path;
use std::sync::Arc;

use derive_more::{Display, Error};
use nix::libc::{EAGAIN, EMFILE, ENFILE, ENOMEM};

/// Mode in which a file is opened. A symbolic link is never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To be read.
    Read,
    /// To be read, and written at its end.
    Append,
    /// As `Append`, and made if there is none.
    AppendOrNew,
    /// As `Append`; there must be none yet.
    New,
}

/// The facts about a file without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its kind.
    pub kind: FileKind,
    /// The device and the number that name it, whatever its path.
    pub inode: (u64, u64),
    /// Size in bytes.
    pub length: u64,
    /// Number of paths that lead to it.
    pub links: u64,
    /// Time of the last change of its content, in nanoseconds since the Unix epoch.
    pub changed_at: u64,
}

/// The kind of a file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, a device or another thing that is not a journal.
    Other,
}

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// Opens a file, private to its owner if it is new or is written.
    ///
    /// # Errors
    /// The system's error.
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Arc<dyn DiskFile>>;

    /// Looks at a path without following a link.
    ///
    /// # Errors
    /// The system's error.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// The names in a folder.
    ///
    /// # Errors
    /// The system's error.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Moves a file, in place of one that may be there.
    ///
    /// # Errors
    /// The system's error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Moves a file to a path where nothing is yet.
    ///
    /// # Errors
    /// The system's error.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second path.
    ///
    /// # Errors
    /// The system's error.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder, and those above it, private to their owner. One that is there is made
    /// private.
    ///
    /// # Errors
    /// The system's error.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// Opens a folder, so that its names can be made durable later without another open file.
    ///
    /// # Errors
    /// The system's error.
    fn open_folder(&self, folder: &Path) -> io::Result<Arc<dyn DiskFolder>>;

    /// Makes the names in a folder outlive a power cut.
    ///
    /// # Errors
    /// The system's error.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.open_folder(folder)?.sync()
    }
}

/// An open folder.
pub trait DiskFolder: Send + Sync + 'static {
    /// Makes the names in it outlive a power cut.
    ///
    /// # Errors
    /// The system's error.
    fn sync(&self) -> io::Result<()>;
}

/// An open file. The last clone of its `Arc` closes it and releases its lock.
pub trait DiskFile: Send + Sync + 'static {
    /// The facts about it.
    ///
    /// # Errors
    /// The system's error.
    fn stat(&self) -> io::Result<Stat>;

    /// Reads what is there, as much as there is; 0 at the end.
    ///
    /// # Errors
    /// The system's error.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at the end, and tells how much.
    ///
    /// # Errors
    /// The system's error.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file.
    ///
    /// # Errors
    /// The system's error.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Makes the content outlive a power cut.
    ///
    /// # Errors
    /// The system's error. Bytes that were not synced may be lost even if a later call succeeds.
    fn sync(&self) -> io::Result<()>;

    /// Takes the file for this process, if no other has it.
    ///
    /// # Errors
    /// The system's error.
    fn try_lock(&self) -> io::Result<bool>;
}

/// The reason why nothing is done: the path leads to another folder, which would be read, written or made.
#[derive(Debug, Clone, Copy, Display, Error)]
#[display("the state folder is away, or another one is in its place")]
pub(super) struct Away;

/// True if the operation may succeed later: the system lacked an open file or memory, or the state folder is away.
pub(super) fn is_passing(error: &io::Error) -> bool {
    let passing = [EMFILE, ENFILE, ENOMEM, EAGAIN];
    let errno = error.raw_os_error();
    let is_away = matches!(error.get_ref(), Some(inner) if inner.is::<Away>());
    is_away || errno.is_some_and(|errno| passing.contains(&errno))
}

/// Writes all of it at the end.
///
/// # Errors
/// The system's error; a part may be written then.
pub(super) fn append_all(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
