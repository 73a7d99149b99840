//! Guards protected places while a command runs: changes are put back, and new entries are put aside.
//!
//! The folders are opened before the command. Afterwards each place is reached from there by plain names, and a link
//! that the command left on the way is put aside instead of followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use harness_protocol::FileChange;

use super::clone_origin::origin_refs;
use super::git_contents::{GitContents, GitReader};
use super::git_look::{GitFinding, GitFolders, GitLook};
use super::git_refs::GitRefs;
use super::held_folder::{EntryKind, HeldFolder, HeldPlace};
use super::inventory::ContentPlaces;
use super::known_commits::{KnownCommits, TrustedCommits};
use super::new_repository;
use super::put_aside::{GuardNotes, PutAside};
use super::reach::Reach;
use crate::lexical::lexical;
use crate::tool::{ApprovedContents, ToolContext};

/// Maximum size of a protected file that can be put back, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum number of files in protected folders that are known.
const MAX_FILES: usize = 4000;
/// Maximum depth of protected folders.
const DEPTH: usize = 6;
/// Maximum number of places that the notes name.
const MAX_NOTES: usize = 20;

/// The state of protected places before a command.
#[derive(Debug)]
pub(super) struct CommandGuard {
    folders: Vec<GuardedFolder>,
    /// True if the conversation's folder had an entry `.git`.
    had_git: bool,
    /// The git folder of a linked worktree.
    worktree: Option<(PathBuf, HeldFolder)>,
    /// The ways to make git run programs that were there before.
    git: GitLook,
    /// Places in repositories below the folder, relative to it.
    nested: BTreeSet<PathBuf>,
    known_commits: KnownCommits,
    /// The commits of the repository before the command, if there is one.
    commits: Option<TrustedCommits>,
}

/// A folder that the command may write, with the protected places below it.
#[derive(Debug)]
struct GuardedFolder {
    path: PathBuf,
    held: HeldFolder,
    /// Relative paths, each with its state before the command.
    places: Vec<(PathBuf, PlaceState)>,
    /// The contents that `edit` and `write` gave to files.
    approved: ApprovedContents,
}

/// An entry of a folder, with its path below the guarded folder.
struct GuardedEntry<'e> {
    folder: &'e HeldFolder,
    name: &'e OsStr,
    relative: &'e Path,
}

#[derive(Debug, PartialEq, Eq)]
enum PlaceState {
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

impl CommandGuard {
    /// Opens the folders and looks at the protected places. Those of `held_places` that a mount holds while the command
    /// runs are left out: a change there is another program's. Blocks.
    ///
    /// # Errors
    /// If a folder cannot be opened: without it, nothing can be put back.
    pub(super) fn look(
        workspace: &Path,
        reach: &Reach,
        held_places: &[PathBuf],
        known_commits: &KnownCommits,
    ) -> io::Result<Self> {
        let mut room = MAX_FILES;
        let mut folders = Vec::new();
        for path in std::iter::once(workspace).chain(reach.writable.iter().map(PathBuf::as_path)) {
            let held = HeldFolder::open(path)?;
            let mut places = Vec::new();
            for place in &reach.protected {
                let Ok(relative) = place.strip_prefix(path) else {
                    continue;
                };
                if !(held_places.contains(place) && is_held_by_mount(&held, relative)) {
                    let state = state_at(&held, relative, &mut room);
                    places.push((relative.to_owned(), state));
                }
            }
            folders.push(GuardedFolder {
                path: path.to_owned(),
                held,
                places,
                approved: ApprovedContents::default(),
            });
        }
        let own = folders.first();
        let had_git = own.is_some_and(|own| !matches!(own.held.kind(OsStr::new(".git")), Ok(None)));
        let worktree = reach.worktree.as_ref().map(|path| {
            let held = HeldFolder::open(path)?;
            Ok::<_, io::Error>((path.clone(), held))
        });
        let mut guard = Self {
            folders,
            had_git,
            worktree: worktree.transpose()?,
            git: GitLook::default(),
            nested: BTreeSet::new(),
            known_commits: known_commits.clone(),
            commits: None,
        };
        guard.git = guard.look_at_git(GitLook::look_at).unwrap_or_default();
        let refs = guard.refs();
        guard.commits = refs.map(|(repository, refs)| known_commits.begin(repository, refs));
        Ok(guard)
    }

    /// The same with these places as those in repositories below the folder. Changes there are named, and stay.
    pub(super) fn with_nested(self, nested: BTreeSet<PathBuf>) -> Self {
        Self { nested, ..self }
    }

    /// The same with these contents as what `edit` and `write` made meanwhile, which stays.
    pub(super) fn with_approved(mut self, approved: &ApprovedContents) -> Self {
        for folder in &mut self.folders {
            folder.approved = approved.clone();
        }
        self
    }

    /// The refs of the repository in the conversation's folder, with the path of its git folder.
    fn refs(&self) -> Option<(PathBuf, GitRefs)> {
        let own = self.folders.first()?;
        let name = OsStr::new(".git");
        match (own.held.folder(name), &self.worktree, self.folders.get(1)) {
            (Ok(git), _, _) => Some((own.path.join(name), GitRefs::read(&git, &git))),
            (Err(_), Some((_, git)), Some(common)) => {
                Some((common.path.clone(), GitRefs::read(git, &common.held)))
            }
            (Err(_), _, _) => None,
        }
    }

    /// The commits of the operator in the origin of a repository that the command has cloned.
    fn origin_commits(&self, git: &GitReader<'_>) -> Option<TrustedCommits> {
        let own = self.folders.first().filter(|_| !self.had_git)?;
        let new = own.held.folder(OsStr::new(".git")).ok()?;
        let (repository, refs) = origin_refs(&new, &own.path, git)?;
        let made = self.known_commits.made_in(&repository);
        let tips = refs.tips.into_iter();
        Some(TrustedCommits {
            repository,
            trusted: tips.filter(|tip| !made.contains(tip)).collect(),
            made,
        })
    }

    /// The contents that the operator's commits have at the places that differ now.
    fn moved_contents(
        &self,
        commits: Option<&TrustedCommits>,
        refs: Option<&GitRefs>,
        git: &GitReader<'_>,
    ) -> GitContents {
        let (Some(own), Some(commits), Some(refs)) = (self.folders.first(), commits, refs) else {
            return GitContents::default();
        };
        let mut paths = BTreeSet::new();
        for (relative, was) in &own.places {
            if !relative.starts_with(".git") && !self.nested.contains(relative) {
                let mut room = MAX_FILES;
                let is = state_at(&own.held, relative, &mut room);
                add_differing(relative, was, &is, &mut paths);
            }
        }
        if paths.is_empty() || commits.trusted.is_empty() {
            return GitContents::default();
        }
        let contents = git.contents(commits, refs.head.as_deref(), &paths);
        contents.unwrap_or_else(|error| {
            log::warn!(
                "the commits of {} cannot be read: {error}",
                own.path.display()
            );
            GitContents::default()
        })
    }

    /// Looks at the repository in the conversation's folder, if there is one.
    fn look_at_git<T>(&self, look: impl FnOnce(&GitFolders<'_>) -> T) -> Option<T> {
        let own = self.folders.first()?;
        let name = OsStr::new(".git");
        let (git_path, git) = match (own.held.folder(name), &self.worktree) {
            (Ok(git), _) => (own.path.join(name), git),
            (Err(_), Some((path, git))) => (path.clone(), git.again().ok()?),
            // A bare repository has its files in the folder.
            (Err(_), None) => (own.path.clone(), own.held.again().ok()?),
        };
        Some(look(&GitFolders {
            path: &own.path,
            folder: &own.held,
            git_path: &git_path,
            git: &git,
        }))
    }

    /// Puts back what was changed and puts aside what was made, but for content that git has moved from a commit of the
    /// operator; a line for each. `made` has the places that had no file before. With a context, operators are asked about
    /// text that the command left, in place of a line. Blocks.
    pub(super) fn put_back(
        mut self,
        made: ContentPlaces,
        git: &GitReader<'_>,
        context: Option<&ToolContext>,
    ) -> (Vec<String>, Vec<FileChange>) {
        self.nested.extend(made.nested);
        if let Some(own) = self.folders.first_mut() {
            own.add_made(made.places);
        }
        let refs = self.refs();
        let origin = self.origin_commits(git);
        if let (Some(origin), Some((repository, _))) = (&origin, &refs) {
            self.known_commits.trust(repository, &origin.trusted);
        }
        let commits = self.commits.as_ref().or(origin.as_ref());
        let contents = self.moved_contents(commits, refs.as_ref().map(|(_, refs)| refs), git);
        let begun = self.commits.as_ref().map(|commits| &*commits.repository);
        self.known_commits.end(begun, refs);
        let mut notes = GuardNotes::default();
        if let Some((own, others)) = self.folders.split_first() {
            for (relative, was) in &own.places {
                match self.nested.contains(relative) {
                    true => own.name_change(relative, was, &mut notes),
                    false => own.restore(relative, was, &contents, &mut notes),
                }
            }
            for folder in others {
                for (relative, was) in &folder.places {
                    folder.restore(relative, was, &GitContents::default(), &mut notes);
                }
            }
        }
        let workspace = self.folders.first().map(|own| own.path.clone());
        let (mut notes, proposals) = notes.settle(&workspace.unwrap_or_default(), context);
        if notes.len() > MAX_NOTES {
            let more = notes.len() - MAX_NOTES;
            notes.truncate(MAX_NOTES);
            notes.push(format!("{more} more protected places were treated alike"));
        }
        if let Some(own) = self.folders.first().filter(|_| !self.had_git) {
            notes.extend(new_repository::check(&own.held, &own.path));
        }
        let put = self.look_at_git(|folders| {
            let findings = self.git.compare(folders);
            let notes = findings
                .iter()
                .map(|finding| put_finding_aside(finding, folders));
            notes.collect::<Vec<_>>()
        });
        notes.extend(put.into_iter().flatten());
        (notes, proposals)
    }
}

/// Adds the paths at which two states differ, of folders and of what is in them.
fn add_differing(path: &Path, was: &PlaceState, is: &PlaceState, paths: &mut BTreeSet<PathBuf>) {
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

/// Puts an entry aside that git would run a program for.
fn put_finding_aside(finding: &GitFinding, folders: &GitFolders<'_>) -> String {
    let (path, folder) = if finding.is_in_git {
        (folders.git_path, folders.git)
    } else {
        (folders.path, folders.folder)
    };
    let put = match folder.place(&finding.path) {
        Ok(HeldPlace::Entry(above, name) | HeldPlace::Blocked(above, name)) => {
            above.put_aside(&name, folder)
        }
        // Another finding has moved what it was in.
        Ok(HeldPlace::Absent) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error),
    };
    let shown = path.join(&finding.path);
    let (shown, reason) = (shown.display(), &finding.reason);
    match put {
        Ok(aside) => format!(
            "{shown} would make git run a program ({reason}); it was put aside as {}",
            path.join(aside).display()
        ),
        Err(error) => format!(
            "{shown} would make git run a program ({reason}); it could not be put aside: {error}"
        ),
    }
}

/// True for places that the plan of the mounts makes read-only. No mount can be made on a link or on nothing.
fn is_held_by_mount(held: &HeldFolder, relative: &Path) -> bool {
    match held.place(relative) {
        Ok(HeldPlace::Entry(folder, name)) => match folder.kind(&name) {
            Ok(Some(EntryKind::File | EntryKind::Folder | EntryKind::Other)) | Err(_) => true,
            Ok(Some(EntryKind::Link) | None) => false,
        },
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => false,
        Err(_) => true,
    }
}

fn state_at(held: &HeldFolder, relative: &Path, room: &mut usize) -> PlaceState {
    match held.place(relative) {
        Ok(HeldPlace::Entry(folder, name)) => state(&folder, &name, DEPTH, room),
        // Where a file is in place of a folder there is nothing below it.
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) => PlaceState::Absent,
        Err(_) => PlaceState::Unknown,
    }
}

fn state(folder: &HeldFolder, name: &OsStr, depth: usize, room: &mut usize) -> PlaceState {
    let kind = match folder.kind(name) {
        Ok(Some(kind)) => kind,
        Ok(None) => return PlaceState::Absent,
        Err(_) => return PlaceState::Unknown,
    };
    if *room == 0 {
        return PlaceState::Unknown;
    }
    *room -= 1;
    match kind {
        EntryKind::Link => folder
            .link(name)
            .map_or(PlaceState::Unknown, PlaceState::Link),
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
                let state = state(&inner, &name, depth - 1, room);
                (name, state)
            });
            PlaceState::Folder(inside.collect())
        }
        EntryKind::Folder | EntryKind::Other => PlaceState::Unknown,
    }
}

impl GuardedFolder {
    /// Adds places that had no file before, but for those that are known already.
    fn add_made(&mut self, made: BTreeSet<PathBuf>) {
        for place in made {
            let is_known = self
                .places
                .iter()
                .any(|(known, _)| place.starts_with(known));
            if !is_known {
                self.places.push((place, PlaceState::Absent));
            }
        }
    }

    /// True if git or a tool that asked has moved this state to a path. A link is one only if its target is judged as well.
    fn is_moved(&self, contents: &GitContents, path: &Path, is: &PlaceState) -> bool {
        match is {
            PlaceState::Absent => contents.lacks(path),
            PlaceState::File {
                content,
                has_other_names,
                ..
            } => {
                let is_known = contents.has(path, content, false)
                    || self.approved.has(&self.path.join(path), content);
                is_known && !has_other_names
            }
            PlaceState::Link(target) => {
                let led = lexical(&path.parent().unwrap_or(path).join(target));
                let is_judged = self.places.iter().any(|(place, _)| led.starts_with(place));
                is_judged && contents.has(path, target.as_encoded_bytes(), true)
            }
            PlaceState::Folder(inside) => {
                let is_inside = |(name, is): &(OsString, PlaceState)| {
                    self.is_moved(contents, &path.join(name), is)
                };
                !inside.is_empty() && inside.iter().all(is_inside)
            }
            PlaceState::Unknown => false,
        }
    }

    /// Names a place that differs.
    fn name_change(&self, relative: &Path, was: &PlaceState, notes: &mut GuardNotes) {
        let mut room = MAX_FILES;
        if state_at(&self.held, relative, &mut room) != *was {
            notes.push(format!(
                "{} is protected and was changed in a repository below the folder; look at it before you use it",
                self.path.join(relative).display()
            ));
        }
    }

    fn restore(
        &self,
        relative: &Path,
        was: &PlaceState,
        contents: &GitContents,
        notes: &mut GuardNotes,
    ) {
        let is_wanted = *was != PlaceState::Absent;
        match self.held.place(relative) {
            Ok(HeldPlace::Entry(folder, name)) => {
                let entry = GuardedEntry {
                    folder: &folder,
                    name: &name,
                    relative,
                };
                self.restore_entry(&entry, was, contents, notes);
            }
            Ok(HeldPlace::Absent) if !is_wanted || contents.lacks(relative) => {}
            Ok(HeldPlace::Absent) => self.put_back_below(relative, was, notes),
            Ok(HeldPlace::Blocked(folder, name)) => {
                let is_link = matches!(folder.kind(&name), Ok(Some(EntryKind::Link)));
                if is_link || is_wanted {
                    let above = ancestor_named(relative, &name);
                    self.put_entry_aside(&folder, &name, above, notes);
                }
                if is_wanted {
                    self.put_back_below(relative, was, notes);
                }
            }
            Err(error) => notes.push(format!(
                "{} is protected and could not be looked at: {error}",
                self.path.join(relative).display()
            )),
        }
    }

    fn restore_entry(
        &self,
        entry: &GuardedEntry<'_>,
        was: &PlaceState,
        contents: &GitContents,
        notes: &mut GuardNotes,
    ) {
        let &GuardedEntry {
            folder,
            name,
            relative,
        } = entry;
        let mut room = MAX_FILES;
        let is = state(folder, name, DEPTH, &mut room);
        if is == *was {
            return;
        }
        // Of a folder that was there, each entry is judged.
        let are_folders = matches!((was, &is), (PlaceState::Folder(_), PlaceState::Folder(_)));
        if !are_folders && self.is_moved(contents, relative, &is) {
            return;
        }
        let shown = self.path.join(relative);
        let shown = shown.display();
        match (was, is) {
            (PlaceState::Unknown, _) => {
                notes.push(format!("{shown} is protected and was perhaps changed"));
            }
            (PlaceState::Absent, _) => self.put_entry_aside(folder, name, relative, notes),
            (PlaceState::Folder(inside), PlaceState::Folder(now)) => {
                let Ok(inner) = folder.folder(name) else {
                    notes.push(format!("{shown} is protected and was perhaps changed"));
                    return;
                };
                for (name, was) in inside {
                    let entry = GuardedEntry {
                        folder: &inner,
                        name,
                        relative: &relative.join(name),
                    };
                    self.restore_entry(&entry, was, contents, notes);
                }
                let is_new = |name: &OsStr| inside.iter().all(|(known, _)| known != name);
                for (name, is) in now.iter().filter(|(name, _)| is_new(name)) {
                    let relative = relative.join(name);
                    if !self.is_moved(contents, &relative, is) {
                        self.put_entry_aside(&inner, name, &relative, notes);
                    }
                }
            }
            (was, is) => {
                let put = if is == PlaceState::Absent {
                    Ok(None)
                } else {
                    self.put_aside(folder, name, relative).map(Some)
                };
                let put = put.and_then(|aside| make(folder, name, was).map(|()| aside));
                let above = self.aside_path(relative);
                let shown = put
                    .as_ref()
                    .map(|aside| aside.as_ref().map(|(_, name)| above.join(name)));
                let note = put_back_note(&self.path.join(relative), &shown);
                match (put, was) {
                    (Ok(Some(aside)), PlaceState::File { content, .. }) => {
                        notes.add(put_aside(relative, Some(content.clone()), aside, note));
                    }
                    (Ok(_) | Err(_), _) => notes.push(note),
                }
            }
        }
    }

    /// Puts a place back whose folders may have been removed.
    fn put_back_below(&self, relative: &Path, was: &PlaceState, notes: &mut GuardNotes) {
        let put = self.make_below(relative, was);
        let put = put.as_ref().map(|()| None);
        notes.push(put_back_note(&self.path.join(relative), &put));
    }

    fn make_below(&self, relative: &Path, was: &PlaceState) -> io::Result<()> {
        let mut names: Vec<&OsStr> = relative.iter().collect();
        let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let mut folder: Option<HeldFolder> = None;
        for name in names {
            folder = Some(folder.as_ref().unwrap_or(&self.held).make_folder(name)?);
        }
        make(folder.as_ref().unwrap_or(&self.held), last, was)
    }

    fn put_entry_aside(
        &self,
        folder: &HeldFolder,
        name: &OsStr,
        relative: &Path,
        notes: &mut GuardNotes,
    ) {
        let shown = self.path.join(relative);
        let shown = shown.display();
        match self.put_aside(folder, name, relative) {
            Ok(aside) => {
                let note = format!(
                    "{shown} is protected: what was made there was put aside as {}; write asks an operator for it",
                    self.aside_path(relative).join(&aside.1).display()
                );
                notes.add(put_aside(relative, None, aside, note));
            }
            Err(error) => notes.push(format!(
                "{shown} is protected and was made; it could not be put aside: {error}"
            )),
        }
    }

    /// Puts an entry aside, and returns where it is then.
    fn put_aside(
        &self,
        folder: &HeldFolder,
        name: &OsStr,
        relative: &Path,
    ) -> io::Result<(HeldFolder, OsString)> {
        let aside = self.aside_folder(relative)?;
        let name = folder.put_aside(name, &aside)?;
        Ok((aside, name))
    }

    /// The folder for what is put aside: no program looks for files there by their place. Entries of `.git` stay in
    /// it, so that git does not see new files.
    fn aside_folder(&self, relative: &Path) -> io::Result<HeldFolder> {
        match aside_name(relative) {
            Some(name) => self.held.folder(name),
            None => self.held.again(),
        }
    }

    fn aside_path(&self, relative: &Path) -> PathBuf {
        aside_name(relative).map_or_else(|| self.path.clone(), |name| self.path.join(name))
    }
}

fn aside_name(relative: &Path) -> Option<&OsStr> {
    let mut names = relative.iter();
    let first = names.next().filter(|first| *first == ".git");
    first.filter(|_| names.next().is_some())
}

/// The part of a path up to that name.
fn ancestor_named<'p>(relative: &'p Path, name: &OsStr) -> &'p Path {
    let mut above = relative.ancestors().skip(1);
    above
        .find(|path| path.file_name() == Some(name))
        .unwrap_or(relative)
}

/// Makes what was at a place before, where nothing is now.
fn make(folder: &HeldFolder, name: &OsStr, was: &PlaceState) -> io::Result<()> {
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

fn put_aside(
    relative: &Path,
    before: Option<Vec<u8>>,
    (folder, name): (HeldFolder, OsString),
    note: String,
) -> PutAside {
    PutAside {
        relative: relative.to_owned(),
        before,
        folder,
        name,
        note,
    }
}

/// The note about a place that was put back. `put` has the path of what was in its place.
fn put_back_note(path: &Path, put: &Result<Option<PathBuf>, &io::Error>) -> String {
    let shown = path.display();
    match put {
        Ok(None) => format!("{shown} is protected and was put back"),
        Ok(Some(aside)) => format!(
            "{shown} is protected and was put back, what the command wrote was put aside as {}; edit and write ask an \
             operator for a change",
            aside.display()
        ),
        Err(error) => {
            format!("{shown} is protected and was changed; it could not be put back: {error}")
        }
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
