//! Working trees: the workflow's own, the repository's, and new ones for checks.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::compare::differences;
use super::program::{GitDirectories, Session};
use super::refs::{branch_tip, full, tip};
use super::restore::{follow, open_up};
use super::snapshot::{is_copy, new_files};
use super::{GitError, TreeKind, Worktree, WorktreeOrder};
use crate::tool::linked;

/// The reason that git shows for keeping a worktree whose folder it does not find; it names the owner.
const REASON: &str = "a workflow of harness works here";
/// Maximum number of changed paths in an error.
const MAX_PATHS: usize = 20;

/// The workflow's worktree. Blocks.
pub(super) fn ensure(session: &Session, order: &WorktreeOrder<'_>) -> Result<Worktree, GitError> {
    let name = full(order.branch);
    let start = match branch_tip(session, order.branch)? {
        Some(tip) => tip.commit,
        None => {
            // No old value: another process may not have made it meanwhile.
            let words = ["update-ref", "--no-deref", &name, order.start, ""];
            session.call(&words).run()?;
            order.start.to_owned()
        }
    };
    let is_there =
        fs::symlink_metadata(order.folder).is_ok() && !removed_unfinished(session, order.folder)?;
    let folder = if is_there {
        real(order.folder)?
    } else {
        add(session, order.folder, &start)?
    };
    let tree = Worktree {
        git: git_folder(session, &folder)?,
        root: folder,
        kind: TreeKind::Linked,
        branch: Some(order.branch.to_owned()),
        copy: order.copy.to_vec(),
        ignored: Vec::new(),
    };
    if !is_there {
        fill(session, &tree, &start)?;
    }
    Ok(tree)
}

/// A new worktree for checks. Blocks.
pub(super) fn fresh(
    session: &Session,
    commit: &str,
    folder: &Path,
    copy: &[String],
) -> Result<Worktree, GitError> {
    if fs::symlink_metadata(folder).is_ok() && !removed_unfinished(session, folder)? {
        let folder = real(folder)?;
        // Only what is a worktree of this repository is removed.
        git_folder(session, &folder)?;
        remove(session, &folder)?;
    }
    let root = add(session, folder, commit)?;
    let tree = Worktree {
        git: git_folder(session, &root)?,
        root,
        kind: TreeKind::Fresh,
        branch: None,
        copy: copy.to_vec(),
        ignored: Vec::new(),
    };
    fill(session, &tree, commit)?;
    Ok(tree)
}

/// Removes a folder in which a crash of git left nothing but a file `.git` that does not lead to the repository and back,
/// or not even that. True if there was one.
fn removed_unfinished(session: &Session, folder: &Path) -> Result<bool, GitError> {
    let looking = |error| GitError::failed(format!("looking at {}", folder.display()), &error);
    let is_real = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    if !is_real || git_folder(session, &real(folder)?).is_ok() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder).map_err(looking)? {
        let entry = entry.map_err(looking)?;
        let is_file = entry.file_type().map_err(looking)?.is_file();
        if entry.file_name() != ".git" || !is_file {
            return Ok(false);
        }
    }
    let link = folder.join(".git");
    if fs::symlink_metadata(&link).is_ok() {
        fs::remove_file(&link).map_err(looking)?;
    }
    fs::remove_dir(folder).map_err(looking)?;
    Ok(true)
}

/// Adds an empty worktree; its folder without links.
fn add(session: &Session, folder: &Path, commit: &str) -> Result<PathBuf, GitError> {
    let above = folder.parent().unwrap_or(folder);
    let making = |error| GitError::failed(format!("making {}", above.display()), &error);
    fs::create_dir_all(above).map_err(making)?;
    let above = fs::canonicalize(above).map_err(making)?;
    let name = folder.file_name().ok_or_else(|| GitError::Broken {
        folder: folder.to_owned(),
        reason: "it has no name".to_owned(),
    })?;
    let place = above.join(name);
    let text = place.to_str().ok_or_else(|| GitError::Broken {
        folder: place.clone(),
        reason: "its name is no text".to_owned(),
    })?;
    let words = |force: bool| {
        let mut words = vec!["worktree", "add", "--quiet", "--detach", "--no-checkout"];
        // One that git still knows, whose folder was removed: twice, since it is locked.
        words.extend(if force {
            &["--force", "--force"][..]
        } else {
            &[]
        });
        words.extend(["--lock", "--reason", REASON, "--", text, commit]);
        words
    };
    let added = session.call(&words(false)).writing(&above).run();
    if added.is_err() && is_known(session, &place)? {
        session.call(&words(true)).writing(&above).run()?;
    } else {
        added?;
    }
    Ok(place)
}

/// True if git knows of a worktree in that folder.
fn is_known(session: &Session, folder: &Path) -> Result<bool, GitError> {
    let list = session.call(&["worktree", "list", "--porcelain", "-z"]);
    let wanted = format!("worktree {}", folder.display());
    Ok(list.texts()?.contains(&wanted))
}

/// Puts the files of a commit into an empty worktree, and the copies.
fn fill(session: &Session, tree: &Worktree, commit: &str) -> Result<(), GitError> {
    let own = session.beside(place(session, tree))?;
    follow(&own, tree, commit)?;
    copy(session, tree)
}

/// The folders in which git works in a tree.
pub(super) fn place(session: &Session, tree: &Worktree) -> GitDirectories {
    GitDirectories {
        root: tree.root.clone(),
        git: Some(tree.git.clone()),
        common: session.place.common.clone(),
    }
}

/// Copies files of the repository's own tree into a worktree, where they are no part of what is worked on.
pub(super) fn copy(session: &Session, tree: &Worktree) -> Result<(), GitError> {
    if tree.kind == TreeKind::InPlace {
        return Ok(());
    }
    for path in &tree.copy {
        let from = session.place.root.join(path);
        if fs::symlink_metadata(&from).is_ok() {
            check_below(tree, Path::new(path))
                .and_then(|()| copy_one(&from, &tree.root.join(path)))
                .map_err(|error| GitError::failed(format!("copying {path}"), &error))?;
        }
    }
    Ok(())
}

/// Checks that a path leads to a place in a tree and outside of git's folder, and that all folders above it are real
/// folders.
fn check_below(tree: &Worktree, path: &Path) -> io::Result<()> {
    let mut place = tree.root.clone();
    for step in path.components() {
        let is_step = matches!(step, Component::Normal(name) if name != ".git");
        let is_link = fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink());
        if !is_step || is_link {
            return Err(io::Error::other("it is not below the root of the tree"));
        }
        place.push(step);
    }
    Ok(())
}

/// Copies a file, or a folder with all files in it; links are not followed.
fn copy_one(from: &Path, to: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(from)?;
    if about.is_dir() {
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_one(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if !about.is_file() {
        return Ok(());
    }
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    // A link at that path leads elsewhere.
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::copy(from, to).map(drop)
}

/// The git folder of a worktree of this repository.
fn git_folder(session: &Session, folder: &Path) -> Result<PathBuf, GitError> {
    let found = linked(&folder.join(".git"));
    let own = found.filter(|(_, common)| *common == session.place.common);
    own.map(|(git, _)| git).ok_or_else(|| GitError::Broken {
        folder: folder.to_owned(),
        reason: "its file .git does not lead to the repository and back".to_owned(),
    })
}

fn real(folder: &Path) -> Result<PathBuf, GitError> {
    fs::canonicalize(folder)
        .map_err(|error| GitError::failed(format!("looking at {}", folder.display()), &error))
}

/// Checks that a tree is still the same one. Blocks.
pub(super) fn check_own(session: &Session, tree: &Worktree) -> Result<(), GitError> {
    let is_own = match tree.kind {
        TreeKind::InPlace => {
            tree.root == session.place.root && session.place.git.as_ref() == Some(&tree.git)
        }
        TreeKind::Linked | TreeKind::Fresh => {
            git_folder(session, &tree.root).is_ok_and(|git| git == tree.git)
        }
    };
    if is_own {
        return Ok(());
    }
    Err(GitError::NotOurs {
        folder: tree.root.clone(),
    })
}

/// Removes a worktree from the disk and from the repository. Blocks.
pub(super) fn remove(session: &Session, folder: &Path) -> Result<(), GitError> {
    open_up(folder);
    match remove_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(GitError::failed(
                format!("removing {}", folder.display()),
                &error,
            ));
        }
        Ok(()) | Err(_) => {}
    }
    if !is_known(session, folder)? {
        return Ok(());
    }
    let text = folder.to_string_lossy();
    let words = ["worktree", "remove", "--force", "--force", "--", &text];
    session.call(&words).run().map(drop)
}

/// Removes a folder with all that is in it, and the file `.git` last: by it a folder that a crash left in part is known
/// as a worktree of the repository.
fn remove_all(folder: &Path) -> io::Result<()> {
    remove_but_git(folder)?;
    fs::remove_dir_all(folder)
}

/// Removes all that is in a folder but its file `.git`.
pub(super) fn remove_but_git(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != ".git" {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The repository's own tree. Blocks.
pub(super) fn in_place(session: &Session) -> Result<Worktree, GitError> {
    let head = session
        .call(&["symbolic-ref", "--quiet", "HEAD"])
        .answering(&[1]);
    let head = head.text()?;
    let branch = head.strip_prefix("refs/heads/").ok_or(GitError::Detached)?;
    let place = &session.place;
    let ignored = session.call(&[
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--directory",
        "-z",
    ]);
    let tree = Worktree {
        root: place.root.clone(),
        git: place.git.clone().unwrap_or_else(|| place.common.clone()),
        kind: TreeKind::InPlace,
        branch: Some(branch.to_owned()),
        copy: Vec::new(),
        ignored: ignored.texts()?,
    };
    check_clean(session, &tree)?;
    Ok(tree)
}

/// Checks that a tree and its index equal its commit. Blocks.
pub(super) fn check_clean(session: &Session, tree: &Worktree) -> Result<(), GitError> {
    let head = tip(session, "HEAD")?.ok_or_else(|| GitError::Missing {
        name: "HEAD".to_owned(),
    })?;
    let head = head.commit;
    let words = [
        "diff-index",
        "--cached",
        "--name-only",
        "-z",
        "--no-ext-diff",
        &head,
    ];
    let mut paths = session.call(&words).texts()?;
    session.call(&["read-tree", &head]).own_index().run()?;
    let (new, nested) = new_files(session, tree)?;
    paths.extend(nested);
    let differing = differences(session, &head, |path| !is_copy(tree, Path::new(path)))?;
    let differing = differing.into_iter().filter_map(|(path, difference)| {
        let is_new = difference == super::compare::PathDifference::New;
        // An ignored file is not work of a person.
        (!is_new || new.contains(&path)).then(|| path.to_string_lossy().into_owned())
    });
    paths.extend(differing);
    paths.sort();
    paths.dedup();
    paths.truncate(MAX_PATHS);
    if paths.is_empty() {
        return Ok(());
    }
    Err(GitError::Dirty { paths })
}
