//! Folders that come and go with the files in them: made and removed in folders that are held open, never by path.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::temporary::failed;
use crate::tool::{EffectError, ToolError};

/// Permissions of new folders; the system takes the mask of the process off.
const MODE: Mode = Mode::S_IRWXU.union(Mode::S_IRWXG).union(Mode::S_IRWXO);
/// Holds a folder, and needs no right to read it.
#[cfg(target_os = "linux")]
const HOLD: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlag = OFlag::O_RDONLY;

/// Makes folders, the uppermost first, and does something in them. They are removed again if that fails, and
/// what others have put there stays. Each is made in the folder before it, which is held open: a name that
/// becomes a link meanwhile leads nowhere.
pub(super) fn in_new_folders<T>(
    folders: &[PathBuf],
    work: impl FnOnce() -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    match folders.first() {
        None => work(),
        Some(first) => in_new_folders_of(&hold_above(first)?, folders, work),
    }
}

fn in_new_folders_of<T>(
    above: &File,
    folders: &[PathBuf],
    work: impl FnOnce() -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    let Some((folder, below)) = folders.split_first() else {
        return work();
    };
    let name = name_of(folder)?;
    mkdirat(above, name, MODE).map_err(|error| {
        if [Errno::EEXIST, Errno::ENOENT].contains(&error) {
            return EffectError::Changed;
        }
        let folder = folder.display();
        EffectError::Failed(ToolError(format!("cannot make {folder}: {error}")))
    })?;
    let worked = hold_in(above, name).and_then(|made| in_new_folders_of(&made, below, work));
    if worked.is_err()
        && let Err(error) = remove_in(above, name)
    {
        log::warn!("the new folder {} stays: {error}", folder.display());
    }
    worked
}

/// Makes folders again that a command removed, the uppermost first; those that are there stay unchanged.
/// A folder that has become a link since is another place, and refused.
pub(super) fn make_folders<'a>(
    folders: impl Iterator<Item = &'a String>,
) -> Result<(), EffectError> {
    for folder in folders.map(Path::new) {
        match mkdirat(&hold_above(folder)?, name_of(folder)?, MODE) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Removes folders that were made, the uppermost first in the list, if they are empty.
pub(super) fn remove_folders<'a>(folders: impl Iterator<Item = &'a String>) {
    let mut folders: Vec<&String> = folders.collect();
    folders.reverse();
    for folder in folders {
        if let Err(error) = remove_folder(Path::new(folder)) {
            // Another program has put something there.
            log::debug!("the folder {folder} stays: {error}");
        }
    }
}

/// Removes a folder.
///
/// # Errors
/// If something is in it, or its path has links.
pub(super) fn remove_folder(folder: &Path) -> Result<(), EffectError> {
    let above = hold_above(folder)?;
    match remove_in(&above, name_of(folder)?) {
        Err(Errno::ENOTEMPTY | Errno::EEXIST) => Err(EffectError::Failed(ToolError(
            "other files are in it".to_owned(),
        ))),
        removed => removed.map_err(failed),
    }
}

/// Opens a folder for reading by a path without links.
pub(super) fn open_folder(folder: &Path) -> Result<File, EffectError> {
    open_folder_as(folder, OFlag::O_RDONLY)
}

/// Opens a folder by a path without links, for that access.
#[cfg(target_os = "linux")]
pub(super) fn open_folder_as(folder: &Path, access: OFlag) -> Result<File, EffectError> {
    use nix::fcntl::{AT_FDCWD, OpenHow, ResolveFlag, openat2};

    let how = OpenHow::new()
        .flags(access | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, folder, how) {
        Ok(handle) => Ok(handle.into()),
        Err(Errno::ELOOP | Errno::ENOENT | Errno::ENOTDIR) => Err(EffectError::Changed),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_folder_as(folder: &Path, _access: OFlag) -> Result<File, EffectError> {
    File::open(folder).map_err(failed)
}

/// Holds the folder in which a path names something. The path has no links.
fn hold_above(path: &Path) -> Result<File, EffectError> {
    open_folder_as(path.parent().unwrap_or(Path::new("/")), HOLD)
}

fn hold_in(above: &File, name: &OsStr) -> Result<File, EffectError> {
    let flags = HOLD | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    match openat(above, name, flags, Mode::empty()) {
        Ok(held) => Ok(held.into()),
        Err(Errno::ELOOP | Errno::ENOENT | Errno::ENOTDIR) => Err(EffectError::Changed),
        Err(error) => Err(failed(error)),
    }
}

fn remove_in(above: &File, name: &OsStr) -> nix::Result<()> {
    unlinkat(above, name, UnlinkatFlags::RemoveDir)
}

fn name_of(path: &Path) -> Result<&OsStr, EffectError> {
    path.file_name().ok_or_else(|| failed(Errno::EISDIR))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder to work in, without links, and one beside it that no change may reach.
    fn grounds() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let (work, outside) = (real.join("work"), real.join("outside"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&outside).unwrap();
        (home, work, outside)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// Spec: [TOOL-58]
    #[test]
    fn new_folders_are_gone_when_nothing_came_into_them() {
        let (_home, work, _) = grounds();
        let folders = [work.join("a"), work.join("a/b")];
        let failed = in_new_folders(&folders, || Err::<(), _>(EffectError::Changed));
        assert_eq!(failed, Err(EffectError::Changed));
        assert!(!folders[0].exists());
        // Another has made one meanwhile: what was planned is not so any more.
        fs::create_dir(&folders[0]).unwrap();
        assert_eq!(
            in_new_folders(&folders, || Ok(())),
            Err(EffectError::Changed)
        );
        assert!(!folders[1].exists());
        in_new_folders(&folders[1..], || Ok(())).unwrap();
        assert!(folders[1].exists());
    }

    /// Spec: [TOOL-620]
    #[test]
    fn no_folder_is_made_where_a_link_leads_that_was_put_in_the_way() {
        let (_home, work, outside) = grounds();
        let sub = work.join("sub");
        symlink(&outside, &sub).unwrap();
        let folders = [sub.join("new"), sub.join("new/deep")];
        let made = in_new_folders(&folders, || Ok(()));
        assert_eq!(made, Err(EffectError::Changed));
        let again = folders.map(|folder| folder.display().to_string());
        assert_eq!(make_folders(again.iter()), Err(EffectError::Changed));
        assert_eq!(names(&outside), [""; 0]);
    }

    /// Spec: [TOOL-620]
    #[test]
    fn no_folder_is_removed_where_a_link_leads_that_was_put_in_the_way() {
        let (_home, work, outside) = grounds();
        fs::create_dir(outside.join("b")).unwrap();
        let folders = [work.join("a"), work.join("a/b")];
        let swapped = in_new_folders(&folders, || {
            fs::rename(&folders[0], work.join("moved")).unwrap();
            symlink(&outside, &folders[0]).unwrap();
            Err::<(), _>(EffectError::Changed)
        });
        assert_eq!(swapped, Err(EffectError::Changed));
        // The folder that was made is removed wherever it is now.
        assert_eq!(names(&work.join("moved")), [""; 0]);
        assert_eq!(names(&outside), ["b"]);
        let made = folders.map(|folder| folder.display().to_string());
        remove_folders(made.iter());
        assert_eq!(names(&outside), ["b"]);
    }
}
