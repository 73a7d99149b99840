//! A repository of a test, with what tests do in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use crate::workflow::git::{
    CandidateName, GitCandidate, GitConfig, GitError, RepositoryGit, SnapshotOrder,
    WorkflowGit as _, Worktree, WorktreeOrder,
};
use crate::workflow::testing::Plain;

/// A repository with a commit, and room for worktrees beside it.
pub(super) struct Place {
    home: TempDir,
    pub(super) git: RepositoryGit,
    /// The first commit.
    pub(super) base: String,
}

impl Place {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap().join("repository");
        fs::create_dir(&root).unwrap();
        run(&root, &["init", "-q", "-b", "main"]);
        write(&root, "src/a.py", "a = 1\n");
        write(&root, "src/b.py", "b = 1\n");
        write(&root, "tests/test_a.py", "assert a == 1\n");
        write(&root, ".gitignore", "*.log\nbuild/\n");
        commit(&root, "base");
        let base = run(&root, &["rev-parse", "HEAD"]);
        let git = RepositoryGit::open(Arc::new(Plain), &root).unwrap();
        Self { home, git, base }
    }

    /// The repository's own tree.
    pub(super) fn root(&self) -> PathBuf {
        self.git.root().to_owned()
    }

    /// A path beside the repository.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join(name)
    }

    /// The workflow's worktree.
    pub(super) fn tree(&self) -> Worktree {
        self.tree_with(&[])
    }

    pub(super) fn tree_with(&self, copy: &[&str]) -> Worktree {
        let copy: Vec<String> = copy.iter().map(|path| (*path).to_owned()).collect();
        self.git
            .worktree(&WorktreeOrder {
                folder: &self.beside("trees/w1"),
                branch: "harness/w1",
                start: &self.base,
                copy: &copy,
            })
            .unwrap()
    }

    /// The result of an attempt, as the configuration is now.
    pub(super) fn snapshot(&self, tree: &Worktree, attempt: u32) -> GitCandidate {
        let config = self.git.config(tree).unwrap();
        self.try_snapshot(tree, attempt, &config).unwrap()
    }

    pub(super) fn try_snapshot(
        &self,
        tree: &Worktree,
        attempt: u32,
        config: &GitConfig,
    ) -> Result<GitCandidate, GitError> {
        let trailer = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let order = SnapshotOrder {
            base: &self.base,
            message: "a is two\n",
            trailers: &[
                trailer("Harness-Workflow", "w1"),
                trailer("Harness-Iteration", "1"),
                trailer("Harness-Feature", "a"),
            ],
            seconds: 1_700_000_000,
            name: &CandidateName {
                workflow: "w1".to_owned(),
                iteration: 1,
                attempt,
            },
            config,
        };
        self.git.snapshot(tree, &order)
    }

    /// The commit that a ref names.
    pub(super) fn at(&self, name: &str) -> Option<String> {
        self.git.tip(name).unwrap().map(|tip| tip.commit)
    }
}

/// Runs git as a person does.
pub(super) fn run(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.org"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {said}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Commits all that is in a tree, as a person or a model does; the commit.
pub(super) fn commit(folder: &Path, message: &str) -> String {
    run(folder, &["add", "-A"]);
    run(folder, &["commit", "-q", "--no-verify", "-m", message]);
    run(folder, &["rev-parse", "HEAD"])
}

pub(super) fn write(root: &Path, path: &str, content: &str) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, content).unwrap();
}

pub(super) fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

/// A program that notes in a file that it ran.
pub(super) fn program(path: &Path, notes: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\necho ran >>'{}'\ncat\n", notes.display());
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
