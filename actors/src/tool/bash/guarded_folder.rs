//! A folder that a command may write: what it changed at protected places below it is put back or put aside.
//!
//! Invariant: each place is reached from the folder's descriptor by plain names, and a link that the command left on the
//! way is put aside instead of followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::config_change::ConfigChange;
use super::git_config::parse;
use super::git_contents::GitContents;
use super::held_folder::{EntryIdentity, EntryKind, HeldFolder, HeldPlace};
use super::own_repository::{GIT, OwnRepository};
use super::place_state::{PlaceState, add_differing, is_held_by_mount, make, state, state_at};
use super::put_aside::{GuardNotes, PutAside};
use super::reach::WriteReach;
use crate::lexical::lexical;
use crate::tool::ApprovedContents;

/// A folder that the command may write, with the protected places below it.
#[derive(Debug)]
pub(super) struct GuardedFolder {
    pub(super) path: PathBuf,
    pub(super) held: HeldFolder,
    places: Vec<GuardedPlace>,
    /// The relative paths of git folders, which keep what is put aside in them.
    git_folders: Vec<PathBuf>,
    /// The changes that operators allowed, and the number of removals among them before the command.
    approved: ApprovedContents,
    removals_before: u64,
}

/// A protected place before the command.
#[derive(Debug)]
struct GuardedPlace {
    /// Relative to the guarded folder.
    relative: PathBuf,
    was: PlaceState,
    care: PlaceCare,
    is_configuration: bool,
    /// The folder above, if it is below the guarded one.
    above: Option<EntryIdentity>,
}

/// The treatment of a change.
#[derive(Debug, PartialEq, Eq)]
enum PlaceCare {
    /// It is put back.
    Restore,
    /// It stays, because a mount keeps the command from changing this very entry. A note names what replaces it.
    Mounted(Option<EntryIdentity>),
}

/// An entry of a folder, with its path below the guarded folder.
struct GuardedEntry<'e> {
    folder: &'e HeldFolder,
    name: &'e OsStr,
    relative: &'e Path,
}

impl GuardedFolder {
    /// Opens the folders that have protected places, beginning with that of the conversation.
    pub(super) fn open_all(
        workspace: &Path,
        reach: &WriteReach,
        held_places: &[PathBuf],
    ) -> io::Result<Vec<Self>> {
        let others = reach.bases.iter().filter(|base| *base != workspace);
        let bases: Vec<&Path> = std::iter::once(workspace)
            .chain(others.map(PathBuf::as_path))
            .collect();
        let mut folders = Vec::new();
        for (number, base) in bases.iter().enumerate() {
            let is_in = |place: &&PathBuf| {
                let first = bases.iter().position(|base| place.starts_with(base));
                first == Some(number)
            };
            let places: Vec<&PathBuf> = reach.protected.iter().filter(is_in).collect();
            if places.is_empty() && number > 0 {
                continue;
            }
            let held = HeldFolder::open(base)?;
            let places = places.into_iter().filter_map(|place| {
                let relative = place.strip_prefix(base).ok()?;
                let is_held = held_places.contains(place) && is_held_by_mount(&held, relative);
                Some(GuardedPlace {
                    relative: relative.to_owned(),
                    was: state_at(&held, relative),
                    care: match is_held {
                        true => PlaceCare::Mounted(identity_at(&held, relative)),
                        false => PlaceCare::Restore,
                    },
                    is_configuration: reach.configurations.contains(place),
                    above: above_identity(&held, relative),
                })
            });
            let places = places.collect();
            let git = reach
                .repositories
                .iter()
                .flat_map(OwnRepository::git_folders);
            let git = git.filter_map(|git| git.strip_prefix(base).ok());
            let own = (number == 0).then_some(Path::new(GIT));
            let git_folders = git.chain(own).filter(|git| !git.as_os_str().is_empty());
            folders.push(Self {
                path: base.to_path_buf(),
                git_folders: git_folders.map(Path::to_owned).collect(),
                held,
                places,
                approved: ApprovedContents::default(),
                removals_before: 0,
            });
        }
        Ok(folders)
    }

    /// Adds places that had no file before, but for those that are known already.
    pub(super) fn add_made(&mut self, made: BTreeSet<PathBuf>) {
        for place in made {
            let mut known = self.places.iter();
            if !known.any(|known| place.starts_with(&known.relative)) {
                self.places.push(GuardedPlace {
                    relative: place,
                    was: PlaceState::Absent,
                    care: PlaceCare::Restore,
                    is_configuration: false,
                    above: None,
                });
            }
        }
    }

    /// Takes what `edit` and `write` make from now on as allowed.
    pub(super) fn approve(&mut self, approved: &ApprovedContents) {
        self.removals_before = approved.removals();
        self.approved = approved.clone();
    }

    /// The paths that differ now where changes are put back, but for git's own and for those in nested repositories.
    pub(super) fn differing(&self, nested: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        for GuardedPlace {
            relative,
            was,
            care,
            ..
        } in &self.places
        {
            let is_restored = *care == PlaceCare::Restore && !nested.contains(relative);
            if is_restored && !relative.starts_with(GIT) {
                add_differing(relative, was, &state_at(&self.held, relative), &mut paths);
            }
        }
        paths
    }

    /// Puts back what was changed and puts aside what was made, but for the contents that git has moved. Changes in nested
    /// repositories are named and stay.
    pub(super) fn judge(
        &self,
        nested: &BTreeSet<PathBuf>,
        contents: &GitContents,
        workspace: &Path,
        notes: &mut GuardNotes,
    ) {
        for place in &self.places {
            match place.care {
                PlaceCare::Mounted(held) => self.name_unheld_change(place, held, notes),
                PlaceCare::Restore if nested.contains(&place.relative) => {
                    self.name_change(place, notes);
                }
                PlaceCare::Restore if self.keeps_configuration(place, workspace, notes) => {}
                PlaceCare::Restore => self.restore(&place.relative, &place.was, contents, notes),
            }
        }
    }

    /// True if git or a tool that asked has moved this state to a path. A link is one only if its target is judged as well.
    fn is_moved(&self, contents: &GitContents, path: &Path, is: &PlaceState) -> bool {
        match is {
            PlaceState::Absent => {
                let path_of = || self.path.join(path);
                contents.lacks(path) || self.approved.lacks_since(&path_of(), self.removals_before)
            }
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
                let mut judged = self.places.iter();
                let is_judged = judged.any(|place| {
                    place.care == PlaceCare::Restore && led.starts_with(&place.relative)
                });
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
    fn name_change(&self, place: &GuardedPlace, notes: &mut GuardNotes) {
        if state_at(&self.held, &place.relative) != place.was {
            notes.push(format!(
                "{} is protected and was changed in a repository below the folder; look at it before you use it",
                self.path.join(&place.relative).display()
            ));
        }
    }

    /// Names a place whose change stays, unless it is of an entry that a mount held all the while. Of a configuration it
    /// is named if it makes git run another program than before.
    fn name_unheld_change(
        &self,
        place: &GuardedPlace,
        held: Option<EntryIdentity>,
        notes: &mut GuardNotes,
    ) {
        let GuardedPlace { relative, was, .. } = place;
        let now = identity_at(&self.held, relative);
        if now.is_none() || now == held {
            return;
        }
        let is = state_at(&self.held, relative);
        let is_allowed = || self.is_moved(&GitContents::default(), relative, &is);
        if is == *was || is_allowed() {
            return;
        }
        let shown = self.path.join(relative);
        let shown = shown.display();
        match new_program(was, &is) {
            ProgramChange::Unchanged => {}
            ProgramChange::Names(key) => notes.push(format!(
                "{shown} was changed while the command ran, and names a program for git to run now: {key}; look at it \
                 before you use git"
            )),
            ProgramChange::Unknown => notes.push(format!(
                "{shown} is protected and was changed while the command ran, not necessarily by it; look at it before \
                 you use it"
            )),
        }
    }

    /// True if a configuration was changed in such a way that git runs no other program. A note names the change.
    fn keeps_configuration(
        &self,
        place: &GuardedPlace,
        workspace: &Path,
        notes: &mut GuardNotes,
    ) -> bool {
        let is = state_at(&self.held, &place.relative);
        let was = match &place.was {
            PlaceState::File { content, .. } => content.as_slice(),
            PlaceState::Absent => &[],
            PlaceState::Folder(_) | PlaceState::Link(_) | PlaceState::Unknown => return false,
        };
        let PlaceState::File {
            content,
            has_other_names: false,
            ..
        } = &is
        else {
            return false;
        };
        // In another repository it is another configuration.
        let is_in_place = above_identity(&self.held, &place.relative) == place.above;
        if !place.is_configuration || !is_in_place || is == place.was {
            return false;
        }
        let path = self.path.join(&place.relative);
        let git = path.parent().unwrap_or(&path);
        let Ok(change) = ConfigChange::judged((was, content), git, workspace) else {
            return false;
        };
        if let Some(note) = change.note(&path) {
            notes.push(note);
        }
        true
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
            Ok(HeldPlace::Absent)
                if !is_wanted || self.is_moved(contents, relative, &PlaceState::Absent) => {}
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
        let is = state(folder, name);
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
                        notes.add(aside_entry(relative, Some(content.clone()), aside, note));
                    }
                    (Ok(None), was) => notes.put_back(relative, was, note),
                    (Ok(Some(_)) | Err(_), _) => notes.push(note),
                }
            }
        }
    }

    /// Puts a place back whose folders may have been removed.
    fn put_back_below(&self, relative: &Path, was: &PlaceState, notes: &mut GuardNotes) {
        let put = self.make_below(relative, was);
        let put = put.as_ref().map(|()| None);
        let note = put_back_note(&self.path.join(relative), &put);
        match put {
            Ok(_) => notes.put_back(relative, was, note),
            Err(_) => notes.push(note),
        }
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
                notes.add(aside_entry(relative, None, aside, note));
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

    /// The folder for what is put aside: no program looks for files there by their place. Entries of a git folder stay
    /// in it, so that git does not see new files.
    fn aside_folder(&self, relative: &Path) -> io::Result<HeldFolder> {
        let Some(git) = self.git_folder_around(relative) else {
            return self.held.again();
        };
        match self.held.place(git)? {
            HeldPlace::Entry(above, name) => above.folder(&name),
            HeldPlace::Absent | HeldPlace::Blocked(..) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn aside_path(&self, relative: &Path) -> PathBuf {
        let git = self.git_folder_around(relative);
        git.map_or_else(|| self.path.clone(), |git| self.path.join(git))
    }

    fn git_folder_around(&self, relative: &Path) -> Option<&Path> {
        let around = |git: &&PathBuf| relative.starts_with(git) && relative != **git;
        self.git_folders.iter().find(around).map(PathBuf::as_path)
    }
}

/// A difference between two contents of a file of git's.
enum ProgramChange {
    /// Both are configurations, and the second names no other program.
    Unchanged,
    /// A key of a configuration names another program.
    Names(String),
    /// It is not a configuration.
    Unknown,
}

fn new_program(was: &PlaceState, is: &PlaceState) -> ProgramChange {
    let entries = |state: &PlaceState| match state {
        PlaceState::File { content, .. } => parse(content),
        PlaceState::Absent | PlaceState::Folder(_) | PlaceState::Link(_) | PlaceState::Unknown => {
            None
        }
    };
    match (entries(was), entries(is)) {
        (Some(was), Some(is)) if !was.is_empty() => {
            let mut new = is.iter().filter(|entry| !was.contains(entry));
            let program = new.find(|entry| entry.runs_program());
            program.map_or(ProgramChange::Unchanged, |entry| {
                ProgramChange::Names(entry.key())
            })
        }
        _ => ProgramChange::Unknown,
    }
}

/// The numbers that tell the entry at a place from others. `None` if there is none.
fn identity_at(held: &HeldFolder, relative: &Path) -> Option<EntryIdentity> {
    match held.place(relative) {
        Ok(HeldPlace::Entry(folder, name)) => folder.identity(&name).ok(),
        Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => None,
    }
}

/// The numbers of the folder above a place, if that is below the guarded folder.
fn above_identity(held: &HeldFolder, relative: &Path) -> Option<EntryIdentity> {
    let above = relative
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    identity_at(held, above?)
}

/// The part of a path up to that name.
fn ancestor_named<'p>(relative: &'p Path, name: &OsStr) -> &'p Path {
    let mut above = relative.ancestors().skip(1);
    above
        .find(|path| path.file_name() == Some(name))
        .unwrap_or(relative)
}

fn aside_entry(
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
