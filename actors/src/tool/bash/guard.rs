//! Guards protected places while a command runs: changes are put back, and new entries are put aside.
//!
//! The folders and the repositories are opened before the command.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::clone_origin::origin_refs;
use super::content_places::ContentPlaces;
use super::git_aside::put_aside;
use super::git_contents::{GitContents, GitReader};
use super::git_look::{GitFinding, GitFolders, GitLook};
use super::git_refs::GitRefs;
use super::guarded_folder::GuardedFolder;
use super::held_folder::{HeldFolder, HeldPlace};
use super::known_commits::{KnownCommits, TrustedCommits};
use super::new_repository;
use super::own_repository::GIT;
use super::put_aside::GuardNotes;
use super::reach::WriteReach;
use crate::tool::ApprovedContents;

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

impl CommandGuard {
    /// Opens the folders and looks at the protected places. Those of `held_places` that a mount holds while the command
    /// runs are not put back: a change there is another program's. Blocks.
    ///
    /// # Errors
    /// If a folder cannot be opened: without it, nothing can be put back.
    pub(super) fn look(
        workspace: &Path,
        reach: &WriteReach,
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

    /// The same with these places as those in repositories below the folder. Changes there are named, and stay.
    pub(super) fn with_nested(self, nested: BTreeSet<PathBuf>) -> Self {
        Self { nested, ..self }
    }

    /// The same with these contents as what `edit` and `write` made meanwhile, which stays.
    pub(super) fn with_approved(mut self, approved: &ApprovedContents) -> Self {
        for folder in &mut self.folders {
            folder.approve(approved);
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
        let paths = own.differing(&self.nested);
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
    /// operator. `made` has the places that had no file before. Blocks.
    pub(super) fn put_back(mut self, made: ContentPlaces, git: &GitReader<'_>) -> GuardNotes {
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
        let (no_places, none) = (BTreeSet::new(), GitContents::default());
        let workspace = self.folders.first().map(|own| own.path.clone());
        let workspace = workspace.unwrap_or_default();
        for (number, folder) in self.folders.iter().enumerate() {
            let (nested, contents, notes) = match number {
                0 => (&self.nested, &contents, &mut own_notes),
                _ => (&no_places, &none, &mut other_notes),
            };
            folder.judge(nested, contents, &workspace, notes);
        }
        let mut notes = own_notes;
        notes.extend(other_notes.take_notes());
        if let Some(own) = self.folders.first().filter(|_| !self.had_git) {
            notes.extend(new_repository::check(&own.held, &own.path));
        }
        let put = self.look_at_git(|repository, folders| {
            let mut findings = repository.look.compare(folders);
            findings.retain(|finding| self.may_have_made(finding, folders));
            put_aside(&findings, folders)
        });
        notes.extend(put.into_iter().flat_map(|(_, notes)| notes).collect());
        notes
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
    fn open_all(workspace: &Path, reach: &WriteReach) -> io::Result<Vec<Self>> {
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

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "guard_git_tests.rs"]
mod git_tests;
