//! Taking changes of folders back: those that a command removed are made before the files in them, and those that it made
//! are removed after them. Those in whose places something was made wait until that was removed. Permissions go back last.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use harness_protocol::{ChangeAction, FileChange, PathKind, UndoOutcome, UndoneFile};

use super::folders::{make_folders, open_folder, remove_folder, remove_folders};
use crate::tool::{EffectError, closed};

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;
/// The permissions that the service needs to change what is in a folder.
const OWNERS: u32 = 0o700;

/// The reason why something does not go back in whose place something else was made.
pub(super) const IN_ITS_PLACE: &str = "something else is in its place, and stays";

/// Folders whose changes are taken back together with those of files.
pub(super) struct UndoneFolders<'c> {
    folders: Vec<UndoneFolder<'c>>,
    closed: &'c [PathBuf],
    is_dry: bool,
}

/// The undo of one folder.
struct UndoneFolder<'c> {
    path: &'c str,
    /// The permissions that it had before the changes. `None` if there was no such folder.
    before: Option<u32>,
    changes: Vec<&'c FileChange>,
    /// True if something was made in its place, or in that of a folder above it.
    is_behind: bool,
    /// The reason why its changes stay.
    conflict: Option<String>,
}

impl<'c> UndoneFolders<'c> {
    /// Makes folders again that were removed, and gives access to those whose permissions were changed, but for those in
    /// whose places one of the paths `in_the_way` was made. Blocks.
    pub(super) fn begin(
        changes: impl IntoIterator<Item = &'c FileChange>,
        in_the_way: &HashSet<&Path>,
        closed: &'c [PathBuf],
        is_dry: bool,
    ) -> Self {
        let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
        for change in changes {
            if change.kind == PathKind::Folder {
                by_path.entry(&change.path).or_default().push(change);
            }
        }
        let folder = |(path, changes): (&'c str, Vec<&'c FileChange>)| {
            let before = changes.first().copied().and_then(mode_before);
            let mut above = Path::new(path).ancestors();
            let is_behind = before.is_some() && above.any(|it| in_the_way.contains(it));
            let begun = match is_behind {
                true => Ok(()),
                false => begin_one(path, before, &changes, closed, is_dry),
            };
            UndoneFolder {
                path,
                before,
                changes,
                is_behind,
                conflict: begun.err(),
            }
        };
        Self {
            folders: by_path.into_iter().map(folder).collect(),
            closed,
            is_dry,
        }
    }

    /// Makes those folders again in whose places something was made, unless that `is_left`. Blocks.
    pub(super) fn begin_behind(&mut self, is_left: impl Fn(&Path) -> bool) {
        for folder in self.folders.iter_mut().filter(|it| it.is_behind) {
            let place = Path::new(folder.path);
            let begun = if place.ancestors().any(&is_left) {
                Err(IN_ITS_PLACE.to_owned())
            } else if self.is_dry {
                // What is there goes before.
                check_open(place, self.closed)
            } else {
                let UndoneFolder {
                    before, changes, ..
                } = &*folder;
                begin_one(folder.path, *before, changes, self.closed, false)
            };
            folder.conflict = begun.err();
        }
    }

    /// Removes folders that were made, the innermost first. Blocks.
    pub(super) fn remove_made(&mut self) {
        let is_made = |folder: &&mut UndoneFolder<'_>| folder.before.is_none();
        for folder in self.folders.iter_mut().rev().filter(is_made) {
            let place = Path::new(folder.path);
            if self.is_dry || folder.conflict.is_some() {
                continue;
            }
            if mode_now(place) != Ok(None) {
                folder.conflict = remove_folder(place).err().map(|error| error.to_string());
            }
            // A file that was made beside it tells of these as well, and could not remove them while it was there.
            let first = folder.changes.first();
            remove_folders(first.iter().flat_map(|first| &first.folders));
        }
    }

    /// Gives folders their permissions, the innermost first, and tells what was done. Blocks.
    pub(super) fn end(self) -> Vec<UndoneFile> {
        let is_dry = self.is_dry;
        let undone = |folder: UndoneFolder<'_>| {
            let ended = match (folder.conflict, folder.before) {
                (Some(conflict), _) => Err(conflict),
                (None, Some(mode)) if !is_dry => set_mode(Path::new(folder.path), mode),
                (None, Some(_) | None) => Ok(()),
            };
            let outcome = match (&ended, folder.before) {
                (Err(_), _) => UndoOutcome::Conflict,
                (Ok(()), Some(_)) => UndoOutcome::Restored,
                (Ok(()), None) => UndoOutcome::Removed,
            };
            UndoneFile {
                path: folder.path.to_owned(),
                outcome,
                replaced: None,
                diff: (is_dry && ended.is_ok()).then(String::new),
                reason: ended.err(),
            }
        };
        self.folders.into_iter().rev().map(undone).collect()
    }
}

/// Looks at a folder, and prepares it for the undo of what is in it. The error is the reason why it stays.
fn begin_one(
    path: &str,
    before: Option<u32>,
    changes: &[&FileChange],
    closed: &[PathBuf],
    is_dry: bool,
) -> Result<(), String> {
    let place = Path::new(path);
    check_open(place, closed)?;
    let now = mode_now(place)?;
    let after = changes.last().and_then(|last| mode_after(last));
    let is_removal = before.is_none() && after.is_some();
    if now == before || (is_removal && now.is_some()) {
        return Ok(());
    }
    if now != after {
        return Err("it was changed since".to_owned());
    }
    let Some(mode) = before.filter(|_| !is_dry) else {
        return Ok(());
    };
    if now.is_none() {
        let above = changes.iter().flat_map(|change| &change.folders);
        let folders: Vec<String> = above.cloned().chain([path.to_owned()]).collect();
        make_folders(folders.iter()).map_err(|error| error.to_string())?;
    }
    set_mode(place, mode | OWNERS)
}

fn check_open(place: &Path, closed: &[PathBuf]) -> Result<(), String> {
    closed::check_path(place, closed).map_err(|error| error.to_string())
}

/// The permissions before a change. `None` if there was no such folder.
fn mode_before(change: &FileChange) -> Option<u32> {
    change.mode.filter(|_| change.action != ChangeAction::Made)
}

/// The permissions after a change. `None` if there is no such folder.
fn mode_after(change: &FileChange) -> Option<u32> {
    change
        .mode_after
        .filter(|_| change.action != ChangeAction::Removed)
}

/// The permissions of the folder that is there. The error is that something else is.
fn mode_now(place: &Path) -> Result<Option<u32>, String> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => Ok(Some(found.mode() & PERMISSIONS)),
        Ok(_) => Err("something else is there now".to_owned()),
        Err(_) => Ok(None),
    }
}

fn set_mode(place: &Path, mode: u32) -> Result<(), String> {
    if mode_now(place)? == Some(mode) {
        return Ok(());
    }
    let set = open_folder(place).and_then(|folder| {
        let set = folder.set_permissions(fs::Permissions::from_mode(mode));
        set.map_err(super::temporary::failed)
    });
    set.map_err(|error: EffectError| error.to_string())
}
