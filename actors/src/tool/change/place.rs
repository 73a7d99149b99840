//! Where a file is: in the folder of the conversation, at a place there that tells other programs what to
//! do, or anywhere else.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use harness_protocol::FilePlace;

use crate::lexical::lexical;
use crate::tool::protected::is_protected;
use crate::tool::{ToolError, closed, path};

/// A file that is to be made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct FoundTarget {
    /// Without links; also of a file that is not there yet.
    pub(in crate::tool) path: PathBuf,
    /// The path that was asked for, without `.` and `..`, if it is another: it leads there by a link.
    pub(in crate::tool) asked: Option<PathBuf>,
    pub(in crate::tool) place: FilePlace,
    /// The folders above it that are not there yet, the uppermost first.
    pub(in crate::tool) missing: Vec<PathBuf>,
}

/// Finds where a path leads to, through links.
///
/// # Errors
/// If it leads nowhere, or into a folder that is closed to tools.
pub(in crate::tool) fn find(
    folder: &Path,
    asked: &Path,
    closed_paths: &[PathBuf],
) -> Result<FoundTarget, ToolError> {
    let name = asked.as_os_str().as_bytes();
    if (name.ends_with(b"/") || name.ends_with(b"/.")) && !folder.join(asked).is_dir() {
        return Err(
            "the path ends as that of a folder, which is made with the first file in it; name the file"
                .into(),
        );
    }
    let refused = |error: &std::io::Error| path::io_error(error, "the folder is gone");
    let given = folder;
    let folder = fs::canonicalize(given).map_err(|error| refused(&error))?;
    let asked = folder.join(asked.strip_prefix(given).unwrap_or(asked));
    let (path, missing) = match fs::canonicalize(&asked) {
        Ok(path) => (path, Vec::new()),
        Err(_) => resolve_new(&asked)?,
    };
    closed::check_path(&path, closed_paths)?;
    let place = place_of(&folder, &path);
    let asked = Some(lexical(&asked)).filter(|asked| *asked != path);
    Ok(FoundTarget {
        path,
        asked,
        place,
        missing,
    })
}

/// Where a file is, by a path without links.
pub(in crate::tool) fn place_of(folder: &Path, path: &Path) -> FilePlace {
    match path.strip_prefix(folder) {
        Ok(below) if is_protected(below) => FilePlace::Protected,
        Ok(_) => FilePlace::Workspace,
        Err(_) => FilePlace::Outside,
    }
}

/// A path of which the last names are not there yet, and the folders among them.
fn resolve_new(asked: &Path) -> Result<(PathBuf, Vec<PathBuf>), ToolError> {
    if fs::symlink_metadata(asked).is_ok() {
        return Err("the path is a link that leads to nothing".into());
    }
    let mut names = Vec::new();
    let mut above = asked;
    let real = loop {
        // Only the names that go up are no names.
        let (Some(name), Some(parent)) = (above.file_name(), above.parent()) else {
            return Err("the path goes up from a folder that is not there".into());
        };
        names.push(name);
        above = parent;
        match fs::canonicalize(above) {
            Ok(real) if real.is_dir() => break real,
            Ok(_) => return Err("a part of the path is no directory".into()),
            Err(_) if fs::symlink_metadata(above).is_ok() => {
                return Err("a part of the path is a link that leads to nothing".into());
            }
            Err(_) => {}
        }
    };
    let mut path = real;
    let mut missing = Vec::new();
    while let Some(name) = names.pop() {
        path.push(name);
        if !names.is_empty() {
            missing.push(path.clone());
        }
    }
    Ok((path, missing))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [TOOL-447]
    #[test]
    fn a_path_with_a_slash_at_its_end_makes_no_file() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("there")).unwrap();
        fs::write(home.path().join("file"), "").unwrap();
        for path in ["new/", "new/deep/", "new/.", "file/"] {
            let error = find(home.path(), Path::new(path), &[]).unwrap_err();
            assert!(error.to_string().contains("name the file"), "{path}");
        }
        assert!(find(home.path(), Path::new("there/"), &[]).is_ok());
    }

    /// Spec: [TOOL-60]
    #[test]
    fn a_place_is_known_by_what_a_path_leads_to() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let folder = real.join("work");
        fs::create_dir_all(folder.join(".git/hooks")).unwrap();
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir(real.join("state")).unwrap();
        fs::write(folder.join("src/a"), "").unwrap();
        symlink("../state", folder.join("in")).unwrap();
        symlink(".git", folder.join("plain")).unwrap();
        symlink("work", real.join("alias")).unwrap();
        let closed = [real.join("state")];
        let place = |path: &str| find(&folder, Path::new(path), &closed).map(|found| found.place);
        for path in [
            "src/a",
            "src/../src/a",
            "new",
            "src/new/deep/file",
            "src/.gitignore",
        ] {
            assert_eq!(place(path), Ok(FilePlace::Workspace), "{path}");
        }
        for path in [
            ".git/config",
            ".GIT/hooks/x",
            "plain/hooks/pre-commit",
            "src/.envrc",
            ".cargo/config.toml",
            ".Cargo/Config",
            "agents.md",
            "HEAD",
            ".devcontainer.json",
            "src/.claude/skills/x",
        ] {
            assert_eq!(place(path), Ok(FilePlace::Protected), "{path}");
        }
        for path in ["../other", "/etc/hostname", "src/../../x"] {
            assert_eq!(place(path), Ok(FilePlace::Outside), "{path}");
        }
        for path in [
            "in/token",
            "../state/x",
            "../state/new/deep",
            "../work/in/x",
        ] {
            assert!(place(path).is_err(), "{path}");
        }
        for path in ["none/../../x", "src/a/b"] {
            assert!(place(path).is_err(), "{path}");
        }
        let by_alias = find(&real.join("alias"), Path::new("src/a"), &closed).unwrap();
        assert_eq!(by_alias.path, folder.join("src/a"));
        let found = find(&folder, Path::new("x/y/z"), &closed).unwrap();
        assert_eq!(found.missing, [folder.join("x"), folder.join("x/y")]);
    }
}
