//! The files and folders in a folder, but for those that programs make and make again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::content_places::ContentPlaces;
use super::stamp::{FileStamp, PERMISSIONS};
use crate::tool::protected::content_place;

/// Maximum number of files and folders that are looked at.
pub(super) const MAX_ENTRIES: usize = 50_000;
/// Time after which a look is given up.
const PATIENCE: Duration = Duration::from_millis(500);
/// The name of a repository's own folder, or of the file that leads to it.
const GIT: &str = ".git";
/// Folders that are passed over: what is in them is made by programs, and made again.
const PASSED_OVER: &[&str] = &[GIT, "node_modules", "__pycache__"];
/// Files that mark such a folder.
///
/// Source: bford.info/cachedir for the first; PEP 405 for the second.
const MARKS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// The properties of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderStamp {
    pub(super) inode: u64,
    /// Its permissions.
    pub(super) mode: u32,
}

/// The result of a look at a folder.
#[derive(Default)]
pub(super) struct FolderListing {
    pub(super) files: BTreeMap<PathBuf, FileStamp>,
    /// The targets of the files that are symbolic links.
    links: HashMap<PathBuf, PathBuf>,
    pub(super) folders: HashMap<PathBuf, FolderStamp>,
    /// The folders that have an entry `.git`.
    repositories: BTreeSet<PathBuf>,
    /// The folders that are passed over because of a mark.
    pub(super) marked: BTreeSet<PathBuf>,
    /// True if nothing is missing.
    pub(super) is_whole: bool,
}

impl FolderListing {
    /// Looks at a folder. A mark in a folder that had none `before` counts only if the folder is new.
    pub(super) fn look(folder: &Path, before: Option<&Self>) -> Self {
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
                    listing.add_file(entry.path(), FileStamp::of(&found));
                } else if PASSED_OVER.iter().all(|name| entry.file_name() != *name) {
                    let folder = FolderStamp {
                        inode: found.ino(),
                        mode: found.mode() & PERMISSIONS,
                    };
                    listing.folders.insert(entry.path(), folder);
                    waiting.push(entry.path());
                }
            }
        }
        listing
    }

    /// Adds a file, and the target of a link.
    pub(super) fn add_file(&mut self, path: PathBuf, stamp: FileStamp) {
        if stamp.is_link()
            && let Ok(target) = fs::read_link(&path)
        {
            self.links.insert(path.clone(), target);
        }
        self.files.insert(path, stamp);
    }

    /// The target of a link.
    pub(super) fn target(&self, path: &Path) -> Option<Vec<u8>> {
        let target = self.links.get(path)?;
        Some(target.as_os_str().as_bytes().to_vec())
    }

    /// The files of that name.
    pub(super) fn files_with_name<'l>(
        &'l self,
        name: &'l str,
    ) -> impl Iterator<Item = &'l PathBuf> {
        let is_named = move |path: &&PathBuf| path.file_name().is_some_and(|it| it == name);
        self.files.keys().filter(is_named)
    }

    /// The files that are no longer what is at their paths and have other names now, with one of those.
    pub(super) fn moved_from(&self, before: &Self) -> HashMap<PathBuf, PathBuf> {
        let is_other = |(path, stamp): &(&PathBuf, &FileStamp)| {
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
    pub(super) fn content_places(&self, workspace: &Path, before: Option<&Self>) -> ContentPlaces {
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
