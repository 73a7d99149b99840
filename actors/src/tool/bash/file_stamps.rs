//! The stamps of many files, by their folders: so no path is compared, hashed or held as a whole.
//!
//! Invariant: folders and the files in each are sorted by the bytes of their names.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use harness_protocol::ChangeAction;

use super::stamp::FileStamp;

/// Stamps of files.
#[derive(Debug, Default)]
pub(super) struct FileStamps(Vec<StampedFolder>);

/// The stamps of the files right in a folder.
#[derive(Debug)]
pub(super) struct StampedFolder {
    pub(super) path: PathBuf,
    files: Vec<(OsString, FileStamp)>,
}

impl StampedFolder {
    pub(super) fn new(path: PathBuf, mut files: Vec<(OsString, FileStamp)>) -> Self {
        files.sort_unstable_by(|one, other| by_bytes(&one.0, &other.0));
        Self { path, files }
    }

    /// The names and stamps of its files.
    pub(super) fn files(&self) -> impl ExactSizeIterator<Item = (&OsStr, &FileStamp)> {
        self.files.iter().map(|(name, stamp)| (&**name, stamp))
    }

    /// The position of a file.
    pub(super) fn position(&self, name: &OsStr) -> Option<usize> {
        self.search(name).ok()
    }

    /// The stamp of the file at a position.
    pub(super) fn stamp(&self, position: usize) -> Option<&FileStamp> {
        self.files.get(position).map(|(_, stamp)| stamp)
    }

    fn search(&self, name: &OsStr) -> Result<usize, usize> {
        self.files
            .binary_search_by(|(found, _)| by_bytes(found, name))
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
            let folder = StampedFolder::new(folder.to_owned(), Vec::new());
            self.0.insert(at, folder);
            at
        });
        let folder = &mut self.0[at];
        match folder.search(name) {
            Ok(at) => folder.files[at].1 = stamp,
            Err(at) => folder.files.insert(at, (name.to_owned(), stamp)),
        }
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

    pub(super) fn folders(&self) -> &[StampedFolder] {
        &self.0
    }

    /// The files whose stamps are others than before, or that have none now or had none.
    pub(super) fn differences(&self, before: &Self) -> Vec<(PathBuf, ChangeAction)> {
        let mut found = Vec::new();
        let by_path = |one: &StampedFolder, other: &StampedFolder| {
            by_bytes(one.path.as_os_str(), other.path.as_os_str())
        };
        merge(&before.0, &self.0, by_path, |was, is| {
            let Some(folder) = was.or(is) else { return };
            let was = was.map_or(&[][..], |folder| &folder.files);
            let is = is.map_or(&[][..], |folder| &folder.files);
            let by_name = |one: &(OsString, _), other: &(OsString, _)| by_bytes(&one.0, &other.0);
            merge(was, is, by_name, |was, is| {
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
fn merge<'s, T>(
    before: &'s [T],
    now: &'s [T],
    order: impl Fn(&T, &T) -> Ordering,
    mut visit: impl FnMut(Option<&'s T>, Option<&'s T>),
) {
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
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
            let files = files.iter().map(|(name, stamp)| ((*name).into(), *stamp));
            StampedFolder::new(path.into(), files.collect())
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
