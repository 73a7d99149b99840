//! `harness workflow check --run`: the checks of a file on the base.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness_actors::attachment::sha256;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::bash::{marked, none_left, processes};
use crate::eventually::eventually;
use crate::program::{command, output};
use crate::workflow_ground::{file, git, repository};

const FILE: &str = ".harness/workflows/words.toml";

/// The command in a repository, with a home of its own.
fn check(home: &Path, repository: &TempDir, arguments: &[&str]) -> Command {
    let mut command = command(home);
    command
        .current_dir(repository.path())
        .env("HARNESS_WORKTREES", home.join("worktrees"))
        .args(["workflow", "check", FILE, "--run"])
        .args(arguments);
    command
}

fn left(home: &Path) -> Vec<String> {
    let below = |folder: &Path| -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let own = below(&home.join("worktrees"));
    let files = own.iter().flat_map(|folder| below(folder));
    let names = files.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

/// Spec: [FLOW-101]
#[test]
fn what_is_red_and_green_on_the_base_is_told_before_anything_is_made() {
    let home = tempfile::tempdir().unwrap();
    let check_of_all = "\n[[check]]\nid = \"words\"\ncmd = [\"grep\", \"Words\", \"README\"]\n";
    let text = file("strict", check_of_all, &["one", "two"]);
    let repository = repository(&text);
    let run = |arguments: &[&str]| output(&mut check(home.path(), &repository, arguments));
    let hash = sha256(text.as_bytes());
    // Nobody is asked where nobody can answer.
    let (code, out, err) = run(&[]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains(&format!("--approve {hash}")), "{err}");
    assert!(
        out.contains("feature one: one.1: grep right one.txt"),
        "{out}"
    );
    let (code, _, err) = run(&["--approve", "beef"]);
    assert!(code == 1 && err.contains("look at it again"), "{err}");
    let (code, out, err) = run(&["--approve", &hash]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    let commit = git(repository.path(), &["rev-parse", "HEAD"]);
    for part in [
        "\n  green  words: ended with code 0 (",
        "\n  red    feature one: one.1: ended with code 2 instead of 0 (",
        "\n  red    feature two: two.1: ended with",
        &format!("\nevery check is as it has to be on {commit}\n"),
    ] {
        assert!(out.contains(part), "{part:?} is not in {out}");
    }
    // What is not committed is not of the base, and one that is green there shows nothing.
    fs::write(repository.path().join("two.txt"), "right\n").unwrap();
    assert_eq!(run(&["--approve", &hash]).0, 0);
    git(repository.path(), &["add", "two.txt"]);
    git(repository.path(), &["commit", "--quiet", "--message=two"]);
    let (code, out, err) = run(&["--approve", &hash, "--json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("has 1 check that cannot be used"), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let [words, one, two] = &checks[..] else {
        panic!("{told:#}");
    };
    assert_eq!(
        (&words["verdict"], &one["verdict"]),
        (&"passed".into(), &"failed".into())
    );
    assert_eq!((words.get("problem"), one.get("problem")), (None, None));
    assert_eq!(
        (&two["feature"], &two["tail"]),
        (&"two".into(), &"right\n".into())
    );
    assert!(
        two["problem"]
            .as_str()
            .unwrap()
            .starts_with("green on the base"),
        "{two}"
    );
    // Nothing of it is left, and nothing was made.
    assert_eq!(left(home.path()), [""; 0]);
    assert_eq!(
        git(repository.path(), &["worktree", "list"])
            .lines()
            .count(),
        1
    );
    assert_eq!(
        git(
            repository.path(),
            &["for-each-ref", "refs/harness", "refs/heads/harness"]
        ),
        ""
    );
    assert!(!home.path().join(".harness").exists());
}

/// Spec: [FLOW-101]
#[tokio::test]
async fn ctrl_c_ends_what_runs_and_removes_the_worktree() {
    let home = tempfile::tempdir().unwrap();
    let sleeping = marked(261);
    let slow = format!("\n[[check]]\nid = \"slow\"\ncmd = [\"sleep\", \"{sleeping}\"]\n");
    let text = file("strict", &slow, &["one"]);
    let repository = repository(&text);
    let hash = sha256(text.as_bytes());
    let mut command = check(home.path(), &repository, &["--approve", &hash]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    eventually("the check", async || !processes(&sleeping).is_empty()).await;
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    let status = tokio::task::spawn_blocking(move || child.wait()).await;
    assert_eq!(status.unwrap().unwrap().code(), Some(130));
    none_left(&sleeping, Duration::from_secs(5)).await;
    assert_eq!(left(home.path()), [""; 0]);
    assert_eq!(
        git(repository.path(), &["worktree", "list"])
            .lines()
            .count(),
        1
    );
}
