//! A workflow's use of git: the trait, and the programs that implement it.

mod compare;
mod config;
mod diff;
mod error;
pub mod lock;
#[cfg(any(test, feature = "testing"))]
pub mod memory;
mod program;
mod protect;
mod refs;
mod repository;
mod restore;
mod snapshot;
#[cfg(test)]
mod tests;
mod values;
mod worktree;

use std::path::Path;

use super::guard::PathGuard;

pub use error::GitError;
pub use repository::RepositoryGit;
pub use values::{
    AcceptOrder, Accepted, CandidateName, GitCandidate, GitConfig, RefChange, Refs, SnapshotOrder,
    Tip, TooLarge, TreeKind, Worktree, WorktreeOrder,
};

/// The prefix of the refs that keep candidates.
pub const CANDIDATES: &str = "refs/harness/";
/// Maximum number of rejected candidates of a workflow that are kept.
pub const KEPT_REJECTED: usize = 20;

/// A workflow's use of one repository. All of it blocks.
///
/// It never stashes, never pushes, and changes no branch but the one that the caller names; of a person's own working
/// tree it touches the index and the files only in [`TreeKind::InPlace`].
pub trait WorkflowGit: Send + Sync {
    /// The commit that a branch, a ref or a commit names. `None` if it does not exist.
    ///
    /// # Errors
    /// When git fails.
    fn tip(&self, name: &str) -> Result<Option<Tip>, GitError>;

    /// The last commits up to one, the newest first, a line each: what `git log --oneline` shows.
    ///
    /// # Errors
    /// When git fails.
    fn log(&self, commit: &str, count: usize) -> Result<String, GitError>;

    /// A linked worktree in that folder: the one that is there, or a new one. Its branch is made if there is none. Its
    /// head is the branch's commit without the branch checked out, so that work in it never moves the branch. An
    /// existing worktree keeps its content unchanged.
    ///
    /// # Errors
    /// [`GitError::Broken`] if something else is in the folder; when git fails.
    fn worktree(&self, order: &WorktreeOrder<'_>) -> Result<Worktree, GitError>;

    /// The repository's own working tree, which has to be clean. A workflow that continues uses the value that it got
    /// at its start: later an attempt may have changed the tree.
    ///
    /// # Errors
    /// [`GitError::Detached`] if it is on no branch; [`GitError::Dirty`] if it is not clean; when git fails.
    fn in_place(&self) -> Result<Worktree, GitError>;

    /// A new detached worktree of a commit for checks. What an earlier one has left in the folder is removed.
    ///
    /// # Errors
    /// [`GitError::Broken`] if something else is in the folder; when git fails.
    fn fresh(&self, commit: &str, folder: &Path, copy: &[String]) -> Result<Worktree, GitError>;

    /// Removes a worktree with all that is in it.
    ///
    /// # Errors
    /// [`GitError::NotOurs`] if it is the repository's own; when git or the disk fails.
    fn remove(&self, tree: &Worktree) -> Result<(), GitError>;

    /// Checks that a tree equals its commit, but for ignored files.
    ///
    /// # Errors
    /// [`GitError::Dirty`] with the first paths; when git fails.
    fn check_clean(&self, tree: &Worktree) -> Result<(), GitError>;

    /// The part of the repository's configuration that makes git run something or overlook files.
    ///
    /// # Errors
    /// When git or the disk fails.
    fn config(&self, tree: &Worktree) -> Result<GitConfig, GitError>;

    /// All refs with their present commits.
    ///
    /// # Errors
    /// When git fails.
    fn refs(&self) -> Result<Refs, GitError>;

    /// The changes of refs that are not the workflow's. Those that name a commit made in the worktree since the base,
    /// and those that were removed, are put back; moves by others are only reported.
    ///
    /// # Errors
    /// When git fails.
    fn put_refs_back(
        &self,
        tree: &Worktree,
        base: &str,
        before: &Refs,
    ) -> Result<Vec<RefChange>, GitError>;

    /// Compares protected files with the base by their content, whatever git is configured to overlook, and restores
    /// them. The paths that differed, without new files that the base ignores, which are removed too.
    ///
    /// # Errors
    /// When git or the disk fails.
    fn protect(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError>;

    /// The paths that [`WorkflowGit::protect`] would report now; nothing is restored.
    ///
    /// # Errors
    /// When git or the disk fails.
    fn protected(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError>;

    /// Makes a commit of what is in a tree, and keeps it under a ref. The same content gives the same commit.
    ///
    /// # Errors
    /// [`GitError::ConfigChanged`] if the configuration is not what it was; when git fails.
    fn snapshot(
        &self,
        tree: &Worktree,
        order: &SnapshotOrder<'_>,
    ) -> Result<GitCandidate, GitError>;

    /// The hash of what is in a tree now, as a snapshot has it; nothing is kept.
    ///
    /// # Errors
    /// When git fails.
    fn tree_now(&self, tree: &Worktree, base: &str) -> Result<String, GitError>;

    /// Moves the branch from the base to a candidate, and the tree with it.
    ///
    /// # Errors
    /// [`GitError::Moved`] if the branch is at neither; [`GitError::CheckedOut`] if another worktree has it checked
    /// out; when git fails.
    fn accept(&self, tree: &Worktree, order: &AcceptOrder<'_>) -> Result<Accepted, GitError>;

    /// Makes a tree what its base is, byte for byte, and removes what does not belong to it. In the repository's
    /// own working tree, what was ignored at the start stays.
    ///
    /// # Errors
    /// [`GitError::NotOurs`] if it is not the worktree that it was; [`GitError::Moved`] if the branch of the
    /// repository's own tree is not at the base; [`GitError::NotRestored`] with the paths that differ; when git
    /// or the disk fails.
    fn restore(&self, tree: &Worktree, base: &str) -> Result<(), GitError>;

    /// Drops the refs of rejected candidates of a workflow but for the last [`KEPT_REJECTED`]. Rejected is what
    /// is not on the branch.
    ///
    /// # Errors
    /// When git fails.
    fn forget_rejected(&self, workflow: &str, branch: &str) -> Result<(), GitError>;
}
