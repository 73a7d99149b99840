//! The questions that a workflow asks of git, and the answers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A commit with its tree, by their hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
}

/// A working tree that a workflow works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its root.
    pub root: PathBuf,
    /// Its git folder.
    pub git: PathBuf,
    /// The kind.
    pub kind: TreeKind,
    /// The branch of the work; none of a fresh one.
    pub branch: Option<String>,
    /// Files that are copies of untracked files of the repository, and no part of a candidate.
    pub copy: Vec<String>,
    /// The paths that git ignored at the start in the repository's own tree, which stay whatever comes.
    pub ignored: Vec<String>,
}

/// The kind of a working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeKind {
    /// A linked worktree of the workflow.
    Linked,
    /// The repository's own, which was clean at the start.
    InPlace,
    /// A detached worktree for checks.
    Fresh,
}

/// An order for a linked worktree.
#[derive(Debug, Clone, Copy)]
pub struct WorktreeOrder<'a> {
    /// Its folder, which need not be there.
    pub folder: &'a Path,
    /// The branch of the work, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit at which the branch begins if it does not exist.
    pub start: &'a str,
    /// Untracked files of the repository that are copied into it.
    pub copy: &'a [String],
}

/// Names one candidate of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateName {
    /// The workflow's id.
    pub workflow: String,
    /// The number of the iteration.
    pub iteration: u32,
    /// The number of the attempt.
    pub attempt: u32,
}

impl fmt::Display for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workflow,
            iteration,
            attempt,
        } = self;
        write!(f, "refs/harness/{workflow}/{iteration}.{attempt}")
    }
}

/// An order for a candidate.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotOrder<'a> {
    /// The commit that it is made on.
    pub base: &'a str,
    /// The message, without trailers.
    pub message: &'a str,
    /// The trailers, each with its name.
    pub trailers: &'a [(String, String)],
    /// The time of the commit, in seconds since 1970.
    pub seconds: i64,
    /// Under which name it is kept.
    pub name: &'a CandidateName,
    /// The configuration at the start.
    pub config: &'a GitConfig,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCandidate {
    /// Its tree. The base's own if nothing changed.
    pub tree: String,
    /// A commit of that tree on the base.
    pub commit: String,
    /// Number of files that differ from the base.
    pub files: usize,
    /// The first of them.
    pub paths: Vec<String>,
    /// Lines that were added.
    pub insertions: u64,
    /// Lines that were taken away.
    pub deletions: u64,
    /// Repositories inside of the tree: their content is not part of it.
    pub nested: Vec<String>,
    /// The reason why it is not judged: then it holds only changes of files that the base has.
    pub too_large: Option<TooLarge>,
}

/// The limit that a candidate exceeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TooLarge {
    /// So many new files.
    Files(usize),
    /// A new file of so many bytes, or one that grew to that.
    File {
        /// The path of the file.
        path: String,
        /// Its size.
        bytes: u64,
    },
}

/// A branch to be moved.
#[derive(Debug, Clone, Copy)]
pub struct AcceptOrder<'a> {
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit that becomes its new head.
    pub candidate: &'a str,
    /// The commit that must be its head before.
    pub base: &'a str,
}

/// The way in which a candidate was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// The branch was moved.
    Now,
    /// It had been moved before.
    Before,
}

/// The part of a repository's configuration that makes git run something or overlook files: each key, or path in
/// git's folder, with the hash of its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitConfig(pub BTreeMap<String, String>);

impl GitConfig {
    /// The differences from another one, by key.
    #[must_use]
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let keys = self.0.keys().chain(now.0.keys());
        let mut changed: Vec<String> = keys
            .filter(|key| self.0.get(*key) != now.0.get(*key))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// All refs, each with what it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refs(pub BTreeMap<String, String>);

/// The change of a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefChange {
    /// The ref.
    pub name: String,
    /// The commit that it named. `None` if it did not exist.
    pub before: Option<String>,
    /// The commit that it names. `None` if the ref was removed.
    pub now: Option<String>,
    /// True if it was put back.
    pub put_back: bool,
}
