//! The states of protected places: what is there, so that a change is found and can be taken back.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::held_folder::{EntryKind, HeldFolder, HeldPlace};

/// Maximum size of a protected file that can be put back, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum number of files of one protected folder that are known.
const MAX_FILES: usize = 4000;
/// Maximum depth of protected folders.
const DEPTH: usize = 6;

/// The state of a protected place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlaceState {
    Absent,
    File {
        content: Vec<u8>,
        mode: u32,
        /// True if the file can be written by another name, too.
        has_other_names: bool,
    },
    Folder(Vec<(OsString, Self)>),
    Link(OsString),
    /// It exists, and is too large, of another kind or unreadable.
    Unknown,
}

/// Adds the paths at which two states differ, of folders and of what is in them.
pub(super) fn add_differing(
    path: &Path,
    was: &PlaceState,
    is: &PlaceState,
    paths: &mut BTreeSet<PathBuf>,
) {
    if was == is {
        return;
    }
    paths.insert(path.to_owned());
    let PlaceState::Folder(now) = is else {
        return;
    };
    let before = match was {
        PlaceState::Folder(inside) => inside.as_slice(),
        PlaceState::Absent
        | PlaceState::File { .. }
        | PlaceState::Link(_)
        | PlaceState::Unknown => &[],
    };
    let absent = PlaceState::Absent;
    let state_in = |inside: &[(OsString, PlaceState)], name: &OsStr| {
        inside.iter().position(|(known, _)| known == name)
    };
    for (name, is) in now {
        let was = state_in(before, name).and_then(|at| before.get(at));
        let was = was.map_or(&absent, |(_, was)| was);
        add_differing(&path.join(name), was, is, paths);
    }
    for (name, was) in before {
        if state_in(now, name).is_none() {
            add_differing(&path.join(name), was, &absent, paths);
        }
    }
}

/// True for places that the plan of the mounts makes read-only. No mount can be made on a link or on nothing.
pub(super) fn is_held_by_mount(held: &HeldFolder, relative: &Path) -> bool {
    match held.place(relative) {
        Ok(HeldPlace::Entry(folder, name)) => match folder.kind(&name) {
            Ok(Some(EntryKind::File | EntryKind::Folder | EntryKind::Other)) | Err(_) => true,
            Ok(Some(EntryKind::Link) | None) => false,
        },
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => false,
        Err(_) => true,
    }
}

/// The state of a place below a folder.
pub(super) fn state_at(held: &HeldFolder, relative: &Path) -> PlaceState {
    match held.place(relative) {
        Ok(HeldPlace::Entry(folder, name)) => state(&folder, &name),
        // Where a file is in place of a folder there is nothing below it.
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => PlaceState::Absent,
        Err(_) => PlaceState::Unknown,
    }
}

/// The state of an entry of a folder.
pub(super) fn state(folder: &HeldFolder, name: &OsStr) -> PlaceState {
    let mut room = MAX_FILES;
    state_within(folder, name, DEPTH, &mut room)
}

/// The same, of at most so many files and so deep.
fn state_within(folder: &HeldFolder, name: &OsStr, depth: usize, room: &mut usize) -> PlaceState {
    let kind = match folder.kind(name) {
        Ok(Some(kind)) => kind,
        Ok(None) => return PlaceState::Absent,
        Err(_) => return PlaceState::Unknown,
    };
    if kind == EntryKind::Link {
        let target = folder.link(name);
        return target.map_or(PlaceState::Unknown, PlaceState::Link);
    }
    if *room == 0 {
        return PlaceState::Unknown;
    }
    *room -= 1;
    match kind {
        EntryKind::File => match folder.read(name, MAX_FILE) {
            Ok(Some((content, mode))) => PlaceState::File {
                content,
                mode,
                has_other_names: folder.has_other_names(name).unwrap_or(true),
            },
            Ok(None) | Err(_) => PlaceState::Unknown,
        },
        EntryKind::Folder if depth > 0 => {
            let Ok(inner) = folder.folder(name) else {
                return PlaceState::Unknown;
            };
            let Ok(names) = inner.names() else {
                return PlaceState::Unknown;
            };
            let inside = names.into_iter().map(|name| {
                let state = state_within(&inner, &name, depth - 1, room);
                (name, state)
            });
            PlaceState::Folder(inside.collect())
        }
        EntryKind::Folder | EntryKind::Link | EntryKind::Other => PlaceState::Unknown,
    }
}

/// Makes what was at a place before, where nothing is now.
pub(super) fn make(folder: &HeldFolder, name: &OsStr, was: &PlaceState) -> io::Result<()> {
    match was {
        PlaceState::File { content, mode, .. } => folder.make_file(name, content, *mode),
        PlaceState::Link(target) => folder.make_link(name, target),
        PlaceState::Folder(inside) => {
            let inner = folder.make_folder(name)?;
            inside
                .iter()
                .try_for_each(|(name, was)| make(&inner, name, was))
        }
        PlaceState::Absent | PlaceState::Unknown => Ok(()),
    }
}
