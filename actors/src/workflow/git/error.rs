//! Failures of git in a workflow.

use std::path::PathBuf;

use derive_more::{Display, Error};

/// The reason why git did not do the work of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum GitError {
    /// The folder is not in a repository.
    #[display("{} is in no git repository; use git = \"off\" or make one", folder.display())]
    NotRepository {
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A ref or commit is not there.
    #[display("{name} names no commit of the repository")]
    Missing {
        /// Its name.
        name: String,
    },
    /// The repository's own tree is on no branch.
    #[display("the working tree is on no branch; check one out")]
    Detached,
    /// The tree is not clean.
    #[display("the working tree is not clean ({}); commit or remove that first", paths.join(", "))]
    Dirty {
        /// The first paths that differ.
        paths: Vec<String>,
    },
    /// Another program moved the branch.
    #[display(
        "the branch {branch} is at {found} and was expected at {expected}; another program moved it"
    )]
    Moved {
        /// The branch.
        branch: String,
        /// The expected commit.
        expected: String,
        /// The commit that it is at; `nothing` if the branch was removed.
        found: String,
    },
    /// The branch is checked out elsewhere.
    #[display("the branch {branch} is checked out in {}; check out another one there", folder.display())]
    CheckedOut {
        /// The branch.
        branch: String,
        /// The folder in which it is checked out.
        folder: PathBuf,
    },
    /// The configuration that makes git run something or overlook files has changed.
    #[display("the configuration of git changed: {}", keys.join(", "))]
    ConfigChanged {
        /// The changes, by key or by path in git's folder.
        keys: Vec<String>,
    },
    /// A folder of a worktree holds something else.
    #[display("{} is no worktree of the repository: {reason}; move it away", folder.display())]
    Broken {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The tree is not the one that the workflow was given.
    #[display("{} is not the worktree that it was; nothing in it was touched", folder.display())]
    NotOurs {
        /// The tree.
        folder: PathBuf,
    },
    /// A restored tree is not the base.
    #[display("the tree could not be restored: {}", paths.join(", "))]
    NotRestored {
        /// The first paths that differ.
        paths: Vec<String>,
    },
    /// A call of git took too long.
    #[display("git {call} took longer than {seconds} s")]
    TimedOut {
        /// The call.
        call: String,
        /// Time limit, in seconds.
        seconds: u64,
    },
    /// Git or the disk failed.
    #[display("{call} failed: {reason}")]
    Failed {
        /// The operation.
        call: String,
        /// Its message.
        reason: String,
    },
}

impl GitError {
    /// Something failed, in the words of what failed.
    pub(super) fn failed(call: impl Into<String>, reason: &dyn ToString) -> Self {
        Self::Failed {
            call: call.into(),
            reason: reason.to_string(),
        }
    }
}
