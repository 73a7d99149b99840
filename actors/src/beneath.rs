//! Opening files below a folder, and never through a link that leads out of it.
//!
//! A path is looked up once, and that gives a handle. What is judged (type, owner, size) is the
//! file behind the handle, and what is read is that same file, whatever has become of its name.
//!
//! Invariant: neither a device nor a pipe is ever opened for reading, so nothing here waits.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use derive_more::{Display, Error, From};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::Mode;

/// How many links one path may lead over, as in the kernel of Linux.
const MAX_LINKS: usize = 40;
/// Opens for reading, without waiting for a peer and without becoming a controlling terminal.
const READ: OFlag = OFlag::O_NONBLOCK.union(OFlag::O_NOCTTY);
/// Gives a handle that reads nothing and needs no right to read.
#[cfg(target_os = "linux")]
const LOOK: OFlag = OFlag::O_PATH;
/// There is no such handle here. The type is looked at before, see [`open_step`].
#[cfg(not(target_os = "linux"))]
const LOOK: OFlag = READ;

/// How links in a path are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Those that stay below the folder are followed.
    Inside,
    /// None is followed.
    Refused,
}

/// Why something below a folder is not opened.
#[derive(Debug, Display, Error, From)]
pub enum BeneathError {
    /// The path, or a link in it, leads out of the folder.
    #[display("it leads out of the folder")]
    LeadsOut,
    /// There is a link in the path, and none is followed.
    #[display("it is a link")]
    Link,
    /// The path leads into the part of the folder that is left out, see [`FolderHandle::without`].
    #[display("it lies in a part of the folder that is left out")]
    LeftOut,
    /// It is a folder, a pipe, a device, a socket or a file of the kernel's.
    #[display("it is not a file")]
    NotAFile,
    /// The system refused.
    Io(io::Error),
}

impl From<Errno> for BeneathError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl BeneathError {
    /// Whether there is nothing, instead of something that cannot be used.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        let Self::Io(error) = self else {
            return false;
        };
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    }
}

/// Identifies a file by device and inode, independent of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            number: found.ino(),
        }
    }
}

/// A folder that is held open: it stays the same one when its name is given to another.
#[derive(Debug)]
pub struct FolderHandle {
    /// Kept as a file, for its metadata. On Linux it reads nothing.
    handle: File,
    /// The prefixes of absolute paths to it.
    names: Vec<PathBuf>,
    left_out: Option<FileIdentity>,
}

impl FolderHandle {
    /// Opens a folder and follows links on the way: the caller that names it trusts that path.
    ///
    /// # Errors
    /// When there is no folder that can be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = LOOK | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let handle = open(path, flags, Mode::empty())?;
        let mut names = vec![path.to_owned()];
        names.extend(fs::canonicalize(path).ok().filter(|real| real != path));
        Ok(Self {
            handle: handle.into(),
            names,
            left_out: None,
        })
    }

    /// The same folder without one that is in it or is it: nothing there is opened, by whatever
    /// name or link. A folder elsewhere changes nothing.
    #[must_use]
    pub fn without(mut self, other: &Path) -> Self {
        let real = fs::canonicalize(other).ok();
        let is_inside =
            real.is_some_and(|real| self.names.iter().any(|name| real.starts_with(name)));
        if is_inside {
            self.left_out = fs::metadata(other)
                .ok()
                .map(|found| FileIdentity::from_metadata(&found));
        }
        self
    }

    /// The metadata of the folder itself.
    ///
    /// # Errors
    /// When it says nothing.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.handle.metadata()
    }

    /// Looks at a regular file without opening it for reading. The path is relative to the folder,
    /// or absolute and begins with the folder's own.
    ///
    /// # Errors
    /// When there is none that may be opened.
    pub fn look(&self, path: &Path, links: LinkPolicy) -> Result<Metadata, BeneathError> {
        regular(&self.find(path, links, LOOK)?)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// When there is none that may be opened, or that can be read.
    pub fn open_file(&self, path: &Path, links: LinkPolicy) -> Result<File, BeneathError> {
        opened(|flags| self.find(path, links, flags))
    }

    /// Opens a folder. What is opened in it then stays below that one.
    ///
    /// # Errors
    /// When there is none that may be opened.
    pub fn open_folder(&self, path: &Path, links: LinkPolicy) -> Result<Self, BeneathError> {
        let handle = self.find(path, links, LOOK)?;
        if !handle.metadata()?.is_dir() {
            return Err(Errno::ENOTDIR.into());
        }
        Ok(Self {
            handle,
            names: Vec::new(),
            left_out: self.left_out,
        })
    }

    /// The names of what is in the folder, in no order.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn list(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let entries = Dir::from_fd(openat(&self.handle, c".", flags, Mode::empty())?)?;
        Ok(entries.into_iter().filter_map(|entry| match entry {
            Ok(entry) => match entry.file_name().to_bytes() {
                b"." | b".." => None,
                name => Some(Ok(OsStr::from_bytes(name).to_owned())),
            },
            Err(errno) => Some(Err(errno.into())),
        }))
    }

    fn find(&self, path: &Path, links: LinkPolicy, flags: OFlag) -> Result<File, BeneathError> {
        let path = self.relative(path)?;
        // The kernel knows nothing of a part that is left out.
        if self.left_out.is_none()
            && let Some(found) = ask_kernel(&self.handle, path, links, flags)
        {
            return Ok(found?);
        }
        self.walk(path, links, flags)
    }

    /// The path from this folder on. Another absolute one leads out.
    fn relative<'p>(&self, path: &'p Path) -> Result<&'p Path, BeneathError> {
        if path.is_relative() {
            return Ok(path);
        }
        let mut rests = self.names.iter().map(|name| path.strip_prefix(name));
        rests.find_map(Result::ok).ok_or(BeneathError::LeadsOut)
    }

    /// Goes from folder to folder, each held by its handle. What a link says is only a further part
    /// of the way, so no exchange of names leads out, and `..` leads back to where we came from.
    fn walk(&self, path: &Path, links: LinkPolicy, flags: OFlag) -> Result<File, BeneathError> {
        let mut passed: Vec<File> = Vec::new();
        let mut ahead: VecDeque<OsString> = steps(path).collect();
        let mut followed = 0;
        self.check_left_out(&self.handle)?;
        while let Some(step) = ahead.pop_front() {
            if step == ".." {
                passed.pop().ok_or(BeneathError::LeadsOut)?;
                continue;
            }
            let here = passed.last().unwrap_or(&self.handle);
            match readlinkat(here, &*step) {
                Ok(_) if links == LinkPolicy::Refused => return Err(BeneathError::Link),
                Ok(_) if followed == MAX_LINKS => return Err(Errno::ELOOP.into()),
                Ok(target) => {
                    followed += 1;
                    let target = Path::new(&target);
                    if target.is_absolute() {
                        passed.clear();
                    }
                    for step in steps(self.relative(target)?).rev() {
                        ahead.push_front(step);
                    }
                }
                // It is no link.
                Err(Errno::EINVAL) => {
                    let found = open_step(here, &step, ahead.is_empty(), flags)?;
                    self.check_left_out(&found)?;
                    passed.push(found);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        let found = passed.pop();
        Ok(found.map_or_else(|| self.handle.try_clone(), Ok)?)
    }

    fn check_left_out(&self, found: &File) -> Result<(), BeneathError> {
        match self.left_out {
            Some(left_out) if FileIdentity::from_metadata(&found.metadata()?) == left_out => {
                Err(BeneathError::LeftOut)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Opens a regular file for reading wherever its name and links lead: for files of our own.
///
/// # Errors
/// When there is none that can be read.
pub fn open_anywhere(path: &Path) -> Result<File, BeneathError> {
    if !fs::metadata(path)?.is_file() {
        return Err(BeneathError::NotAFile);
    }
    opened(|flags| Ok(open(path, flags | OFlag::O_CLOEXEC, Mode::empty())?.into()))
}

/// Opens for reading what is found, if it is a regular file.
fn opened(find: impl Fn(OFlag) -> Result<File, BeneathError>) -> Result<File, BeneathError> {
    let found = find(LOOK)?;
    let judged = regular(&found)?;
    match readable(found) {
        // The system has no /proc. The name is looked up again, and must lead to the same file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let again = find(READ)?;
            if FileIdentity::from_metadata(&regular(&again)?)
                == FileIdentity::from_metadata(&judged)
            {
                return Ok(again);
            }
            Err(io::Error::other("it was exchanged while it was opened").into())
        }
        opened => Ok(opened?),
    }
}

/// The parts of a path, without those that lead nowhere.
fn steps(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// Opens one part of a path. If it has become a link since it was looked at, it is not followed.
fn open_step(
    folder: &File,
    step: &OsStr,
    is_last: bool,
    flags: OFlag,
) -> Result<File, BeneathError> {
    let flags = if is_last {
        #[cfg(not(target_os = "linux"))]
        refuse_others(folder, step)?;
        flags
    } else {
        LOOK | OFlag::O_DIRECTORY
    };
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, step, flags, Mode::empty())?.into())
}

/// Keeps what is neither a file nor a folder from being opened.
#[cfg(not(target_os = "linux"))]
fn refuse_others(folder: &File, step: &OsStr) -> Result<(), BeneathError> {
    use nix::fcntl::AtFlags;
    use nix::sys::stat::{SFlag, fstatat};

    let found = fstatat(folder, step, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG | SFlag::S_IFDIR => Ok(()),
        _ => Err(BeneathError::NotAFile),
    }
}

/// Asks the kernel for the file. Nothing if it cannot tell: because it is too old, because a sandbox
/// forbids to ask, or because it refuses a link. Of links, the walk says which one and follows
/// absolute ones that lead back below the folder.
#[cfg(target_os = "linux")]
fn ask_kernel(
    folder: &File,
    path: &Path,
    links: LinkPolicy,
    flags: OFlag,
) -> Option<io::Result<File>> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};

    /// How often the kernel may find that names were exchanged while it looked.
    const MAX_TRIES: usize = 16;

    let mut resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    if links == LinkPolicy::Refused {
        resolve |= ResolveFlag::RESOLVE_NO_SYMLINKS;
    }
    let how = OpenHow::new()
        .flags(flags | OFlag::O_CLOEXEC)
        .resolve(resolve);
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    for _ in 0..MAX_TRIES {
        match openat2(folder, path, how) {
            Ok(found) => return Some(Ok(found.into())),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(Errno::ENOSYS | Errno::EPERM | Errno::EXDEV | Errno::ELOOP) => return None,
            Err(errno) => return Some(Err(errno.into())),
        }
    }
    None
}

/// Only Linux can be asked.
#[cfg(not(target_os = "linux"))]
fn ask_kernel(_: &File, _: &Path, _: LinkPolicy, _: OFlag) -> Option<io::Result<File>> {
    None
}

/// The metadata of a file, if it is a regular one. The kernel's files in /proc say that
/// they are: they show the memory and the environment of processes, which no reader of files needs.
fn regular(found: &File) -> Result<Metadata, BeneathError> {
    let metadata = found.metadata()?;
    #[cfg(target_os = "linux")]
    let is_kernels = {
        use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
        fstatfs(found)?.filesystem_type() == PROC_SUPER_MAGIC
    };
    #[cfg(not(target_os = "linux"))]
    let is_kernels = false;
    if metadata.is_file() && !is_kernels {
        Ok(metadata)
    } else {
        Err(BeneathError::NotAFile)
    }
}

/// The same file, open for reading. Its handle names it in /proc, so no name is looked up again.
#[cfg(target_os = "linux")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "elsewhere it is the handle itself"
)]
fn readable(found: File) -> io::Result<File> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    File::options()
        .read(true)
        .custom_flags(READ.bits())
        .open(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// The handle reads already.
#[cfg(not(target_os = "linux"))]
fn readable(found: File) -> io::Result<File> {
    Ok(found)
}

#[cfg(test)]
#[path = "beneath_tests.rs"]
mod tests;
