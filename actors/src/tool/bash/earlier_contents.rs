//! The contents that files had before a command: git's where its index tells that a file has that of an object, and copies
//! of the others, but for those that git ignores.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use harness_protocol::ChangeAction;

use super::copies::{CopiedFile, FileCopies};
use super::git_contents::GitReader;
use super::git_index::IndexStat;
use super::ignore_rules::IgnoreRules;
use super::indexed_contents::{HeldIndex, IndexedContents, TrackedFiles, TrackedState};
use super::listing::FolderListing;
use super::own_repository::OwnRepository;
use super::stamp::FileStamp;
use crate::tool::closed;

/// The largest file whose content is kept, in bytes.
pub(super) const MAX_FILE: u64 = 8 * 1024 * 1024;

/// The sources of contents.
pub(super) struct ContentSources<'s> {
    /// The repository of the folder.
    pub(super) repository: Option<&'s OwnRepository>,
    pub(super) copies: &'s FileCopies,
    /// The files that the model has seen.
    pub(super) seen: &'s [PathBuf],
    /// Files and folders that are closed.
    pub(super) closed: &'s [PathBuf],
}

/// The contents of the files of a folder from the time before a command.
#[derive(Default)]
pub(super) struct EarlierContents {
    copies: HashMap<PathBuf, (FileStamp, CopiedFile)>,
    index: Option<HeldIndex>,
    tracked: TrackedFiles,
    rules: Option<IgnoreRules>,
}

/// The closed places, and which folders are in them.
struct ClosedPlaces<'c> {
    closed: &'c [PathBuf],
    /// Their devices and inodes.
    identities: Vec<(u64, u64)>,
    folders: HashMap<PathBuf, bool>,
}

impl<'c> ClosedPlaces<'c> {
    fn look(closed: &'c [PathBuf]) -> Self {
        Self {
            closed,
            identities: closed::identities(closed),
            folders: HashMap::new(),
        }
    }

    /// True if a file is one of them, or in one.
    fn hold(&mut self, path: &Path, stamp: &FileStamp) -> bool {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let is_closed = match self.folders.get(folder) {
            Some(is_closed) => *is_closed,
            None => {
                let is_closed = closed::check_path(folder, self.closed).is_err();
                self.folders.insert(folder.to_owned(), is_closed);
                is_closed
            }
        };
        let identity = (stamp.content.device, stamp.content.inode);
        is_closed || self.identities.contains(&identity)
    }
}

impl EarlierContents {
    /// Holds the contents of files of a folder: first of those that the model has seen, then of the smallest ones. Blocks.
    pub(super) fn hold(
        workspace: &Path,
        listing: &FolderListing,
        sources: &ContentSources<'_>,
    ) -> Self {
        let ContentSources {
            repository,
            copies,
            seen,
            closed,
        } = *sources;
        let index = repository.and_then(|repository| {
            let attributes = listing.files_with_name(workspace, &repository.top, ".gitattributes");
            HeldIndex::open(repository, attributes.iter())
        });
        let rules = |repository| IgnoreRules::read(repository, workspace, listing);
        let mut rules = repository.map(rules);
        let is_small = |stamp: &FileStamp| stamp.is_regular() && stamp.content.size <= MAX_FILE;
        let tracked = index.as_ref().map(|index| index.look(&listing.files));
        let tracked = tracked.unwrap_or_default();
        let seen: Vec<(PathBuf, FileStamp)> = seen
            .iter()
            .filter(|path| path.starts_with(workspace))
            .filter_map(|path| {
                Some((
                    path.clone(),
                    FileStamp::from_metadata(&fs::symlink_metadata(path).ok()?),
                ))
            })
            .filter(|(_, stamp)| is_small(stamp))
            .collect();
        let seen_paths: HashSet<PathBuf> = seen.iter().map(|(path, _)| path.clone()).collect();
        let mut others: Vec<(PathBuf, FileStamp)> = Vec::new();
        for (at, folder) in listing.files.folders().iter().enumerate() {
            for (number, (name, stamp)) in folder.files().enumerate() {
                let state = tracked.state((at, number));
                if state == Some(TrackedState::AsIndexed) || !is_small(stamp) {
                    continue;
                }
                let path = folder.path.join(name);
                let is_ignored =
                    state.is_none() && rules.as_mut().is_some_and(|rules| rules.ignores(&path));
                if !is_ignored && !seen_paths.contains(&path) {
                    others.push((path, *stamp));
                }
            }
        }
        others.sort_by_key(|(_, stamp)| stamp.content.size);
        let is_as_indexed = |path: &Path| {
            let state = listing
                .files
                .position(path)
                .and_then(|at| tracked.state(at));
            state == Some(TrackedState::AsIndexed)
        };
        let seen = seen.into_iter().filter(|(path, _)| !is_as_indexed(path));
        let mut places = ClosedPlaces::look(closed);
        let wanted = seen.chain(others);
        let wanted = wanted.filter(|(path, stamp)| !places.hold(path, stamp));
        Self {
            copies: copies.copies(wanted),
            index,
            tracked,
            rules,
        }
    }

    /// True if git ignores a file, by the rules from before the command, and there is no copy of it.
    pub(super) fn ignores(&mut self, listing: &FolderListing, path: &Path) -> bool {
        let position = listing.files.position(path);
        let is_tracked = position.is_some_and(|at| self.tracked.state(at).is_some());
        let is_known = is_tracked || self.has_copy(path);
        let mut rules = self.rules.as_mut().filter(|_| !is_known);
        rules.as_mut().is_some_and(|rules| rules.ignores(path))
    }

    /// True if there is a copy of a file.
    pub(super) fn has_copy(&self, path: &Path) -> bool {
        self.copies.contains_key(path)
    }

    /// The content of a file, of which there is a copy. Blocks.
    pub(super) fn copy(&self, path: &Path) -> Option<Vec<u8>> {
        let (_, copied) = self.copies.get(path)?;
        match copied.read() {
            Ok(content) => Some(content),
            Err(error) => {
                let path = path.display();
                log::warn!("the copy of {path} from before a command cannot be read: {error}");
                None
            }
        }
    }

    /// The contents that git has of those of these files that had these numbers and were as its index tells. Blocks.
    pub(super) fn indexed(
        &self,
        wanted: &[(PathBuf, IndexStat)],
        git: GitReader<'_>,
    ) -> HashMap<PathBuf, Vec<u8>> {
        let index = self.index.as_ref();
        let indexed = index.map(|index| IndexedContents { index, git });
        indexed
            .map(|indexed| indexed.contents(wanted))
            .unwrap_or_default()
    }

    /// The files with copies that are others now, or not there. They are added to the listings, which lack some of them.
    /// Blocks.
    pub(super) fn changed(
        &self,
        before: &mut FolderListing,
        now: &mut FolderListing,
    ) -> Vec<(PathBuf, ChangeAction)> {
        let mut changed = Vec::new();
        for (path, (was, _)) in &self.copies {
            let action = match fs::symlink_metadata(path) {
                Err(_) => ChangeAction::Removed,
                Ok(found) if FileStamp::from_metadata(&found) == *was => continue,
                Ok(found) => {
                    now.add_file(path, FileStamp::from_metadata(&found));
                    ChangeAction::Changed
                }
            };
            before.add_file(path, *was);
            changed.push((path.clone(), action));
        }
        changed.sort();
        changed
    }
}
