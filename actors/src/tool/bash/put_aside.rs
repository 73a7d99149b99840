//! The entries that a command left at protected places and that were put aside, and those that it removed and that are
//! there again: operators are asked about those that are text, and the others stay so.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use harness_protocol::FileChange;

use super::held_folder::{EntryKind, HeldFolder};
use super::place_state::PlaceState;
use crate::tool::change::{CommandVersion, proposed, proposed_removal};
use crate::tool::protected::content_place;
use crate::tool::{ToolContext, ToolError};

/// Maximum number of files of one command that operators are asked about.
const MAX_PROPOSALS: usize = 10;
/// Maximum number of notes.
pub(super) const MAX_NOTES: usize = 20;
/// Maximum size of such a file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum depth of folders that are looked through.
const DEPTH: usize = 6;

/// An entry that was put aside.
#[derive(Debug)]
pub(super) struct PutAside {
    /// The path that it had, relative to the guarded folder.
    pub(super) relative: PathBuf,
    /// The content of the file that is there again; `None` if there was none.
    pub(super) before: Option<Vec<u8>>,
    /// The folder that it is in now, and its name there.
    pub(super) folder: HeldFolder,
    pub(super) name: OsString,
    /// The note about it, if it stays aside.
    pub(super) note: String,
}

/// A file or a folder that was removed, and that is there again.
#[derive(Debug)]
struct PutBack {
    /// Relative to the guarded folder.
    relative: PathBuf,
    /// Its files with their paths; none if operators cannot be asked about them.
    files: Vec<LeftFile>,
    /// The note about it, if operators are not asked.
    note: String,
}

/// The results of looking at protected places after a command.
#[derive(Debug, Default)]
pub(super) struct GuardNotes {
    notes: Vec<String>,
    put_aside: Vec<PutAside>,
    put_back: Vec<PutBack>,
}

/// A version of a file, with its path relative to the guarded folder.
type LeftFile = (PathBuf, CommandVersion);

impl GuardNotes {
    pub(super) fn push(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(super) fn extend(&mut self, notes: Vec<String>) {
        self.notes.extend(notes);
    }

    pub(super) fn add(&mut self, put_aside: PutAside) {
        self.put_aside.push(put_aside);
    }

    /// Adds a place that was empty and has its earlier state again.
    pub(super) fn put_back(&mut self, relative: &Path, was: &PlaceState, note: String) {
        let mut files = Vec::new();
        if find_known(relative, was, &mut files).is_none() {
            files.clear();
        }
        self.put_back.push(PutBack {
            relative: relative.to_owned(),
            files,
            note,
        });
    }

    /// The notes, each a line, and the changes that operators are to be asked about. Those have no note. Blocks.
    pub(super) fn settle(
        mut self,
        workspace: &Path,
        context: &ToolContext,
    ) -> (Vec<String>, Vec<FileChange>) {
        let mut proposals = Vec::new();
        for put_aside in self.put_aside {
            let room = MAX_PROPOSALS - proposals.len();
            match put_aside.propose(workspace, room, context) {
                Some(found) => proposals.extend(found),
                None => self.notes.push(put_aside.note),
            }
        }
        for put_back in self.put_back {
            let room = MAX_PROPOSALS - proposals.len();
            match put_back.propose(workspace, room, context) {
                Some(found) => proposals.extend(found),
                None => self.notes.push(put_back.note),
            }
        }
        (bounded(self.notes), proposals)
    }

    /// Takes the notes about everything, each a line. Operators can be asked about the first entries later.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        let mut notes = mem::take(&mut self.notes);
        notes.extend(self.put_aside.iter().map(|it| it.note.clone()));
        notes.extend(self.put_back.iter().map(|it| it.note.clone()));
        // Each of the others would hold a folder open.
        self.put_aside.truncate(MAX_PROPOSALS);
        self.put_back.truncate(MAX_PROPOSALS);
        bounded(notes)
    }

    /// True if operators can be asked about something.
    pub(super) fn has_open(&self) -> bool {
        !self.put_aside.is_empty() || !self.put_back.is_empty()
    }
}

fn bounded(mut notes: Vec<String>) -> Vec<String> {
    if notes.len() > MAX_NOTES {
        let more = notes.len() - (MAX_NOTES - 1);
        notes.truncate(MAX_NOTES - 1);
        notes.push(format!("{more} more protected places were treated alike"));
    }
    notes
}

impl PutAside {
    /// Removes the entry and makes a proposal of each of its files. `None` if one of them can be none, or if there is no
    /// room for all.
    fn propose(
        &self,
        workspace: &Path,
        room: usize,
        context: &ToolContext,
    ) -> Option<Vec<FileChange>> {
        content_place(&self.relative)?;
        let mut left = Vec::new();
        find_left(&self.folder, &self.name, &self.relative, DEPTH, &mut left)?;
        let proposals = of_each(&left, room, |relative, version| {
            let path = workspace.join(relative);
            proposed(&path, self.before.as_deref(), version, context)
        })?;
        if let Err(error) = remove_all(&self.folder, &self.name) {
            let name = self.name.display();
            log::warn!("{name}, which a command left, is not removed: {error}");
        }
        Some(proposals)
    }
}

impl PutBack {
    /// The proposals to remove its files again. `None` if one of them can be none, or if there is no room for all.
    fn propose(
        &self,
        workspace: &Path,
        room: usize,
        context: &ToolContext,
    ) -> Option<Vec<FileChange>> {
        content_place(&self.relative)?;
        of_each(&self.files, room, |relative, version| {
            let above = relative.ancestors().skip(1);
            let removed = above.take_while(|folder| folder.starts_with(&self.relative));
            let mut folders: Vec<PathBuf> = removed.map(|it| workspace.join(it)).collect();
            folders.reverse();
            proposed_removal(&workspace.join(relative), version, &folders, context)
        })
    }
}

/// The proposals for files. `None` if there are none or more than there is room for, or if one of them can be none.
fn of_each(
    files: &[LeftFile],
    room: usize,
    propose: impl Fn(&Path, &CommandVersion) -> Result<FileChange, ToolError>,
) -> Option<Vec<FileChange>> {
    if files.is_empty() || files.len() > room {
        return None;
    }
    let each = files.iter();
    let proposals: Result<Vec<_>, _> = each
        .map(|(relative, version)| propose(relative, version))
        .collect();
    proposals
        .map_err(|error| log::debug!("not proposed: {error}"))
        .ok()
}

/// Adds the files of a known state. `None` if one of them is no text, or has no name in UTF-8.
fn find_known(relative: &Path, state: &PlaceState, files: &mut Vec<LeftFile>) -> Option<()> {
    relative.to_str()?;
    match state {
        PlaceState::File { content, mode, .. } if is_text(content) => {
            let (content, mode) = (content.clone(), *mode);
            files.push((relative.to_owned(), CommandVersion { content, mode }));
            Some(())
        }
        PlaceState::Folder(inside) => inside
            .iter()
            .try_for_each(|(name, state)| find_known(&relative.join(name), state, files)),
        PlaceState::File { .. }
        | PlaceState::Absent
        | PlaceState::Link(_)
        | PlaceState::Unknown => None,
    }
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}

/// Adds the files of an entry. `None` if one of them is no text that `edit` can change, or has no name in UTF-8.
fn find_left(
    folder: &HeldFolder,
    name: &OsStr,
    relative: &Path,
    depth: usize,
    left: &mut Vec<LeftFile>,
) -> Option<()> {
    // The path is shown and found again as text.
    relative.to_str()?;
    match folder.kind(name).ok()?? {
        EntryKind::File if left.len() < MAX_PROPOSALS => {
            let is_shared = folder.has_other_names(name).unwrap_or(true);
            let (content, mode) = folder.read(name, MAX_FILE).ok()??;
            if is_shared || !is_text(&content) {
                return None;
            }
            left.push((relative.to_owned(), CommandVersion { content, mode }));
            Some(())
        }
        EntryKind::Folder if depth > 0 => {
            let inner = folder.folder(name).ok()?;
            let mut names = inner.names().ok()?.into_iter();
            names.try_for_each(|name| {
                find_left(&inner, &name, &relative.join(&name), depth - 1, left)
            })
        }
        EntryKind::File | EntryKind::Folder | EntryKind::Link | EntryKind::Other => None,
    }
}

/// Removes an entry with all that is in it.
fn remove_all(folder: &HeldFolder, name: &OsStr) -> io::Result<()> {
    if folder.kind(name)? != Some(EntryKind::Folder) {
        return folder.remove_file(name);
    }
    let inner = folder.folder(name)?;
    for name in inner.names()? {
        remove_all(&inner, &name)?;
    }
    folder.remove_folder(name)
}
