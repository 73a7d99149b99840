use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::sync::Arc;

use super::*;
use crate::clock::Clock;
use crate::tool::bash::inventory::Inventory;
use crate::tool::bash::reach;
use crate::tool::{BeforeStore, Cancellation, PlainLauncher, ToolContext};

/// A folder with a repository, and the places of it that are protected.
struct Ground {
    home: tempfile::TempDir,
    reach: WriteReach,
}

const PLACES: [&str; 6] = [
    "work/.git/hooks",
    "work/.git/config",
    "work/.git/info/attributes",
    "work/.envrc",
    "work/.vscode",
    "work/.cargo/config.toml",
];

impl Ground {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in ["work/.git/hooks", "work/.git/info", "work/.cargo", "out"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("work/.git/hooks/old"), "old").unwrap();
        fs::set_permissions(at("work/.git/hooks/old"), Permissions::from_mode(0o755)).unwrap();
        fs::write(at("work/.git/config"), "[core]\n").unwrap();
        fs::write(at("work/.cargo/config.toml"), "old").unwrap();
        fs::write(at("out/config.toml"), "outside").unwrap();
        let reach = WriteReach {
            protected: PLACES.map(at).to_vec(),
            configurations: [at("work/.git/config")].into(),
            ..WriteReach::default()
        };
        Self { home, reach }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn look(&self, are_held: bool) -> CommandGuard {
        let held = if are_held {
            &*self.reach.protected
        } else {
            &[]
        };
        let known = KnownCommits::default();
        CommandGuard::look(&self.at("work"), &self.reach, held, &known).unwrap()
    }

    /// Puts back what a command did that made no new places besides.
    fn put_back(&self, guard: CommandGuard) -> Vec<String> {
        put_back(&self.at("work"), guard, ContentPlaces::default())
    }
}

fn put_back(workspace: &Path, guard: CommandGuard, made: ContentPlaces) -> Vec<String> {
    let git = GitReader {
        launcher: &PlainLauncher,
        workspace,
        repositories: &[],
        closed: &Arc::default(),
    };
    guard.put_back(made, &git).take_notes()
}

/// Spec: [BASH-07]
#[test]
fn s13_protected_places_are_as_they_were_after_a_command() {
    let ground = Ground::new();
    assert_eq!(ground.put_back(ground.look(false)), [""; 0]);

    let guard = ground.look(false);
    fs::write(ground.at("work/.git/hooks/pre-commit"), "evil").unwrap();
    fs::remove_file(ground.at("work/.git/hooks/old")).unwrap();
    fs::write(ground.at("work/.git/config"), "[core]\nfsmonitor = evil\n").unwrap();
    fs::write(ground.at("work/.envrc"), "evil").unwrap();
    fs::create_dir(ground.at("work/.vscode")).unwrap();
    fs::remove_dir_all(ground.at("work/.cargo")).unwrap();
    let notes = ground.put_back(guard);
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert_eq!(ground.read("work/.git/config"), "[core]\n");
    assert_eq!(ground.read("work/.git/hooks/old"), "old");
    assert_eq!(ground.read("work/.cargo/config.toml"), "old");
    let mode = fs::metadata(ground.at("work/.git/hooks/old")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o755);
    for name in [".git/hooks/pre-commit", ".envrc", ".vscode"] {
        assert!(!ground.at("work").join(name).exists(), "{name}");
    }
    // The content that the command wrote is kept, outside of git's view for a file of git.
    assert_eq!(ground.read("work/put-aside-1-envrc"), "evil");
    assert_eq!(ground.read("work/.git/put-aside-1-pre-commit"), "evil");

    // A whole folder that was moved away, with a link in its place.
    let guard = ground.look(false);
    fs::rename(ground.at("work/.git/hooks"), ground.at("work/moved")).unwrap();
    symlink("/", ground.at("work/.git/hooks")).unwrap();
    ground.put_back(guard);
    assert_eq!(ground.read("work/.git/hooks/old"), "old");
    let found = fs::symlink_metadata(ground.at("work/.git/hooks")).unwrap();
    assert!(found.is_dir());
}

/// Spec: [BASH-206]
#[test]
fn no_link_that_a_command_leaves_is_followed() {
    for are_held in [false, true] {
        let ground = Ground::new();
        let guard = ground.look(are_held);
        fs::rename(ground.at("work/.cargo"), ground.at("work/c2")).unwrap();
        symlink(ground.at("out"), ground.at("work/.cargo")).unwrap();
        fs::remove_dir_all(ground.at("work/.git/info")).unwrap();
        symlink(ground.at("out"), ground.at("work/.git/info")).unwrap();
        fs::write(ground.at("out/attributes"), "outside").unwrap();
        let notes = ground.put_back(guard);
        assert_eq!(ground.read("out/config.toml"), "outside", "{notes:?}");
        assert_eq!(ground.read("out/attributes"), "outside", "{notes:?}");
        assert_eq!(fs::read_dir(ground.at("out")).unwrap().count(), 2);
        let info = fs::symlink_metadata(ground.at("work/.git/info"));
        assert!(info.is_err(), "{notes:?}");
        if !are_held {
            assert_eq!(ground.read("work/.cargo/config.toml"), "old");
            let found = fs::symlink_metadata(ground.at("work/.cargo")).unwrap();
            assert!(found.is_dir(), "{notes:?}");
        }
    }
}

/// Spec: [BASH-206]
#[test]
fn where_mounts_hold_the_places_another_programs_change_stays() {
    let ground = Ground::new();
    let guard = ground.look(true);
    fs::write(ground.at("work/.git/config"), "[remote \"origin\"]\n").unwrap();
    fs::write(ground.at("work/.git/hooks/pre-push"), "operator").unwrap();
    fs::write(ground.at("work/.cargo/config.toml"), "operator").unwrap();
    assert_eq!(ground.put_back(guard), [""; 0]);
    assert_eq!(ground.read("work/.git/hooks/pre-push"), "operator");
    assert_eq!(ground.read("work/.cargo/config.toml"), "operator");
    // Nothing can be mounted over a place that does not exist.
    let guard = ground.look(true);
    fs::write(ground.at("work/.envrc"), "evil").unwrap();
    assert_eq!(ground.put_back(guard).len(), 1);
    assert!(!ground.at("work/.envrc").exists());
}

/// Spec: [BASH-206]
#[test]
fn a_link_that_is_protected_leads_where_it_led() {
    let ground = Ground::new();
    symlink("docs/A.md", ground.at("work/AGENTS.md")).unwrap();
    let mut reach = ground.reach.clone();
    reach.protected.push(ground.at("work/AGENTS.md"));
    let known = KnownCommits::default();
    let guard = CommandGuard::look(&ground.at("work"), &reach, &reach.protected, &known).unwrap();
    fs::remove_file(ground.at("work/AGENTS.md")).unwrap();
    symlink("evil.md", ground.at("work/AGENTS.md")).unwrap();
    assert_eq!(ground.put_back(guard).len(), 1);
    let target = fs::read_link(ground.at("work/AGENTS.md")).unwrap();
    assert_eq!(target, Path::new("docs/A.md"));
}

/// Spec: [BASH-551]
#[test]
fn what_edit_and_write_make_meanwhile_stays() {
    let ground = Ground::new();
    let approved = ApprovedContents::default();
    let guard = ground.look(false).with_approved(&approved);
    let place = ground.at("work/.envrc");
    fs::write(&place, "allowed").unwrap();
    approved.note(&place, crate::attachment::sha256(b"allowed"));
    assert_eq!(ground.put_back(guard), [""; 0]);
    assert_eq!(ground.read("work/.envrc"), "allowed");
    let guard = ground.look(false).with_approved(&approved);
    fs::write(&place, "changed by the command").unwrap();
    assert_eq!(ground.put_back(guard).len(), 1);
    assert_eq!(ground.read("work/.envrc"), "allowed");
}

/// Spec: [BASH-600]
#[test]
fn operators_are_asked_about_text_and_the_rest_stays_aside() {
    let ground = Ground::new();
    let workspace = ground.at("work");
    let store = BeforeStore::at(ground.home.path(), Clock::system());
    let context = ToolContext {
        before: Some(store.clone()),
        ..ToolContext::new(Cancellation::new()).in_folder(&workspace)
    };
    let settle = |guard: CommandGuard| {
        let git = GitReader {
            launcher: &PlainLauncher,
            workspace: &workspace,
            repositories: &[],
            closed: &Arc::default(),
        };
        let left = guard.put_back(ContentPlaces::default(), &git);
        left.settle(&workspace, &context)
    };
    let aside = || {
        let names = fs::read_dir(&workspace).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("put-aside")).count()
    };
    let guard = ground.look(false);
    fs::write(ground.at("work/.envrc"), "run\n").unwrap();
    fs::set_permissions(ground.at("work/.envrc"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(ground.at("work/.vscode/deep")).unwrap();
    fs::write(ground.at("work/.vscode/a"), "a").unwrap();
    fs::write(ground.at("work/.vscode/deep/b"), "b").unwrap();
    fs::write(ground.at("work/.cargo/config.toml"), "new").unwrap();
    fs::write(ground.at("work/.git/config"), "[core]\n\tpager = evil\n").unwrap();
    let (notes, proposals) = settle(guard);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains(".git/config is protected and was put back"));
    let found = proposals.iter().map(|change| {
        let below = Path::new(&change.path).strip_prefix(&workspace).unwrap();
        let content = store.get(change.after.as_deref().unwrap()).unwrap();
        let content = String::from_utf8(content).unwrap();
        let is_new = change.before.is_none();
        assert!(change.by_command && change.place == harness_protocol::FilePlace::Protected);
        (
            below.to_str().unwrap().to_owned(),
            content,
            change.mode,
            is_new,
        )
    });
    let expected = [
        (".envrc", "run\n", Some(0o755), true),
        (".vscode/a", "a", None, true),
        (".vscode/deep/b", "b", None, true),
        (".cargo/config.toml", "new", None, false),
    ];
    let expected = expected
        .map(|(name, content, mode, is_new)| (name.to_owned(), content.to_owned(), mode, is_new));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(ground.read("work/.cargo/config.toml"), "old");
    assert!(!ground.at("work/.envrc").exists() && !ground.at("work/.vscode").exists());
    assert_eq!(aside(), 0);

    // Bytes that are no text, and a link. Of what was removed operators are asked.
    let guard = ground.look(false);
    fs::write(ground.at("work/.envrc"), "a\0b").unwrap();
    fs::create_dir(ground.at("work/.vscode")).unwrap();
    fs::write(ground.at("work/.vscode/a"), "a").unwrap();
    symlink("/etc/passwd", ground.at("work/.vscode/b")).unwrap();
    fs::remove_file(ground.at("work/.cargo/config.toml")).unwrap();
    let (notes, proposals) = settle(guard);
    assert_eq!((notes.len(), aside()), (2, 2), "{notes:?}");
    let [removal] = proposals.as_slice() else {
        panic!("{proposals:?}");
    };
    assert_eq!(removal.action, harness_protocol::ChangeAction::Removed);
    assert!(removal.path.ends_with(".cargo/config.toml"), "{removal:?}");
    assert_eq!(ground.read("work/.cargo/config.toml"), "old");
    // A removal that was allowed meanwhile stays.
    let approved = ApprovedContents::default();
    let guard = ground.look(false).with_approved(&approved);
    let place = ground.at("work/.cargo/config.toml");
    fs::remove_file(&place).unwrap();
    approved.note_removal(&place);
    assert_eq!(settle(guard), (vec![], vec![]));
    assert!(!place.exists());
    // That says nothing of the file once it is there again.
    fs::write(&place, "old").unwrap();
    let guard = ground.look(false).with_approved(&approved);
    fs::remove_file(&place).unwrap();
    let (notes, proposals) = settle(guard);
    assert_eq!((notes.len(), proposals.len()), (0, 1), "{notes:?}");
    assert_eq!(ground.read("work/.cargo/config.toml"), "old");
    // More than operators are asked about.
    let guard = ground.look(false);
    fs::create_dir(ground.at("work/.vscode")).unwrap();
    for number in 0..=10 {
        fs::write(ground.at(&format!("work/.vscode/{number}")), "a").unwrap();
    }
    fs::write(ground.at("work/.envrc"), "run\n").unwrap();
    let (notes, proposals) = settle(guard);
    assert_eq!(
        (notes.len(), proposals.len(), aside()),
        (1, 1, 3),
        "{notes:?}"
    );
}

/// A repository with two branches that differ in protected files, and a branch that a command made.
struct Branches {
    home: tempfile::TempDir,
    known: KnownCommits,
}

impl Branches {
    fn new() -> Self {
        let branches = Self {
            home: tempfile::tempdir().unwrap(),
            known: KnownCommits::default(),
        };
        branches.run(
            "git init -q -b main . && mkdir -p .vscode sub deep
             echo old >AGENTS.md; echo '{}' >.vscode/settings.json; echo old >sub/.envrc; echo 1 >deep/f
             git add -A && git commit -qm old
             echo main >AGENTS.md && git commit -qam main && git switch -qc other
             echo other >AGENTS.md; echo '{\"a\":1}' >.vscode/settings.json; git rm -q sub/.envrc
             echo new >.npmrc; mkdir .idea; echo new >.idea/a; echo new >deep/CLAUDE.md; ln -s AGENTS.md CLAUDE.md
             git add -A && git commit -qm other && git switch -q main && echo 2 >f && git add f && git commit -qm f",
        );
        branches
    }

    fn run(&self, script: &str) {
        let mut shell = Command::new("sh");
        shell.arg("-ec").arg(script).current_dir(self.home.path());
        for name in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{name}_NAME"), "a");
            shell.env(format!("GIT_{name}_EMAIL"), "a@b");
        }
        shell.env("GIT_CONFIG_GLOBAL", "/dev/null");
        shell.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(shell.status().unwrap().success(), "{script}");
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.home.path().join(name)).ok()
    }

    /// Runs a script as a command of the model. Returns the notes.
    fn command(&self, script: &str) -> Vec<String> {
        let workspace = fs::canonicalize(self.home.path()).unwrap();
        let before = Inventory::take(&workspace);
        let mut reach = reach::find(&workspace, &[]);
        let places = before.content_places().clone();
        reach.add_contents(&workspace, &places);
        let held = reach.held(true);
        let guard = CommandGuard::look(&workspace, &reach, &held, &self.known).unwrap();
        let guard = guard.with_nested(places.nested);
        self.run(script);
        put_back(&workspace, guard, before.made_places())
    }
}

/// Spec: [BASH-551]
#[test]
fn git_moves_protected_files_between_the_operators_commits() {
    for (script, agents) in [
        ("git switch -q other", "other\n"),
        ("git merge -q --no-edit other", "other\n"),
        ("git rebase -q other", "other\n"),
        ("git reset -q --hard other", "other\n"),
        ("git cherry-pick other", "other\n"),
        ("git checkout -q other -- .", "other\n"),
        ("git checkout -q HEAD~2 -- AGENTS.md", "old\n"),
        ("git switch -q --detach HEAD~2", "old\n"),
        ("git switch -q other && git switch -q main", "main\n"),
        (
            "git gc -q && git pack-refs --all && git switch -q other",
            "other\n",
        ),
    ] {
        let branches = Branches::new();
        assert_eq!(branches.command(script), [""; 0], "{script}");
        assert_eq!(
            branches.read("AGENTS.md").as_deref(),
            Some(agents),
            "{script}"
        );
        let is_there = branches.read("sub/.envrc").is_some();
        let stays = agents != "other\n" || script.contains("checkout");
        assert_eq!(is_there, stays, "{script}");
    }
}

/// Spec: [BASH-551]
#[test]
fn content_that_no_commit_of_the_operator_has_is_taken_back() {
    for script in [
        "echo evil >AGENTS.md",
        "echo evil >AGENTS.md && git commit -qam evil",
        "git switch -q other && echo evil >>AGENTS.md",
        "rm AGENTS.md",
        "git rm -q AGENTS.md && git commit -qm removed",
        "rm .vscode/settings.json",
        "ln -sf deep/f AGENTS.md",
        // It could be written by its other name later.
        "cp AGENTS.md other-name && ln -f other-name AGENTS.md",
        // Git takes an object for one that it is not.
        "b=$(git rev-parse main:AGENTS.md) && e=$(echo evil | git hash-object -w --stdin) && git replace $b $e && \
         git checkout -q -- . && rm AGENTS.md && git checkout -q -- AGENTS.md",
    ] {
        let branches = Branches::new();
        let notes = branches.command(script);
        assert_eq!(notes.len(), 1, "{script}: {notes:?}");
        assert!(notes[0].contains("is protected"), "{script}: {notes:?}");
        let restored = branches.read("AGENTS.md");
        assert_eq!(restored.as_deref(), Some("main\n"), "{script}");
        let settings = branches.read(".vscode/settings.json");
        assert!(settings.is_some(), "{script}");
    }
    // A branch of a command stays one, when it is switched to later.
    let branches = Branches::new();
    let script = "git switch -qc mine && e=$(echo evil | git hash-object -w --stdin) && \
                  git update-index --add --cacheinfo 100644,$e,AGENTS.md && git commit -qm evil && \
                  git update-ref refs/heads/evil HEAD && git reset -q --hard HEAD~1 && git switch -q main";
    assert_eq!(branches.command(script), [""; 0]);
    assert_eq!(branches.command("git switch -q evil").len(), 1);
    assert_eq!(branches.read("AGENTS.md").as_deref(), Some("main\n"));
    // A branch that the operator makes meanwhile is the operator's.
    branches.run("git switch -q -f other && echo own >AGENTS.md && git commit -qam own && git switch -q -f main");
    assert_eq!(branches.command("git switch -q other"), [""; 0]);
    assert_eq!(branches.read("AGENTS.md").as_deref(), Some("own\n"));
}

/// Spec: [BASH-551]
#[test]
fn a_clone_of_a_repository_that_commands_cannot_write_keeps_its_files() {
    // Places such as /tmp can be written by all, so that the origin is somewhere else.
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let place = fs::canonicalize(&place).unwrap_or_else(|_| std::env::current_dir().unwrap());
    let origin = tempfile::tempdir_in(place).unwrap();
    let is_changeable = ["/tmp", "/var/tmp", "/dev/shm"]
        .iter()
        .any(|shared| origin.path().starts_with(shared));
    let branches = Branches::new();
    let into = origin.path().display();
    branches.run(&format!("git clone -q --bare . {into}/origin.git"));
    for name in ["other", "main"] {
        let work = Branches {
            home: tempfile::tempdir().unwrap(),
            known: KnownCommits::default(),
        };
        let clone = format!("git clone -q -b {name} {into}/origin.git .");
        let notes = work.command(&clone);
        assert_eq!(notes.is_empty(), !is_changeable, "{notes:?}");
        if is_changeable {
            continue;
        }
        assert_eq!(work.read("AGENTS.md"), Some(format!("{name}\n")));
        assert_eq!(work.command("git switch -q other"), [""; 0]);
        assert_eq!(work.command("echo evil >AGENTS.md").len(), 1);
    }
    // A clone of a repository in the folder has what the command made.
    let work = Branches {
        home: tempfile::tempdir().unwrap(),
        known: KnownCommits::default(),
    };
    let script = "git init -q x && cd x && echo evil >AGENTS.md && git add . && git commit -qm x && cd .. && \
                  git clone -q x y && mv y/.git y/AGENTS.md . && rm -rf x y";
    assert_eq!(work.command(script).len(), 1);
    assert_eq!(work.read("AGENTS.md"), None);
}

/// Spec: [BASH-550]
#[test]
fn what_is_made_at_protected_places_is_put_aside_wherever_it_is() {
    let branches = Branches::new();
    let notes = branches.command(
        "mkdir -p deep/new/.idea && echo evil >deep/new/.idea/x && echo evil >deep/.envrc && echo evil >.yarnrc.yml
         echo evil >deep/lefthook.yml; echo evil >deep/new/plain; touch deep/CACHEDIR.TAG",
    );
    assert_eq!(notes.len(), 4, "{notes:?}");
    for name in [
        "deep/new/.idea/x",
        "deep/.envrc",
        ".yarnrc.yml",
        "deep/lefthook.yml",
    ] {
        assert_eq!(branches.read(name), None, "{name}");
    }
    assert!(branches.read("deep/new/plain").is_some());
    // A new repository below the folder is a world of its own; one in a folder that was there is not.
    let notes = branches.command(
        "git init -q lib && echo new >lib/AGENTS.md; mkdir sub/.git && echo evil >sub/AGENTS.md",
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(branches.read("lib/AGENTS.md").is_some());
    assert_eq!(branches.read("sub/AGENTS.md"), None);
}
