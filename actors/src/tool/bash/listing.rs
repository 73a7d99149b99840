//! The files and folders in a folder, but for those that programs make and make again.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use harness_protocol::ChangeAction;
use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag, open, readlinkat};
use nix::sys::stat::{Mode, fstat, fstatat};
use tokio::time::Instant;

use super::content_places::ContentPlaces;
use super::file_stamps::{EntryNames, FileStamps, StampedFolder};
use super::stamp::FileStamp;
use crate::clock::Clock;
use crate::tool::protected::{content_place, is_content_name};

/// Maximum number of files and folders that are looked at. The folders of tests are smaller.
pub(super) const MAX_ENTRIES: usize = if cfg!(test) { 5_000 } else { 100_000 };
/// Time after which a look is given up.
const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of threads that look at a folder.
const MAX_WORKERS: usize = 4;
/// The name of a repository's own folder, or of the file that leads to it.
const GIT: &str = ".git";
/// The folder of packages of npm.
const PACKAGES: &str = "node_modules";
/// Folders that are passed over: what is in them is made by programs, and made again.
const PASSED_OVER: &[&str] = &[GIT, PACKAGES, "__pycache__"];
/// The file systems that give a folder another time with each change of its names: ext, XFS, Btrfs, F2FS, tmpfs, overlays.
///
/// Source: statfs(2).
#[cfg(target_os = "linux")]
const STAMPING: [rustix::fs::FsWord; 6] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x0102_1994,
    0x794c_7630,
];
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
    pub(super) files: FileStamps,
    /// The targets of the files that are symbolic links.
    links: HashMap<PathBuf, PathBuf>,
    pub(super) folders: HashMap<PathBuf, FolderStamp>,
    /// The folders that have an entry `.git`.
    repositories: BTreeSet<PathBuf>,
    /// The folders that are passed over because of a mark.
    pub(super) marked: BTreeSet<PathBuf>,
    /// The folders of packages, which are passed over as well.
    packages: BTreeSet<PathBuf>,
    /// True if nothing is missing.
    pub(super) is_whole: bool,
}

/// A look at a folder that several threads take together.
struct FolderWalk<'w> {
    folder: &'w Path,
    before: Option<&'w FolderListing>,
    began: SystemTime,
    until: Instant,
    queue: Mutex<WalkQueue>,
    /// Notified when a folder is in the queue, and at the end.
    more: Condvar,
}

/// The folders that are still to be looked at.
struct WalkQueue {
    folders: Vec<PathBuf>,
    /// Number of threads that may add some.
    busy: usize,
    /// Number of entries that were found.
    entries: usize,
    is_whole: bool,
}

/// The entries that one thread has found.
#[derive(Default)]
struct WalkedPart {
    files: Vec<StampedFolder>,
    links: Vec<(PathBuf, PathBuf)>,
    folders: Vec<(PathBuf, FolderStamp)>,
    repositories: Vec<PathBuf>,
    marked: Vec<PathBuf>,
    packages: Vec<PathBuf>,
}

/// A thread that is counted as busy until it is dropped, also by a panic: the others wait for it.
struct BusyThread<'w>(&'w FolderWalk<'w>);

impl Drop for BusyThread<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.more.notify_all();
    }
}

impl FolderWalk<'_> {
    /// Looks at folders until none is left. The first thread alone has the clock, which tests can pause.
    fn work(&self, is_first: bool) -> WalkedPart {
        let mut part = WalkedPart::default();
        let mut queue = self.lock();
        loop {
            let Some(current) = queue.folders.pop() else {
                if queue.busy == 0 {
                    self.more.notify_all();
                    return part;
                }
                queue = self
                    .more
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            queue.busy += 1;
            drop(queue);
            self.look_in_turn(current, &mut part, is_first);
            queue = self.lock();
        }
    }

    /// Looks at one folder, and adds those in it to the queue.
    fn look_in_turn(&self, current: PathBuf, part: &mut WalkedPart, is_first: bool) {
        let _busy = BusyThread(self);
        let known = part.folders.len();
        let entries = self.look_at(current, part);
        let mut queue = self.lock();
        queue.entries += entries;
        let is_late = is_first && Instant::now() > self.until;
        if queue.entries > MAX_ENTRIES || is_late {
            queue.is_whole = false;
            queue.folders.clear();
        }
        if queue.is_whole {
            let found = part.folders[known..].iter().map(|(path, _)| path.clone());
            queue.folders.extend(found);
        }
    }

    /// Looks at one folder. Returns how many entries it has.
    fn look_at(&self, current: PathBuf, part: &mut WalkedPart) -> usize {
        let Ok(opened) = OpenFolder::open(&current, self.began) else {
            return 0;
        };
        let before = self.before.and_then(|it| it.files.folder(&current));
        let known = before.and_then(|before| before.names(opened.stamp));
        let names = known.map_or_else(|| Arc::new(opened.names()), Arc::clone);
        let count = names.iter().len();
        let is_mark = |name: &CStr| MARKS.iter().any(|mark| name.to_bytes() == mark.as_bytes());
        if names.iter().any(is_mark) && !self.was_walked(&current) {
            part.marked.push(current);
            return count;
        }
        let mut files = Vec::with_capacity(count);
        for (number, name) in names.iter().enumerate() {
            // It may be gone by now.
            let Ok(stamp) = opened.entry(name) else {
                continue;
            };
            let entry = OsStr::from_bytes(name.to_bytes());
            if entry == GIT {
                part.repositories.push(current.clone());
            }
            if !stamp.is_folder() {
                if stamp.is_link()
                    && let Ok(target) = readlinkat(&opened.folder, name)
                {
                    part.links.push((current.join(entry), target.into()));
                }
                files.push((number, stamp));
            } else if PASSED_OVER.iter().all(|passed| entry != *passed) {
                let folder = FolderStamp {
                    inode: stamp.content.inode,
                    mode: stamp.permissions(),
                };
                part.folders.push((current.join(entry), folder));
            } else if entry == PACKAGES {
                part.packages.push(current.join(entry));
            }
        }
        let folder = StampedFolder::new(current, opened.stamp, names, files);
        part.files.push(folder);
        count
    }

    fn was_walked(&self, path: &Path) -> bool {
        let was_there =
            |before: &FolderListing| path == self.folder || before.folders.contains_key(path);
        self.before
            .is_some_and(|before| was_there(before) && !before.marked.contains(path))
    }

    fn lock(&self) -> MutexGuard<'_, WalkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder that is looked at.
struct OpenFolder {
    folder: OwnedFd,
    /// Its stamp, if any later change of its names gives it another one.
    stamp: Option<FileStamp>,
}

impl OpenFolder {
    /// Opens a folder in a look that began at that time.
    fn open(path: &Path, began: SystemTime) -> nix::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        let stamp = FileStamp::from_stat(&fstat(&folder)?);
        let is_telling = stamp.is_settled_at(began) && stamps_names(&folder);
        Ok(Self {
            folder,
            stamp: is_telling.then_some(stamp),
        })
    }

    /// The names of its entries.
    fn names(&self) -> EntryNames {
        let mut names = EntryNames::default();
        let listed = self.folder.try_clone().ok();
        let Some(mut listed) = listed.and_then(|folder| Dir::from_fd(folder).ok()) else {
            return names;
        };
        let inside = listed.iter().flatten();
        let inside = inside.filter(|entry| ![c".", c".."].contains(&entry.file_name()));
        for entry in inside.take(MAX_ENTRIES + 1) {
            names.push(entry.file_name());
        }
        names.sort();
        names
    }

    /// The stamp of an entry.
    fn entry(&self, name: &CStr) -> nix::Result<FileStamp> {
        let found = fstatat(&self.folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok(FileStamp::from_stat(&found))
    }
}

/// True if the file system gives a folder another time with each change of its names.
#[cfg(target_os = "linux")]
fn stamps_names(folder: &OwnedFd) -> bool {
    rustix::fs::fstatfs(folder).is_ok_and(|found| STAMPING.contains(&found.f_type))
}

#[cfg(not(target_os = "linux"))]
fn stamps_names(_: &OwnedFd) -> bool {
    false
}

impl FolderListing {
    /// Looks at a folder. A mark in a folder that had none `before` counts only if the folder is new.
    pub(super) fn look(folder: &Path, before: Option<&Self>) -> Self {
        let walk = FolderWalk {
            folder,
            before,
            // The kernel stamps folders by the clock of the system.
            began: Clock::system().now(),
            until: Instant::now() + PATIENCE,
            queue: Mutex::new(WalkQueue {
                folders: vec![folder.to_owned()],
                busy: 0,
                entries: 0,
                is_whole: true,
            }),
            more: Condvar::new(),
        };
        let others = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_WORKERS)
            - 1;
        let parts: Vec<WalkedPart> = thread::scope(|scope| {
            let others: Vec<_> = (0..others)
                .map(|_| scope.spawn(|| walk.work(false)))
                .collect();
            let own = walk.work(true);
            // One that panicked has said so; what it had found is missing.
            let others = others.into_iter().filter_map(|other| other.join().ok());
            others.chain([own]).collect()
        });
        let is_whole = walk.lock().is_whole && parts.len() == others + 1;
        let mut listing = Self {
            is_whole,
            ..Self::default()
        };
        for part in parts {
            listing.files.extend(part.files);
            listing.links.extend(part.links);
            listing.folders.extend(part.folders);
            listing.repositories.extend(part.repositories);
            listing.marked.extend(part.marked);
            listing.packages.extend(part.packages);
        }
        listing
    }

    /// Adds a file, and the target of a link.
    pub(super) fn add_file(&mut self, path: &Path, stamp: FileStamp) {
        if stamp.is_link()
            && let Ok(target) = fs::read_link(path)
        {
            self.links.insert(path.to_owned(), target);
        }
        self.files.insert(path, stamp);
    }

    /// The folders with packages or a mark that are not in the `other` listing.
    pub(super) fn outputs_missing_in<'l>(&'l self, other: &Self) -> Vec<&'l Path> {
        let outputs = self.packages.iter().chain(&self.marked);
        let is_missing = |path: &&PathBuf| {
            let is_there = other.packages.contains(*path) || other.folders.contains_key(*path);
            !is_there && !other.is_in_marked(path)
        };
        outputs.filter(is_missing).map(PathBuf::as_path).collect()
    }

    /// True if a file is in a folder that is passed over because of a mark.
    pub(super) fn is_in_marked(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        !self.marked.is_empty() && above.any(|folder| self.marked.contains(folder))
    }

    /// The target of a link.
    pub(super) fn target(&self, path: &Path) -> Option<Vec<u8>> {
        let target = self.links.get(path)?;
        Some(target.as_os_str().as_bytes().to_vec())
    }

    /// The files of that name in the workspace, and the paths of those that can be above it in a repository.
    pub(super) fn files_with_name(&self, workspace: &Path, top: &Path, name: &str) -> Vec<PathBuf> {
        let folders = self.files.folders().iter();
        let has_one = |folder: &&StampedFolder| folder.position(name.as_ref()).is_some();
        let inside = folders.filter(has_one).map(|it| &*it.path);
        let above = workspace.ancestors().skip(1);
        let above = above.take_while(|folder| folder.starts_with(top));
        inside.chain(above).map(|it| it.join(name)).collect()
    }

    /// The files that are no longer what is at their paths and have other names now, with one of those. `changed` are the
    /// files that differ from those `before`.
    pub(super) fn moved_from(
        &self,
        before: &Self,
        changed: &[(PathBuf, ChangeAction)],
    ) -> HashMap<PathBuf, PathBuf> {
        let content = |(path, _): &(PathBuf, ChangeAction)| {
            let was = before.files.get(path).filter(|was| was.is_regular())?;
            let now = self.files.get(path).map(|now| now.content);
            (now != Some(was.content)).then(|| (path.clone(), was.content))
        };
        let others: Vec<_> = changed.iter().filter_map(content).collect();
        if others.is_empty() {
            return HashMap::new();
        }
        let mut names = HashMap::new();
        for folder in self.files.folders() {
            for (name, stamp) in folder.files() {
                names.insert(stamp.content, (folder, name));
            }
        }
        let moved = |(path, content)| {
            let (folder, name) = names.get(&content)?;
            Some((path, folder.path.join(name)))
        };
        others.into_iter().filter_map(moved).collect()
    }

    /// The protected places with files.
    pub(super) fn content_places(&self, workspace: &Path) -> ContentPlaces {
        let mut found = ContentPlaces::default();
        for folder in self.files.folders() {
            let Ok(below) = folder.path.strip_prefix(workspace) else {
                continue;
            };
            if folder.files().len() == 0 {
                continue;
            }
            // It is the same for all files of a folder, of which there are many.
            if let Some(place) = content_place(below) {
                found.add(place, self.is_nested(workspace, &folder.path, None));
                continue;
            }
            for (name, _) in folder.files() {
                if is_content_name(below.file_name(), name) {
                    let is_nested = self.is_nested(workspace, &folder.path, None);
                    found.add(below.join(name), is_nested);
                }
            }
        }
        found
    }

    /// The protected places of files that were made since `before`.
    pub(super) fn made_places<'p>(
        &self,
        workspace: &Path,
        before: &Self,
        made: impl Iterator<Item = &'p PathBuf>,
    ) -> ContentPlaces {
        let mut found = ContentPlaces::default();
        for path in made {
            let below = path.strip_prefix(workspace).ok();
            let folder = path.parent().unwrap_or(workspace);
            if let Some(place) = below.and_then(content_place) {
                found.add(place, self.is_nested(workspace, folder, Some(before)));
            }
        }
        found
    }

    /// True if a folder is one of a repository below the workspace, or in one. A repository that is new since `before`
    /// counts as one only if its folder is new as well.
    fn is_nested(&self, workspace: &Path, folder: &Path, before: Option<&Self>) -> bool {
        let is_repository = |folder: &Path| {
            let was_there = before.is_none_or(|before| {
                before.repositories.contains(folder) || !before.folders.contains_key(folder)
            });
            self.repositories.contains(folder) && was_there
        };
        let above = folder.ancestors();
        let mut above = above.take_while(|folder| *folder != workspace);
        above.any(is_repository)
    }
}
