//! The repository on the disk, by the program `git`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::program::{GitDirectories, Session};
use super::{
    AcceptOrder, Accepted, GitCandidate, GitConfig, GitError, RefChange, Refs, SnapshotOrder, Tip,
    TreeKind, WorkflowGit, Worktree, WorktreeOrder,
};
use super::{config, diff, protect, refs, restore, snapshot, worktree};
use crate::tool::{Launcher, linked};
use crate::workflow::guard::PathGuard;

/// A repository that workflows work in. Clones work in the same one.
#[derive(Clone)]
pub struct RepositoryGit {
    launcher: Arc<dyn Launcher>,
    place: GitDirectories,
}

impl RepositoryGit {
    /// Finds the repository that a folder is in. Blocks.
    ///
    /// # Errors
    /// [`GitError::NotRepository`] if it is in none, or in one without a working tree; when git fails.
    pub fn open(launcher: Arc<dyn Launcher>, folder: &Path) -> Result<Self, GitError> {
        let none = || GitError::NotRepository {
            folder: folder.to_owned(),
        };
        let start = fs::canonicalize(folder).map_err(|_| none())?;
        let is_root = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
        let root = start.ancestors().find(is_root).ok_or_else(none)?.to_owned();
        let elsewhere = elsewhere(&root.join(".git"));
        let looked_for = GitDirectories {
            common: root.clone(),
            git: None,
            root,
        };
        let session = Session::begin(Arc::clone(&launcher), looked_for)?;
        let words = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
        ];
        let mut call = session.call(&words).answering(&[128]);
        // What contains git shows it no other folders.
        if let Some(folder) = &elsewhere {
            call = call.writing(folder);
        }
        let answer = call.run()?;
        let text = String::from_utf8_lossy(&answer.output);
        let mut lines = text
            .lines()
            .map(|line| fs::canonicalize(line).map_err(|_| none()));
        let (Some(root), Some(git), Some(common)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(none());
        };
        let place = GitDirectories {
            root: root?,
            git: Some(git?),
            common: common?,
        };
        Ok(Self { launcher, place })
    }

    /// The root of the repository's working tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// The folder that all its worktrees share, where its lock is.
    #[must_use]
    pub fn common(&self) -> &Path {
        &self.place.common
    }

    /// The changes from one commit to another, and true if they were cut. `None` if one of them is no longer kept.
    /// Blocks.
    ///
    /// # Errors
    /// When git fails.
    pub fn diff(&self, base: &str, commit: &str) -> Result<Option<(String, bool)>, GitError> {
        diff::diff(&self.own()?, base, commit)
    }

    /// Drops the refs of all candidates of a workflow. Blocks.
    ///
    /// # Errors
    /// When git fails.
    pub fn forget(&self, workflow: &str) -> Result<(), GitError> {
        refs::forget(&self.own()?, workflow)
    }

    /// Calls in the repository's own tree.
    fn own(&self) -> Result<Session, GitError> {
        Session::begin(Arc::clone(&self.launcher), self.place.clone())
    }

    /// Calls in a tree, if it is the one that it was.
    fn in_tree(&self, tree: &Worktree) -> Result<Session, GitError> {
        let own = self.own()?;
        worktree::check_own(&own, tree)?;
        own.beside(worktree::place(&own, tree))
    }
}

/// The git folder that a file `.git` names: that of a linked worktree's repository, or of a submodule.
fn elsewhere(file: &Path) -> Option<PathBuf> {
    if let Some((_, common)) = linked(file) {
        return Some(common);
    }
    let text = fs::read_to_string(file).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    fs::canonicalize(file.parent()?.join(named)).ok()
}

impl WorkflowGit for RepositoryGit {
    fn tip(&self, name: &str) -> Result<Option<Tip>, GitError> {
        refs::tip(&self.own()?, name)
    }

    fn log(&self, commit: &str, count: usize) -> Result<String, GitError> {
        let count = format!("--max-count={count}");
        let words = ["log", "--no-color", "--format=%h %s", &count, commit, "--"];
        self.own()?.call(&words).text()
    }

    fn worktree(&self, order: &WorktreeOrder<'_>) -> Result<Worktree, GitError> {
        worktree::ensure(&self.own()?, order)
    }

    fn in_place(&self) -> Result<Worktree, GitError> {
        worktree::in_place(&self.own()?)
    }

    fn fresh(&self, commit: &str, folder: &Path, copy: &[String]) -> Result<Worktree, GitError> {
        worktree::fresh(&self.own()?, commit, folder, copy)
    }

    fn remove(&self, tree: &Worktree) -> Result<(), GitError> {
        let own = self.own()?;
        let is_gone = fs::symlink_metadata(&tree.root).is_err();
        if tree.kind == TreeKind::InPlace {
            let folder: PathBuf = tree.root.clone();
            return Err(GitError::NotOurs { folder });
        }
        if !is_gone {
            worktree::check_own(&own, tree)?;
        }
        worktree::remove(&own, &tree.root)
    }

    fn check_clean(&self, tree: &Worktree) -> Result<(), GitError> {
        worktree::check_clean(&self.in_tree(tree)?, tree)
    }

    fn config(&self, tree: &Worktree) -> Result<GitConfig, GitError> {
        config::config(&self.in_tree(tree)?)
    }

    fn refs(&self) -> Result<Refs, GitError> {
        refs::refs(&self.own()?)
    }

    fn put_refs_back(
        &self,
        tree: &Worktree,
        base: &str,
        before: &Refs,
    ) -> Result<Vec<RefChange>, GitError> {
        refs::put_back(&self.in_tree(tree)?, tree, base, before)
    }

    fn protect(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError> {
        let session = self.in_tree(tree)?;
        restore::open_up(&tree.root);
        protect::protect(&session, tree, base, guard)
    }

    fn protected(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError> {
        let session = self.in_tree(tree)?;
        restore::open_up(&tree.root);
        protect::differ(&session, tree, base, guard)
    }

    fn snapshot(
        &self,
        tree: &Worktree,
        order: &SnapshotOrder<'_>,
    ) -> Result<GitCandidate, GitError> {
        let session = self.in_tree(tree)?;
        let keys = order.config.changed(&config::config(&session)?);
        if !keys.is_empty() {
            return Err(GitError::ConfigChanged { keys });
        }
        restore::open_up(&tree.root);
        snapshot::snapshot(&session, tree, order)
    }

    fn tree_now(&self, tree: &Worktree, base: &str) -> Result<String, GitError> {
        snapshot::tree_now(&self.in_tree(tree)?, tree, base)
    }

    fn accept(&self, tree: &Worktree, order: &AcceptOrder<'_>) -> Result<Accepted, GitError> {
        let session = self.in_tree(tree)?;
        let accepted = refs::accept(&session, tree, order)?;
        restore::follow(&session, tree, order.candidate)?;
        Ok(accepted)
    }

    fn restore(&self, tree: &Worktree, base: &str) -> Result<(), GitError> {
        let session = self.in_tree(tree)?;
        restore::restore(&session, tree, base)?;
        worktree::copy(&self.own()?, tree)
    }

    fn forget_rejected(&self, workflow: &str, branch: &str) -> Result<(), GitError> {
        refs::forget_rejected(&self.own()?, workflow, branch)
    }
}
