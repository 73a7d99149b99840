//! Guards protected places while a command runs: changes are put back, and new files are put aside.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// How large a protected file may be to be put back, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// How many files in protected folders are known at most.
const MAX_FILES: usize = 1000;
/// How deep protected folders are looked into.
const DEPTH: usize = 6;
/// How many names are tried for what is put aside.
const MAX_ASIDE: usize = 1000;

/// The state of protected places before a command.
#[derive(Debug)]
pub(super) struct Guard {
    places: Vec<(PathBuf, Found)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    File {
        content: Vec<u8>,
        mode: u32,
    },
    Folder(Vec<(PathBuf, Self)>),
    Link(PathBuf),
    /// It is there, and is too large or of another kind to be known.
    Other,
}

impl Guard {
    /// Looks at the places. Blocks.
    pub(super) fn look(places: &[PathBuf]) -> Self {
        let mut room = MAX_FILES;
        let places = places
            .iter()
            .map(|path| (path.clone(), look(path, DEPTH, &mut room)));
        Self {
            places: places.collect(),
        }
    }

    /// Puts back what was changed and puts aside what was made; a line for each. Blocks.
    pub(super) fn put_back(self) -> Vec<String> {
        let mut notes = Vec::new();
        for (path, was) in self.places {
            restore(&path, &was, &mut notes);
        }
        notes
    }
}

fn look(path: &Path, depth: usize, room: &mut usize) -> Found {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Found::Nothing;
    };
    if *room == 0 {
        return Found::Other;
    }
    *room -= 1;
    let kind = found.file_type();
    if kind.is_symlink() {
        return fs::read_link(path).map_or(Found::Other, Found::Link);
    }
    if kind.is_file() {
        let mode = found.permissions().mode();
        return match fs::read(path) {
            Ok(content) if found.len() <= MAX_FILE => Found::File { content, mode },
            Ok(_) | Err(_) => Found::Other,
        };
    }
    if !kind.is_dir() || depth == 0 {
        return Found::Other;
    }
    let mut inside: Vec<PathBuf> = match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => return Found::Other,
    };
    inside.sort();
    let inside = inside.into_iter().map(|path| {
        let found = look(&path, depth - 1, room);
        (path, found)
    });
    Found::Folder(inside.collect())
}

fn restore(path: &Path, was: &Found, notes: &mut Vec<String>) {
    let mut room = MAX_FILES;
    let is = look(path, DEPTH, &mut room);
    if is == *was {
        return;
    }
    let name = path.display();
    match (was, is) {
        (Found::Other, _) => notes.push(format!("{name} is protected and was perhaps changed")),
        (Found::Nothing, _) => match put_aside(path) {
            Ok(aside) => notes.push(format!(
                "{name} is protected: what was made there was put aside as {}",
                aside.display()
            )),
            Err(error) => notes.push(format!(
                "{name} is protected and was made; it could not be put aside: {error}"
            )),
        },
        (Found::Folder(inside), Found::Folder(now)) => {
            for (path, was) in inside {
                restore(path, was, notes);
            }
            let is_new = |path: &PathBuf| inside.iter().all(|(known, _)| known != path);
            for (path, _) in now {
                if is_new(&path) {
                    restore(&path, &Found::Nothing, notes);
                }
            }
        }
        (was, _) => match put_back(path, was) {
            Ok(()) => notes.push(format!("{name} is protected and was put back as it was")),
            Err(error) => notes.push(format!(
                "{name} is protected and was changed; it could not be put back: {error}"
            )),
        },
    }
}

fn put_back(path: &Path, was: &Found) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        put_aside(path)?;
    }
    match was {
        Found::File { content, mode } => {
            fs::write(path, content)?;
            fs::set_permissions(path, Permissions::from_mode(*mode))
        }
        Found::Link(target) => std::os::unix::fs::symlink(target, path),
        Found::Folder(inside) => {
            fs::create_dir_all(path)?;
            inside
                .iter()
                .try_for_each(|(path, was)| put_back(path, was))
        }
        Found::Nothing | Found::Other => Ok(()),
    }
}

/// Moves what is at a place out of the way, where no program looks for it.
pub(super) fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    // Behind hooks and the like no folder is left for it: one above.
    let within = path.parent().unwrap_or(path);
    for number in 1..=MAX_ASIDE {
        let aside = within.join(format!(
            "put-aside-{number}-{}",
            name.trim_start_matches('.')
        ));
        if fs::symlink_metadata(&aside).is_err() {
            fs::rename(path, &aside)?;
            return Ok(aside);
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-07]
    #[test]
    fn s13_protected_places_are_as_they_were_after_a_command() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("git/hooks")).unwrap();
        fs::write(at("git/hooks/old"), "old").unwrap();
        fs::write(at("git/config"), "[core]\n").unwrap();
        fs::set_permissions(at("git/hooks/old"), Permissions::from_mode(0o755)).unwrap();
        let places = [at("git/hooks"), at("git/config"), at("envrc"), at("vscode")];
        assert_eq!(Guard::look(&places).put_back(), [""; 0]);

        let guard = Guard::look(&places);
        fs::write(at("git/hooks/pre-commit"), "evil").unwrap();
        fs::remove_file(at("git/hooks/old")).unwrap();
        fs::write(at("git/config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(at("envrc"), "evil").unwrap();
        fs::create_dir(at("vscode")).unwrap();
        let notes = guard.put_back();
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert_eq!(fs::read(at("git/config")).unwrap(), b"[core]\n");
        assert_eq!(fs::read(at("git/hooks/old")).unwrap(), b"old");
        let mode = fs::metadata(at("git/hooks/old"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        for name in ["git/hooks/pre-commit", "envrc", "vscode"] {
            assert!(!at(name).exists(), "{name}");
        }
        // Nothing that somebody made is lost.
        assert_eq!(fs::read(at("put-aside-1-envrc")).unwrap(), b"evil");

        // A whole folder that was moved away, with a link in its place.
        let guard = Guard::look(&places);
        fs::rename(at("git/hooks"), at("moved")).unwrap();
        std::os::unix::fs::symlink("/", at("git/hooks")).unwrap();
        guard.put_back();
        assert_eq!(fs::read(at("git/hooks/old")).unwrap(), b"old");
        assert!(fs::symlink_metadata(at("git/hooks")).unwrap().is_dir());
    }
}
