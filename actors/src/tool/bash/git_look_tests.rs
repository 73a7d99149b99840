use std::fs;
use std::process::Command;

use super::super::git_aside::put_aside;
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
            common: None,
        })
    }

    /// The paths that a script makes dangerous.
    fn found(&self, script: &str) -> Vec<String> {
        let before = self.with(GitLook::look_at);
        self.run(script);
        paths(&self.with(|folders| before.compare(folders)))
    }

    /// The same of a conversation in the linked worktree.
    fn found_in_tree(&self, script: &str) -> Vec<String> {
        let tree = self.home.path().join("tree");
        let common_path = self.at(".git");
        let common = HeldFolder::open(&common_path).unwrap();
        let git_path = common_path.join("worktrees/tree");
        let folders = GitFolders {
            path: &tree,
            folder: &HeldFolder::open(&tree).unwrap(),
            git_path: &git_path,
            git: &HeldFolder::open(&git_path).unwrap(),
            common: Some((&common_path, &common)),
        };
        let before = GitLook::look_at(&folders);
        self.run(&format!("cd ../tree; {script}"));
        paths(&before.compare(&folders))
    }
}

fn paths(findings: &[GitFinding]) -> Vec<String> {
    let paths = findings.iter().map(|GitFinding { place, .. }| {
        let root = match place.root {
            GitRoot::Folder => "",
            GitRoot::Git => ".git",
            GitRoot::Common => "common",
        };
        let path = Path::new(root).join(&place.path);
        path.to_str().unwrap().to_owned()
    });
    paths.collect()
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
            vec!["nested/.git/hooks"],
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
        (
            "echo evil > .git/modules/sub/hooks/pre-push",
            vec![".git/modules/sub/hooks"],
        ),
        (
            "rm -r .git/modules/sub/hooks; ln -s ../../../evil .git/modules/sub/hooks",
            vec![".git/modules/sub/hooks"],
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
            vec![".git/rebase-merge"],
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

/// Spec: [BASH-574]
#[test]
fn what_is_put_aside_takes_what_is_in_it_along() {
    let script = "cp -r evil/repository later; echo evil > later/.git/hooks/pre-push
                  git -C later commit -qm e --allow-empty; git add later";
    assert_eq!(Ground::new().found(script), ["later/.git"]);
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
    assert_eq!(found, [".git/modules/sub/hooks"]);
}

/// Spec: [BASH-570]
#[test]
fn a_pointer_is_followed_as_git_follows_it() {
    let crooked = "mkdir -p evil/d evil/.git/modules; cp -r evil/repository/.git evil/.git/modules/sub; ln -s evil/d l";
    let module = "cp -r evil/repository/.git .git/modules/sub/n; git add nested; rm -r nested/.git";
    for (script, wanted) in [
        // Repositories that are beside or within another one below `modules`.
        (
            "mkdir .git/modules/a; cp .git/HEAD .git/modules/a; cp -r evil/repository/.git .git/modules/a/b".to_owned(),
            ".git/modules/a/b",
        ),
        (
            "cp -r evil/repository/.git/. .git/modules".to_owned(),
            ".git/modules",
        ),
        (
            format!("{module}; echo 'gitdir: ../.git/modules/sub/n' > nested/.git"),
            ".git/modules/sub/n",
        ),
        // What is after a link, a space or a NUL.
        (
            format!("{crooked}; echo 'gitdir: ../l/../.git/modules/sub' > sub/.git"),
            "sub/.git",
        ),
        (
            "echo 'gitdir:  ../.git/modules/sub' > sub/.git".to_owned(),
            "sub/.git",
        ),
        (
            "printf 'gitdir: ../.git/modules/sub\\0' > sub/.git".to_owned(),
            "sub/.git",
        ),
    ] {
        let ground = Ground::new();
        assert_eq!(ground.found(&script), [wanted], "{script}");
        assert_eq!(ground.found(":"), [""; 0], "{script}");
    }
}

/// Spec: [BASH-570]
#[test]
fn submodules_too_deep_to_be_looked_at_are_a_way() {
    let ground = Ground::new();
    let script = "at=.; for i in $(seq 35); do at=$at/n; git init -q $at; done
                  while [ $at != . ]; do
                      git -C $at commit -q --allow-empty -m n; at=${at%/n}; git -C $at add n 2>&1
                  done";
    let wanted = format!("{}.git", "n/".repeat(DEPTH + 1));
    assert_eq!(ground.found(script), [wanted]);
}

/// Spec: [BASH-570]
#[test]
fn more_submodules_than_are_looked_at_are_one_way() {
    let ground = Ground::new();
    let before = ground.with(GitLook::look_at);
    for number in 0..20_001 {
        let path = ground.at(".git/modules/many").join(number.to_string());
        fs::create_dir_all(path).unwrap();
    }
    let found = || paths(&ground.with(|folders| before.compare(folders)));
    assert_eq!(found(), [".git/modules"]);
    fs::remove_dir_all(ground.at(".git/modules/many")).unwrap();
    ground.run(
        "head=$(git -C nested rev-parse HEAD)
         for i in $(seq 10001); do printf '160000 %s 0\\tn%s\\n' $head $i; done > list
         git update-index --index-info < list",
    );
    assert_eq!(found(), [".git/index"]);
}

/// Spec: [BASH-570]
#[test]
fn submodules_with_a_folder_of_their_own_are_updated_without_a_finding() {
    let ground = Ground::new();
    ground.run(
        "git init -q -b main ../outer
         git -C ../outer -c protocol.file.allow=always submodule --quiet add \"$PWD/../lib\" deep
         git -C ../outer commit -qm deep; rm -rf nested; git clone -q ../outer nested; git add nested",
    );
    let update =
        "git -C nested -c protocol.file.allow=always submodule --quiet update --init --recursive";
    assert_eq!(ground.found(update), [""; 0]);
    let module = "nested/.git/modules/deep";
    let found = ground.found(&format!(
        "git --git-dir {module} config core.fsmonitor ./run"
    ));
    assert_eq!(found, [module]);
}

/// Spec: [BASH-571]
#[test]
fn an_index_that_git_has_not_written_tells_nothing() {
    let edit = |from: &str, to: &str| {
        format!(
            "mkdir x; mv nested x; git add x/nested; LC_ALL=C sed -i 's#{from}#{to}#' .git/index
             git -C x/nested config core.fsmonitor ./run"
        )
    };
    for (script, wanted) in [
        (edit("x/nested", "./nested"), ".git/index"),
        (edit("x/nested", "/./neste"), ".git/index"),
        (
            edit(r"\x00\x00\xe0\x00", r"\x00\x00\xe1\xa4"),
            "x/nested/.git",
        ),
        (
            "git config core.repositoryformatversion 1; git config extensions.objectFormat sha256"
                .to_owned(),
            ".git/index",
        ),
    ] {
        let ground = Ground::new();
        assert_eq!(ground.found(&script), [wanted], "{script}");
    }
}

/// Spec: [BASH-571]
#[test]
fn an_index_that_begins_to_leave_folders_out_is_a_way() {
    let ground = Ground::new();
    ground.run("mkdir x y; echo 1 > x/f; echo 1 > y/f; git add x y; git commit -qm three");
    let sparse = "git sparse-checkout set --cone --sparse-index x";
    assert_eq!(ground.found(sparse), [".git/index"]);
    assert_eq!(ground.found("echo 2 > x/f; git add x"), [""; 0]);
}

/// Spec: [BASH-572]
#[test]
fn each_file_of_a_sequence_that_names_a_program_is_found() {
    for (file, text, is_way) in [
        ("rebase-merge/strategy", "x/evil", true),
        ("rebase-merge/strategy", "evil", true),
        ("rebase-merge/strategy", "ort\n", false),
        ("rebase-merge/strategy_opts", "--x", false),
        ("rebase-merge/done", "exec ./run\n", false),
        ("rebase-apply/strategy", "x/evil", true),
        ("sequencer/todo", "pick 1\n\tx ./run\n", true),
        ("sequencer/todo", "pick 1 x\n", false),
        ("sequencer/opts", "[options]\n\tstrategy = x/evil\n", true),
        (
            "sequencer/opts",
            "[options]\n\tstrategy = ort\n\tsignoff = true\n",
            false,
        ),
        ("sequencer/opts", "options", true),
    ] {
        let ground = Ground::new();
        let path = ground.at(".git").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = ground.with(GitLook::look_at);
        fs::write(path, text).unwrap();
        let found = paths(&ground.with(|folders| before.compare(folders)));
        let wanted: Vec<String> = is_way.then(|| format!(".git/{file}")).into_iter().collect();
        assert_eq!(found, wanted, "{text}");
    }
}

/// Spec: [BASH-573]
#[test]
fn a_hook_is_another_one_with_another_mode_target_or_content() {
    let hooks = ".git/modules/sub/hooks";
    for (before, script, wanted) in [
        (
            "echo run > .git/modules/sub/hooks/pre-push",
            "chmod +x .git/modules/sub/hooks/pre-push",
            hooks,
        ),
        (
            "ln -s ../../../../evil/a .git/modules/sub/hooks/pre-push",
            "ln -sf ../../../../evil/b .git/modules/sub/hooks/pre-push",
            hooks,
        ),
        (
            "ln -s ../../../../evil/a .git/modules/sub/hooks/pre-push",
            "echo evil > evil/a",
            hooks,
        ),
        (
            "git -C sub config core.hooksPath h; mkdir sub/h; echo 1 > sub/h/pre-push",
            "echo 2 > sub/h/pre-commit",
            "sub/h/pre-commit",
        ),
        (
            "git -C sub config core.hooksPath \"$PWD/h\"",
            "ln -s evil h",
            "h",
        ),
    ] {
        let ground = Ground::new();
        ground.run(before);
        assert_eq!(ground.found(script), [wanted], "{script}");
    }
}

/// Spec: [BASH-573]
#[test]
fn a_folder_with_a_head_and_a_commondir_is_a_bare_repository() {
    let ground = Ground::new();
    assert_eq!(ground.found("cp .git/HEAD HEAD"), [""; 0]);
    let found = ground.found("printf evil/repository/.git > commondir");
    assert_eq!(found, ["HEAD"]);
}

/// Spec: [BASH-575]
#[test]
fn the_repository_of_a_linked_worktree_is_looked_at() {
    let work = "../work/.git";
    for (script, wanted) in [
        (
            format!(
                "mkdir {work}/rebase-merge; echo 'x ./run' > {work}/rebase-merge/git-rebase-todo"
            ),
            vec!["common/rebase-merge/git-rebase-todo"],
        ),
        (
            format!("cp -r ../work/evil/repository/.git {work}/modules/later"),
            vec!["common/modules/later"],
        ),
        (
            format!("echo ../work/evil/repository/.git > {work}/commondir"),
            vec!["common/commondir"],
        ),
        (
            format!(
                "git worktree add -q ../other; mkdir {work}/worktrees/other/rebase-merge
                 echo 'x ./run' > {work}/worktrees/other/rebase-merge/git-rebase-todo"
            ),
            vec!["common/worktrees/other/rebase-merge/git-rebase-todo"],
        ),
        (
            format!(
                "mkdir {work}/worktrees/tree/rebase-merge; echo 'x ./run' > {work}/worktrees/tree/rebase-merge/git-rebase-todo"
            ),
            vec![".git/rebase-merge/git-rebase-todo"],
        ),
        (
            format!("cd {work}/worktrees; mv tree ../t; cp -r ../t tree"),
            vec!["common/worktrees/tree"],
        ),
        (
            "cp -r ../work/evil/repository r; git -C r commit -q --allow-empty -m e; git add r"
                .to_owned(),
            vec!["r/.git"],
        ),
        (
            "git commit -q --allow-empty -m x; git checkout -q -b y".to_owned(),
            vec![],
        ),
    ] {
        let ground = Ground::new();
        assert_eq!(ground.found_in_tree(&script), wanted, "{script}");
    }
}

/// Spec: [BASH-574]
#[test]
fn what_is_found_is_put_into_one_folder_or_the_index_is() {
    let ground = Ground::new();
    let before = ground.with(GitLook::look_at);
    ground.run(
        "for i in 1 2 3; do cp -r evil/repository n$i; git -C n$i commit -q --allow-empty -m e; git add n$i; done
         mkdir .git/put-aside-1 put-aside-1-git",
    );
    let notes = ground.with(|folders| {
        let findings = before.compare(folders);
        assert_eq!(paths(&findings), ["n1/.git", "n2/.git", "n3/.git"]);
        put_aside(&findings, folders)
    });
    for (number, note) in notes.iter().enumerate() {
        let aside = format!(".git/put-aside-2/{}-git", number + 1);
        assert!(note.ends_with(&aside), "{note}");
        assert!(ground.at(&aside).is_dir());
    }
    assert_eq!(ground.found(":"), [""; 0]);
    // An entry that cannot be put aside.
    let place = |path: &str| GitPlace::new(GitRoot::Folder, path);
    let findings = ["x/../e/.git", "y/../e/.git", "n1/.git"].map(|path| GitFinding {
        place: place(path),
        reason: "x".to_owned(),
    });
    let notes = ground.with(|folders| put_aside(&findings, folders));
    assert!(!ground.at(".git/index").exists());
    assert!(notes[0].contains("`git reset` makes it again"), "{notes:?}");
    assert!(notes[1].ends_with("the index was"), "{notes:?}");
    assert!(
        notes[2].ends_with("what it was in was put aside"),
        "{notes:?}"
    );
}

/// Spec: [BASH-574]
#[test]
fn each_of_thousands_of_submodules_is_put_aside() {
    let ground = Ground::new();
    let before = ground.with(GitLook::look_at);
    ground.run(
        r#"git -C evil/repository commit -q --allow-empty -m e; head=$(git -C evil/repository rev-parse HEAD)
         for i in $(seq 2000); do
             mkdir n$i; echo 'gitdir: ../evil/repository/.git' > n$i/.git; echo "160000 $head 0 n$i"
         done > list; sed -i 's/ n/\tn/' list; git update-index --index-info < list"#,
    );
    let notes = ground.with(|folders| put_aside(&before.compare(folders), folders));
    assert_eq!(notes.len(), 2000);
}
