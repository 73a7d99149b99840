//! Checks that are really run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::time::Instant;

use super::super::testing::Plain;
use super::*;

/// Longer than a check takes that is ended; one that is not sleeps for 600 s.
const HANG: Duration = Duration::from_secs(20);

fn shell(line: &str, time_limit_s: u64) -> ServiceCommand {
    ServiceCommand {
        program: Program::Shell(line.to_owned()),
        cwd: None,
        env: BTreeMap::new(),
        time_limit_s,
        network: false,
    }
}

fn run_in(root: &Path, command: &ServiceCommand) -> CheckRun {
    run_with(root, command, Redaction::default(), &StopHandle::default()).0
}

fn run_with(
    root: &Path,
    command: &ServiceCommand,
    redaction: Redaction,
    stop: &StopHandle,
) -> (CheckRun, Vec<String>) {
    let mut lines = Vec::new();
    let order = CheckOrder {
        launcher: &Plain,
        command,
        root,
        files: &BTreeMap::new(),
        closed: Arc::default(),
        redaction,
    };
    let run = run_check(&order, stop, &mut |line| lines.push(line.to_owned()));
    (run, lines)
}

/// The process whose number the check has written there is gone within a moment.
fn is_gone(file: &Path) -> bool {
    let pid: i32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        // A zombie that nobody waited for yet has ended.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if kill(Pid::from_raw(pid), None).is_err() || stat.contains(") Z ") {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// Spec: [FLOW-70]
#[test]
fn a_check_ends_with_its_exit_code_or_its_signal() {
    let home = tempfile::tempdir().unwrap();
    let run = run_in(home.path(), &shell("echo out; echo err >&2; exit 3", 10));
    assert_eq!(
        (run.exit, run.signal, run.timed_out),
        (Some(3), None, false)
    );
    assert_eq!(run.output.text, "out\nerr\n");
    assert_eq!(run.not_started, None);
    let run = run_in(home.path(), &shell("kill -9 $$", 10));
    assert_eq!((run.exit, run.signal), (None, Some(9)));
}

/// Spec: [FLOW-70]
#[test]
fn a_check_that_cannot_be_started_says_why() {
    let home = tempfile::tempdir().unwrap();
    let with = |program: Program, cwd: Option<&str>| ServiceCommand {
        program,
        cwd: cwd.map(str::to_owned),
        ..shell("", 10)
    };
    let cmd = |words: &[&str]| Program::Cmd(words.iter().map(|word| (*word).to_owned()).collect());
    for (command, reason) in [
        (with(cmd(&["no-such-program"]), None), "no-such-program"),
        (with(cmd(&[]), None), "names no program"),
        (with(cmd(&["true"]), Some("none")), "its folder none"),
        (with(cmd(&["true"]), Some("..")), "its folder .."),
        (
            ServiceCommand {
                env: [("A=B".to_owned(), String::new())].into(),
                ..shell("true", 10)
            },
            "A=B",
        ),
    ] {
        let run = run_in(home.path(), &command);
        let said = run.not_started.unwrap();
        assert!(said.contains(reason), "{said}");
        assert_eq!((run.exit, run.signal), (None, None));
    }
    let gone = run_in(&home.path().join("gone"), &shell("true", 10));
    assert!(gone.not_started.unwrap().contains("gone"));
}

/// Spec: [FLOW-71]
#[test]
fn a_check_has_a_clean_environment_no_input_and_its_own_folder() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("sub")).unwrap();
    let command = ServiceCommand {
        cwd: Some("sub".to_owned()),
        env: [("OWN".to_owned(), "a b".to_owned())].into(),
        ..shell("env; cat; pwd", 10)
    };
    let run = run_in(home.path(), &command);
    let names: Vec<&str> = run
        .output
        .text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    let said: Vec<&str> = run.output.text.lines().collect();
    for line in [
        "OWN=a b",
        "CI=1",
        "TERM=dumb",
        "NO_COLOR=1",
        "GIT_TERMINAL_PROMPT=0",
    ] {
        assert!(said.contains(&line), "{line}");
    }
    for name in ["CARGO", "CARGO_MANIFEST_DIR", "HARNESS_REQUIRE_TOKEN"] {
        assert!(!names.contains(&name), "{name}");
    }
    let folder = fs::canonicalize(home.path().join("sub")).unwrap();
    assert_eq!(said.last().copied(), folder.to_str());
    let temp = said.iter().find_map(|line| line.strip_prefix("TMPDIR="));
    assert!(!Path::new(temp.unwrap()).exists());
}

/// Spec: [FLOW-72]
#[test]
fn case_17_a_check_is_ended_when_its_time_is_over_with_all_of_its_group() {
    let home = tempfile::tempdir().unwrap();
    let line = "sleep 600 & echo $! >sleeper; trap '' TERM; echo started; wait; sleep 600";
    let began = Instant::now();
    let run = run_in(home.path(), &shell(line, 3));
    assert!(began.elapsed() < HANG, "{:?}", began.elapsed());
    assert!(run.timed_out && !run.cancelled);
    assert_eq!((run.exit, run.output.text.as_str()), (None, "started\n"));
    assert!(is_gone(&home.path().join("sleeper")));
}

/// Spec: [FLOW-72]
#[test]
fn a_check_that_heeds_being_asked_ends_at_once() {
    let home = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let run = run_in(home.path(), &shell("exec sleep 600", 3));
    assert!(run.timed_out);
    // It was asked, and not killed after its grace.
    assert_eq!(run.signal, Some(15));
    assert!(began.elapsed() < HANG, "{:?}", began.elapsed());
}

/// Spec: [FLOW-73]
#[test]
fn case_18_a_server_that_a_check_leaves_is_ended_with_it() {
    let home = tempfile::tempdir().unwrap();
    let line = "sleep 600 >/dev/null 2>&1 & echo $! >server";
    let run = run_in(home.path(), &shell(line, 20));
    assert_eq!((run.exit, run.timed_out), (Some(0), false));
    assert!(is_gone(&home.path().join("server")));
}

/// Spec: [FLOW-74]
#[test]
fn case_19_of_50_mb_of_output_1_mib_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let line = "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let run = run_in(home.path(), &shell(line, 60));
    assert_eq!(run.exit, Some(0));
    assert_eq!(run.output.total, 50_000_009);
    assert!(run.output.text.len() <= MAX_KEPT);
    assert!(run.output.tail.ends_with("x\nthe end\n"));
    assert_eq!(run.output.tail.len(), MAX_TAIL);
}

/// Spec: [FLOW-75]
#[test]
fn lines_are_shown_as_they_come_without_secrets() {
    let home = tempfile::tempdir().unwrap();
    let redaction = Redaction::new(vec!["sk-0123456789".into()]);
    let line = "echo one; printf 'key sk-01'; printf '23456789\\nlast'";
    let stop = StopHandle::default();
    let (run, lines) = run_with(home.path(), &shell(line, 10), redaction, &stop);
    assert_eq!(lines, ["one", "key ***", "last"]);
    assert_eq!(run.output.text, "one\nkey ***\nlast");
}

/// Spec: [FLOW-76]
#[test]
fn a_check_is_stopped_from_another_thread_and_not_started_after_that() {
    let home = tempfile::tempdir().unwrap();
    let stop = StopHandle::default();
    let other = stop.clone();
    let order = CheckOrder {
        launcher: &Plain,
        command: &shell("echo started; exec sleep 600", 60),
        root: home.path(),
        files: &BTreeMap::new(),
        closed: Arc::default(),
        redaction: Redaction::default(),
    };
    // The line says that it runs.
    let run = run_check(&order, &stop, &mut |_| {
        let other = other.clone();
        std::thread::spawn(move || other.stop());
    });
    assert!(run.cancelled && !run.timed_out);
    assert_eq!(run.output.text, "started\n");
    let again = run_check(&order, &stop, &mut |_| panic!("it was started"));
    assert!(again.cancelled);
    assert_eq!(again.output.total, 0);
}

/// Spec: [FLOW-77]
#[test]
fn hidden_files_are_there_for_the_check_alone() {
    let home = tempfile::tempdir().unwrap();
    let order = CheckOrder {
        launcher: &Plain,
        command: &shell("cat hidden/test", 10),
        root: home.path(),
        files: &[("hidden/test".to_owned(), "secret test\n".to_owned())].into(),
        closed: Arc::default(),
        redaction: Redaction::default(),
    };
    let run = run_check(&order, &StopHandle::default(), &mut |_| {});
    assert_eq!(
        (run.exit, run.output.text.as_str()),
        (Some(0), "secret test\n")
    );
    assert_eq!(run.files_left, [""; 0]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

/// Spec: [FLOW-78]
#[test]
fn a_check_may_write_in_its_tree_but_not_in_gits_files_and_reaches_the_network_only_if_asked() {
    let home = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(home.path()).unwrap();
    let mut command = shell("true", 10);
    for network in [false, true] {
        command.network = network;
        let order = CheckOrder {
            launcher: &Plain,
            command: &command,
            root: &root,
            files: &BTreeMap::new(),
            closed: [root.join("state")].into(),
            redaction: Redaction::default(),
        };
        let launch = launch_order(&order, &root, Path::new("/tmp/own")).unwrap();
        assert_eq!(launch.access, Access::Write);
        assert_eq!(launch.network, network);
        assert_eq!(launch.workspace, root);
        assert_eq!(launch.temp, Path::new("/tmp/own"));
        assert!(launch.writable.is_empty());
        assert_eq!(launch.protected, [root.join(".git")]);
        assert_eq!(*launch.closed, [root.join("state")]);
    }
}
