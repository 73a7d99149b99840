//! Protected files: compared with the base by their content, and restored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::compare::{PathDifference, TreeEntry, differences, entries};
use super::program::{Session, path_of};
use super::snapshot::is_copy;
use super::{GitError, Worktree};
use crate::workflow::guard::PathGuard;

/// Restores the guarded paths that differ from the base, and returns them. Files that tools leave there and the base
/// itself ignores are removed as well, and do not count as a change. Blocks.
pub(super) fn protect(
    session: &Session,
    tree: &Worktree,
    base: &str,
    guard: &PathGuard,
) -> Result<Vec<String>, GitError> {
    let differing = covered(session, tree, base, guard)?;
    put_back(session, base, &differing)?;
    changed(session, base, differing)
}

/// The paths that differ, as [`protect`] reports them; nothing is restored. Blocks.
pub(super) fn differ(
    session: &Session,
    tree: &Worktree,
    base: &str,
    guard: &PathGuard,
) -> Result<Vec<String>, GitError> {
    let differing = covered(session, tree, base, guard)?;
    changed(session, base, differing)
}

/// The differences in the guarded paths.
fn covered(
    session: &Session,
    tree: &Worktree,
    base: &str,
    guard: &PathGuard,
) -> Result<Vec<(PathBuf, PathDifference)>, GitError> {
    let is_theirs = |path: &Path| tree.ignored.iter().any(|kept| path.starts_with(kept));
    let is_guarded = |text: &str| {
        let path = Path::new(text);
        let is_covered =
            guard.covers(text) || guard.scripts().contains(text) || guard.shadowed(text).is_some();
        is_covered && !is_copy(tree, path) && !is_theirs(path)
    };
    let mut differing = differences(session, base, is_guarded)?;
    let is_new = |(path, difference): &(PathBuf, PathDifference)| {
        *difference == PathDifference::New && !guard.covers(&path.to_string_lossy())
    };
    let has_new = differing.iter().any(is_new);
    let known = if has_new {
        places(&entries(session, base)?)
    } else {
        BTreeSet::new()
    };
    differing.retain(|found| {
        let text = found.0.to_string_lossy();
        if is_new(found) {
            // What the base has there is what a check runs.
            let place = guard.shadowed(&text);
            return place.is_some_and(|place| !known.contains(&place));
        }
        guard.covers(&text) || guard.scripts().contains(&*text)
    });
    Ok(differing)
}

/// The folders of a commit, and its files with and without their extensions.
fn places(entries: &BTreeMap<PathBuf, TreeEntry>) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for path in entries.keys() {
        let above = path.ancestors().filter(|above| *above != Path::new(""));
        places.extend(above.map(|above| above.to_string_lossy().into_owned()));
        places.insert(path.with_extension("").to_string_lossy().into_owned());
    }
    places
}

/// The paths of differences, without new files that the base ignores.
fn changed(
    session: &Session,
    base: &str,
    mut differing: Vec<(PathBuf, PathDifference)>,
) -> Result<Vec<String>, GitError> {
    let ignored = ignored(session, base, &differing)?;
    differing
        .retain(|(path, difference)| *difference != PathDifference::New || !ignored.contains(path));
    let path = |(path, _): &(PathBuf, PathDifference)| path.to_string_lossy().into_owned();
    Ok(differing.iter().map(path).collect())
}

/// The new paths that the base ignores by its own files: the ignore files in the tree are not trusted.
fn ignored(
    session: &Session,
    base: &str,
    differing: &[(PathBuf, PathDifference)],
) -> Result<BTreeSet<PathBuf>, GitError> {
    let new = differing
        .iter()
        .filter(|(_, difference)| *difference == PathDifference::New);
    // Without the dot a name that begins with a colon means something else here.
    let new: Vec<PathBuf> = new.map(|(path, _)| Path::new(".").join(path)).collect();
    let new = listed(new.iter().map(PathBuf::as_path));
    if new.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rules = session.file("rules");
    fs::create_dir_all(&rules).map_err(|error| GitError::failed("making a folder", &error))?;
    let entries = entries(session, base)?;
    let files = entries.keys().filter(|path| path.ends_with(".gitignore"));
    let prefix = format!("--prefix={}/", rules.display());
    session.call(&["read-tree", base]).own_index().run()?;
    session
        .call(&[
            "checkout-index",
            "--force",
            "--quiet",
            "-z",
            "--stdin",
            &prefix,
        ])
        .own_index()
        .input(listed(files.map(PathBuf::as_path)))
        .run()?;
    let ignored = session
        .call(&["check-ignore", "--no-index", "-z", "--stdin"])
        .with("GIT_WORK_TREE", &rules.to_string_lossy())
        .with("GIT_LITERAL_PATHSPECS", "0")
        .input(new)
        .answering(&[1])
        .records()?;
    let paths = ignored.iter().filter_map(|path| path.strip_prefix(b"./"));
    Ok(paths.map(path_of).collect())
}

/// Paths as git reads them.
fn listed<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<u8> {
    let mut listed = Vec::new();
    for path in paths {
        listed.extend_from_slice(path.as_os_str().as_bytes());
        listed.push(0);
    }
    listed
}

/// Makes these paths what they are in the base.
fn put_back(
    session: &Session,
    base: &str,
    differing: &[(PathBuf, PathDifference)],
) -> Result<(), GitError> {
    let root = &session.place.root;
    let mut wanted = Vec::new();
    for (path, difference) in differing {
        let place = root.join(path);
        match difference {
            PathDifference::New => remove(&place),
            PathDifference::Changed | PathDifference::Gone => {
                wanted.extend_from_slice(path.as_os_str().as_bytes());
                wanted.push(0);
                clear_way(root, path)
            }
        }
        .map_err(|error| GitError::failed(format!("restoring {}", path.display()), &error))?;
    }
    if wanted.is_empty() {
        return Ok(());
    }
    session.call(&["read-tree", base]).own_index().run()?;
    session
        .call(&["checkout-index", "--force", "--quiet", "-z", "--stdin"])
        .own_index()
        .attributes_of(base)
        .input(wanted)
        .run()?;
    Ok(())
}

/// Removes what is at a place and above it, where the base has a file and folders.
fn clear_way(root: &Path, path: &Path) -> io::Result<()> {
    let mut place = root.to_owned();
    for step in path.parent().into_iter().flat_map(Path::components) {
        place.push(step);
        if fs::symlink_metadata(&place).is_ok_and(|found| !found.is_dir()) {
            return fs::remove_file(&place);
        }
    }
    remove(&root.join(path))
}

fn remove(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(place),
        Ok(_) => fs::remove_file(place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A file took the place of a folder.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
        Err(error) => Err(error),
    }
}
