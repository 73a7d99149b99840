//! The file beside the one that is changed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::Mode;
use nix::unistd::{LinkatFlags, UnlinkatFlags, linkat, symlinkat, unlinkat};
use rustix::fs::{AtFlags, FlockOperation, Stat, flock, fstat, renameat, statat};

use crate::tool::{EffectError, path};

/// The start of the names; sixteen hexadecimal digits follow.
const PREFIX: &str = ".harness-";
const DIGITS: usize = 16;
/// Holds a link itself.
#[cfg(target_os = "linux")]
const HOLD_LINK: OFlag = OFlag::O_PATH
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const HOLD_LINK: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC);

/// A file beside the one that is changed. It is removed when it is let go, whatever is behind its name. The
/// folder is locked meanwhile, together with those who change other files there: what lies in a folder that
/// no living process has locked is left over.
pub(super) struct Temporary<'f> {
    pub(super) folder: &'f File,
    pub(super) name: String,
    pub(super) file: File,
}

impl<'f> Temporary<'f> {
    /// Makes one. The lock is let go with the folder.
    pub(super) fn make(folder: &'f File) -> nix::Result<Self> {
        if let Err(error) = flock(folder, FlockOperation::LockShared) {
            // Where there are no locks, nobody has the one that sweeping takes.
            log::debug!("a folder is not locked for a change: {error}");
        }
        let name = format!("{PREFIX}{:0DIGITS$x}", fastrand::u64(..));
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = openat(folder, &*name, flags, mode)?.into();
        Ok(Self { folder, name, file })
    }

    /// Makes a symbolic link. The lock is let go with the folder.
    pub(super) fn make_link(folder: &'f File, target: &OsStr) -> nix::Result<Self> {
        if let Err(error) = flock(folder, FlockOperation::LockShared) {
            log::debug!("a folder is not locked for a change: {error}");
        }
        let name = format!("{PREFIX}{:0DIGITS$x}", fastrand::u64(..));
        symlinkat(target, folder, &*name)?;
        match openat(folder, &*name, HOLD_LINK, Mode::empty()) {
            Ok(file) => Ok(Self {
                folder,
                name,
                file: file.into(),
            }),
            Err(error) => {
                remove(folder, &name);
                Err(error)
            }
        }
    }

    /// The target of the link that has the temporary name.
    pub(super) fn target(&self) -> nix::Result<OsString> {
        readlinkat(self.folder, &*self.name)
    }

    /// Gives the file that name, which nothing may have.
    #[cfg(target_os = "linux")]
    pub(super) fn become_new(&self, name: &OsStr) -> Result<(), EffectError> {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;

        let flags = RenameFlags::NOREPLACE;
        match renameat_with(self.folder, &*self.name, self.folder, name, flags) {
            // Network file systems have no such renaming.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.link_as(name),
            renamed => as_change(renamed),
        }
    }

    /// Gives the file that name, which nothing may have.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn become_new(&self, name: &OsStr) -> Result<(), EffectError> {
        self.link_as(name)
    }

    /// Gives the file that name besides its own, which is removed with this.
    pub(super) fn link_as(&self, name: &OsStr) -> Result<(), EffectError> {
        let flags = LinkatFlags::empty();
        match linkat(self.folder, &*self.name, self.folder, name, flags) {
            Ok(()) => Ok(()),
            Err(Errno::EEXIST | Errno::ENOENT) => Err(EffectError::Changed),
            Err(error) => Err(failed(error)),
        }
    }

    /// Exchanges the file with the one that has that name.
    #[cfg(target_os = "linux")]
    pub(super) fn exchange(&self, name: &OsStr) -> Result<(), EffectError> {
        use rustix::fs::{RenameFlags, renameat_with};

        let flags = RenameFlags::EXCHANGE;
        as_change(renameat_with(
            self.folder,
            &*self.name,
            self.folder,
            name,
            flags,
        ))
    }

    /// Exchanges the file with the one that has that name. Not in one step, so not at all.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn exchange(&self, _name: &OsStr) -> Result<(), EffectError> {
        Err(failed(Errno::ENOSYS))
    }

    /// Takes the file that has that name away, in one step: it has the temporary name from then on, and is removed with
    /// this. A crash leaves either name with the whole file.
    pub(super) fn displace(&self, name: &OsStr) -> Result<(), EffectError> {
        use rustix::io::Errno;

        match renameat(self.folder, name, self.folder, &*self.name) {
            Ok(()) => Ok(()),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => Err(EffectError::Changed),
            Err(error) => Err(failed(error)),
        }
    }

    /// Undoes an exchange. What another program has put at the name meanwhile is the newest, and stays
    /// there.
    pub(super) fn take_back(&self, name: &OsStr) -> Result<(), EffectError> {
        let is_same =
            |one: &Stat, other: &Stat| (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino);
        let mut put = fstat(&self.file).map_err(failed)?;
        loop {
            let next = self.stat()?;
            self.exchange(name)?;
            if is_same(&self.stat()?, &put) {
                return Ok(());
            }
            put = next;
        }
    }

    /// The file that has the temporary name.
    fn stat(&self) -> Result<Stat, EffectError> {
        statat(self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)
    }
}

#[cfg(target_os = "linux")]
fn as_change(renamed: rustix::io::Result<()>) -> Result<(), EffectError> {
    use rustix::io::Errno;

    match renamed {
        Ok(()) => Ok(()),
        Err(Errno::NOENT | Errno::EXIST) => Err(EffectError::Changed),
        Err(error) => Err(failed(error)),
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        remove(self.folder, &self.name);
    }
}

/// True if a name has the form of those of temporary files.
pub(super) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.len() == DIGITS && digits.bytes().all(is_digit)
}

/// Removes a temporary file.
pub(super) fn remove(folder: &File, name: &str) {
    match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(error) => log::warn!("the temporary file {name} is left: {error}"),
    }
}

pub(super) fn failed(error: impl Into<io::Error>) -> EffectError {
    EffectError::Failed(path::io_error(&error.into(), "the folder is gone"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Spec: [TOOL-58]
    #[test]
    fn what_is_put_there_while_a_change_is_taken_back_stays() {
        let home = tempfile::tempdir().unwrap();
        let (path, name) = (home.path().join("file"), OsStr::new("file"));
        let folder = File::open(home.path()).unwrap();
        for newer in [None, Some("newer")] {
            fs::write(&path, "another").unwrap();
            let temporary = Temporary::make(&folder).unwrap();
            temporary.exchange(name).unwrap();
            if let Some(newer) = newer {
                fs::write(home.path().join("made"), newer).unwrap();
                fs::rename(home.path().join("made"), &path).unwrap();
            }
            temporary.take_back(name).unwrap();
            drop(temporary);
            let expected = newer.unwrap_or("another");
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            assert_eq!(names(home.path()), ["file"]);
        }
    }

    /// Spec: [UNDO-801]
    #[test]
    fn a_file_that_is_taken_away_is_whole_under_one_name_and_comes_back_where_nothing_is() {
        let home = tempfile::tempdir().unwrap();
        let (path, name) = (home.path().join("file"), OsStr::new("file"));
        let folder = File::open(home.path()).unwrap();
        for newer in [None, Some("newer")] {
            fs::write(&path, "made").unwrap();
            let temporary = Temporary::make(&folder).unwrap();
            temporary.displace(name).unwrap();
            assert_eq!(names(home.path()), [temporary.name.as_str()]);
            let moved = fs::read_to_string(home.path().join(&temporary.name)).unwrap();
            assert_eq!(moved, "made");
            if let Some(newer) = newer {
                fs::write(&path, newer).unwrap();
            }
            let is_back = temporary.become_new(name).is_ok();
            assert_eq!(is_back, newer.is_none());
            drop(temporary);
            assert_eq!(fs::read_to_string(&path).unwrap(), newer.unwrap_or("made"));
            assert_eq!(names(home.path()), ["file"]);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        for name in ["file", "none"] {
            let temporary = Temporary::make(&folder).unwrap();
            let taken = temporary.displace(OsStr::new(name));
            assert_eq!(taken, Err(EffectError::Changed), "{name}");
        }
        assert_eq!(names(home.path()), ["file"]);
    }

    /// Spec: [TOOL-58]
    #[test]
    fn a_new_file_takes_nobodys_place_on_any_file_system() {
        let home = tempfile::tempdir().unwrap();
        let folder = File::open(home.path()).unwrap();
        for (is_linked, name) in [(false, "one"), (true, "two")] {
            let name = OsStr::new(name);
            let give = |temporary: Temporary<'_>| match is_linked {
                false => temporary.become_new(name),
                true => temporary.link_as(name),
            };
            assert_eq!(give(Temporary::make(&folder).unwrap()), Ok(()));
            let again = give(Temporary::make(&folder).unwrap());
            assert_eq!(again, Err(EffectError::Changed));
        }
        assert_eq!(names(home.path()), ["one", "two"]);
    }
}
