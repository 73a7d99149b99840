//! The reach of a command, over HTTP, by the means that contains commands on this machine. The limits of
//! each backend, and as which user, are in `tests/sandbox.sh`.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::process::Command;

use nix::unistd::{Uid, chown};
use serde_json::{Value, json};

use crate::bash::run;
use crate::changing::{Changing, Result, edit_of};
use crate::eventually::eventually;
use crate::program::output;

/// The means that contains commands here; `none` if nothing does.
fn backend() -> String {
    here_is().0
}

/// True if a backend contains commands on this machine. A test that needs one cannot run without: that is printed,
/// and is a failure under `CI`.
pub(crate) fn contains_commands() -> bool {
    let contains = backend() != "none";
    if !contains {
        assert!(
            std::env::var_os("CI").is_none(),
            "no backend contains commands on this machine, so this test cannot run"
        );
        // Written directly: output that the test harness captures is not shown for a passing test.
        let line = b"NOT TRIED: no backend contains commands on this machine\n";
        std::io::stderr().write_all(line).unwrap();
    }
    contains
}

/// The means that contains commands here, and whether a command with that access is held.
fn here_is() -> (String, impl Fn(&str) -> bool) {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_harness"));
    let (_, told, _) = output(doctor.args(["doctor", "--sandbox", "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    let backend = told["backend"].as_str().unwrap().to_owned();
    let name = backend.clone();
    let holds = move |access: &str| {
        let all = told["holds"].as_array().unwrap();
        let own = all.iter().find(|row| row["backend"] == *name).unwrap();
        let accesses = own["accesses"].as_array().unwrap();
        let row = accesses.iter().find(|row| row["access"] == access).unwrap();
        row["contained"].as_bool().unwrap()
    };
    (backend, holds)
}

/// Runs a script of the operator in the conversation's folder, and returns its output.
fn outside(here: &Changing, script: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(here.at(""));
    let (code, out, err) = output(&mut shell);
    assert_eq!(code, 0, "{script}: {out}{err}");
    out
}

async fn with(here: &Changing, access: &str, command: &str) -> Result {
    run(here, json!({"command": command, "access": access})).await
}

/// Spec: [BOX-20]
#[tokio::test]
async fn s8_what_is_held_runs_unasked_and_the_rest_asks() {
    let (backend, holds) = here_is();
    for mode in ["plan", "ask", "edits", "sandbox"] {
        let here = Changing::in_mode(mode).await;
        for access in ["read", "write", "full"] {
            let input = json!({"command": "echo ran", "access": access});
            here.begin("bash", input).await;
            let asked = here.asked().await;
            let is_unasked = match access {
                "read" => holds(access),
                "write" => mode == "plan" || (mode == "sandbox" && holds(access)),
                _ => mode == "plan",
            };
            assert_eq!(asked.is_none(), is_unasked, "{backend} {mode} {access}");
            if let Some(asked) = asked {
                assert_eq!(asked["command"]["backend"], *backend);
                here.answer(&asked, "deny").await;
            }
            here.service.idle(&here.id).await;
        }
    }
}

/// Spec: [BOX-20]
#[tokio::test]
async fn s8_required_runs_nothing_where_nothing_holds_and_off_asks_always() {
    let (backend, _) = here_is();
    for (sandbox, is_run) in [("required", backend != "none"), ("off", true)] {
        let here = Changing::with("sandbox", &["--sandbox", sandbox]).await;
        let call = here
            .begin("bash", json!({"command": "echo ran", "access": "read"}))
            .await;
        let asked = here.asked().await;
        if sandbox == "off" {
            let asked = asked.unwrap();
            assert_eq!(asked["command"]["backend"], "none");
            assert_eq!(asked["command"]["answers_itself"], true);
            assert_eq!(asked["scopes"], json!(["once"]));
            here.answer(&asked, "allow").await;
        }
        let (result, is_error) = here.result(&call).await;
        assert_eq!(!is_error, is_run, "{sandbox}: {result}");
    }
}

/// Spec: [BOX-20] [BASH-203]
#[tokio::test]
async fn s1_nothing_is_written_outside_and_what_reads_writes_nothing() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    // The checkout may be in a folder that is the command's own, such as /tmp.
    let folder = tempfile::tempdir_in(std::env::home_dir().unwrap()).unwrap();
    let outside = fs::canonicalize(folder.path()).unwrap().join("outside");
    fs::write(&outside, "old").unwrap();
    let path = outside.display();
    for text in [
        format!("echo new > {path}"),
        format!("rm -f {path}"),
        format!("mv {path} x"),
        format!("ln {path} x && echo new > x"),
        format!("ln -s {path} y; echo new > y"),
        format!("echo new > ../../..{path}"),
        format!("touch {path}.new && ls {path}.new"),
    ] {
        let (result, is_error) = with(&here, "write", &text).await;
        assert!(is_error, "{text}: {result}");
        // Another file system is not what is complained of.
        if !text.starts_with("ln ") || text.starts_with("ln -s") {
            let told = format!(
                "{path}{} can be written only with access full",
                match text.starts_with("touch") {
                    true => ".new",
                    false => "",
                }
            );
            assert!(result.contains(&told), "{text}: {result}");
        }
        assert_eq!(
            fs::read_to_string(&outside).unwrap(),
            "old",
            "{text}: {result}"
        );
        assert!(!outside.with_extension("new").exists(), "{text}: {result}");
    }
    // A place that nobody could write, and one that is not complained of.
    for text in [
        "echo x > /proc/self/nothing",
        "cat nothing",
        "touch /gone/x",
    ] {
        let (result, is_error) = with(&here, "write", text).await;
        assert!(
            is_error && !result.contains("only with access"),
            "{text}: {result}"
        );
    }
    let (result, is_error) = with(&here, "write", "echo new > inside; cat inside").await;
    assert!(!is_error && here.read("inside") == b"new\n", "{result}");
    for text in ["echo x > inside", "touch made", "rm inside", "mkdir d"] {
        let (result, is_error) = with(&here, "read", text).await;
        assert!(is_error, "{text}: {result}");
        assert!(
            result.contains(" can be written only with access write"),
            "{text}: {result}"
        );
    }
    assert_eq!(here.read("inside"), b"new\n");
    assert!(!here.at("made").exists() && !here.at("d").exists());
    let (result, is_error) = with(&here, "read", "cat inside; echo x >$TMPDIR/x").await;
    assert!(!is_error && result.starts_with("new\n"), "{result}");
}

/// Spec: [BASH-610]
#[tokio::test]
async fn a_hidden_place_is_named_when_the_command_goes_on() {
    if backend() != "namespaces" {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let keys = here.service.home.path().join(".ssh");
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("id.pub"), "").unwrap();
    let key = fs::canonicalize(keys.join("id.pub")).unwrap();
    let key = key.display();
    let (result, is_error) = with(&here, "write", &format!("cat {key}; echo went on")).await;
    let told = format!("{key} is hidden from commands");
    assert!(!is_error && result.contains(&told), "{result}");
    let (result, _) = with(&here, "write", &format!("cat {key}.gone; echo went on")).await;
    assert!(!result.contains("hidden"), "{result}");
}

/// Spec: [BOX-614] [CLI-615]
#[tokio::test]
async fn root_writes_in_a_folder_of_another_user_but_not_what_is_protected() {
    if !contains_commands() {
        return;
    }
    if !Uid::effective().is_root() || backend() != "namespaces" {
        let line = b"NOT TRIED: root in a folder of another user, by namespaces\n";
        return std::io::stderr().write_all(line).unwrap();
    }
    let here = Changing::in_mode("sandbox").await;
    let mut git = Command::new("git");
    let (code, ..) = output(git.args(["init", "-q", "."]).current_dir(here.at("")));
    assert_eq!(code, 0);
    let file = here.file("f", "old\n");
    let config = here.read(".git/config");
    let other = Some(Uid::from_raw(47110));
    for path in [here.at(""), file] {
        chown(&path, other, None).unwrap();
        let closed = fs::metadata(&path).unwrap().mode() & 0o700;
        fs::set_permissions(&path, Permissions::from_mode(closed)).unwrap();
    }
    here.begin("bash", json!({"command": "true", "access": "write"}))
        .await;
    let asked = here.asked().await.unwrap();
    let gaps = asked["command"]["gaps"].to_string();
    assert!(gaps.contains("files of all users"), "{asked}");
    assert_eq!(here.answer(&asked, "deny").await.status, 200);
    here.service.idle(&here.id).await;
    let (result, is_error) = with(&here, "write", "echo new > f; echo made > g; cat f g").await;
    assert!(!is_error && result.starts_with("new\nmade\n"), "{result}");
    let (result, is_error) = with(&here, "read", "cat f").await;
    assert!(!is_error && result.starts_with("new\n"), "{result}");
    let token = here.service.home.path().join(".harness/token");
    for text in [
        "echo evil >> .git/config".to_owned(),
        "chmod 777 .git/config && rm -rf .git/config".to_owned(),
        format!("cat {}", token.display()),
    ] {
        let (result, is_error) = with(&here, "write", &text).await;
        assert!(is_error, "{text}: {result}");
    }
    let (result, _) = with(&here, "write", "grep CapEff /proc/self/status").await;
    assert!(result.contains("000000000000000a"), "{result}");
    assert_eq!(here.read(".git/config"), config);
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_harness"));
    doctor.args(["doctor", "--sandbox", "--json"]);
    let (_, told, _) = output(doctor.current_dir(here.at("")));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["folder"]["can_write"], true, "{told}");
}

/// Spec: [BOX-20]
#[tokio::test]
async fn s3_the_state_folder_is_out_of_sight() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let state = here.service.home.path().join(".harness");
    let token = fs::read_to_string(state.join("token")).unwrap();
    let token = token.trim();
    let path = state.display();
    for text in [
        format!("cat {path}/token"),
        "cat ../.harness/token".to_owned(),
        format!("ln -s {path} s; cat s/token"),
        format!("cat /proc/1/root{path}/token"),
        format!("cat /proc/*/root{path}/token"),
        format!("mv {path} moved; cat moved/token"),
        format!("cp -r {path} copied; cat copied/token"),
        format!("cat {path}/conversations/*.jsonl"),
        "cat /proc/*/environ".to_owned(),
    ] {
        let (result, _) = with(&here, "write", &text).await;
        assert!(!result.contains(token), "{text}: {result}");
        assert!(!result.contains("effect_began"), "{text}: {result}");
    }
    assert!(state.join("token").exists());
}

/// Spec: [BOX-20]
#[tokio::test]
async fn s4_git_works_and_its_hooks_and_configuration_hold() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let git = "git -c user.name=a -c user.email=a@b";
    let outside = |text: &str| outside(&here, text);
    outside("git init -q -b main . && git config user.name a && git config user.email a@b");
    for text in [
        "echo 1 > f && git add f && git commit -qm one".to_owned(),
        "echo 2 > f && git stash -q && git stash pop -q && git commit -qam two".to_owned(),
        "git checkout -q -b side && echo 3 > g && git add g && git commit -qm three".to_owned(),
        "git checkout -q main && git merge -q side && git tag v1 && git gc -q".to_owned(),
        format!("{git} commit -q --amend -m four"),
    ] {
        let (result, is_error) = with(&here, "write", &text).await;
        assert!(!is_error, "{text}: {result}");
    }
    assert_eq!(outside("git log --format=%s | wc -l").trim(), "3");
    let config = here.read(".git/config");
    for text in [
        "git config core.fsmonitor evil",
        "echo evil >> .git/config",
        "echo evil > .git/hooks/pre-commit",
        "mv .git/hooks h && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .git g2; mkdir .git; cp -r g2/* .git/; echo evil > .git/hooks/pre-commit",
        "rm -rf .git/hooks; ln -s /tmp .git/hooks",
        "echo evil > .envrc",
        "git config --worktree core.fsmonitor evil",
    ] {
        let (result, _) = with(&here, "write", text).await;
        assert_eq!(here.read(".git/config"), config, "{text}: {result}");
        let hook = here.at(".git/hooks/pre-commit");
        assert!(!hook.exists(), "{text}: {result}");
        assert!(!here.at(".envrc").exists(), "{text}: {result}");
        assert!(
            fs::symlink_metadata(here.at(".git/hooks"))
                .unwrap()
                .is_dir(),
            "{text}"
        );
        outside("git status --short");
    }
}

/// Spec: [BASH-620]
#[tokio::test]
async fn git_changes_its_configuration_as_long_as_it_runs_no_program_because_of_it() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let outside = |text: &str| outside(&here, text);
    outside(
        "git init -q -b main . && git config user.name a && git config user.email a@b && \
         git commit -q --allow-empty -m one && git branch old && git branch feature && \
         git init -q --bare origin.git && git remote add origin ./origin.git && \
         git push -q origin main feature && git branch -q -D feature",
    );
    for (text, told) in [
        (
            "git remote add two ./origin.git",
            "set remote.two.url, remote.two.fetch",
        ),
        ("git branch -m old older", ""),
        (
            "git switch -q -c feature --track origin/feature",
            "set branch.feature.remote",
        ),
        (
            "git config --unset branch.feature.merge",
            "unset branch.feature.merge",
        ),
        (
            "git switch -q main && git branch -D feature",
            "unset branch.feature.remote",
        ),
        (
            "git push -q -u origin main",
            "set branch.main.remote, branch.main.merge",
        ),
        (
            "git remote remove two",
            "unset remote.two.url, remote.two.fetch",
        ),
    ] {
        let (result, is_error) = with(&here, "write", text).await;
        assert!(!is_error && result.contains(told), "{text}: {result}");
        assert!(!result.contains("onfig file"), "{text}: {result}");
    }
    let configured = outside("git config --local --list; ls .git");
    for (line, is_there) in [
        ("branch.main.remote=origin", true),
        ("remote.two.url", false),
        ("branch.feature", false),
        ("config.lock", false),
    ] {
        assert_eq!(configured.contains(line), is_there, "{line}: {configured}");
    }
    let config = here.read(".git/config");
    for (text, reason) in [
        (
            "git config core.fsmonitor evil",
            "core.fsmonitor names a program",
        ),
        (
            "git config pull.rebase true; git config alias.st '!evil'",
            "alias.st names a program",
        ),
        ("git config a.b c", "a.b is no setting"),
        (
            "git config core.worktree /",
            "core.worktree names a folder outside",
        ),
    ] {
        let (result, _) = with(&here, "write", text).await;
        assert_eq!(here.read(".git/config"), config, "{text}: {result}");
        if backend() == "namespaces" {
            assert!(result.contains(reason), "{text}: {result}");
        }
    }
    // A job's change is taken over at its end.
    let input = json!({"command": "git config pull.ff only; sleep 1", "background": true});
    let (result, is_error) = run(&here, input).await;
    assert!(!is_error, "{result}");
    let is_taken_over = || outside("git config --local --list").contains("pull.ff=only");
    assert!(backend() != "namespaces" || !is_taken_over());
    eventually("the change of the job is taken over", async || {
        is_taken_over()
    })
    .await;
}

/// Spec: [BASH-07] [BOX-783]
#[tokio::test]
async fn s4_a_linked_worktree_commits_and_a_new_repository_runs_nothing() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let (result, is_error) = with(
        &here,
        "write",
        "mkdir n && cd n && git init -q . && ls -A .git/HEAD",
    )
    .await;
    assert!(!is_error, "{result}");
    let evil = "git init -q . && git config core.fsmonitor evil; echo x > .git/hooks/pre-commit";
    let (result, _) = with(
        &here,
        "write",
        &format!("cd {}; {evil}", here.at("").display()),
    )
    .await;
    assert!(result.contains("put aside"), "{result}");
    assert!(!here.at(".git").exists(), "{result}");
    // A worktree of a repository that is elsewhere.
    let main = here.service.home.path().join("main");
    let setup = format!(
        "git init -q -b main {0} && cd {0} && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one \
         && git config user.name a && git config user.email a@b && git worktree add -q {1}/tree -b tree",
        main.display(),
        here.at("").display()
    );
    let (code, out, err) = output(Command::new("sh").args(["-c", &setup]));
    assert_eq!(code, 0, "{out}{err}");
    let tree = here
        .service
        .create(&json!({"workspace": here.at("tree")}))
        .await;
    let mut here = here;
    here.id = tree;
    here.set_mode("sandbox").await;
    let text = "echo 1 > f && git add f && git commit -qm two && git log --format=%s";
    let (result, is_error) = with(&here, "write", text).await;
    assert!(!is_error && result.starts_with("two\none\n"), "{result}");
    // Its repository is in the folder for temporary files, of which a command sees nothing else.
    let (result, is_error) = with(&here, "read", "git log --format=%s").await;
    assert!(!is_error && result.starts_with("two\none\n"), "{result}");
    let text = format!("touch {0}/x; ls {0}/..", main.display());
    let (result, _) = with(&here, "read", &text).await;
    assert!(!main.join("x").exists(), "{result}");
    let text = format!("echo evil > {}/.git/hooks/pre-commit", main.display());
    let (result, _) = with(&here, "write", &text).await;
    assert!(!main.join(".git/hooks/pre-commit").exists(), "{result}");
}

/// Spec: [BASH-206]
#[tokio::test]
async fn no_link_that_a_command_leaves_leads_the_service_out_of_the_folder() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let outside = here.service.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for name in ["config.toml", "config.fish", "authorized_keys"] {
        fs::write(outside.join(name), "own").unwrap();
    }
    let held = || {
        let entries = fs::read_dir(&outside).unwrap().flatten();
        let mut found: Vec<(String, String)> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        found.sort();
        found
    };
    let before = held();
    here.file(".cargo/config.toml", "repository");
    here.file(".config/fish/config.fish", "repository");
    let away = outside.display();
    for text in [
        format!("mv .cargo c2; ln -sfn {away} .cargo"),
        format!("mv .config c3; mkdir .config; ln -s {away} .config/fish"),
        format!("rm -rf .vscode; ln -s {away} .vscode"),
        format!("ln -s {away} .git"),
        format!("mkdir .git; ln -s {away} .git/hooks"),
    ] {
        let (result, _) = with(&here, "write", &text).await;
        assert_eq!(held(), before, "{text}: {result}");
        for place in [".cargo", ".vscode", ".git", ".git/hooks"] {
            let found = fs::symlink_metadata(here.at(place));
            let is_link = found.is_ok_and(|found| found.is_symlink());
            assert!(!is_link, "{text}: {place}: {result}");
        }
    }
    assert_eq!(here.read(".cargo/config.toml"), b"repository");
}

/// Spec: [BASH-206]
#[tokio::test]
async fn a_linked_protected_place_keeps_no_command_from_running() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    here.file("tools/cargo/config.toml", "repository");
    here.file("docs/A.md", "rules");
    std::os::unix::fs::symlink("tools/cargo", here.at(".cargo")).unwrap();
    std::os::unix::fs::symlink("docs/A.md", here.at("AGENTS.md")).unwrap();
    let text = "cat .cargo/config.toml && echo 1 > new && cat new";
    let (result, is_error) = with(&here, "write", text).await;
    assert!(!is_error && result.starts_with("repository1\n"), "{result}");
    for text in [
        "echo evil > AGENTS.md",
        "echo evil > docs/A.md",
        "echo evil > .cargo/config.toml",
        "rm AGENTS.md; echo evil > AGENTS.md",
        "rm .cargo; mkdir .cargo; echo evil > .cargo/config.toml",
    ] {
        let (result, _) = with(&here, "write", text).await;
        assert_eq!(here.read("AGENTS.md"), b"rules", "{text}: {result}");
        let configuration = here.read(".cargo/config.toml");
        assert_eq!(configuration, b"repository", "{text}: {result}");
    }
}

/// Names of protected content, each of another kind.
const CONTENT: [&str; 14] = [
    ".envrc",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".npmrc",
    ".yarnrc.yml",
    ".husky/pre-commit",
    ".devcontainer.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".profile",
    ".gitattributes",
    "AGENTS.md",
    ".claude/commands/x.md",
    ".cargo/config.toml",
];

/// Spec: [BASH-550]
#[tokio::test]
async fn edit_write_bash_and_job_agree_about_every_protected_place() {
    if !contains_commands() {
        return;
    }
    for is_present in [true, false] {
        let here = Changing::in_mode("sandbox").await;
        here.file("src/deep/plain", "");
        std::os::unix::fs::symlink("src", here.at("linked")).unwrap();
        let mut paths = Vec::new();
        for folder in ["", "src/deep/", "linked/deep/"] {
            paths.extend(CONTENT.map(|name| format!("{folder}{name}")));
        }
        for path in paths.iter().filter(|_| is_present) {
            here.file(path, "one\n");
        }
        for path in &paths {
            let (tool, input) = match is_present {
                true => ("edit", edit_of(path, "one", "evil")),
                false => ("write", json!({"path": path, "content": "evil"})),
            };
            let call = here.begin(tool, input).await;
            let approval = here.asked().await.unwrap();
            assert_eq!(approval["change"]["place"], "protected", "{path}");
            here.answer(&approval, "deny").await;
            here.result(&call).await;
        }
        let unchanged = || {
            paths.iter().all(|path| {
                let content = fs::read_to_string(here.at(path)).ok();
                content.as_deref() == is_present.then_some("one\n")
            })
        };
        let each = paths
            .iter()
            .map(|path| format!("mkdir -p $(dirname {path}); echo evil > {path}; "));
        let text: String = each.collect();
        let (result, _) = with(&here, "write", &format!("{text} true")).await;
        assert!(unchanged(), "{is_present}: {result}");
        let text = format!("{text} echo done > done");
        run(&here, json!({"command": text, "background": true})).await;
        eventually("the end of the job", async || {
            here.at("done").exists() && unchanged()
        })
        .await;
    }
}

/// Spec: [BASH-551]
#[tokio::test]
async fn git_moves_protected_files_and_a_commands_own_content_is_taken_back() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let outside = |script: &str| outside(&here, script);
    outside(
        "git init -q -b main . && git config user.name a && git config user.email a@b && mkdir .vscode sub \
         && echo main > AGENTS.md && echo 1 > .vscode/a && echo 1 > sub/.npmrc && git add -A && git commit -qm main \
         && git switch -qc other && echo other > AGENTS.md && echo 2 > .vscode/a && echo 2 > sub/.npmrc \
         && echo 2 > .envrc && git add -A && git commit -qm other && git switch -q main",
    );
    for (text, agents) in [
        ("git switch -q other", "other\n"),
        ("git switch -q main && git merge -q other", "other\n"),
        ("git reset -q --hard HEAD~1", "main\n"),
    ] {
        let (result, is_error) = with(&here, "write", text).await;
        assert!(
            !is_error && !result.contains("protected"),
            "{text}: {result}"
        );
        assert_eq!(
            here.read("AGENTS.md"),
            agents.as_bytes(),
            "{text}: {result}"
        );
        assert_eq!(outside("git status --short"), "", "{text}: {result}");
    }
    for text in [
        "git status; echo evil > AGENTS.md",
        "git switch -qc mine; echo evil > AGENTS.md; git commit -qam evil",
        "git switch -q main; git checkout -q mine -- AGENTS.md",
    ] {
        let (result, _) = with(&here, "write", text).await;
        assert!(
            result.contains("AGENTS.md is protected"),
            "{text}: {result}"
        );
        assert_eq!(here.read("AGENTS.md"), b"main\n", "{text}: {result}");
    }
}

/// Spec: [BASH-207]
#[tokio::test]
async fn a_new_repository_with_a_plain_configuration_stays() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let text = "git init -q -b main . && git config user.name a && git config user.email a@b \
                && git config pull.rebase false && git config push.autoSetupRemote true \
                && git config diff.algorithm histogram && echo 1 > f && git add f && git commit -qm one";
    let (result, is_error) = with(&here, "write", text).await;
    assert!(!is_error && !result.contains("put aside"), "{result}");
    let (result, _) = with(&here, "read", "git log --format=%s && git status --short").await;
    assert!(result.starts_with("one\n["), "{result}");
}

/// Spec: [BOX-20]
#[tokio::test]
async fn s6_the_service_cannot_be_reached_signalled_or_read() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let id = here.service.id();
    let address = here.service.address;
    for text in [
        format!("kill -9 {id}"),
        "kill -9 -1".to_owned(),
        format!("head -c 100 /proc/{id}/environ"),
        format!("head -c 100 /proc/{id}/mem"),
        format!("curl -sS -m 2 http://{address}/v1/conversations"),
        format!(
            "exec 3<>/dev/tcp/{}/{} && echo connected",
            address.ip(),
            address.port()
        ),
    ] {
        let (result, is_error) = with(&here, "write", &text).await;
        assert!(
            is_error && !result.contains("connected"),
            "{text}: {result}"
        );
    }
    let (result, _) = with(&here, "write", "echo alive").await;
    assert!(result.starts_with("alive\n"), "{result}");
}

/// Spec: [BOX-450] [BOX-451] [BOX-452]
#[tokio::test]
async fn s6_a_command_traces_its_own_processes_and_one_that_reads_sends_and_marks_nothing() {
    if !contains_commands() {
        return;
    }
    let here = Changing::in_mode("sandbox").await;
    let calls = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sandbox_calls.py");
    let calls = here.file("calls", fs::read(calls).unwrap());
    let (result, is_error) = with(&here, "write", "python3 calls trace-own").await;
    assert_eq!(!is_error, backend() == "namespaces", "{result}");
    for access in ["read", "write"] {
        let (result, is_error) = with(&here, access, "python3 calls ptrace 1").await;
        let told = "ptrace: [Errno 1]";
        assert!(is_error && result.contains(told), "{access}: {result}");
    }
    let _listener = UnixListener::bind(here.at("socket")).unwrap();
    let (result, is_error) = with(&here, "read", "python3 calls to-path socket").await;
    let told = "to-path: [Errno 1]";
    assert!(is_error && result.contains(told), "{result}");
    let (result, is_error) = with(&here, "read", "python3 calls socketpair").await;
    assert!(!is_error, "{result}");
    let before = fs::metadata(&calls).unwrap();
    for text in ["chmod 600 calls", "touch -d 2001-01-01 calls"] {
        let (result, is_error) = with(&here, "read", text).await;
        assert!(is_error, "{text}: {result}");
    }
    let after = fs::metadata(&calls).unwrap();
    assert_eq!(after.mode(), before.mode());
    assert_eq!(after.mtime(), before.mtime());
}

/// Spec: [SEC-57] [BOX-202]
#[tokio::test]
async fn s6_a_command_with_the_network_is_refused_by_the_service_also_with_the_token() {
    let here = Changing::in_mode("ask").await;
    let token = fs::read_to_string(here.service.home.path().join(".harness/token")).unwrap();
    here.file("token", token);
    let url = format!("http://{}", here.service.address);
    let ask = "curl -s -m 10 -o /dev/null -w '%{http_code} '";
    let with_token = format!("{ask} -H \"authorization: Bearer $(cat token)\"");
    let rule = r#"-H 'content-type: application/json' -d '{"add": [{"action": "allow", "rule": "edit(got)"}]}'"#;
    let text = format!(
        "{ask} {url}/healthz; {ask} {url}/v1/conversations; {with_token} {url}/v1/rules; \
         {with_token} -X PATCH {rule} {url}/v1/rules; setsid -w {with_token} {url}/v1/rules; \
         ({with_token} {url}/v1/approvals) & wait"
    );
    for input in [
        json!({"command": text, "access": "read", "network": true}),
        json!({"command": text, "access": "write", "network": true}),
        json!({"command": text, "access": "full"}),
    ] {
        let (result, _) = run(&here, input.clone()).await;
        assert!(
            result.starts_with(&"403 ".repeat(6)),
            "{}: {result}",
            input["access"]
        );
    }
    let rules = here.service.get("/v1/rules").await;
    assert!(!rules.to_string().contains("edit(got)"), "{rules}");
}
