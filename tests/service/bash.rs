//! Commands that the model runs, over HTTP: their ends, their remains and their results.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use harness_standin::Reply;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bounds::{stretched, took_at_most};
use crate::changing::{Changing, Result};
use crate::eventually::eventually;
use crate::program::slow_search;

/// Lets the model run a command, and allows it if it asks. What it changes at protected places is taken back.
pub(crate) async fn run(here: &Changing, input: Value) -> Result {
    let call = here.begin("bash", input).await;
    while let Some(approval) = here.asked().await {
        let is_change = approval["change"]["by_command"] == true;
        let verdict = if is_change { "deny" } else { "allow" };
        let answer = here.answer(&approval, verdict).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    here.result(&call).await
}

/// Lets the model run a command that is not told to its end, and allows it.
async fn begin(here: &Changing, text: &str) {
    let call = Reply::tool_calls([("begun", "bash", json!({"command": text}))]);
    here.script.extend([call]);
    here.talk().prompt("go on").await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
}

async fn command(here: &Changing, command: &str) -> Result {
    run(here, json!({"command": command})).await
}

/// Processes with that text in their command line.
pub(crate) fn processes(marker: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.parse::<u32>().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(marker)).collect()
}

/// Waits until no process has that text in its command line.
pub(crate) async fn none_left(marker: &str, limit: Duration) {
    let begun = Instant::now();
    let end = begun + limit;
    loop {
        let left = processes(marker);
        if left.is_empty() {
            return;
        }
        if Instant::now() > end {
            let stretched = stretched(limit);
            println!("left after {limit:?}, which are {stretched:?} on this machine now: {left:?}");
            assert!(
                begun.elapsed() < stretched,
                "left after {stretched:?}: {left:?}"
            );
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A number of seconds that no other test sleeps.
pub(crate) fn marked(number: u32) -> String {
    format!("9{:05}.{number:03}", std::process::id() % 100_000)
}

/// Spec: [BASH-01] [BASH-03]
#[tokio::test]
async fn b1_exit_codes_signals_and_the_order_of_what_is_written() {
    let here = Changing::in_mode("ask").await;
    for (text, told, is_error) in [
        ("echo hi", "hi\n[exit 0 · ", false),
        ("echo a; echo b >&2; echo c", "a\nb\nc\n[exit 0 · ", false),
        ("printf x; exit 7", "x\n[exit 7 · ", true),
        ("kill -9 $$", "[ended by SIGKILL · ", true),
        ("kill -TERM $$", "[ended by SIGTERM · ", true),
        ("no-such-program", "not found\n[exit 127 · ", true),
        ("echo 'unfinished", "[exit ", true),
        ("grep -q x /dev/null", "[exit 1 · ", false),
        ("false", "[exit 1 · ", true),
        ("cat; echo after", "after\n[exit 0 · ", false),
        ("tty", "not a tty\n[exit 1 · ", true),
    ] {
        let (result, failed) = command(&here, text).await;
        assert!(result.contains(told), "{text}: {result}");
        assert_eq!(failed, is_error, "{text}: {result}");
    }
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// The duration of a command by its result, from its start to the end of its last process.
fn seconds(result: &str) -> f64 {
    let last = result.lines().last().unwrap();
    let mut notes = last.split(" · ").filter_map(|note| {
        let note = note.trim_end_matches(']').strip_suffix(" s")?;
        note.parse().ok()
    });
    notes.next().unwrap()
}

/// Spec: [BASH-02]
#[tokio::test]
async fn b2_a_call_ends_with_its_shell_and_leaves_nothing() {
    let here = Changing::in_mode("ask").await;
    for (number, text) in [
        (1, "sleep @ & echo hi"),
        (2, "nohup sleep @ >/dev/null 2>&1 & echo hi"),
        (3, "setsid sleep @ & echo hi"),
        (4, "(setsid nohup sh -c 'sleep @ & sleep @' &) ; echo hi"),
        (
            5,
            "trap '' TERM; (trap '' TERM HUP; sleep @; sleep @) & echo hi",
        ),
    ] {
        let sleep = marked(number);
        let (mut result, _) = command(&here, &text.replace('@', &sleep)).await;
        // What else the machine does only makes it longer, so the best of three counts.
        for _ in 0..2 {
            if seconds(&result) <= 1.5 {
                break;
            }
            (result, _) = command(&here, &text.replace('@', &sleep)).await;
        }
        let took = Duration::from_secs_f64(seconds(&result));
        took_at_most(Duration::from_millis(1500), took);
        assert!(result.starts_with("hi\n[exit 0 · "), "{text}: {result}");
        let left = format!("sleep {sleep}");
        assert!(
            result.contains("still running and ended: "),
            "{text}: {result}"
        );
        let is_named = result.contains(&left) || result.contains("a subshell");
        assert!(is_named, "{text}: {result}");
        none_left(&left, Duration::from_millis(100)).await;
    }
}

/// Spec: [BASH-02]
#[tokio::test]
async fn b3_nothing_is_left_when_the_service_is_killed() {
    let mut here = Changing::in_mode("ask").await;
    for (number, text) in [
        (11, "sleep @"),
        (
            12,
            "setsid sleep @ & (trap '' TERM HUP INT; setsid sh -c 'sleep @; sleep @') & wait",
        ),
    ] {
        let sleep = format!("sleep {}", marked(number));
        let text = text.replace("sleep @", &sleep);
        begin(&here, &text).await;
        eventually("the command", async || processes(&sleep).len() >= 2).await;
        here.service.kill();
        none_left(&sleep, Duration::from_secs(1)).await;
        here = here.restarted().await;
        let (result, is_error) = command(&here, "echo again").await;
        assert!(!is_error && result.starts_with("again\n"), "{result}");
    }
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-06]
#[tokio::test]
async fn b4_a_cancel_ends_two_hundred_processes() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(21));
    let text = format!("for i in $(seq 200); do (trap '' TERM; {sleep}) & done; wait");
    begin(&here, &text).await;
    eventually("the processes", async || processes(&sleep).len() >= 200).await;
    let cancelled = here.order("POST", "/cancel", &json!({})).await;
    assert_eq!(cancelled.status, 200);
    none_left(&sleep, Duration::from_secs(1)).await;
    let (result, _) = command(&here, "echo next").await;
    assert!(result.starts_with("next\n"), "{result}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-18]
#[tokio::test]
async fn b4_the_files_that_a_cancelled_command_changed_are_told() {
    let here = Changing::in_mode("ask").await;
    here.file("known", "one\n");
    let (_, failed) = here.call("read", json!({"path": "known"})).await;
    assert!(!failed);
    let sleep = marked(22);
    let text = format!("echo two >>known; echo x >made; touch ready; sleep {sleep}");
    begin(&here, &text).await;
    eventually("the changes", async || here.at("ready").exists()).await;
    let cancelled = here.order("POST", "/cancel", &json!({})).await;
    assert_eq!(cancelled.status, 200);
    here.service.idle(&here.id).await;
    none_left(&format!("sleep {sleep}"), Duration::from_secs(1)).await;
    let path = format!("/v1/conversations/{}?tail=200", here.id);
    let past = here.service.get(&path).await;
    let events = past["history"]["events"].as_array().unwrap().iter();
    let mut events = events.map(|past| &past["event"]);
    let changed = events.find(|event| event["type"] == "files_changed");
    let changed = changed.unwrap_or_else(|| panic!("{past}"));
    assert_eq!(changed["call"], "begun");
    let names = changed["changes"].as_array().unwrap().iter().map(|change| {
        let name = change["path"].as_str().unwrap().rsplit('/').next().unwrap();
        format!("{} {name}", change["action"].as_str().unwrap())
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["changed known", "made made", "made ready"]);
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    assert_eq!(here.read("known"), b"one\n");
    assert!(!here.at("made").exists());
}

/// Spec: [BASH-06]
#[tokio::test]
async fn b5_a_command_has_its_time_and_not_that_of_other_tools() {
    let here = Changing::in_mode("ask").await;
    let sleep = marked(31);
    let before = Instant::now();
    let text = format!("echo begun; sleep {sleep}");
    let (result, is_error) = run(&here, json!({"command": text, "timeout_s": 3})).await;
    assert!(
        is_error && result.starts_with("begun\n[timed out after 3 s"),
        "{result}"
    );
    took_at_most(Duration::from_secs(7), before.elapsed());
    none_left(&sleep, Duration::from_millis(100)).await;
    for seconds in [0, -1, 601] {
        let (result, is_error) = run(&here, json!({"command": "true", "timeout_s": seconds})).await;
        assert!(is_error && result.contains("it is 1 to 600"), "{result}");
    }
}

/// Spec: [BASH-08] [BASH-09]
#[tokio::test]
async fn b6_a_long_output_is_told_by_its_ends_and_kept_to_be_read() {
    let here = Changing::in_mode("ask").await;
    let (result, _) = command(&here, "seq 1 200000").await;
    assert!(result.starts_with("1\n2\n3\n"), "{}", &result[..100]);
    assert!(result.contains("\n199999\n200000\n[exit 0 · "));
    assert!(result.len() < 40_000, "{}", result.len());
    let place = result.rsplit_once("read the path ").unwrap().1;
    let place = place.split_whitespace().next().unwrap();
    let range = json!({"path": place, "start_line": 100_000, "end_line": 100_002});
    let (read, is_error) = here.call("read", range).await;
    assert!(
        !is_error && read.contains("100000\\n100001\\n100002"),
        "{read}"
    );
    let (read, is_error) = here.call("read", json!({"path": "output:none"})).await;
    assert!(is_error && read.contains("not found"), "{read}");
    // A line of 8 MB, and bytes that are no text.
    let text = "head -c 8000000 /dev/zero | tr '\\0' x; printf '\\377\\376ok\\n'";
    let (result, _) = command(&here, text).await;
    assert!(
        result.len() < 40_000 && result.contains("ok\n[exit 0"),
        "{}",
        result.len()
    );
}

/// A server that asks everybody for a name and a password, until the test ends.
fn asking_server() -> u16 {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            // Another protocol's client ends with what it does not understand.
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n",
            ));
        }
    });
    port
}

/// Spec: [BASH-05] [BASH-204]
#[tokio::test]
async fn b8_nothing_waits_for_a_person() {
    let here = Changing::in_mode("ask").await;
    let setup =
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    let (result, is_error) = command(&here, setup).await;
    assert!(!is_error, "{result}");
    let long: String = (0..1000).map(|line| format!("line {line}\n")).collect();
    here.file("long", long);
    let port = asking_server();
    let push = format!("git push http://somebody@127.0.0.1:{port}/x.git HEAD");
    let ssh = format!("ssh -p {port} somebody@127.0.0.1 true");
    let push_by_ssh = format!("git push ssh://somebody@127.0.0.1:{port}/x.git HEAD");
    let mut missing = Vec::new();
    for (text, network) in [
        ("cat", false),
        ("read x", false),
        (
            "git -c user.name=a -c user.email=a@b commit --allow-empty",
            false,
        ),
        ("git -c user.name=a -c user.email=a@b commit --amend", false),
        ("git rebase -i --root", false),
        ("git log", false),
        (&*push, true),
        (&*push, false),
        (&*push_by_ssh, true),
        (&*ssh, true),
        (&*ssh, false),
        ("less long", false),
        ("man bash", false),
        ("mkdir -p new && cd new && npm init", false),
        ("bash -i </dev/null", false),
        ("python3 -c 'input()'", false),
        ("sudo true", false),
    ] {
        let input = json!({"command": text, "network": network, "timeout_s": 20});
        let (result, _) = run(&here, input).await;
        assert!(!result.contains("timed out"), "{text}: {result}");
        assert!(seconds(&result) < 15.0, "{text}: {result}");
        assert!(
            !result.contains("still running and ended"),
            "{text}: {result}"
        );
        if result.contains("command not found") {
            missing.push(text);
        }
    }
    let (result, _) = command(&here, "git log --format=%s").await;
    assert!(result.starts_with("one\n[exit 0"), "{result}");
    // What is not installed was not tried, which the checks do not take for done.
    if !missing.is_empty() {
        eprintln!("not available, and so not tried: {missing:?}");
    }
    let is_checked = std::env::var_os("CI").is_some();
    assert!(!is_checked || missing.is_empty(), "{missing:?}");
}

/// Spec: [BASH-05]
#[tokio::test]
async fn b9_the_environment_is_what_is_documented_and_no_descriptor_is_passed() {
    let here = Changing::in_mode("ask").await;
    let (result, _) = command(&here, "env -0 | cut -z -d= -f1 | sort -z | tr '\\0' '\\n'").await;
    let names: BTreeSet<&str> = result
        .lines()
        .filter(|line| !line.starts_with('['))
        .collect();
    for name in ["PATH", "HOME", "TMPDIR", "PAGER", "GIT_EDITOR", "TERM"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    for name in [
        "ANTHROPIC_API_KEY",
        "HARNESS_HOME",
        "HARNESS_TOKEN",
        "RUST_LOG",
    ] {
        assert!(!names.contains(name), "{name}: {names:?}");
    }
    let (result, _) = command(&here, "ls /proc/self/fd | tr '\\n' ' '").await;
    // The last one is the folder that ls reads.
    assert!(result.starts_with("0 1 2 3 \n"), "{result}");
    let (result, _) = command(&here, "readlink /proc/self/fd/0; umask; ulimit -c").await;
    assert!(result.starts_with("/dev/null\n00"), "{result}");
    // The temporary folder is the command's alone, and gone after it.
    let (result, _) = command(&here, "echo $TMPDIR; touch $TMPDIR/x; stat -c %a $TMPDIR").await;
    let mut lines = result.lines();
    let temp = lines.next().unwrap();
    assert_eq!(lines.next(), Some("700"));
    assert!(!std::path::Path::new(temp).exists(), "{temp}");
}

/// Spec: [BASH-04]
#[tokio::test]
async fn b10_the_folder_is_carried_to_the_next_command_also_over_a_restart() {
    let mut here = Changing::in_mode("ask").await;
    fs::create_dir_all(here.at("src/deep")).unwrap();
    let real = fs::canonicalize(here.at("")).unwrap();
    let at = |name: &str| format!("{}\n[exit 0", real.join(name).display());
    let (result, _) = command(&here, "cd src/deep; X=1").await;
    assert!(result.contains("now in src/deep"), "{result}");
    let (result, _) = command(&here, "pwd -P; echo \"$X\" >&2").await;
    assert!(
        result.starts_with(&at("src/deep").replace("[exit 0", "\n[exit 0")),
        "{result}"
    );
    here = here.restarted().await;
    let (result, _) = command(&here, "pwd -P").await;
    assert!(result.starts_with(&at("src/deep")), "{result}");
    let (result, _) = run(&here, json!({"command": "pwd -P", "workdir": "src"})).await;
    assert!(result.starts_with(&at("src")), "{result}");
    // Elsewhere is not carried.
    command(&here, "cd /").await;
    let (result, _) = command(&here, "pwd -P").await;
    assert!(result.starts_with(&at("src")), "{result}");
    for workdir in ["..", "/", "gone"] {
        let (result, is_error) = run(&here, json!({"command": "pwd", "workdir": workdir})).await;
        assert!(is_error && result.contains("workdir"), "{result}");
    }
}

/// Spec: [BASH-12]
#[tokio::test]
async fn b12_what_takes_too_much_is_ended_and_the_service_answers() {
    let here = Changing::in_mode("ask").await;
    let call = here
        .begin(
            "bash",
            json!({"command": "for i in $(seq 3000); do sleep 60 & done; wait"}),
        )
        .await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    // To start so many takes its time.
    let limit = Duration::from_secs(120);
    let ended = tokio::time::timeout(limit, here.service.at_rest(&here.id)).await;
    ended.expect("the end of the run");
    let (result, is_error) = here.result(&call).await;
    assert!(
        is_error && result.contains("it took too much: "),
        "{result}"
    );
    let (result, _) = command(&here, "echo alive").await;
    assert!(result.starts_with("alive\n"), "{result}");
}

/// Spec: [BASH-01]
#[tokio::test]
async fn b14_what_is_shown_is_what_runs() {
    let here = Changing::in_mode("ask").await;
    let long = format!("echo {}", "x".repeat(100_000));
    let (result, is_error) = command(&here, &long).await;
    assert!(!is_error, "{}", &result[..100]);
    let (result, is_error) = command(&here, &"x".repeat(200_000)).await;
    assert!(is_error && result.contains("of at most"), "{result}");
    for text in [
        "echo a\r\necho b",
        "echo \u{202e}txt",
        "echo 'a\tb'",
        "  echo x",
    ] {
        here.begin("bash", json!({"command": text})).await;
        let approval = here.asked().await.unwrap();
        assert_eq!(approval["command"]["command"], text);
        assert_eq!(here.answer(&approval, "deny").await.status, 200);
        here.service.idle(&here.id).await;
    }
    for text in ["", "  ", "a\u{0}b"] {
        let (result, is_error) = command(&here, text).await;
        assert!(is_error && result.contains("command"), "{text:?}: {result}");
    }
}

/// Spec: [TOOL-77]
#[tokio::test]
async fn b3_a_search_is_not_left_either_when_the_service_is_killed() {
    let mut here = Changing::in_mode("ask").await;
    let (name, content, pattern) = slow_search();
    let file = here.file(name, content);
    let marker = file.to_str().unwrap();
    let call = Reply::tool_calls([("begun", "grep", json!({"pattern": pattern, "path": marker}))]);
    here.script.extend([call]);
    here.talk().prompt("go on").await;
    eventually("the search", async || !processes(marker).is_empty()).await;
    here.service.kill();
    none_left(marker, Duration::from_secs(1)).await;
}
