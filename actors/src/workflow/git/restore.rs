//! Making a tree what a commit is.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::compare::{PathDifference, differences};
use super::program::Session;
use super::refs::{check_at, full};
use super::snapshot::is_copy;
use super::{GitError, TreeKind, Worktree};

/// Maximum number of differing paths in an error.
const MAX_PATHS: usize = 20;
/// The files that git keeps of an operation under way, in the folder of a worktree.
const UNDER_WAY: &[&str] = &[
    "index.lock",
    "HEAD.lock",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// Makes a tree what its base is. Blocks.
pub(super) fn restore(session: &Session, tree: &Worktree, base: &str) -> Result<(), GitError> {
    if tree.kind == TreeKind::InPlace
        && let Some(branch) = &tree.branch
    {
        check_at(session, branch, base)?;
    }
    open_up(&tree.root);
    follow(session, tree, base)?;
    // The first one may remove a file that made git ignore others.
    for _ in 0..2 {
        clean(session, tree)?;
    }
    if tree.kind == TreeKind::InPlace {
        sweep(session, tree, base)?;
    }
    verify(session, tree, base)
}

/// Moves a tree to a commit: its head, its index and its files. Files that belong to no commit stay. Blocks.
pub(super) fn follow(session: &Session, tree: &Worktree, commit: &str) -> Result<(), GitError> {
    match (tree.kind, &tree.branch) {
        (TreeKind::InPlace, Some(branch)) => {
            let name = full(branch);
            session.call(&["symbolic-ref", "HEAD", &name]).run()?;
        }
        (TreeKind::Linked | TreeKind::Fresh | TreeKind::InPlace, _) => {
            remove_under_way(&tree.git)?;
            session
                .call(&["update-ref", "--no-deref", "HEAD", commit])
                .run()?;
        }
    }
    // Git leaves files unchanged that are marked in an index; in an empty one none are.
    session.call(&["read-tree", "--empty"]).run()?;
    session
        .call(&["read-tree", "--reset", "-u", commit])
        .run()?;
    Ok(())
}

fn remove_under_way(git: &Path) -> Result<(), GitError> {
    UNDER_WAY
        .iter()
        .try_for_each(|name| remove(&git.join(name)))
}

fn remove(place: &Path) -> Result<(), GitError> {
    let removed = match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(place),
        Ok(_) => fs::remove_file(place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| GitError::failed(format!("removing {}", place.display()), &error))
}

/// Removes what is not the commit's. What is ignored stays in a person's own tree.
fn clean(session: &Session, tree: &Worktree) -> Result<(), GitError> {
    let what = match tree.kind {
        TreeKind::InPlace => "-ffdq",
        TreeKind::Linked | TreeKind::Fresh => "-ffdxq",
    };
    let kept: Vec<String> = tree.copy.iter().map(|copy| pattern(copy)).collect();
    let mut words = vec!["clean", what];
    for pattern in &kept {
        words.extend(["-e", pattern]);
    }
    // It names what it could not remove, and that is found out below.
    session.call(&words).answering(&[1]).run()?;
    Ok(())
}

/// The pattern of just one path.
fn pattern(path: &str) -> String {
    let mut pattern = "/".to_owned();
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | '\\' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The paths that differ from the base and are neither copies nor what was ignored at the start.
fn remaining(
    session: &Session,
    tree: &Worktree,
    base: &str,
) -> Result<Vec<(PathBuf, PathDifference)>, GitError> {
    let mut differing = differences(session, base, |path| !is_copy(tree, Path::new(path)))?;
    let was_ignored = |path: &Path| tree.ignored.iter().any(|kept| path.starts_with(kept));
    differing.retain(|(path, difference)| *difference != PathDifference::New || !was_ignored(path));
    Ok(differing)
}

/// Removes what git does not remove since a new file tells it to ignore that.
fn sweep(session: &Session, tree: &Worktree, base: &str) -> Result<(), GitError> {
    for (path, difference) in remaining(session, tree, base)? {
        if difference != PathDifference::New {
            continue;
        }
        remove(&tree.root.join(&path))?;
        // Folders that are empty now are no part of a commit.
        let above = path.ancestors().skip(1);
        for folder in above.take_while(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(tree.root.join(folder)).is_err() {
                break;
            }
        }
    }
    Ok(())
}

fn verify(session: &Session, tree: &Worktree, base: &str) -> Result<(), GitError> {
    let remaining = remaining(session, tree, base)?;
    let paths: Vec<String> = remaining
        .iter()
        .take(MAX_PATHS)
        .map(|(path, _)| path.to_string_lossy().into_owned())
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(GitError::NotRestored { paths })
}

/// Makes all of a tree readable and its folders writable for the service: an attempt may have left them
/// otherwise.
pub(super) fn open_up(root: &Path) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let mode = about.permissions().mode();
            let wanted = match (about.is_dir(), about.is_file()) {
                (true, _) => mode | 0o700,
                (_, true) => mode | 0o400,
                (false, false) => continue,
            };
            if wanted != mode {
                // What cannot be opened up is found out when it is used.
                drop(fs::set_permissions(
                    entry.path(),
                    Permissions::from_mode(wanted),
                ));
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
}
