//! Folders that are held open, and what is done in them by name: no path is looked up, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstat, fstatat, mkdirat};
use nix::unistd::{AccessFlags, Gid, Uid, UnlinkatFlags, faccessat, fchownat, symlinkat, unlinkat};

/// Opens a folder without the right to list it; the kernel refuses a link in its place.
#[cfg(target_os = "linux")]
const HOLD: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const HOLD: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
/// Number of names in order that are tried for an entry that is put aside, before names that nothing can foresee.
const ORDERED_NAMES: u64 = 100;
/// Number of names that are tried for an entry that is put aside.
const MAX_ASIDE: u64 = 120;
/// Maximum length of the part of an entry's name that its new name has, in bytes.
const MAX_SHOWN: usize = 64;

/// A folder that stays the same one when its name is given to another.
#[derive(Debug)]
pub(super) struct HeldFolder(OwnedFd);

/// The numbers of an entry's device and inode.
pub(super) type EntryIdentity = (nix::libc::dev_t, nix::libc::ino_t);

/// The kind of an entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The place that a relative path leads to.
#[derive(Debug)]
pub(super) enum HeldPlace {
    /// An entry of this folder, whether it exists or not.
    Entry(HeldFolder, OsString),
    /// A folder above the place does not exist.
    Absent,
    /// This entry of this folder is above the place, and is not a folder.
    Blocked(HeldFolder, OsString),
}

impl HeldFolder {
    /// Opens the folder at a path whose last name is not a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, HOLD, Mode::empty())?))
    }

    /// Opens a folder in this one.
    pub(super) fn folder(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, HOLD, Mode::empty())?))
    }

    /// Opens the same folder a second time.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// The place that a relative path of plain names leads to.
    pub(super) fn place(&self, relative: &Path) -> io::Result<HeldPlace> {
        let mut names = Vec::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
            }
        }
        let Some((last, above)) = names.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = self.again()?;
        for name in above {
            folder = match folder.folder(name) {
                Ok(next) => next,
                Err(error) => {
                    return match folder.kind(name)? {
                        None => Ok(HeldPlace::Absent),
                        Some(EntryKind::Folder) => Err(error),
                        Some(EntryKind::File | EntryKind::Link | EntryKind::Other) => {
                            Ok(HeldPlace::Blocked(folder, (*name).to_owned()))
                        }
                    };
                }
            };
        }
        Ok(HeldPlace::Entry(folder, (*last).to_owned()))
    }

    /// The kind of an entry. `None` if it does not exist.
    pub(super) fn kind(&self, name: &OsStr) -> io::Result<Option<EntryKind>> {
        let found = match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        Ok(Some(
            match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
                SFlag::S_IFREG => EntryKind::File,
                SFlag::S_IFDIR => EntryKind::Folder,
                SFlag::S_IFLNK => EntryKind::Link,
                _ => EntryKind::Other,
            },
        ))
    }

    /// The names in this folder, sorted.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut listed = Dir::openat(&self.0, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in listed.iter() {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The content and the mode of a regular file. `None` if it has more than `most` bytes.
    pub(super) fn read(&self, name: &OsStr, most: u64) -> io::Result<Option<(Vec<u8>, u32)>> {
        self.read_with(name, most, OFlag::O_NOFOLLOW)
    }

    /// The same of the file that a link leads to, to compare it: it may be anywhere.
    pub(super) fn read_followed(
        &self,
        name: &OsStr,
        most: u64,
    ) -> io::Result<Option<(Vec<u8>, u32)>> {
        self.read_with(name, most, OFlag::empty())
    }

    /// Opens a regular file for reading.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<File> {
        Ok(self.file_with(name, OFlag::O_NOFOLLOW)?.0)
    }

    fn file_with(&self, name: &OsStr, how: OFlag) -> io::Result<(File, Metadata)> {
        // A pipe in its place is not waited for.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let flags = flags | OFlag::O_CLOEXEC | how;
        let file = File::from(openat(&self.0, name, flags, Mode::empty())?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((file, found))
    }

    fn read_with(&self, name: &OsStr, most: u64, how: OFlag) -> io::Result<Option<(Vec<u8>, u32)>> {
        let (file, found) = self.file_with(name, how)?;
        let mut content = Vec::new();
        file.take(most + 1).read_to_end(&mut content)?;
        let is_whole = u64::try_from(content.len()).is_ok_and(|length| length <= most);
        Ok(is_whole.then(|| (content, found.permissions().mode())))
    }

    /// True if an entry has other names, by which it can be written as well.
    pub(super) fn has_other_names(&self, name: &OsStr) -> io::Result<bool> {
        let found = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok(found.st_nlink > 1)
    }

    /// The numbers that tell an entry from any other that has its name later.
    pub(super) fn identity(&self, name: &OsStr) -> io::Result<EntryIdentity> {
        let found = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok((found.st_dev, found.st_ino))
    }

    /// The target of a link.
    pub(super) fn link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(readlinkat(&self.0, name)?)
    }

    /// Makes a file that does not exist yet.
    pub(super) fn make_file(&self, name: &OsStr, content: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let created = openat(&self.0, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let mut file = File::from(created);
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode & 0o7777))
    }

    /// Gives an entry the owner and the group of another one, if this user may do that.
    pub(super) fn own_like(&self, name: &OsStr, other: &OsStr) -> io::Result<()> {
        let wanted = fstatat(&self.0, other, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        let (owner, group) = (Uid::from_raw(wanted.st_uid), Gid::from_raw(wanted.st_gid));
        match fchownat(
            &self.0,
            name,
            Some(owner),
            Some(group),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        ) {
            Err(Errno::EPERM) => Ok(()),
            given => Ok(given?),
        }
    }

    /// Puts an entry in the place of another one.
    pub(super) fn replace(&self, name: &OsStr, old: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &self.0, old)?)
    }

    /// Makes a link that does not exist yet.
    pub(super) fn make_link(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Makes a folder unless it exists, and opens it.
    pub(super) fn make_folder(&self, name: &OsStr) -> io::Result<Self> {
        let mode = Mode::from_bits_truncate(0o755);
        match mkdirat(&self.0, name, mode) {
            // The mask of this process may have taken more than the owner's rights.
            Ok(()) => fchmodat(&self.0, name, mode, FchmodatFlags::FollowSymlink)?,
            Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.folder(name)
    }

    /// True if this is the same folder as another one.
    pub(super) fn is_same(&self, other: &Self) -> io::Result<bool> {
        let (own, other) = (fstat(&self.0)?, fstat(&other.0)?);
        Ok((own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
    }

    /// True if git can look at what is in an entry, which may be a link.
    pub(super) fn can_enter(&self, name: &OsStr) -> bool {
        faccessat(&self.0, name, AccessFlags::X_OK, AtFlags::empty()).is_ok()
    }

    /// Removes an entry that is no folder.
    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::RemoveDir)?)
    }

    /// Moves an entry into another folder, under a name that no program looks for, and returns that name.
    pub(super) fn put_aside(&self, name: &OsStr, into: &Self) -> io::Result<OsString> {
        let shown = shown_name(name);
        first_free(|number| {
            let aside = OsString::from(format!("put-aside-{number}-{shown}"));
            self.move_into(name, into, &aside).map(|()| aside)
        })
    }

    /// Moves an entry into another folder, where nothing has the new name. The right to do so that a folder does not
    /// give to its owner is added.
    pub(super) fn move_into(&self, name: &OsStr, into: &Self, new: &OsStr) -> io::Result<()> {
        match rename_new(&self.0, name, &into.0, new) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.let_owner_write()?;
                into.let_owner_write()?;
                // The entry `..` of a folder changes when it is moved.
                if let Ok(Some(EntryKind::Folder)) = self.kind(name) {
                    self.folder(name)?.let_owner_write()?;
                }
                rename_new(&self.0, name, &into.0, new)
            }
            moved => moved,
        }
    }

    fn let_owner_write(&self) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(fstat(&self.0)?.st_mode) | Mode::S_IRWXU;
        Ok(fchmodat(&self.0, ".", mode, FchmodatFlags::FollowSymlink)?)
    }

    /// Makes a folder for what is put aside, and opens it.
    pub(super) fn make_aside(&self) -> io::Result<(OsString, Self)> {
        let name = first_free(|number| {
            let name = OsString::from(format!("put-aside-{number}"));
            let make = || mkdirat(&self.0, &*name, Mode::S_IRWXU).map_err(io::Error::from);
            match make() {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.let_owner_write()?;
                    make()
                }
                made => made,
            }?;
            Ok(name)
        })?;
        let folder = self.folder(&name)?;
        Ok((name, folder))
    }
}

/// The beginning of the name of an entry that is put aside, without dots before it.
pub(super) fn shown_name(name: &OsStr) -> String {
    let shown = name.to_string_lossy();
    let shown = shown.trim_start_matches('.');
    let fits = |(at, sign): &(usize, char)| at + sign.len_utf8() <= MAX_SHOWN;
    let signs = shown.char_indices().take_while(fits);
    signs.map(|(_, sign)| sign).collect()
}

/// The first success for a number whose name is free. A command may have taken each name that it can foresee.
fn first_free<T>(mut attempt: impl FnMut(u64) -> io::Result<T>) -> io::Result<T> {
    for number in 1..=MAX_ASIDE {
        let is_ordered = number <= ORDERED_NAMES;
        match attempt(if is_ordered {
            number
        } else {
            fastrand::u64(..)
        }) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Renames an entry to a name that nothing has.
#[cfg(target_os = "linux")]
fn rename_new(from: &OwnedFd, name: &OsStr, into: &OwnedFd, new: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno as Refusal;

    match renameat_with(from, name, into, new, RenameFlags::NOREPLACE) {
        // Network file systems have no such renaming.
        Err(Refusal::INVAL | Refusal::NOSYS | Refusal::OPNOTSUPP) => {
            rename_if_absent(from, name, into, new)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &OwnedFd, name: &OsStr, into: &OwnedFd, new: &OsStr) -> io::Result<()> {
    rename_if_absent(from, name, into, new)
}

fn rename_if_absent(from: &OwnedFd, name: &OsStr, into: &OwnedFd, new: &OsStr) -> io::Result<()> {
    match fstatat(into, new, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(renameat(from, name, into, new)?),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    /// Spec: [BASH-206]
    #[test]
    fn no_link_leads_out_of_a_held_folder() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::create_dir(at("out")).unwrap();
        fs::write(at("out/secret"), "secret").unwrap();
        symlink(at("out"), at("in/away")).unwrap();
        symlink(at("out/secret"), at("in/file")).unwrap();
        nix::unistd::mkfifo(&at("in/pipe"), Mode::S_IRWXU).unwrap();
        let held = HeldFolder::open(&at("in")).unwrap();
        assert!(HeldFolder::open(&at("in/away")).is_err());
        assert!(held.folder(name("away")).is_err());
        assert!(held.read(name("file"), 100).is_err());
        assert!(held.read(name("pipe"), 100).is_err());
        let blocked = held.place(Path::new("away/secret")).unwrap();
        assert!(matches!(blocked, HeldPlace::Blocked(_, name) if name == "away"));
        let entry = held.place(Path::new("deep/new")).unwrap();
        assert!(matches!(entry, HeldPlace::Entry(_, name) if name == "new"));
        let absent = held.place(Path::new("none/new")).unwrap();
        assert!(matches!(absent, HeldPlace::Absent));
        assert!(held.place(Path::new("../out/secret")).is_err());
        assert!(held.place(&at("out/secret")).is_err());
        assert_eq!(held.kind(name("away")).unwrap(), Some(EntryKind::Link));
        assert_eq!(held.kind(name("pipe")).unwrap(), Some(EntryKind::Other));
        assert_eq!(held.kind(name("none")).unwrap(), None);
    }

    /// Spec: [BASH-206]
    #[test]
    fn an_entry_is_put_aside_under_a_name_that_nothing_has() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        let held = HeldFolder::open(home.path()).unwrap();
        fs::write(at("put-aside-1-x"), "kept").unwrap();
        fs::write(at(".x"), "moved").unwrap();
        // The folder is the same one under another name.
        fs::create_dir(at("deep")).unwrap();
        let deep = held.folder(name("deep")).unwrap();
        fs::rename(at("deep"), at("moved")).unwrap();
        assert_eq!(held.put_aside(name(".x"), &deep).unwrap(), "put-aside-1-x");
        assert_eq!(
            deep.put_aside(name("put-aside-1-x"), &held).unwrap(),
            "put-aside-1-put-aside-1-x"
        );
        assert_eq!(fs::read(at("put-aside-1-x")).unwrap(), b"kept");
        held.make_file(name("made"), b"1", 0o755).unwrap();
        assert!(held.make_file(name("made"), b"2", 0o644).is_err());
        assert_eq!(
            held.read(name("made"), 1).unwrap().unwrap().1 & 0o777,
            0o755
        );
        assert_eq!(held.read(name("put-aside-1-x"), 3).unwrap(), None);
    }

    /// Spec: [BASH-574]
    #[test]
    fn an_entry_is_put_aside_whatever_a_command_has_made_of_names_and_rights() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        let held = HeldFolder::open(home.path()).unwrap();
        for number in 1..=1200 {
            fs::write(at(&format!("put-aside-{number}-x")), "").unwrap();
        }
        fs::create_dir_all(at("in/folder")).unwrap();
        fs::write(at(".x"), "moved").unwrap();
        let aside = held.put_aside(name(".x"), &held).unwrap();
        assert_eq!(fs::read(home.path().join(aside)).unwrap(), b"moved");
        let long = "\u{e4}".repeat(127);
        fs::write(at(&long), "long").unwrap();
        let aside = held.put_aside(name(&long), &held).unwrap();
        assert_eq!(fs::read(home.path().join(aside)).unwrap(), b"long");
        let inner = held.folder(name("in")).unwrap();
        for path in ["in/folder", "in"] {
            fs::set_permissions(at(path), Permissions::from_mode(0o555)).unwrap();
        }
        inner.put_aside(name("folder"), &held).unwrap();
        assert!(!at("in/folder").exists());
        let (first, _) = held.make_aside().unwrap();
        let (second, _) = held.make_aside().unwrap();
        assert_eq!(
            (first, second),
            ("put-aside-1".into(), "put-aside-2".into())
        );
    }
}
