//! Repositories of unusual shapes, and places that lose what holds them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;

use super::*;
use crate::tool::PlainLauncher;
use crate::tool::bash::inventory::Inventory;
use crate::tool::bash::put_aside::MAX_NOTES;
use crate::tool::bash::reach;

/// Makes a hook that is not one of the operator's.
const EVIL: &str = "evil() { mkdir -p \"$(dirname $1)\" && echo evil >$1 && chmod +x $1; }; ";
const START: &str = "git init -q -b main . && git commit -q --allow-empty -m one";

/// A folder `work`, in which commands run.
struct Ground {
    home: tempfile::TempDir,
}

impl Ground {
    fn new(script: &str) -> Self {
        let ground = Self {
            home: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(ground.at("")).unwrap();
        ground.run(script);
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        let real = fs::canonicalize(self.home.path()).unwrap();
        real.join("work").join(name)
    }

    fn run(&self, script: &str) {
        let mut shell = Command::new("sh");
        shell.arg("-ec").arg(format!("{EVIL}{script}"));
        shell.current_dir(self.at(""));
        for name in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{name}_NAME"), "a");
            shell.env(format!("GIT_{name}_EMAIL"), "a@b");
        }
        shell.env("GIT_CONFIG_GLOBAL", "/dev/null");
        shell.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(shell.status().unwrap().success(), "{script}");
    }

    /// Runs a script as a command of the model where no mount holds anything, or as one where mounts are lost. Returns
    /// the notes.
    fn command(&self, script: &str, are_held: bool, more: &[PathBuf]) -> Vec<String> {
        let workspace = fs::canonicalize(self.at("")).unwrap();
        let before = Inventory::take(&workspace);
        let reach = reach::find(&workspace, more);
        let held = if are_held { &*reach.protected } else { &[] };
        let known = KnownCommits::default();
        let guard = CommandGuard::look(&workspace, &reach, held, &known).unwrap();
        self.run(script);
        let git = GitReader {
            launcher: &PlainLauncher,
            workspace: &workspace,
            repositories: &[],
            closed: &Arc::default(),
        };
        guard.put_back(before.made_places(), &git).take_notes()
    }
}

/// Spec: [BASH-580]
#[test]
fn a_git_folder_that_git_leads_to_is_guarded_like_git() {
    let separate =
        "git init -q -b main --separate-git-dir=gd . && git commit -q --allow-empty -m one";
    let deep = "mkdir a && git init -q -b main --separate-git-dir=a/gd . && git commit -q --allow-empty -m one";
    let linked = format!("{START} && mv .git store && ln -s store .git");
    let layout = format!(
        "{START} && mv .git .bare && echo 'gitdir: ./.bare' >.git && git config core.bare true"
    );
    for (shape, folder) in [
        (separate, "gd"),
        (deep, "a/gd"),
        (&*linked, "store"),
        (&*layout, ".bare"),
    ] {
        for way in [
            "git config core.fsmonitor ./run",
            "evil $G/hooks/pre-commit",
            "mv $G g2; cp -r g2 $G; git config core.fsmonitor ./run",
            "mkdir $G/rebase-merge; echo 'exec ./run' >$G/rebase-merge/git-rebase-todo",
            "git init -q e; git -C e commit -q --allow-empty -m e; git -C e config core.fsmonitor ./run; \
             git update-index --add --cacheinfo 160000,$(git -C e rev-parse HEAD),e",
            "rm -f .git; mkdir .git; echo evil >.git/config",
            "git init -q e; rm -f .git; echo 'gitdir: e/.git' >.git",
        ] {
            let ground = Ground::new(shape);
            let notes = ground.command(&format!("G={folder}; {way}"), false, &[]);
            assert!(!notes.is_empty(), "{folder}: {way}");
            let at = |name: &str| ground.at(folder).join(name);
            let config = fs::read_to_string(at("config")).unwrap();
            assert!(!config.contains("fsmonitor"), "{folder}: {way}: {notes:?}");
            assert!(
                !at("hooks/pre-commit").exists(),
                "{folder}: {way}: {notes:?}"
            );
            assert!(
                !at("rebase-merge/git-rebase-todo").exists(),
                "{folder}: {way}: {notes:?}"
            );
            assert!(
                !ground.at("e/.git").exists() || !way.contains("update-index"),
                "{folder}: {notes:?}"
            );
            ground.run("git log -1");
        }
        let ground = Ground::new(shape);
        let notes = ground.command("git branch x; git update-ref refs/heads/y HEAD", false, &[]);
        assert_eq!(notes, [""; 0], "{folder}");
    }
}

/// Spec: [BASH-580]
#[test]
fn the_repository_above_a_folder_runs_nothing_of_the_folder() {
    let shape = format!(
        "git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one && cd .. && {START} && \
         git -c protocol.file.allow=always submodule --quiet add ../lib work/sub 2>/dev/null || \
         git -c protocol.file.allow=always submodule --quiet add ./lib work/sub; git commit -qm sub; \
         git config core.hooksPath work/.githooks"
    );
    let evil = "git init -q e; git -C e config core.fsmonitor ./run; ";
    for (way, gone) in [
        ("evil .githooks/pre-commit", ".githooks"),
        ("echo \"gitdir: $PWD/e/.git\" >sub/.git", "sub/.git"),
        ("rm sub/.git; cp -r e/.git sub/.git", "sub/.git"),
        ("mv e/.git .git", ".git"),
    ] {
        let ground = Ground::new(&shape);
        assert!(ground.at("sub/.git").exists());
        let notes = ground.command(&format!("{evil}{way}"), false, &[]);
        assert_eq!(notes.len(), 1, "{way}: {notes:?}");
        assert!(!ground.at(gone).exists(), "{way}: {notes:?}");
    }
    // A git folder that commands may write besides is guarded as well.
    let ground = Ground::new(&shape);
    let more = [ground.at("../.git")];
    assert_eq!(
        ground
            .command("git -C .. config core.fsmonitor ./run", false, &more)
            .len(),
        1
    );
    let config = fs::read_to_string(ground.at("../.git/config")).unwrap();
    assert!(!config.contains("fsmonitor"));
    assert_eq!(
        ground.command("git commit -q --allow-empty -m two", false, &more),
        [""; 0]
    );
}

/// Spec: [BASH-581]
#[test]
fn programs_that_the_configuration_names_cannot_be_made() {
    let shape = format!(
        "{START} && git config core.fsmonitor '\"$(git rev-parse --show-toplevel)/tools/monitor\"' && \
         git config core.hooksPath hooks && git config filter.x.clean 'sh clean.sh' && git config include.path ../inc && \
         mkdir tools"
    );
    for (way, gone) in [
        ("evil tools/monitor", "tools/monitor"),
        ("evil hooks/pre-commit", "hooks"),
        ("mkdir h; ln -s h hooks", "hooks"),
        ("evil clean.sh", "clean.sh"),
        ("echo >inc", "inc"),
    ] {
        for are_held in [false, true] {
            let ground = Ground::new(&shape);
            let notes = ground.command(way, are_held, &[]);
            assert_eq!(notes.len(), 1, "{way}: {notes:?}");
            assert!(fs::symlink_metadata(ground.at(gone)).is_err(), "{way}");
        }
    }
}

/// Spec: [BASH-582]
#[test]
fn a_file_that_takes_the_place_of_a_held_one_is_told_and_stays() {
    let replace = |name: &str, text: &str| format!("printf '{text}' >new; mv new {name}");
    for (way, wanted) in [
        (
            replace(
                ".git/config",
                "[core]\\nbare = false\\n[pull]\\nrebase = true\\n",
            ),
            None,
        ),
        (
            replace(
                ".git/config",
                "[core]\\nbare = false\\nfsmonitor = ./run\\n",
            ),
            Some("core.fsmonitor"),
        ),
        (replace(".git/config", "evil"), Some("is protected")),
        (replace(".envrc", "other"), Some("is protected")),
        (replace(".envrc", "old"), None),
        // The mount is still there, so that it was another program.
        ("echo other >.envrc".to_owned(), None),
        ("rm .envrc".to_owned(), None),
        (
            "mv .git/hooks h; evil .git/hooks/pre-commit".to_owned(),
            Some("is protected"),
        ),
    ] {
        let ground = Ground::new(&format!("{START} && printf old >.envrc"));
        let notes = ground.command(&way, true, &[]);
        let texts = notes.iter().map(String::as_str);
        let told = texts.filter(|note| note.contains("was changed while the command ran"));
        let told: Vec<_> = told.collect();
        assert_eq!(
            told.len(),
            usize::from(wanted.is_some()),
            "{way}: {notes:?}"
        );
        assert_eq!(notes.len(), told.len(), "{way}: {notes:?}");
        assert!(
            told.iter()
                .all(|note| note.contains(wanted.unwrap_or_default())),
            "{notes:?}"
        );
    }
}

/// Spec: [BASH-584]
#[test]
fn many_files_at_one_place_leave_no_other_unknown() {
    let ground = Ground::new(&format!("{START} && mkdir .agents .vscode"));
    for number in 0..4100 {
        fs::write(ground.at(".agents").join(number.to_string()), "").unwrap();
    }
    symlink("x", ground.at(".agents/link")).unwrap();
    let notes = ground.command(
        "evil .git/hooks/pre-commit; evil .vscode/tasks.json",
        false,
        &[],
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(!ground.at(".git/hooks/pre-commit").exists());
    assert!(!ground.at(".vscode/tasks.json").exists());
}

/// Spec: [BASH-584]
#[test]
fn a_command_leaves_at_most_20_notes() {
    let ground = Ground::new(":");
    let script =
        format!("{START}; for i in $(seq 100); do echo evil >.git/hooks/h$i; done; echo >.envrc");
    let notes = ground.command(&script, false, &[]);
    assert_eq!(notes.len(), MAX_NOTES, "{notes:?}");
    assert!(notes[MAX_NOTES - 1].starts_with("82 more"), "{notes:?}");
}
