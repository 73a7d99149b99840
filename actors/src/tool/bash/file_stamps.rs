//! The stamps of many files, by their folders: so no path is compared, hashed or held as a whole.
//!
//! Invariant: folders and the names in each are sorted by their bytes.

use std::cmp::Ordering;
use std::ffi::{CStr, CString, OsStr};
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_protocol::ChangeAction;

use super::stamp::FileStamp;

/// Stamps of files.
#[derive(Debug, Default)]
pub(super) struct FileStamps(Vec<StampedFolder>);

/// The names of all entries of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EntryNames {
    /// The names, each with a zero behind it.
    bytes: Vec<u8>,
    /// The positions of their first bytes.
    starts: Vec<usize>,
}

/// The stamps of the files right in a folder.
#[derive(Debug)]
pub(super) struct StampedFolder {
    pub(super) path: PathBuf,
    /// The folder's own stamp from before its names were read. `None` if names may change without a change of the stamp.
    stamp: Option<FileStamp>,
    names: Arc<EntryNames>,
    /// The files, by the numbers of their names.
    files: Vec<(usize, FileStamp)>,
}

impl EntryNames {
    /// Adds a name.
    pub(super) fn push(&mut self, name: &CStr) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Sorts the names.
    pub(super) fn sort(&mut self) {
        let Self { bytes, starts } = self;
        starts.sort_unstable_by(|one, other| name_at(bytes, *one).cmp(name_at(bytes, *other)));
    }

    /// The names in order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &CStr> {
        self.starts.iter().map(|start| name_at(&self.bytes, *start))
    }

    fn get(&self, number: usize) -> &OsStr {
        let start = self.starts.get(number);
        let name = start.map_or(c"", |start| name_at(&self.bytes, *start));
        OsStr::from_bytes(name.to_bytes())
    }
}

fn name_at(bytes: &[u8], start: usize) -> &CStr {
    let rest = bytes.get(start..).unwrap_or_default();
    CStr::from_bytes_until_nul(rest).unwrap_or_default()
}

impl StampedFolder {
    /// Those of the files with these numbers among the names.
    pub(super) fn new(
        path: PathBuf,
        stamp: Option<FileStamp>,
        names: Arc<EntryNames>,
        files: Vec<(usize, FileStamp)>,
    ) -> Self {
        Self {
            path,
            stamp,
            names,
            files,
        }
    }

    /// The names of all entries, if the folder has this stamp and had it when they were read.
    pub(super) fn names(&self, stamp: Option<FileStamp>) -> Option<&Arc<EntryNames>> {
        (stamp.is_some() && self.stamp == stamp).then_some(&self.names)
    }

    /// The names and stamps of its files.
    pub(super) fn files(&self) -> impl ExactSizeIterator<Item = (&OsStr, &FileStamp)> {
        let files = self.files.iter();
        files.map(|(number, stamp)| (self.names.get(*number), stamp))
    }

    /// The position of a file.
    pub(super) fn position(&self, name: &OsStr) -> Option<usize> {
        self.search(name).ok()
    }

    /// The name of the file at a position.
    pub(super) fn name(&self, position: usize) -> Option<&OsStr> {
        let (number, _) = self.files.get(position)?;
        Some(self.names.get(*number))
    }

    /// The stamp of the file at a position.
    pub(super) fn stamp(&self, position: usize) -> Option<&FileStamp> {
        self.files.get(position).map(|(_, stamp)| stamp)
    }

    fn search(&self, name: &OsStr) -> Result<usize, usize> {
        let order = |(number, _): &(usize, FileStamp)| by_bytes(self.names.get(*number), name);
        self.files.binary_search_by(order)
    }

    /// Adds a file, or replaces its stamp.
    fn insert(&mut self, name: &OsStr, stamp: FileStamp) {
        match self.search(name) {
            Ok(at) => self.files[at].1 = stamp,
            Err(at) => {
                let Ok(name) = CString::new(name.as_bytes()) else {
                    return;
                };
                // It is not in its order there, and so no longer a list of all names.
                self.stamp = None;
                let names = Arc::make_mut(&mut self.names);
                names.push(&name);
                self.files.insert(at, (names.starts.len() - 1, stamp));
            }
        }
    }
}

impl FileStamps {
    /// Adds folders that have no stamps yet.
    pub(super) fn extend(&mut self, folders: Vec<StampedFolder>) {
        self.0.extend(folders);
        self.0
            .sort_unstable_by(|one, other| by_bytes(one.path.as_os_str(), other.path.as_os_str()));
    }

    /// Replaces the stamp of a file.
    pub(super) fn insert(&mut self, path: &Path, stamp: FileStamp) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let at = self.search(folder).unwrap_or_else(|at| {
            let names = Arc::default();
            let folder = StampedFolder::new(folder.to_owned(), None, names, Vec::new());
            self.0.insert(at, folder);
            at
        });
        self.0[at].insert(name, stamp);
    }

    pub(super) fn get(&self, path: &Path) -> Option<&FileStamp> {
        let (folder, file) = self.position(path)?;
        self.0[folder].stamp(file)
    }

    /// The positions of a file's folder and of the file in it.
    pub(super) fn position(&self, path: &Path) -> Option<(usize, usize)> {
        let at = self.search(path.parent()?).ok()?;
        Some((at, self.0[at].position(path.file_name()?)?))
    }

    /// A folder.
    pub(super) fn folder(&self, path: &Path) -> Option<&StampedFolder> {
        self.search(path).ok().map(|at| &self.0[at])
    }

    pub(super) fn folders(&self) -> &[StampedFolder] {
        &self.0
    }

    /// The files whose stamps are others than before, or that have none now or had none.
    pub(super) fn differences(&self, before: &Self) -> Vec<(PathBuf, ChangeAction)> {
        let mut found = Vec::new();
        let by_path = |one: &&StampedFolder, other: &&StampedFolder| {
            by_bytes(one.path.as_os_str(), other.path.as_os_str())
        };
        let (before, now) = (before.0.iter(), self.0.iter());
        merge(before.peekable(), now.peekable(), by_path, |was, is| {
            let Some(folder) = was.or(is) else { return };
            if was
                .zip(is)
                .is_some_and(|(was, is)| was.files == is.files && was.names == is.names)
            {
                return;
            }
            let was = was.into_iter().flat_map(StampedFolder::files);
            let is = is.into_iter().flat_map(StampedFolder::files);
            let by_name = |one: &(&OsStr, _), other: &(&OsStr, _)| by_bytes(one.0, other.0);
            merge(was.peekable(), is.peekable(), by_name, |was, is| {
                let (name, action) = match (was, is) {
                    (Some((_, was)), Some((_, is))) if was == is => return,
                    (Some((name, _)), Some(_)) => (name, ChangeAction::Changed),
                    (Some((name, _)), None) => (name, ChangeAction::Removed),
                    (None, Some((name, _))) => (name, ChangeAction::Made),
                    (None, None) => return,
                };
                found.push((folder.path.join(name), action));
            });
        });
        found
    }

    fn search(&self, folder: &Path) -> Result<usize, usize> {
        self.0
            .binary_search_by(|found| by_bytes(found.path.as_os_str(), folder.as_os_str()))
    }
}

fn by_bytes(one: &OsStr, other: &OsStr) -> Ordering {
    one.as_bytes().cmp(other.as_bytes())
}

/// Visits what is in one or both of two sorted lists.
fn merge<T>(
    mut before: Peekable<impl Iterator<Item = T>>,
    mut now: Peekable<impl Iterator<Item = T>>,
    order: impl Fn(&T, &T) -> Ordering,
    mut visit: impl FnMut(Option<T>, Option<T>),
) {
    loop {
        let order = match (before.peek(), now.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(was), Some(is)) => order(was, is),
        };
        let was = before.next_if(|_| order != Ordering::Greater);
        visit(was, now.next_if(|_| order != Ordering::Less));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [BASH-18]
    #[test]
    fn differences_are_found_whatever_comes_first() {
        use ChangeAction::{Changed, Made, Removed};
        let home = tempfile::tempdir().unwrap();
        let stamp = |text: &str| {
            fs::write(home.path().join("f"), text).unwrap();
            FileStamp::from_metadata(&fs::metadata(home.path().join("f")).unwrap())
        };
        let (one, other) = (stamp("1"), stamp("22"));
        let folder = |path: &str, files: &[(&str, FileStamp)]| {
            let mut folder = StampedFolder::new(path.into(), None, Arc::default(), Vec::new());
            for (name, stamp) in files {
                folder.insert(OsStr::new(name), *stamp);
            }
            folder
        };
        let mut before = FileStamps::default();
        before.extend(vec![
            folder("/w/gone", &[("x", one)]),
            folder("/w", &[("b", one), ("a", one), ("z", one)]),
            folder("/w/a-b", &[]),
            folder("/w/d", &[("z", one), ("y", one)]),
        ]);
        let mut now = FileStamps::default();
        now.extend(vec![folder("/w/d", &[("y", other), ("x", one)])]);
        now.extend(vec![
            folder("/w/a-b", &[("n", one)]),
            folder("/w", &[("zz", one), ("b", one)]),
            folder("/w/new", &[("x", one)]),
        ]);
        let found = now.differences(&before);
        let found: Vec<_> = found
            .iter()
            .map(|(path, action)| (path.to_str().unwrap(), *action))
            .collect();
        let expected = [
            ("/w/a", Removed),
            ("/w/z", Removed),
            ("/w/zz", Made),
            ("/w/a-b/n", Made),
            ("/w/d/x", Made),
            ("/w/d/y", Changed),
            ("/w/d/z", Removed),
            ("/w/gone/x", Removed),
            ("/w/new/x", Made),
        ];
        assert_eq!(found, expected);
        assert!(before.differences(&before).is_empty());
        now.insert(Path::new("/w/d/y"), one);
        now.insert(Path::new("/w/c/d/new"), one);
        for (path, stamp) in [
            ("d/y", Some(&one)),
            ("c/d/new", Some(&one)),
            ("c/d/n", None),
        ] {
            assert_eq!(now.get(&Path::new("/w").join(path)), stamp);
        }
        assert!(now.folders().is_sorted_by_key(|it| it.path.as_os_str()));
    }
}
