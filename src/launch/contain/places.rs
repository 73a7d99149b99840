//! Places for mounts in a folder that commands can change: what they have put there leads nowhere else.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::view::MountedKind;

/// Makes a folder or a file, and the folders above it, below an open one. No link is followed: one that is in the way
/// is removed, and so is a file where a folder has to be.
pub(super) fn make(folder: &OwnedFd, path: &Path, kind: MountedKind) -> io::Result<()> {
    let mut folder = folder.try_clone()?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_some() || kind == MountedKind::Folder {
            folder = open_folder(&folder, name)?;
        } else {
            make_file(&folder, name)?;
        }
    }
    Ok(())
}

fn open_folder(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let found = kind_at(folder, name)?;
    if found != Some(FileType::Directory) {
        if found.is_some() {
            unlinkat(folder, name, AtFlags::empty())?;
        }
        match mkdirat(folder, name, Mode::from_raw_mode(0o755)) {
            // Another command makes the same one.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

fn make_file(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match kind_at(folder, name)? {
        Some(FileType::Directory) => unlinkat(folder, name, AtFlags::REMOVEDIR)?,
        Some(FileType::Symlink) => unlinkat(folder, name, AtFlags::empty())?,
        Some(_) => return Ok(()),
        None => {}
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::from_raw_mode(0o644)) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The kind of what has that name, without following a link.
fn kind_at(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<FileType>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [BOX-542]
    #[test]
    fn what_a_command_has_put_in_the_way_of_a_place_leads_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let (folder, outside) = (home.path().join("tmp"), home.path().join("outside"));
        for path in [&folder, &outside] {
            fs::create_dir(path).unwrap();
        }
        symlink(&outside, folder.join("link")).unwrap();
        symlink(outside.join("file"), folder.join("dangling")).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        fs::create_dir(folder.join("empty")).unwrap();
        fs::write(folder.join("kept"), "kept").unwrap();
        let opened = OwnedFd::from(File::open(&folder).unwrap());
        for (path, kind) in [
            ("link/a/b", MountedKind::Folder),
            ("link/a/b", MountedKind::Folder),
            ("file/a", MountedKind::File),
            ("dangling", MountedKind::File),
            ("empty", MountedKind::File),
            ("kept", MountedKind::File),
            ("new/file", MountedKind::File),
        ] {
            make(&opened, Path::new(path), kind).unwrap();
            let made = fs::symlink_metadata(folder.join(path)).unwrap();
            assert_eq!(made.is_dir(), kind == MountedKind::Folder, "{path}");
            assert!(!made.is_symlink(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read(folder.join("kept")).unwrap(), b"kept");
    }
}
