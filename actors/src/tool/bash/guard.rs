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
use super::config_change::ConfigChange;
use super::git_aside::put_aside;
use super::git_config::parse;
use super::git_contents::{GitContents, GitReader};
use super::git_look::{GitFinding, GitFolders, GitLook};
use super::git_refs::GitRefs;
use super::held_folder::{EntryIdentity, EntryKind, HeldFolder, HeldPlace};
use super::inventory::ContentPlaces;
use super::known_commits::{KnownCommits, TrustedCommits};
use super::new_repository;
use super::own_repository::{GIT, OwnRepository};
use super::place_state::{PlaceState, add_differing, is_held_by_mount, make, state, state_at};
use super::put_aside::{GuardNotes, PutAside};
use super::reach::Reach;
use crate::lexical::lexical;
use crate::tool::{ApprovedContents, ToolContext};

/// Maximum number of notes.
const MAX_NOTES: usize = 20;

/// The state of protected places before a command.
#[derive(Debug)]
pub(super) struct CommandGuard {
    folders: Vec<GuardedFolder>,
    /// True if the conversation's folder had an entry `.git`.
    had_git: bool,
    /// The repositories that git finds from the conversation's folder. The first is the folder's own, also if it does
    /// not exist yet.
    repositories: Vec<GuardedRepository>,
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
    /// It stays, because it may be another program's. A note names it.
    Name,
}

/// A repository whose folders were opened before the command.
#[derive(Debug)]
struct GuardedRepository {
    top: PathBuf,
    top_held: HeldFolder,
    git: PathBuf,
    /// `None` if it did not exist.
    git_held: Option<HeldFolder>,
    common: PathBuf,
    common_held: Option<HeldFolder>,
    /// The ways to make git run programs that were there before.
    look: GitLook,
}

/// An entry of a folder, with its path below the guarded folder.
struct GuardedEntry<'e> {
    folder: &'e HeldFolder,
    name: &'e OsStr,
    relative: &'e Path,
}

impl CommandGuard {
    /// Opens the folders and looks at the protected places. Those of `held_places` that a mount holds while the command
    /// runs are not put back: a change there is another program's. Blocks.
    ///
    /// # Errors
    /// If a folder cannot be opened: without it, nothing can be put back.
    pub(super) fn look(
        workspace: &Path,
        reach: &Reach,
        held_places: &[PathBuf],
        known_commits: &KnownCommits,
    ) -> io::Result<Self> {
        let mut guard = Self {
            folders: GuardedFolder::open_all(workspace, reach, held_places)?,
            had_git: false,
            repositories: GuardedRepository::open_all(workspace, reach)?,
            nested: BTreeSet::new(),
            known_commits: known_commits.clone(),
            commits: None,
        };
        let own = guard.folders.first();
        guard.had_git = own.is_some_and(|own| !matches!(own.held.kind(OsStr::new(GIT)), Ok(None)));
        let looks = guard.look_at_git(|_, folders| GitLook::look_at(folders));
        for (number, look) in looks {
            if let Some(repository) = guard.repositories.get_mut(number) {
                repository.look = look;
            }
        }
        let refs = guard.refs();
        guard.commits = refs.map(|(repository, refs)| known_commits.begin(repository, refs));
        Ok(guard)
    }

    /// The same where no mount holds anything: a note names each change that stays.
    pub(super) fn without_mounts(mut self) -> Self {
        for place in self
            .folders
            .iter_mut()
            .flat_map(|folder| &mut folder.places)
        {
            if place.care != PlaceCare::Restore {
                place.care = PlaceCare::Name;
            }
        }
        self
    }

    /// The same with these places as those in repositories below the folder. Changes there are named, and stay.
    pub(super) fn with_nested(self, nested: BTreeSet<PathBuf>) -> Self {
        Self { nested, ..self }
    }

    /// The same with these contents as what `edit` and `write` made meanwhile, which stays.
    pub(super) fn with_approved(mut self, approved: &ApprovedContents) -> Self {
        for folder in &mut self.folders {
            folder.removals_before = approved.removals();
            folder.approved = approved.clone();
        }
        self
    }

    /// The refs of the repository in the conversation's folder, with the path of its shared git folder.
    fn refs(&self) -> Option<(PathBuf, GitRefs)> {
        let own = self.repositories.first()?;
        let git = self.reopened(&own.git, own.git_held.as_ref())?;
        let common = self.reopened(&own.common, own.common_held.as_ref())?;
        Some((own.common.clone(), GitRefs::read(&git, &common)))
    }

    /// Opens a folder again that a command may have exchanged. One where commands cannot write is still the same.
    fn reopened(&self, path: &Path, held: Option<&HeldFolder>) -> Option<HeldFolder> {
        let mut folders = self.folders.iter();
        let below =
            folders.find_map(|folder| Some((folder, path.strip_prefix(&folder.path).ok()?)));
        match below {
            None => held?.again().ok(),
            Some((folder, relative)) if relative.as_os_str().is_empty() => folder.held.again().ok(),
            Some((folder, relative)) => match folder.held.place(relative) {
                Ok(HeldPlace::Entry(above, name)) => above.folder(&name).ok(),
                Ok(HeldPlace::Absent | HeldPlace::Blocked(..)) | Err(_) => None,
            },
        }
    }

    /// The commits of the operator in the origin of a repository that the command has cloned.
    fn origin_commits(&self, git: &GitReader<'_>) -> Option<TrustedCommits> {
        let own = self.folders.first().filter(|_| !self.had_git)?;
        let new = own.held.folder(OsStr::new(GIT)).ok()?;
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
        for GuardedPlace {
            relative,
            was,
            care,
            ..
        } in &own.places
        {
            let is_restored = *care == PlaceCare::Restore && !self.nested.contains(relative);
            if is_restored && !relative.starts_with(GIT) {
                add_differing(relative, was, &state_at(&own.held, relative), &mut paths);
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

    /// Looks at each repository, with its number.
    fn look_at_git<T>(
        &self,
        look: impl Fn(&GuardedRepository, &GitFolders<'_>) -> T,
    ) -> Vec<(usize, T)> {
        let mut looks = Vec::new();
        for (number, repository) in self.repositories.iter().enumerate() {
            let git = self.reopened(&repository.git, repository.git_held.as_ref());
            // A bare repository has its files in the folder.
            let is_own = number == 0;
            let bare = || repository.top_held.again().ok().filter(|_| is_own);
            let (git_path, git) = match git {
                Some(git) => (&repository.git, git),
                None => match bare() {
                    Some(git) => (&repository.top, git),
                    None => continue,
                },
            };
            let is_linked = repository.common != *git_path;
            let common = self.reopened(&repository.common, repository.common_held.as_ref());
            let common = common.as_ref().filter(|_| is_linked);
            let folders = GitFolders {
                path: &repository.top,
                folder: &repository.top_held,
                git_path,
                git: &git,
                common: common.map(|common| (&*repository.common, common)),
            };
            looks.push((number, look(repository, &folders)));
        }
        looks
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
        let (mut own_notes, mut other_notes) = (GuardNotes::default(), GuardNotes::default());
        let none = GitContents::default();
        let workspace = self.folders.first().map(|own| own.path.clone());
        let workspace = workspace.unwrap_or_default();
        for (number, folder) in self.folders.iter().enumerate() {
            let (contents, notes) = match number {
                0 => (&contents, &mut own_notes),
                _ => (&none, &mut other_notes),
            };
            for place in &folder.places {
                let is_nested = number == 0 && self.nested.contains(&place.relative);
                match place.care {
                    PlaceCare::Mounted(_) | PlaceCare::Name => {
                        folder.name_unheld_change(place, notes);
                    }
                    PlaceCare::Restore if is_nested => folder.name_change(place, notes),
                    PlaceCare::Restore if folder.keeps_configuration(place, &workspace, notes) => {}
                    PlaceCare::Restore => {
                        folder.restore(&place.relative, &place.was, contents, notes);
                    }
                }
            }
        }
        let (mut notes, proposals) = own_notes.settle(&workspace, context);
        notes.extend(other_notes.settle(&workspace, None).0);
        if let Some(own) = self.folders.first().filter(|_| !self.had_git) {
            notes.extend(new_repository::check(&own.held, &own.path));
        }
        let put = self.look_at_git(|repository, folders| {
            let mut findings = repository.look.compare(folders);
            findings.retain(|finding| self.may_have_made(finding, folders));
            put_aside(&findings, folders)
        });
        notes.extend(put.into_iter().flat_map(|(_, notes)| notes));
        if notes.len() > MAX_NOTES {
            let more = notes.len() - (MAX_NOTES - 1);
            notes.truncate(MAX_NOTES - 1);
            notes.push(format!("{more} more protected places were treated alike"));
        }
        (notes, proposals)
    }

    /// True if a finding is where the command could write.
    fn may_have_made(&self, finding: &GitFinding, folders: &GitFolders<'_>) -> bool {
        let Some((root, _)) = folders.root(finding.place.root) else {
            return false;
        };
        let path = root.join(&finding.place.path);
        let mut own = self.folders.iter();
        own.any(|folder| path.starts_with(&folder.path))
    }
}

impl GuardedRepository {
    /// Opens the repositories that git finds from a folder. The first is the one with `.git` in the folder, also if
    /// that is not there.
    fn open_all(workspace: &Path, reach: &Reach) -> io::Result<Vec<Self>> {
        let own = workspace.join(GIT);
        let mut all = Vec::new();
        if reach
            .repositories
            .first()
            .is_none_or(|first| first.top != workspace)
        {
            all.push(Self::open(workspace, &own, &own)?);
        }
        for found in &reach.repositories {
            all.push(Self::open(&found.top, &found.git, &found.common)?);
        }
        Ok(all)
    }

    fn open(top: &Path, git: &Path, common: &Path) -> io::Result<Self> {
        Ok(Self {
            top: top.to_owned(),
            top_held: HeldFolder::open(top)?,
            git: git.to_owned(),
            git_held: HeldFolder::open(git).ok(),
            common: common.to_owned(),
            common_held: HeldFolder::open(common).ok(),
            look: GitLook::default(),
        })
    }
}

impl GuardedFolder {
    /// Opens the folders that have protected places, beginning with that of the conversation.
    fn open_all(workspace: &Path, reach: &Reach, held_places: &[PathBuf]) -> io::Result<Vec<Self>> {
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
    fn add_made(&mut self, made: BTreeSet<PathBuf>) {
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
    fn name_unheld_change(&self, place: &GuardedPlace, notes: &mut GuardNotes) {
        let GuardedPlace {
            relative,
            was,
            care,
            ..
        } = place;
        let now = identity_at(&self.held, relative);
        if now.is_none() || *care == PlaceCare::Mounted(now) {
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

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "guard_git_tests.rs"]
mod git_tests;
