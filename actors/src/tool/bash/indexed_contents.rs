//! The contents that files had before a command, from git's objects: of files that were as git's index tells.
//!
//! Invariant: the index is opened before the command. Git never writes into it, but replaces it by another file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::file_stamps::{FileStamps, StampedFolder};
use super::git_config::read_git_file;
use super::git_contents::{GitReader, MAX_OBJECTS};
use super::git_index::{IndexStat, hexadecimal, object_length, visit_files};
use super::held_folder::HeldFolder;
use super::own_repository::OwnRepository;

/// Maximum size of an index that is read, in bytes.
const MAX_INDEX: u64 = 64 * 1024 * 1024;
/// Maximum size of the contents that are read at once, in bytes: what git writes has a line for each besides.
const MAX_CONTENTS: usize = MAX_OBJECTS / 4 * 3;
/// Parts of the names of attributes by which the content of a file is another one than that of its object.
///
/// Source: gitattributes(5). A conversion of line ends changes the size as well, and is recognized by that.
const CONVERTING: [&str; 3] = ["filter", "ident", "encoding"];

/// The index of a repository from the time when it was opened.
#[derive(Debug)]
pub(super) struct HeldIndex {
    top: PathBuf,
    /// The length of the names of objects.
    object: usize,
    file: File,
    /// The time when it was written, in seconds and nanoseconds.
    written: (i64, i64),
    /// The folders in which files may have other contents than their objects, by attributes.
    converting: Vec<PathBuf>,
}

/// The state of a file by an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrackedState {
    /// Git tracks it, and its object has its content.
    AsIndexed,
    /// Git tracks it, and its content may be another one.
    Changed,
}

/// The states of those files that git tracks, in the order of their stamps.
#[derive(Debug, Default)]
pub(super) struct TrackedFiles(Vec<Vec<Option<TrackedState>>>);

/// The contents of files in a repository.
pub(super) struct IndexedContents<'g> {
    pub(super) index: &'g HeldIndex,
    pub(super) git: GitReader<'g>,
}

impl HeldIndex {
    /// Opens the index of a repository, where there are those files of attributes besides its own one. `None` if it has no
    /// index that can be read. Blocks.
    pub(super) fn open<'a>(
        repository: &OwnRepository,
        attributes: impl Iterator<Item = &'a PathBuf>,
    ) -> Option<Self> {
        let common = HeldFolder::open(&repository.common).ok()?;
        let git = HeldFolder::open(&repository.git).ok()?;
        let file = git.file(OsStr::new("index")).ok()?;
        let found = file.metadata().ok()?;
        let attributes = attributes.filter(|file| names_conversion(file));
        let converting = attributes.filter_map(|file| Some(file.parent()?.to_owned()));
        let everywhere = names_conversion(&repository.common.join("info/attributes"));
        let everywhere = everywhere.then(|| repository.top.clone());
        Some(Self {
            top: repository.top.clone(),
            object: object_length(&common)?,
            written: (found.mtime(), found.mtime_nsec()),
            file,
            converting: converting.chain(everywhere).collect(),
        })
    }

    /// The states of files with these stamps. Blocks.
    pub(super) fn look(&self, files: &FileStamps) -> TrackedFiles {
        let folders = files.folders();
        let below = folders
            .iter()
            .map(|it| it.path.strip_prefix(&self.top).ok());
        let paths = below.map(|below| below.map(|below| below.as_os_str().as_bytes()));
        let paths: Vec<Option<&[u8]>> = paths.collect();
        let numbered = paths.iter().enumerate();
        let folder_numbers: HashMap<&[u8], usize> = numbered
            .filter_map(|(number, path)| Some(((*path)?, number)))
            .collect();
        // Both are in order: most files follow the one before.
        let (mut near, mut next) = (0, 0);
        let unknown = |folder: &StampedFolder| vec![None; folder.files().len()];
        let mut tracked: Vec<_> = folders.iter().map(unknown).collect();
        let visited = self.visit(|path, seen, _| {
            let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
                Some(slash) => (&path[..slash], &path[slash + 1..]),
                None => (&[][..], path),
            };
            if paths.get(near) != Some(&Some(above)) {
                let Some(number) = folder_numbers.get(above) else {
                    return;
                };
                (near, next) = (*number, 0);
            }
            let Some(folder) = folders.get(near) else {
                return;
            };
            let name = OsStr::from_bytes(name);
            let is_next = folder.name(next) == Some(name);
            let at = is_next.then_some(next).or_else(|| folder.position(name));
            if let Some((at, stamp)) = at.and_then(|at| Some((at, folder.stamp(at)?))) {
                tracked[near][at] = Some(self.state(&folder.path, stamp.in_index(), seen));
                next = at + 1;
            }
        });
        match visited {
            Ok(Some(())) => TrackedFiles(tracked),
            // It may name others.
            Ok(None) | Err(_) => TrackedFiles::default(),
        }
    }

    /// The state of a tracked file with these numbers, which had others when git saw it.
    fn state(&self, folder: &Path, stat: IndexStat, seen: IndexStat) -> TrackedState {
        match seen == stat && self.is_settled(&stat) && !self.may_convert(folder) {
            true => TrackedState::AsIndexed,
            false => TrackedState::Changed,
        }
    }

    /// The objects with the contents of those files that were as the index tells.
    fn objects(&self, wanted: &[(PathBuf, IndexStat)]) -> io::Result<BTreeMap<PathBuf, String>> {
        let named = wanted.iter().filter_map(|file| {
            let below = file.0.strip_prefix(&self.top).ok()?;
            Some((below.as_os_str().as_bytes(), file))
        });
        let files: HashMap<&[u8], &(PathBuf, IndexStat)> = named.collect();
        let mut objects = BTreeMap::new();
        let visited = self.visit(|name, seen, object| {
            let Some((path, stat)) = files.get(name) else {
                return;
            };
            let folder = path.parent().unwrap_or(&self.top);
            if self.state(folder, *stat, seen) == TrackedState::AsIndexed {
                objects.insert(path.clone(), hexadecimal(object));
            }
        })?;
        // One that cannot be read as a whole may name others.
        Ok(visited.map(|()| objects).unwrap_or_default())
    }

    /// Visits the regular files of the index. `None` if it cannot be read as one.
    fn visit(&self, visit: impl FnMut(&[u8], IndexStat, &[u8])) -> io::Result<Option<()>> {
        let mut file = &self.file;
        file.rewind()?;
        let mut index = Vec::new();
        file.take(MAX_INDEX + 1).read_to_end(&mut index)?;
        if index.len() as u64 > MAX_INDEX {
            return Ok(None);
        }
        Ok(visit_files(&index, self.object, visit))
    }

    /// False for a file that was changed when the index was written, or later: it may have been changed once more since git
    /// looked at it.
    ///
    /// Source: racy-git of git's documentation.
    fn is_settled(&self, stat: &IndexStat) -> bool {
        let (seconds, nanoseconds) = stat.modified;
        (i64::from(seconds), i64::from(nanoseconds)) < self.written
    }

    /// True if the files of a folder may have other contents than their objects, by attributes.
    fn may_convert(&self, folder: &Path) -> bool {
        let mut converting = self.converting.iter();
        converting.any(|converting| folder.starts_with(converting))
    }
}

/// True if a file of attributes may name one that converts. One that cannot be read may do so.
fn names_conversion(file: &Path) -> bool {
    match read_git_file(file) {
        Some(text) => CONVERTING.iter().any(|name| text.contains(name)),
        None => fs::symlink_metadata(file).is_ok(),
    }
}

impl TrackedFiles {
    /// The state of the file with these positions. `None` if git does not track it.
    pub(super) fn state(&self, (folder, file): (usize, usize)) -> Option<TrackedState> {
        *self.0.get(folder)?.get(file)?
    }
}

impl IndexedContents<'_> {
    /// The contents of those of these files that had these numbers before the command and were as the index tells. Blocks.
    pub(super) fn contents(&self, wanted: &[(PathBuf, IndexStat)]) -> HashMap<PathBuf, Vec<u8>> {
        let mut room = MAX_CONTENTS;
        let fits = |(_, stat): &&(PathBuf, IndexStat)| {
            let rest = usize::try_from(stat.size)
                .ok()
                .and_then(|size| room.checked_sub(size));
            room = rest.unwrap_or(room);
            rest.is_some()
        };
        let wanted: Vec<(PathBuf, IndexStat)> = wanted.iter().filter(fits).cloned().collect();
        let found = self.found(&wanted);
        found.unwrap_or_else(|error| {
            let top = self.index.top.display();
            log::warn!("the contents of files of {top} before a command cannot be read: {error}");
            HashMap::new()
        })
    }

    fn found(&self, wanted: &[(PathBuf, IndexStat)]) -> io::Result<HashMap<PathBuf, Vec<u8>>> {
        let objects = match wanted.is_empty() {
            true => BTreeMap::new(),
            false => self.index.objects(wanted)?,
        };
        if objects.is_empty() {
            return Ok(HashMap::new());
        }
        let names: BTreeSet<&str> = objects.values().map(String::as_str).collect();
        let contents = self.git.blobs(&names)?;
        let content = |(path, stat): &(PathBuf, IndexStat)| {
            let content = contents.get(objects.get(path)?)?;
            let is_same_size = u32::try_from(content.len()) == Ok(stat.size);
            is_same_size.then(|| (path.clone(), content.clone()))
        };
        Ok(wanted.iter().filter_map(content).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::tool::PlainLauncher;

    struct Repository {
        home: tempfile::TempDir,
        top: PathBuf,
    }

    impl Repository {
        /// A repository with a file `f` that git has seen.
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let top = home.path().canonicalize().unwrap();
            let repository = Self { home, top };
            repository.git(&["init", "-q"]);
            repository.add("f", "one\n");
            repository
        }

        fn git(&self, words: &[&str]) {
            let mut command = Command::new("git");
            command.current_dir(&self.top).args(words);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
            command.env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(command.status().unwrap().success(), "{words:?}");
        }

        #[expect(clippy::disallowed_methods, reason = "the clock of files has to go on")]
        fn add(&self, name: &str, content: &str) {
            fs::write(self.top.join(name), content).unwrap();
            sleep(Duration::from_millis(30));
            self.git(&["add", "."]);
        }

        /// The content of `f` from before a command.
        fn content_before(&self, command: impl FnOnce()) -> Option<Vec<u8>> {
            let own = OwnRepository::find_all(&self.top);
            let attributes = [self.top.join(".gitattributes")];
            let index = HeldIndex::open(&own[0], attributes.iter()).unwrap();
            let path = self.top.join("f");
            let stat = IndexStat::at(&path);
            command();
            let indexed = IndexedContents {
                index: &index,
                git: GitReader {
                    launcher: &PlainLauncher,
                    workspace: &self.top,
                    repositories: &[],
                    closed: &Arc::default(),
                },
            };
            indexed.contents(&[(path.clone(), stat)]).remove(&path)
        }
    }

    /// Spec: [UNDO-778]
    #[test]
    fn a_file_that_was_as_git_saw_it_has_its_content_from_there() {
        let repository = Repository::new();
        let one = Some(b"one\n".to_vec());
        // Also if the command removes the file, and git forgets it.
        let rewritten = repository.content_before(|| {
            fs::write(repository.top.join("f"), "two\n").unwrap();
            repository.git(&["add", "."]);
        });
        assert_eq!(rewritten, one);
        let two = repository.content_before(|| repository.git(&["rm", "-qf", "f"]));
        // It was added in the moment in which it was written, and may have changed once more.
        assert!(two.is_none() || two == Some(b"two\n".to_vec()), "{two:?}");
        drop(repository.home);
    }

    /// Spec: [UNDO-778]
    #[test]
    fn a_file_that_may_be_another_one_has_no_content() {
        let repository = Repository::new();
        let f = repository.top.join("f");
        // Changed since git saw it, to the same size.
        fs::write(&f, "two\n").unwrap();
        assert_eq!(repository.content_before(|| ()), None);
        // Changed when the index was written, or later.
        let file = File::options().append(true).open(&f).unwrap();
        file.set_modified(Clock::system().now() + Duration::from_secs(60))
            .unwrap();
        repository.git(&["add", "."]);
        assert_eq!(repository.content_before(|| ()), None);
        // A filter may have made it from the object.
        for attributes in [
            "* filter=x\n",
            "f ident\n",
            "f working-tree-encoding=UTF-8\n",
        ] {
            let repository = Repository::new();
            repository.add(".gitattributes", attributes);
            assert_eq!(repository.content_before(|| ()), None, "{attributes}");
            repository.add(".gitattributes", "* text\n");
            assert!(repository.content_before(|| ()).is_some());
        }
        // Its line ends were converted.
        let repository = Repository::new();
        repository.git(&["config", "core.autocrlf", "true"]);
        repository.add("f", "one\r\n");
        assert_eq!(repository.content_before(|| ()), None);
    }
}
