//! Which files a command changed: what is in the folder before it and behind it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use harness_protocol::{ChangeAction, FileChange, PathKind};
use tokio::time::Instant;

use super::content_places::ContentPlaces;
use super::earlier_contents::{ContentSources, EarlierContents, MAX_FILE};
use super::git_contents::GitReader;
use super::git_head::GitHead;
use super::git_index::IndexStat;
use super::ignore_rules::IgnoreRules;
use super::listing::{FolderListing, FolderStamp};
use super::own_repository::OwnRepository;
use super::stamp::{FileStamp, RESOLUTION};
use crate::attachment::sha256;
use crate::clock::Clock;
use crate::tool::change::{FileDiff, diff, place_of, read_bytes, umask};
use crate::tool::{ToolContext, closed};

/// Maximum number of files that are named, besides those that git ignores.
const MAX_NAMED: usize = 2048;
/// Maximum number of files that git ignores and that are named: builds change many, and undo takes none back.
const MAX_IGNORED: usize = 256;
/// Maximum number of folders of outputs that are named as made, and as removed.
const MAX_OUTPUTS: usize = 3;
/// How much of the diffs of all files is shown, in bytes.
const MAX_DIFFS: usize = 64 * 1024;
/// Time after which no more diffs are made, all together.
const DIFF_PATIENCE: Duration = Duration::from_secs(1);
/// How many bytes of new contents are read to be hashed.
const MAX_READ: u64 = 64 * 1024 * 1024;
/// The permissions of a new folder; the system takes the mask of the process off.
const USUAL_FOLDER: u32 = 0o777;
/// The note about a file that undo leaves.
const MAYBE_COPY: &str =
    "it may be the only copy of a file that the command changed, so undo leaves it";
/// The note about a file that came from a place that is not known.
const FROM_ELSEWHERE: &str = "it is older than the command and came from elsewhere, so undo leaves what may be its only copy";

/// Files that changed, those that git ignores last.
pub(super) type ChangedFiles = Vec<(PathBuf, ChangeAction)>;

/// The state of a folder before a command.
pub(super) struct Inventory {
    workspace: PathBuf,
    found: FolderListing,
    earlier: EarlierContents,
    /// The protected places before the command, once they were looked for.
    places: OnceLock<ContentPlaces>,
    /// The folder after the command, once it was looked at.
    after: OnceLock<FolderAfter>,
    /// The time at which the look began.
    begun: SystemTime,
    /// HEAD of the folder's repository.
    head: Option<GitHead>,
}

/// The state of a folder after a command.
struct FolderAfter {
    listing: FolderListing,
    /// The files that differ.
    differences: Vec<(PathBuf, ChangeAction)>,
}

/// The changes that a command made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<FileChange>,
    /// Changes that are not listed one by one.
    pub(super) note: Option<String>,
}

impl Inventory {
    /// Looks at a folder. Blocks.
    pub(super) fn take(workspace: &Path) -> Self {
        Self {
            // The kernel stamps files by the clock of the system.
            begun: Clock::system().now(),
            workspace: workspace.to_owned(),
            found: FolderListing::look(workspace, None),
            earlier: EarlierContents::default(),
            places: OnceLock::new(),
            after: OnceLock::new(),
            head: None,
        }
    }

    /// Holds the contents of its files, and what HEAD of the repository is. Blocks.
    pub(super) fn hold_contents(&mut self, sources: &ContentSources<'_>) {
        self.head = sources.repository.and_then(GitHead::read);
        self.earlier = EarlierContents::hold(&self.workspace, &self.found, sources);
    }

    /// Takes the contents away.
    pub(super) fn take_contents(&mut self) -> EarlierContents {
        std::mem::take(&mut self.earlier)
    }

    /// The same inventory with contents that were taken away.
    pub(super) fn with_contents(self, earlier: EarlierContents) -> Self {
        Self { earlier, ..self }
    }

    /// HEAD of the folder's repository before the command.
    pub(super) fn head(&self) -> Option<&GitHead> {
        self.head.as_ref()
    }

    /// True if a path is in the folder.
    pub(super) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.workspace)
    }

    /// The files that differ while the command runs. `None` if there are too many files to tell. Blocks.
    pub(super) fn files_changed(&self) -> Option<ChangedFiles> {
        self.files_changed_in(&self.look_again())
    }

    /// The files that differ after the command. `put_back` is true if the service itself has changed files since. `None` if
    /// there are too many files to tell. Blocks.
    pub(super) fn files_changed_at_end(&self, put_back: bool) -> Option<ChangedFiles> {
        match put_back {
            true => self.files_changed(),
            false => self.files_changed_in(self.after.get_or_init(|| self.look_again())),
        }
    }

    /// The protected places below the folder before the command.
    pub(super) fn content_places(&self) -> &ContentPlaces {
        let look = || self.found.content_places(&self.workspace);
        self.places.get_or_init(look)
    }

    /// The protected places that have files after the command and had none before. Where not all files were known before,
    /// there are none. Blocks.
    pub(super) fn made_places(&self) -> ContentPlaces {
        if !self.found.is_whole {
            return ContentPlaces::default();
        }
        let FolderAfter {
            listing,
            differences,
        } = self.after.get_or_init(|| self.look_again());
        let is_made = |(_, action): &&(PathBuf, ChangeAction)| *action == ChangeAction::Made;
        let files = differences.iter().filter(is_made).map(|(path, _)| path);
        let mut made = listing.made_places(&self.workspace, &self.found, files);
        let before = self.content_places();
        made.places.retain(|place| !before.places.contains(place));
        made.nested.retain(|place| made.places.contains(place));
        made
    }

    /// The files that differ after the command. Contents from before that are held, or that git has, are kept in the
    /// store. `put_back` is true if the service itself has changed files since. Blocks.
    pub(super) fn compare(
        mut self,
        context: &ToolContext,
        git: GitReader<'_>,
        put_back: bool,
    ) -> FoundChanges {
        let looked = self.after.take().filter(|_| !put_back);
        let FolderAfter {
            listing: mut now,
            differences: mut changed,
        } = looked.unwrap_or_else(|| self.look_again());
        let is_whole = self.found.is_whole && now.is_whole;
        if is_whole {
            changed.retain(|change| !self.was_passed_over(change));
        } else {
            changed = self.earlier.changed(&mut self.found, &mut now);
        }
        let moved = now.moved_from(&self.found, &changed);
        let (ignored, others): (Vec<_>, Vec<_>) = changed
            .into_iter()
            .partition(|(path, _)| self.earlier.ignores(&self.found, path));
        let mut naming = ChangeNaming {
            inventory: &self,
            now: &now,
            git,
            context,
            moved_names: moved.values().cloned().collect(),
            moved,
            indexed: HashMap::new(),
            lost_sizes: HashSet::new(),
            lost_names: HashSet::new(),
            changes: Vec::new(),
            left_out: 0,
            diffs: MAX_DIFFS,
            diffs_until: Instant::now() + DIFF_PATIENCE,
            read: MAX_READ,
        };
        naming.name_up_to(MAX_NAMED, others);
        naming.name_up_to(MAX_IGNORED, ignored);
        naming.mark_possible_copies();
        if is_whole && naming.left_out == 0 {
            naming.name_folders();
        }
        let left_out = naming.left_out;
        let mut changes: Vec<FileChange> = naming.changes.into_iter().map(|it| it.1).collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let not_named = if !is_whole {
            Some("the folder has too many files to tell all that the command changed".to_owned())
        } else if left_out > 0 {
            Some(format!("the command changed {left_out} more files"))
        } else {
            None
        };
        let outputs = is_whole.then(|| self.outputs_note(&now)).flatten();
        let moved_head = self.head.as_ref().and_then(GitHead::movement);
        let moved_head = moved_head.map(|moved| format!("the command moved HEAD {moved}"));
        let notes = [not_named, outputs, moved_head];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        FoundChanges {
            changes,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }
}

impl Inventory {
    /// True if a file was there before and not looked at: its folder has lost its mark.
    fn was_passed_over(&self, (path, action): &(PathBuf, ChangeAction)) -> bool {
        *action == ChangeAction::Made && self.found.is_in_marked(path)
    }

    /// The files that differ, those that git ignores last.
    fn files_changed_in(&self, after: &FolderAfter) -> Option<ChangedFiles> {
        if !self.found.is_whole || !after.listing.is_whole {
            return None;
        }
        let repository = OwnRepository::find_all(&self.workspace).into_iter().next();
        let rules = |repository| IgnoreRules::read(&repository, &self.workspace, &self.found);
        let mut rules = repository.map(rules);
        // What is written to a pipe or a socket is not in its folder.
        let is_file = |(path, action): &&(PathBuf, ChangeAction)| {
            let is = after.listing.files.get(path);
            let is_special = is.is_some_and(|is| !is.is_regular() && !is.is_link());
            *action != ChangeAction::Changed || !is_special
        };
        let changed = after.differences.iter().filter(is_file);
        let changed = changed.filter(|change| !self.was_passed_over(change));
        let (ignored, others): (Vec<_>, Vec<_>) = changed
            .cloned()
            .partition(|(path, _)| rules.as_mut().is_some_and(|rules| rules.ignores(path)));
        Some([others, ignored].concat())
    }

    /// The note about folders of outputs that the command made or removed: undo leaves them.
    fn outputs_note(&self, now: &FolderListing) -> Option<String> {
        let made = now.outputs_missing_in(&self.found);
        let removed = self.found.outputs_missing_in(now);
        let changes = [("made", made), ("removed", removed)];
        let changes = changes.iter().filter(|(_, folders)| !folders.is_empty());
        let changes: Vec<String> = changes
            .map(|(verb, folders)| {
                let named = folders.iter().take(MAX_OUTPUTS);
                let named = named.map(|path| path.strip_prefix(&self.workspace).unwrap_or(path));
                let mut named: Vec<String> = named.map(|path| path.display().to_string()).collect();
                let more = folders.len() - named.len();
                if more > 0 {
                    named.push(format!("{more} more such folders"));
                }
                format!("{verb} {}", named.join(", "))
            })
            .collect();
        (!changes.is_empty()).then(|| format!("the command {}", changes.join(" and ")))
    }

    /// Looks at the folder after the command. Blocks.
    fn look_again(&self) -> FolderAfter {
        let listing = FolderListing::look(&self.workspace, Some(&self.found));
        FolderAfter {
            differences: listing.files.differences(&self.found.files),
            listing,
        }
    }
}

/// A change that is named, with the bytes of its path.
type NamedChange = (PathBuf, FileChange);

/// Makes the changes of files.
struct ChangeNaming<'a> {
    inventory: &'a Inventory,
    now: &'a FolderListing,
    git: GitReader<'a>,
    context: &'a ToolContext,
    /// The new names of files that are no longer what is at their paths.
    moved: HashMap<PathBuf, PathBuf>,
    /// Those names, also of files that are left out.
    moved_names: HashSet<PathBuf>,
    /// The contents that git has of the files that are named next.
    indexed: HashMap<PathBuf, Vec<u8>>,
    /// The sizes of files whose content from before is lost, unless a file that was made is a copy of it.
    lost_sizes: HashSet<u64>,
    /// The new names of files that are left out.
    lost_names: HashSet<PathBuf>,
    changes: Vec<NamedChange>,
    /// Number of files that are not named.
    left_out: usize,
    /// How much of diffs may still be shown.
    diffs: usize,
    /// The time up to which diffs are made.
    diffs_until: Instant,
    /// How many bytes may still be read.
    read: u64,
}

impl ChangeNaming<'_> {
    /// Names files up to that number: what was made is named last. Blocks.
    fn name_up_to(&mut self, most: usize, mut files: Vec<(PathBuf, ChangeAction)>) {
        files.sort_by_key(|(_, action)| *action == ChangeAction::Made);
        let end = self.changes.len() + most;
        for files in files.chunks(MAX_NAMED) {
            if self.changes.len() < end {
                let unknown = self.unknown(files);
                self.indexed = self.inventory.earlier.indexed(&unknown, self.git);
            }
            let mut contents = Vec::new();
            for (path, action) in files {
                if self.changes.len() == end {
                    self.leave_out(path, *action);
                } else if let Some((change, before)) = self.name(path, *action) {
                    let hash = change.before.clone();
                    let kept = hash
                        .zip(before)
                        .map(|content| (self.changes.len(), content));
                    contents.extend(kept);
                    self.changes.push((path.clone(), change));
                }
            }
            self.keep(contents);
        }
    }

    /// Those files that were changed or removed and whose content from before is neither held nor at another name, with
    /// the numbers that they had.
    fn unknown(&self, files: &[(PathBuf, ChangeAction)]) -> Vec<(PathBuf, IndexStat)> {
        let Inventory { found, earlier, .. } = self.inventory;
        let stat = |(path, _): &(PathBuf, ChangeAction)| {
            let was = found.files.get(path)?;
            let is_known = earlier.has_copy(path) || self.moved.contains_key(path);
            let is_wanted = was.is_regular() && was.content.size <= MAX_FILE && !is_known;
            let is_open = closed::check_path(path, &self.context.closed).is_ok();
            (is_wanted && is_open).then(|| (path.clone(), was.in_index()))
        };
        files.iter().filter_map(stat).collect()
    }

    /// Counts a file that is not named, whose content from before undo cannot put back.
    fn leave_out(&mut self, path: &Path, action: ChangeAction) {
        self.left_out += 1;
        if action != ChangeAction::Made {
            self.lose(path);
            self.lost_names.extend(self.moved.remove(path));
        }
    }

    /// Notes that the content which a file had is not known, unless the file has it still.
    fn lose(&mut self, path: &Path) {
        let was = self.inventory.found.files.get(path);
        let is = self.now.files.get(path).map(|is| is.content);
        let lost = was.filter(|was| was.is_regular() && is != Some(was.content));
        let size = lost.map_or(0, |was| was.content.size);
        if size > 0 {
            self.lost_sizes.insert(size);
        }
    }

    /// Keeps contents from before, each of the change with that number. Blocks.
    fn keep(&mut self, contents: Vec<(usize, (String, Vec<u8>))>) {
        let Some(store) = &self.context.before else {
            return;
        };
        let (numbers, contents): (Vec<_>, Vec<_>) = contents.into_iter().unzip();
        for (number, kept) in numbers.into_iter().zip(store.put_all(&contents)) {
            let Err(error) = kept else { continue };
            let (path, change) = &mut self.changes[number];
            let shown = path.display();
            log::warn!("the content of {shown} before a command is not kept: {error}");
            change.before = None;
            let path = path.clone();
            self.lose(&path);
        }
    }

    /// Marks those changes of files that may be the only copies of others, which undo therefore leaves.
    fn mark_possible_copies(&mut self) {
        let names: HashSet<&PathBuf> = self.moved.values().collect();
        for (path, change) in &mut self.changes {
            let is = self.now.files.get(path).filter(|is| is.is_regular());
            let is_lost_size = is.is_some_and(|is| self.lost_sizes.contains(&is.content.size));
            let is_made = change.action == ChangeAction::Made;
            let is_copy = is_made && is_lost_size && !names.contains(path);
            if is_copy || self.lost_names.contains(path) {
                change.after = None;
                change.notes.insert(0, MAYBE_COPY.to_owned());
            }
        }
    }

    /// The change of a file, and its content from before; nothing if it has the bytes and the mode that it had.
    fn name(&mut self, path: &Path, action: ChangeAction) -> Option<(FileChange, Option<Vec<u8>>)> {
        let (was, is) = (
            self.inventory.found.files.get(path),
            self.now.files.get(path),
        );
        let content = was.and_then(|was| self.content_before(path, was));
        let before = content.as_deref();
        let after = is.and_then(|is| match is.is_link() {
            true => self.now.target(path),
            false => self.read(path),
        });
        let are_regular = |was: &FileStamp, is: &FileStamp| was.is_regular() && is.is_regular();
        let modes = was.zip(is).filter(|(was, is)| are_regular(was, is));
        let modes = modes.map(|(was, is)| (was.permissions(), is.permissions()));
        let modes = modes.filter(|(was, is)| was != is);
        let same_mode = was.map(|was| was.mode) == is.map(|is| is.mode);
        if before.is_some() && before == after.as_deref() && same_mode {
            return None;
        }
        if action == ChangeAction::Changed && before.is_none() {
            self.lose(path);
        }
        let is_foreign = action != ChangeAction::Removed && self.is_from_elsewhere(path);
        let diff = self.diff(action, before, after.as_deref());
        let is_kept = self.context.before.is_some();
        let gone = was.filter(|was| was.is_regular() && !is.is_some_and(FileStamp::is_regular));
        let (kind_was, kind) = (was.map(FileStamp::kind), is.map(FileStamp::kind));
        let change = FileChange {
            before: before.filter(|_| is_kept).map(sha256),
            // Without it, undo leaves the file.
            after: after.as_deref().filter(|_| !is_foreign).map(sha256),
            kind: kind.or(kind_was).unwrap_or_default(),
            kind_before: kind_was.filter(|was| kind.is_some_and(|kind| kind != *was)),
            mode: modes
                .map(|(was, _)| was)
                .or(gone.map(FileStamp::permissions)),
            mode_after: modes.map(|(_, is)| is),
            added: diff.added,
            removed: diff.removed,
            diff: diff.text,
            diff_cut: diff.is_cut,
            notes: is_foreign
                .then(|| FROM_ELSEWHERE.to_owned())
                .into_iter()
                .collect(),
            ..self.unnamed(path, action)
        };
        Some((change, content))
    }

    /// A change without its properties.
    fn unnamed(&self, path: &Path, action: ChangeAction) -> FileChange {
        FileChange {
            path: path.to_string_lossy().into_owned(),
            asked: None,
            action,
            kind: PathKind::default(),
            kind_before: None,
            before: None,
            after: None,
            by_command: true,
            mode: None,
            mode_after: None,
            added: 0,
            removed: 0,
            diff: String::new(),
            diff_cut: false,
            place: place_of(&self.inventory.workspace, path),
            folders: self.folders(path, action),
            notes: Vec::new(),
        }
    }

    /// The content that a file had before the command, if it is known.
    fn content_before(&mut self, path: &Path, was: &FileStamp) -> Option<Vec<u8>> {
        if was.is_link() {
            return self.inventory.found.target(path);
        }
        let copy = self.inventory.earlier.copy(path);
        let known = copy.or_else(|| self.moved_content(path));
        known.or_else(|| self.indexed.remove(path))
    }

    /// Names the changes of folders that those of files do not tell.
    fn name_folders(&mut self) {
        let changes = self.folder_changes();
        let room = (MAX_NAMED + MAX_IGNORED).saturating_sub(self.changes.len());
        self.left_out += changes.len().saturating_sub(room);
        self.changes.extend(changes.into_iter().take(room));
    }

    fn folder_changes(&self) -> Vec<NamedChange> {
        let named = self.changes.iter();
        let told: HashSet<&str> = named
            .flat_map(|(_, change)| &change.folders)
            .map(|it| &**it)
            .collect();
        let is_told = |path: &Path| path.to_str().is_some_and(|path| told.contains(path));
        let (before, now) = (&self.inventory.found, self.now);
        let usual = USUAL_FOLDER & !umask();
        let mut changes = Vec::new();
        for (path, is) in &now.folders {
            let action = match before.folders.get(path) {
                // What is in the others is not known.
                None if is_told(path) || now.marked.contains(path) => continue,
                None => ChangeAction::Made,
                Some(was) if was.mode != is.mode => ChangeAction::Changed,
                Some(_) => continue,
            };
            changes.push((path, action, before.folders.get(path), Some(is)));
        }
        for (path, was) in &before.folders {
            let is_usual = is_told(path) && was.mode == usual;
            if !now.folders.contains_key(path) && !is_usual && !before.marked.contains(path) {
                changes.push((path, ChangeAction::Removed, Some(was), None));
            }
        }
        let change =
            |(path, action, was, is): (&PathBuf, _, Option<&FolderStamp>, Option<&FolderStamp>)| {
                let change = FileChange {
                    kind: PathKind::Folder,
                    mode: was.map(|was| was.mode),
                    mode_after: is.map(|is| is.mode),
                    ..self.unnamed(path, action)
                };
                (path.clone(), change)
            };
        changes.into_iter().map(change).collect()
    }

    /// True if a file that is now at the path is older than the command, was at no other path that is known, and has
    /// this name only. Of a file system that does not tell when files were made, the time of the last change counts.
    fn is_from_elsewhere(&self, path: &Path) -> bool {
        let (was, is) = (
            self.inventory.found.files.get(path),
            self.now.files.get(path),
        );
        let inode = |stamp: &FileStamp| (stamp.content.device, stamp.content.inode);
        let is_same = was.map(inode) == is.map(inode);
        if is_same || self.moved_names.contains(path) {
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
        (self.now.files.get(&name) == Some(&FileStamp::from_metadata(&now))).then_some(bytes)
    }

    /// The difference, of what is known on both sides and is text.
    fn diff(
        &mut self,
        action: ChangeAction,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> FileDiff {
        let is_text = |bytes: &&[u8]| !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
        let empty: &[u8] = &[];
        let (before, after) = match action {
            ChangeAction::Made => (Some(empty), after),
            ChangeAction::Removed => (before, Some(empty)),
            ChangeAction::Changed | ChangeAction::Unknown => (before, after),
        };
        let (Some(before), Some(after)) = (before.filter(is_text), after.filter(is_text)) else {
            return FileDiff::default();
        };
        if Instant::now() > self.diffs_until {
            return FileDiff {
                is_cut: true,
                ..FileDiff::default()
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
