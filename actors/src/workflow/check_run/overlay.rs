//! Files of a hidden check: laid over the tree for the check alone.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Mode of the files that are laid over the tree: read-only.
const MODE: u32 = 0o444;

/// Files laid over a tree, with those that were there before. Nothing may write in the tree while it is laid or taken
/// away.
#[derive(Debug)]
pub(super) struct FileOverlay {
    root: PathBuf,
    /// In the order in which they were laid.
    laid: Vec<(PathBuf, Before)>,
    /// The folders that were made for them, the outer ones first.
    folders: Vec<PathBuf>,
}

/// The former content at the place of a file.
#[derive(Debug)]
enum Before {
    Nothing,
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

impl FileOverlay {
    /// Lays files over a tree, by their path below its root. Blocks.
    ///
    /// # Errors
    /// Which one cannot be laid there; then none is.
    pub(super) fn lay(root: &Path, files: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut overlay = Self {
            root: root.to_owned(),
            laid: Vec::new(),
            folders: Vec::new(),
        };
        for (path, content) in files {
            if let Err(error) = overlay.lay_one(Path::new(path), content) {
                overlay.take_away();
                return Err(format!(
                    "the hidden file {path} cannot be laid over the tree: {error}"
                ));
            }
        }
        Ok(overlay)
    }

    fn lay_one(&mut self, path: &Path, content: &str) -> io::Result<()> {
        let is_below = path
            .components()
            .all(|step| matches!(step, Component::Normal(_)));
        if !is_below || path.as_os_str().is_empty() {
            return Err(io::Error::other("it is not below the root of the tree"));
        }
        self.make_folders(path)?;
        let place = self.root.join(path);
        let before = look(&place)?;
        if !matches!(before, Before::Nothing) {
            fs::remove_file(&place)?;
        }
        // From here on there is something to be put back.
        self.laid.push((path.to_owned(), before));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(&place)?;
        file.write_all(content.as_bytes())
    }

    fn make_folders(&mut self, path: &Path) -> io::Result<()> {
        let mut place = self.root.clone();
        for step in path.parent().into_iter().flat_map(Path::components) {
            place.push(step);
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    let place = place.display();
                    return Err(io::Error::other(format!("{place} is no folder")));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir(&place)?;
                    self.folders.push(place.clone());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the files away and puts back what was there; the paths where that was not possible. Blocks.
    pub(super) fn take_away(self) -> Vec<String> {
        let mut left = Vec::new();
        for (path, before) in self.laid.iter().rev() {
            if let Err(error) = self.put_back(path, before) {
                let path = path.display();
                log::warn!("the hidden file {path} stays: {error}");
                left.push(path.to_string());
            }
        }
        for folder in self.folders.iter().rev() {
            // One in which the check has written stays.
            drop(fs::remove_dir(folder));
        }
        left
    }

    fn put_back(&self, path: &Path, before: &Before) -> io::Result<()> {
        let mut place = self.root.clone();
        for step in path.parent().into_iter().flat_map(Path::components) {
            place.push(step);
            // The check may have put a link there, which leads elsewhere.
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(io::Error::other("a folder above it was replaced")),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // Gone with the folder.
                    return match before {
                        Before::Nothing => Ok(()),
                        Before::File { .. } | Before::Link(_) => Err(error),
                    };
                }
                Err(error) => return Err(error),
            }
        }
        let place = self.root.join(path);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&place)?,
            Ok(_) => fs::remove_file(&place)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match before {
            Before::Nothing => Ok(()),
            Before::File { content, mode } => {
                fs::write(&place, content)?;
                fs::set_permissions(&place, Permissions::from_mode(*mode))
            }
            Before::Link(target) => symlink(target, &place),
        }
    }
}

fn look(place: &Path) -> io::Result<Before> {
    let found = match fs::symlink_metadata(place) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Before::Nothing),
        Err(error) => return Err(error),
    };
    let kind = found.file_type();
    if kind.is_symlink() {
        return fs::read_link(place).map(Before::Link);
    }
    if !kind.is_file() {
        return Err(io::Error::other("something else than a file is there"));
    }
    Ok(Before::File {
        content: fs::read(place)?,
        mode: found.permissions().mode(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(path, content): &(&str, &str)| ((*path).to_owned(), (*content).to_owned());
        files.iter().map(owned).collect()
    }

    /// Spec: [FLOW-77]
    #[test]
    fn hidden_files_lie_over_the_tree_and_what_was_there_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        fs::create_dir(root.join("tests")).unwrap();
        fs::write(root.join("tests/a"), "own").unwrap();
        fs::set_permissions(root.join("tests/a"), Permissions::from_mode(0o755)).unwrap();
        symlink("/etc/passwd", root.join("tests/b")).unwrap();
        let hidden = files(&[("tests/a", "A"), ("tests/b", "B"), ("new/deep/c", "C")]);
        let overlay = FileOverlay::lay(root, &hidden).unwrap();
        for (path, content) in &hidden {
            assert_eq!(&fs::read_to_string(root.join(path)).unwrap(), content);
        }
        // What the check does with them does not matter.
        fs::remove_file(root.join("tests/a")).unwrap();
        assert_eq!(overlay.take_away(), [""; 0]);
        assert_eq!(fs::read(root.join("tests/a")).unwrap(), b"own");
        let mode = fs::metadata(root.join("tests/a"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(
            fs::read_link(root.join("tests/b")).unwrap(),
            Path::new("/etc/passwd")
        );
        assert!(!root.join("new").exists());
    }

    /// Spec: [FLOW-77]
    #[test]
    fn hidden_files_lead_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let (root, other) = (home.path().join("tree"), home.path().join("other"));
        fs::create_dir_all(root.join("in")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("x"), "theirs").unwrap();
        symlink(&other, root.join("link")).unwrap();
        for path in ["../other/x", "/tmp/x", "link/x", "", "in"] {
            let refused = FileOverlay::lay(&root, &files(&[(path, "evil")]));
            assert!(refused.is_err(), "{path}");
        }
        // Nor does a link that is put there while the check runs.
        let overlay = FileOverlay::lay(&root, &files(&[("in/x", "ours")])).unwrap();
        fs::remove_dir_all(root.join("in")).unwrap();
        symlink(&other, root.join("in")).unwrap();
        assert_eq!(overlay.take_away(), ["in/x"]);
        assert_eq!(fs::read(other.join("x")).unwrap(), b"theirs");
    }
}
