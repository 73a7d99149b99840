use std::fs;
use std::process::Command;

use super::*;

/// A repository with a submodule, a nested repository that is not one, and a linked worktree.
struct Ground {
    home: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self {
            home: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(ground.home.path().join("work")).unwrap();
        ground.run(
            "git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one
             git init -q -b main . && git commit -q --allow-empty -m one
             git -c protocol.file.allow=always submodule --quiet add ../lib sub
             git commit -qm two && git worktree add -q ../tree
             git init -q -b main nested && git -C nested commit -q --allow-empty -m one
             mkdir evil && git init -q evil/repository && git -C evil/repository config core.fsmonitor ./run",
        );
        ground
    }

    /// Runs a script as a command of the model would, in the folder.
    fn run(&self, script: &str) {
        let mut shell = Command::new("sh");
        shell.arg("-ec").arg(script).current_dir(self.at(""));
        for name in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{name}_NAME"), "a");
            shell.env(format!("GIT_{name}_EMAIL"), "a@b");
        }
        shell.env("GIT_CONFIG_GLOBAL", "/dev/null");
        shell.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(shell.status().unwrap().success(), "{script}");
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    fn with<T>(&self, look: impl FnOnce(&GitFolders<'_>) -> T) -> T {
        let folder = HeldFolder::open(&self.at("")).unwrap();
        let git = folder.folder(OsStr::new(".git")).unwrap();
        look(&GitFolders {
            path: &self.at(""),
            folder: &folder,
            git_path: &self.at(".git"),
            git: &git,
        })
    }

    /// The paths that a script makes dangerous.
    fn found(&self, script: &str) -> Vec<String> {
        let before = self.with(GitLook::look_at);
        self.run(script);
        let findings = self.with(|folders| before.compare(folders));
        let paths = findings.into_iter().map(|finding| {
            let root = if finding.is_in_git { ".git" } else { "" };
            let path = Path::new(root).join(finding.path);
            path.to_str().unwrap().to_owned()
        });
        paths.collect()
    }
}

/// Spec: [BASH-208]
#[test]
fn each_new_way_to_run_a_program_is_found() {
    let module = ".git/modules/sub";
    for (script, wanted) in [
        // A nested repository becomes a submodule.
        (
            "git -C nested config core.fsmonitor ./run; git add nested",
            vec!["nested/.git"],
        ),
        (
            "echo evil > nested/.git/hooks/post-checkout; git add nested",
            vec!["nested/.git"],
        ),
        (
            "git add nested; printf ../evil > nested/.git/commondir",
            vec!["nested/.git"],
        ),
        (
            "git add nested; rm -rf nested/.git; ln -s ../evil/repository/.git nested/.git",
            vec!["nested/.git"],
        ),
        // The pointer of a submodule.
        (
            "echo 'gitdir: ../evil/repository/.git' > sub/.git",
            vec!["sub/.git"],
        ),
        (
            "rm sub/.git; cp -r evil/repository/.git sub/.git",
            vec!["sub/.git"],
        ),
        // The repository of a submodule, also of one that does not exist yet.
        ("git -C sub config core.fsmonitor ./run", vec![module]),
        ("git -C sub config alias.x '!./run'", vec![module]),
        ("echo evil > .git/modules/sub/hooks/pre-push", vec![module]),
        (
            "rm -r .git/modules/sub/hooks; ln -s ../../../evil .git/modules/sub/hooks",
            vec![module],
        ),
        (
            "printf ../../../evil > .git/modules/sub/commondir",
            vec![module],
        ),
        (
            "cp -r evil/repository/.git .git/modules/later",
            vec![".git/modules/later"],
        ),
        (
            "cp -r evil/repository/.git .git/modules/sub/modules",
            vec![".git/modules/sub/modules"],
        ),
        (
            "mkdir .git/modules/sub/modules; cp -r evil/repository/.git .git/modules/sub/modules/deep",
            vec![".git/modules/sub/modules/deep"],
        ),
        (
            "mv .git/modules evil/m; ln -s ../evil/m .git/modules",
            vec!["sub/.git", ".git/modules"],
        ),
        // A linked worktree, whose git folder leads to another repository or becomes one.
        (
            "echo ../../../evil/repository/.git > .git/worktrees/tree/commondir",
            vec![".git/worktrees/tree"],
        ),
        (
            "cd .git/worktrees/tree; mv commondir ../../c; ln -s ../../../evil/c commondir",
            vec![".git/worktrees/tree"],
        ),
        (
            "rm -r .git/worktrees/tree; cp -r evil/repository/.git .git/worktrees/tree",
            vec![".git/worktrees/tree"],
        ),
        (
            "mv .git/worktrees/tree evil/t; ln -s ../../evil/t .git/worktrees/tree",
            vec![".git/worktrees/tree"],
        ),
        (
            "mv .git/worktrees evil/w; ln -s ../evil/w .git/worktrees",
            vec![".git/worktrees"],
        ),
        // An index that tells nothing.
        ("echo evil > .git/index", vec![".git/index"]),
        (
            "git add nested; git update-index --split-index; rm .git/sharedindex.*",
            vec![".git/index"],
        ),
        // A rebase that is not finished.
        (
            "mkdir .git/rebase-merge; echo 'exec ./run' > .git/rebase-merge/git-rebase-todo",
            vec![".git/rebase-merge/git-rebase-todo"],
        ),
        (
            "mkdir evil/r; echo ' x ./run' > evil/r/git-rebase-todo; ln -s ../evil/r .git/rebase-merge",
            vec![".git/rebase-merge/git-rebase-todo"],
        ),
        // A bare repository.
        (
            "mkdir refs; cp -r .git/objects .; cp .git/HEAD HEAD",
            vec!["HEAD"],
        ),
    ] {
        let ground = Ground::new();
        assert_eq!(ground.found(script), wanted, "{script}");
        assert_eq!(ground.found(":"), [""; 0], "{script}");
    }
}

/// Spec: [BASH-208]
#[test]
fn submodules_are_found_in_a_repository_with_longer_names_of_objects() {
    let ground = Ground::new();
    ground.run(
        "rm -rf .git sub nested; git init -q --object-format=sha256 -b main .
         git init -q --object-format=sha256 nested; git -C nested commit -q --allow-empty -m one",
    );
    assert_eq!(ground.found("git add nested"), [""; 0]);
    let found = ground.found("git -C nested config core.fsmonitor ./run");
    assert_eq!(found, ["nested/.git"]);
}

/// Spec: [BASH-208]
#[test]
fn honest_work_is_not_found() {
    let ground = Ground::new();
    for script in [
        "echo 1 > f; git add f; git commit -qm three",
        "git -C sub commit -q --allow-empty -m two; git add sub; git commit -qm four",
        "git add nested; git commit -qm five",
        "git -C nested config user.name a",
        "git -c protocol.file.allow=always submodule --quiet add ../lib other",
        "git submodule --quiet deinit -f other",
        "git -c protocol.file.allow=always submodule --quiet update --init other",
        "git worktree add -q ../more; git worktree move ../more ../most; git worktree remove ../most",
        "git checkout -q -b side HEAD~1; git commit -q --allow-empty -m side; git rebase -q main",
    ] {
        assert_eq!(ground.found(script), [""; 0], "{script}");
    }
}

/// Spec: [BASH-208]
#[test]
fn a_way_that_was_there_before_is_the_operators() {
    let ground = Ground::new();
    ground.run(
        "git -C nested config core.fsmonitor ./run; git add nested
         echo run > .git/modules/sub/hooks/pre-push
         mkdir .git/rebase-merge; echo 'exec make' > .git/rebase-merge/git-rebase-todo",
    );
    assert_eq!(ground.found("echo 1 > f; git add f"), [""; 0]);
    // Another content of the same hook is another way.
    let found = ground.found("echo evil > .git/modules/sub/hooks/pre-push");
    assert_eq!(found, [".git/modules/sub"]);
}
