//! Which files a command changed: what is in the folder before it and behind it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use harness_protocol::{ChangeAction, FileChange};
use tokio::time::Instant;

use super::content_places::ContentPlaces;
use super::git_index::IndexStat;
use super::held_contents::{HeldContents, MAX_FILE};
use super::indexed_contents::IndexedContents;
use crate::attachment::sha256;
use crate::clock::Clock;
use crate::tool::change::{Diff, diff, place_of, read_bytes};
use crate::tool::protected::content_place;
use crate::tool::{ToolContext, closed};

/// How many files and folders are looked at.
const MAX_ENTRIES: usize = 50_000;
/// How long a look may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many files are named.
const MAX_NAMED: usize = 256;
/// How much of the diffs of all files is shown, in bytes.
const MAX_DIFFS: usize = 64 * 1024;
/// Time after which no more diffs are made, all together.
const DIFF_PATIENCE: Duration = Duration::from_secs(1);
/// How many bytes of new contents are read to be hashed.
const MAX_READ: u64 = 64 * 1024 * 1024;
/// The name of a repository's own folder, or of the file that leads to it.
const GIT: &str = ".git";
/// The note about a file that undo leaves.
const MAYBE_COPY: &str =
    "it may be the only copy of a file that the command changed, so undo leaves it";
/// The note about a file that came from a place that is not known.
const FROM_ELSEWHERE: &str = "it is older than the command and came from elsewhere, so undo leaves what may be its only copy";
/// The resolution of the times of files, which are behind the clock by as much.
///
/// Source: inode_timestamps in the kernel, a jiffy of at most 10 ms.
const RESOLUTION: Duration = Duration::from_millis(10);
/// The bits of a mode that tell the kind of a file, and their value for a regular one.
///
/// Source: inode(7), "The file type and mode".
const FORMAT: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;
/// Folders that are passed over: what is in them is made by programs, and made again.
const PASSED_OVER: &[&str] = &[GIT, "node_modules", "__pycache__"];
/// Files that mark such a folder.
///
/// Source: bford.info/cachedir for the first; PEP 405 for the second.
const MARKS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// The properties that tell a file from its earlier state: kind, size, times, inode and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    content: ContentStamp,
    mode: u32,
    changed: (i64, i64),
}

/// The properties that a file keeps when it is moved or gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ContentStamp {
    size: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            content: ContentStamp {
                size: found.len(),
                device: found.dev(),
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
            },
            mode: found.mode(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    fn is_regular(&self) -> bool {
        self.mode & FORMAT == REGULAR
    }

    /// The numbers as an index of git has them.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "git cuts them too"
    )]
    fn in_index(&self) -> IndexStat {
        let time = |(seconds, nanoseconds): (i64, i64)| (seconds as u32, nanoseconds as u32);
        IndexStat {
            changed: time(self.changed),
            modified: time(self.content.modified),
            inode: self.content.inode as u32,
            size: self.content.size as u32,
        }
    }
}

/// The state of a folder before a command.
pub(super) struct Inventory {
    workspace: PathBuf,
    found: Listing,
    held: HeldContents,
    /// The time at which the look began.
    begun: SystemTime,
}

/// The result of a look at a folder.
#[derive(Default)]
struct Listing {
    files: BTreeMap<PathBuf, Stamp>,
    folders: HashMap<PathBuf, u64>,
    /// The folders that have an entry `.git`.
    repositories: BTreeSet<PathBuf>,
    /// The folders that are passed over because of a mark.
    marked: BTreeSet<PathBuf>,
    /// Whether it is all there is.
    is_whole: bool,
}

/// The changes that a command made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) changes: Vec<FileChange>,
    /// Changes that are not listed one by one.
    pub(super) note: Option<String>,
}

impl Inventory {
    /// Looks at a folder, and holds the contents of those of the named files that are in it. Blocks.
    pub(super) fn take(workspace: &Path, known: &[PathBuf]) -> Self {
        let within = known.iter().filter(|path| path.starts_with(workspace));
        Self {
            // The kernel stamps files by the clock of the system.
            begun: Clock::system().now(),
            workspace: workspace.to_owned(),
            found: Listing::of(workspace, None),
            held: HeldContents::of(within),
        }
    }

    /// The protected places below the folder before the command.
    pub(super) fn content_places(&self) -> ContentPlaces {
        self.found.content_places(&self.workspace, None)
    }

    /// The protected places that have files now and had none before. Where not all files were known before, there are
    /// none. Blocks.
    pub(super) fn made_places(&self) -> ContentPlaces {
        if !self.found.is_whole {
            return ContentPlaces::default();
        }
        let now = Listing::of(&self.workspace, Some(&self.found));
        let mut made = now.content_places(&self.workspace, Some(&self.found));
        let before = self.content_places();
        made.places.retain(|place| !before.places.contains(place));
        made.nested.retain(|place| made.places.contains(place));
        made
    }

    /// The files that differ now. Contents from before that are held, or that git has, are kept in the store. Blocks.
    pub(super) fn compare(
        self,
        context: &ToolContext,
        indexed: Option<&IndexedContents<'_>>,
    ) -> Found {
        let now = Listing::of(&self.workspace, None);
        let is_whole = self.found.is_whole && now.is_whole;
        let mut changed: Vec<(PathBuf, ChangeAction)> = Vec::new();
        if is_whole {
            for (path, stamp) in &now.files {
                match self.found.files.get(path) {
                    None => changed.push((path.clone(), ChangeAction::Made)),
                    Some(was) if was != stamp => {
                        changed.push((path.clone(), ChangeAction::Changed));
                    }
                    Some(_) => {}
                }
            }
            let is_gone = |path: &&PathBuf| !now.files.contains_key(*path);
            let gone = self.found.files.keys().filter(is_gone);
            changed.extend(gone.map(|path| (path.clone(), ChangeAction::Removed)));
            // A file that is left out must not be the other name of one that is named as made.
            changed.sort_by_key(|(path, action)| (*action == ChangeAction::Made, path.clone()));
        } else {
            changed = self.held.changed();
        }
        let moved = now.moved_from(&self.found);
        let indexed =
            indexed.map(|indexed| indexed.contents(&self.unknown(&changed, &moved, context)));
        let indexed = indexed.unwrap_or_default();
        let mut naming = Naming {
            inventory: &self,
            now: &now,
            lost_sizes: self.lost_sizes(&changed, &now, &moved, &indexed),
            moved,
            indexed,
            context,
            diffs: MAX_DIFFS,
            diffs_until: Instant::now() + DIFF_PATIENCE,
            read: MAX_READ,
        };
        let mut changes = Vec::new();
        let mut left_out = 0_usize;
        for (path, action) in changed {
            if changes.len() == MAX_NAMED {
                left_out += 1;
            } else if let Some(change) = naming.name(&path, action) {
                changes.push(change);
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let note = if !is_whole {
            Some("the folder has too many files to tell all that the command changed".to_owned())
        } else if left_out > 0 {
            Some(format!("the command changed {left_out} more files"))
        } else {
            None
        };
        Found { changes, note }
    }
}

impl Inventory {
    /// The first files that were changed or removed and whose content from before is neither held nor at another name,
    /// with the numbers that they had.
    fn unknown(
        &self,
        changed: &[(PathBuf, ChangeAction)],
        moved: &HashMap<PathBuf, PathBuf>,
        context: &ToolContext,
    ) -> Vec<(PathBuf, IndexStat)> {
        let stat = |(path, _): &(PathBuf, ChangeAction)| {
            let was = self.found.files.get(path)?;
            let is_known = self.held.content(path).is_some() || moved.contains_key(path);
            let is_wanted = was.is_regular() && was.content.size <= MAX_FILE && !is_known;
            let is_open = closed::check_path(path, &context.closed).is_ok();
            (is_wanted && is_open).then(|| (path.clone(), was.in_index()))
        };
        changed.iter().filter_map(stat).take(MAX_NAMED).collect()
    }

    /// The sizes of files that were changed and whose content from before is not known.
    fn lost_sizes(
        &self,
        changed: &[(PathBuf, ChangeAction)],
        now: &Listing,
        moved: &HashMap<PathBuf, PathBuf>,
        indexed: &HashMap<PathBuf, Vec<u8>>,
    ) -> HashSet<u64> {
        let is_changed = |(_, action): &&(PathBuf, ChangeAction)| *action == ChangeAction::Changed;
        let lost_size = |(path, _): &(PathBuf, ChangeAction)| {
            let was = self.found.files.get(path)?;
            let is_known = self.held.content(path).is_some()
                || moved.contains_key(path)
                || indexed.contains_key(path);
            let is_same = now.files.get(path).map(|now| now.content) == Some(was.content);
            (was.is_regular() && !is_known && !is_same).then_some(was.content.size)
        };
        let changed = changed.iter().filter(is_changed);
        changed
            .filter_map(lost_size)
            .filter(|size| *size > 0)
            .collect()
    }
}

impl Listing {
    /// Looks at a folder. A mark in a folder that had none `before` counts only if the folder is new.
    fn of(folder: &Path, before: Option<&Self>) -> Self {
        let is_walked = |path: &Path| {
            let was_there = |before: &Self| path == folder || before.folders.contains_key(path);
            before.is_some_and(|before| was_there(before) && !before.marked.contains(path))
        };
        let until = Instant::now() + PATIENCE;
        let mut listing = Self {
            is_whole: true,
            ..Self::default()
        };
        let mut waiting = vec![folder.to_owned()];
        let mut entries = 0;
        while let Some(current) = waiting.pop() {
            let Ok(inside) = fs::read_dir(&current) else {
                continue;
            };
            let inside: Vec<_> = inside.flatten().take(MAX_ENTRIES + 1).collect();
            entries += inside.len();
            if entries > MAX_ENTRIES || Instant::now() > until {
                listing.is_whole = false;
                break;
            }
            let is_mark = |name: &std::ffi::OsStr| MARKS.iter().any(|mark| name == *mark);
            let has_mark = inside.iter().any(|entry| is_mark(&entry.file_name()));
            if has_mark && !is_walked(&current) {
                listing.marked.insert(current);
                continue;
            }
            for entry in inside {
                // It may be gone by now.
                let Ok(found) = entry.metadata() else {
                    continue;
                };
                if entry.file_name() == GIT {
                    listing.repositories.insert(current.clone());
                }
                if !found.is_dir() {
                    listing.files.insert(entry.path(), Stamp::of(&found));
                } else if PASSED_OVER.iter().all(|name| entry.file_name() != *name) {
                    listing.folders.insert(entry.path(), found.ino());
                    waiting.push(entry.path());
                }
            }
        }
        listing
    }

    /// The files that are no longer what is at their paths and have other names now, with one of those.
    fn moved_from(&self, before: &Self) -> HashMap<PathBuf, PathBuf> {
        let is_other = |(path, stamp): &(&PathBuf, &Stamp)| {
            let now = self.files.get(*path).map(|now| now.content);
            stamp.is_regular() && now != Some(stamp.content)
        };
        let others = before.files.iter().filter(is_other);
        let others: Vec<_> = others.map(|(path, stamp)| (path, stamp.content)).collect();
        if others.is_empty() {
            return HashMap::new();
        }
        let names = self.files.iter();
        let names: HashMap<_, _> = names.map(|(path, stamp)| (stamp.content, path)).collect();
        let moved = others.into_iter();
        moved
            .filter_map(|(path, content)| Some((path.clone(), (*names.get(&content)?).clone())))
            .collect()
    }

    /// The protected places with files. A repository that is new since `before` counts as one only if its folder is
    /// new as well.
    fn content_places(&self, workspace: &Path, before: Option<&Self>) -> ContentPlaces {
        let is_repository = |folder: &&Path| {
            let was_there = before.is_none_or(|before| {
                before.repositories.contains(*folder) || !before.folders.contains_key(*folder)
            });
            self.repositories.contains(*folder) && was_there
        };
        let mut found = ContentPlaces::default();
        for path in self.files.keys() {
            let Some(place) = path.strip_prefix(workspace).ok().and_then(content_place) else {
                continue;
            };
            let above = path.ancestors().skip(1);
            let mut above = above.take_while(|folder| *folder != workspace);
            if above.any(|folder| is_repository(&folder)) {
                found.nested.insert(place.clone());
            }
            found.places.insert(place);
        }
        found
    }
}

/// Makes what is told of the files.
struct Naming<'a> {
    inventory: &'a Inventory,
    now: &'a Listing,
    /// The sizes of files whose content from before is lost, unless a file that was made is a copy of it.
    lost_sizes: HashSet<u64>,
    /// The new names of files that are no longer what is at their paths.
    moved: HashMap<PathBuf, PathBuf>,
    /// The contents that git has of files from before.
    indexed: HashMap<PathBuf, Vec<u8>>,
    context: &'a ToolContext,
    /// How much of diffs may still be shown.
    diffs: usize,
    /// The time up to which diffs are made.
    diffs_until: Instant,
    /// How many bytes may still be read.
    read: u64,
}

impl Naming<'_> {
    /// The change of a file; nothing if it has the bytes and the mode that it had.
    fn name(&mut self, path: &Path, action: ChangeAction) -> Option<FileChange> {
        let (was, is) = (
            self.inventory.found.files.get(path),
            self.now.files.get(path),
        );
        let before = match action {
            ChangeAction::Made => None,
            ChangeAction::Changed | ChangeAction::Removed | ChangeAction::Unknown => {
                let held = self.inventory.held.content(path).map(Cow::Borrowed);
                let moved = || self.moved_content(path).map(Cow::Owned);
                let known = held.or_else(moved);
                known.or_else(|| self.indexed.remove(path).map(Cow::Owned))
            }
        };
        let before = before.as_deref();
        let after = match action {
            ChangeAction::Removed => None,
            ChangeAction::Made | ChangeAction::Changed | ChangeAction::Unknown => self.read(path),
        };
        let modes = was
            .zip(is)
            .filter(|(was, is)| was.is_regular() && is.is_regular());
        let modes = modes.map(|(was, is)| (was.mode & PERMISSIONS, is.mode & PERMISSIONS));
        let modes = modes.filter(|(was, is)| was != is);
        let same_mode = was.map(|was| was.mode) == is.map(|is| is.mode);
        if before.is_some() && before == after.as_deref() && same_mode {
            return None;
        }
        let is_copy = action == ChangeAction::Made
            && is.is_some_and(|is| self.lost_sizes.contains(&is.content.size))
            && !self.moved.values().any(|name| name == path);
        let is_foreign = action != ChangeAction::Removed && self.is_from_elsewhere(path);
        let diff = self.diff(action, before, after.as_deref());
        let kept = before.and_then(|bytes| self.keep(path, bytes));
        let was_mode = was.map(|was| was.mode & PERMISSIONS);
        Some(FileChange {
            path: path.to_string_lossy().into_owned(),
            asked: None,
            action,
            before: kept,
            // Without it, undo leaves the file.
            after: after
                .as_deref()
                .filter(|_| !is_copy && !is_foreign)
                .map(sha256),
            by_command: true,
            mode: match action {
                ChangeAction::Removed => was_mode,
                ChangeAction::Made | ChangeAction::Changed | ChangeAction::Unknown => {
                    modes.map(|(was, _)| was)
                }
            },
            mode_after: modes.map(|(_, is)| is),
            added: diff.added,
            removed: diff.removed,
            diff: diff.text,
            diff_cut: diff.is_cut,
            place: place_of(&self.inventory.workspace, path),
            folders: self.folders(path, action),
            notes: [(is_copy, MAYBE_COPY), (is_foreign, FROM_ELSEWHERE)]
                .into_iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, note)| note.to_owned())
                .collect(),
        })
    }

    /// True if a file that is now at the path is older than the command, was at no other path that is known, and has
    /// this name only. Of a file system that does not tell when files were made, the time of the last change counts.
    fn is_from_elsewhere(&self, path: &Path) -> bool {
        let (was, is) = (
            self.inventory.found.files.get(path),
            self.now.files.get(path),
        );
        let inode = |stamp: &Stamp| (stamp.content.device, stamp.content.inode);
        let is_same = was.map(inode) == is.map(inode);
        if is_same || self.moved.values().any(|name| name == path) {
            return false;
        }
        let Ok(found) = fs::symlink_metadata(path) else {
            return true;
        };
        let made_at = found.created().or_else(|_| found.modified());
        let is_older = made_at.is_ok_and(|at| at + RESOLUTION < self.inventory.begun);
        found.is_file() && found.nlink() == 1 && is_older
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        closed::check_path(path, &self.context.closed).ok()?;
        let bytes = read_bytes(path, MAX_FILE.min(self.read))?;
        self.read -= bytes.len() as u64;
        Some(bytes)
    }

    /// The content of a file that was moved, read at its new name.
    fn moved_content(&mut self, path: &Path) -> Option<Vec<u8>> {
        let name = self.moved.get(path)?.clone();
        let bytes = self.read(&name)?;
        // It may have been written meanwhile.
        let now = fs::symlink_metadata(&name).ok()?;
        (self.now.files.get(&name) == Some(&Stamp::of(&now))).then_some(bytes)
    }

    fn keep(&self, path: &Path, bytes: &[u8]) -> Option<String> {
        let hash = sha256(bytes);
        match self.context.before.as_ref()?.put(&hash, bytes) {
            Ok(()) => Some(hash),
            Err(error) => {
                let path = path.display();
                log::warn!("the content of {path} before a command is not kept: {error}");
                None
            }
        }
    }

    /// The difference, of what is known on both sides and is text.
    fn diff(&mut self, action: ChangeAction, before: Option<&[u8]>, after: Option<&[u8]>) -> Diff {
        let is_text = |bytes: &&[u8]| !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
        let empty: &[u8] = &[];
        let (before, after) = match action {
            ChangeAction::Made => (Some(empty), after),
            ChangeAction::Removed => (before, Some(empty)),
            ChangeAction::Changed | ChangeAction::Unknown => (before, after),
        };
        let (Some(before), Some(after)) = (before.filter(is_text), after.filter(is_text)) else {
            return Diff::default();
        };
        if Instant::now() > self.diffs_until {
            return Diff {
                is_cut: true,
                ..Diff::default()
            };
        }
        let diff = diff(before, after, &self.context.redaction).cut(self.diffs);
        self.diffs -= diff.text.len();
        diff
    }

    /// The folders that came or went with a file, the uppermost first.
    fn folders(&self, path: &Path, action: ChangeAction) -> Vec<String> {
        let (with, without) = match action {
            ChangeAction::Made => (self.now, &self.inventory.found),
            ChangeAction::Removed => (&self.inventory.found, self.now),
            ChangeAction::Changed | ChangeAction::Unknown => return Vec::new(),
        };
        let above = path.ancestors().skip(1);
        let is_only_there = |folder: &&Path| {
            with.folders.contains_key(*folder) && !without.folders.contains_key(*folder)
        };
        let mut folders: Vec<String> = above
            .take_while(is_only_there)
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect();
        folders.reverse();
        folders
    }
}

#[cfg(test)]
#[path = "inventory_tests.rs"]
mod tests;
