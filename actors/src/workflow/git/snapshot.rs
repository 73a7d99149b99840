//! A candidate: the exact tree that an attempt left, as a commit on the base.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::compare::{TreeEntry, TreeEntryKind, entries};
use super::program::{Session, path_of};
use super::{GitCandidate, GitError, SnapshotOrder, TooLarge, Worktree};

/// Upper bound of the size of a new file, in bytes, itself excluded.
const MAX_FILE: u64 = 100 * 1024 * 1024;
/// Maximum number of new files.
const MAX_FILES: usize = 5000;
/// Maximum number of paths of changed files in a candidate.
const MAX_PATHS: usize = 200;

/// The content of an index that was filled with a tree.
struct Filled {
    nested: Vec<String>,
    too_large: Option<TooLarge>,
}

/// Makes a commit of a tree and keeps it. Blocks.
pub(super) fn snapshot(
    session: &Session,
    tree: &Worktree,
    order: &SnapshotOrder<'_>,
) -> Result<GitCandidate, GitError> {
    let filled = fill(session, tree, order.base)?;
    let hash = session.call(&["write-tree"]).own_index().text()?;
    let commit = commit(session, &hash, order)?;
    let name = order.name.to_string();
    session
        .call(&["update-ref", "--no-deref", &name, &commit])
        .run()?;
    let mut candidate = GitCandidate {
        tree: hash,
        commit,
        files: 0,
        paths: Vec::new(),
        insertions: 0,
        deletions: 0,
        nested: filled.nested,
        too_large: filled.too_large,
    };
    count(session, order.base, &mut candidate)?;
    Ok(candidate)
}

/// The hash of a tree with its present content. Blocks.
pub(super) fn tree_now(session: &Session, tree: &Worktree, base: &str) -> Result<String, GitError> {
    fill(session, tree, base)?;
    session.call(&["write-tree"]).own_index().text()
}

/// Fills an index of the service's own: what is marked in the tree's own index makes no difference.
fn fill(session: &Session, tree: &Worktree, base: &str) -> Result<Filled, GitError> {
    let entries = entries(session, base)?;
    match fs::remove_file(session.file("index")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(GitError::failed("removing an index", &error));
        }
        Ok(()) | Err(_) => {}
    }
    session.call(&["read-tree", base]).own_index().run()?;
    let mut too_large = grown(&tree.root, &entries);
    // Git would run what the configuration of a repository inside names.
    let passed_over = entries.iter().filter(|(path, entry)| {
        let is_large = matches!(&too_large, Some(TooLarge::File { path: large, .. }) if path.to_string_lossy() == *large);
        entry.kind == TreeEntryKind::Repository || is_copy(tree, path) || is_large
    });
    let passed_over = list(passed_over.map(|(path, _)| path));
    session
        .call(&["update-index", "--assume-unchanged", "-z", "--stdin"])
        .own_index()
        .input(passed_over)
        .run()?;
    session.call(&["add", "--update"]).own_index().run()?;
    let (new, nested) = new_files(session, tree)?;
    too_large = too_large.or_else(|| over(&tree.root, &new));
    if too_large.is_none() && !new.is_empty() {
        session
            .call(&["update-index", "--add", "--replace", "-z", "--stdin"])
            .own_index()
            .input(list(new.iter()))
            .run()?;
    }
    Ok(Filled { nested, too_large })
}

/// Paths as git reads them.
fn list<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}

/// True if a path is a copy of files that do not belong to the repository.
pub(super) fn is_copy(tree: &Worktree, path: &Path) -> bool {
    tree.copy.iter().any(|copy| path.starts_with(copy))
}

/// The files that the base does not have and does not ignore, and the repositories inside of the tree.
pub(super) fn new_files(
    session: &Session,
    tree: &Worktree,
) -> Result<(Vec<PathBuf>, Vec<String>), GitError> {
    let others = session
        .call(&["ls-files", "--others", "--exclude-standard", "-z"])
        .own_index()
        .records()?;
    let (mut new, mut nested) = (Vec::new(), Vec::new());
    for record in others {
        if let Some(folder) = record.strip_suffix(b"/") {
            nested.push(String::from_utf8_lossy(folder).into_owned());
            continue;
        }
        let path = path_of(&record);
        if !is_copy(tree, &path) {
            new.push(path);
        }
    }
    Ok((new, nested))
}

/// A file of the base that grew too large.
fn grown(root: &Path, entries: &BTreeMap<PathBuf, TreeEntry>) -> Option<TooLarge> {
    let small = entries
        .iter()
        .filter(|(_, entry)| entry.size.is_some_and(|size| size < MAX_FILE));
    first_large(root, small.map(|(path, _)| path))
}

fn over(root: &Path, new: &[PathBuf]) -> Option<TooLarge> {
    if new.len() > MAX_FILES {
        return Some(TooLarge::Files(new.len()));
    }
    first_large(root, new.iter())
}

fn first_large<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Option<TooLarge> {
    let mut large = paths.filter_map(|path| {
        let found = fs::symlink_metadata(root.join(path)).ok()?;
        let is_large = found.is_file() && found.len() >= MAX_FILE;
        is_large.then(|| TooLarge::File {
            path: path.to_string_lossy().into_owned(),
            bytes: found.len(),
        })
    });
    large.next()
}

fn commit(session: &Session, tree: &str, order: &SnapshotOrder<'_>) -> Result<String, GitError> {
    let mut message = order.message.trim().to_owned();
    message.push('\n');
    for (at, (name, value)) in order.trailers.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        // A value of several lines would end the trailers.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        message += &format!("{gap}{name}: {value}\n");
    }
    let date = format!("@{} +0000", order.seconds);
    session
        .call(&["commit-tree", "-p", order.base, "-F", "-", tree])
        .with("GIT_AUTHOR_DATE", &date)
        .with("GIT_COMMITTER_DATE", &date)
        .input(message.into_bytes())
        .text()
}

/// Counts what a candidate changes.
fn count(session: &Session, base: &str, candidate: &mut GitCandidate) -> Result<(), GitError> {
    let call = session.call(&[
        "diff-tree",
        "-r",
        "-z",
        "--numstat",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        base,
        &candidate.commit,
    ]);
    for line in call.texts()? {
        let mut parts = line.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        // A binary file has no lines.
        candidate.insertions += added.parse::<u64>().unwrap_or_default();
        candidate.deletions += removed.parse::<u64>().unwrap_or_default();
        candidate.files += 1;
        if candidate.paths.len() < MAX_PATHS {
            candidate.paths.push(path.to_owned());
        }
    }
    Ok(())
}
