//! `harness status`, `stop` and `restart`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness_standin::{Gate, Message};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::Instant;

use crate::alone::{Ending, discovery};
use crate::bounds::took_at_most;
use crate::client::within;
use crate::program::{API_KEY, Service, command, output};
use crate::screen::Screen;

/// Runs a command of the program to its end, beside the tasks of the test.
async fn ran(mut command: Command) -> (i32, String, String) {
    let ran = tokio::task::spawn_blocking(move || output(&mut command));
    within("the end of a command", ran).await.unwrap()
}

/// Runs the program with these words, separated by blanks.
async fn harness(home: &Path, words: &str) -> (i32, String, String) {
    let mut command = command(home);
    command.args(words.split(' '));
    ran(command).await
}

/// The line of a fact in what `harness status` prints.
fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let lines = text.lines();
    let mut facts = lines.filter_map(|line| line.strip_prefix(name));
    facts.next().unwrap_or_default().trim()
}

/// A service of an older version, in the parts that are visible from outside: a process that has the lock of the state
/// folder, and a file that names it without a key to prove it by.
struct Older {
    child: Child,
}

impl Older {
    async fn start(home: &Path) -> Self {
        let folder = home.join(".harness");
        std::fs::create_dir(&folder).unwrap();
        let child = Command::new("flock")
            .args(["-F", folder.join("lock").to_str().unwrap(), "sleep", "60"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let file = json!({"address": "127.0.0.1:1", "pid": child.id(), "epoch": "e"});
        let path = folder.join("service.json");
        std::fs::write(&path, file.to_string()).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let older = Self { child };
        within("its lock", async {
            while harness(home, "status").await.0 != 4 {}
        })
        .await;
        older
    }
}

impl Drop for Older {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Spec: [CLI-92] [CLI-93]
#[tokio::test]
async fn status_tells_what_runs_and_where_it_is_not_what_this_shell_says() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let folder = home.canonicalize().unwrap();
    let mut same = command(&home);
    same.args(["status", "--json"])
        .env("ANTHROPIC_API_KEY", API_KEY);
    let (code, out, err) = ran(same).await;
    assert_eq!((code, &*err), (0, ""));
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["state"], "running");
    assert_eq!(told["service"]["pid"], service.id());
    assert_eq!(told["service"]["workspace"], json!(folder));
    let differing: Vec<&Value> = told["differences"].as_array().unwrap().iter().collect();
    let keys: Vec<&str> = differing
        .iter()
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["base_url", "model", "port", "log"]);

    let mut other = command(&home);
    other
        .arg("status")
        .env("ANTHROPIC_API_KEY", "sk-another-key")
        .env("HARNESS_MODEL", "claude-here");
    let (code, out, _) = ran(other).await;
    assert_eq!(code, 0);
    assert_eq!(fact(&out, "folder"), folder.display().to_string());
    assert_eq!(
        fact(&out, "answers"),
        format!("claude-test at {}", host(&told))
    );
    assert_eq!(fact(&out, "version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        fact(&out, "process"),
        format!("{}, in the foreground", service.id())
    );
    assert_eq!(fact(&out, "address"), format!("http://{}", service.address));
    assert_eq!((fact(&out, "clients"), fact(&out, "runs")), ("0", "0"));
    assert!(
        fact(&out, "log").ends_with(".harness/logs/serve.log"),
        "{out}"
    );
    for line in [
        "differs   model: claude-test (--model) in the running service, claude-here (HARNESS_MODEL) in this shell\n",
        "differs   api_key: another one than in this shell's ANTHROPIC_API_KEY\n",
    ] {
        assert!(out.contains(line), "{line} is missing in:\n{out}");
    }
    for secret in [API_KEY, "sk-another-key"] {
        assert!(!out.contains(secret));
    }

    // The file that it leaves behind names a process that has ended.
    service.kill();
    let (code, out, err) = harness(&home, "status").await;
    assert_eq!((code, &*err), (3, ""));
    let left = format!("service.json of process {}, which has ended", service.id());
    assert_eq!(fact(&out, "left"), left);
    let (code, out, _) = harness(&home, "status --json").await;
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &told["state"], &told["service"]),
        (3, &json!("none"), &Value::Null)
    );
}

fn host(told: &Value) -> &str {
    told["service"]["upstream"]["host"].as_str().unwrap()
}

/// Spec: [CLI-92] [CLI-95] [CONF-67]
#[tokio::test]
async fn a_service_that_hangs_is_told_in_time_and_can_be_stopped() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    service.signal(Signal::SIGSTOP);
    // Without a limit of its own, each of the two would wait for ever.
    let asked = Instant::now();
    let (code, out, _) = harness(&home, "status").await;
    took_at_most(Duration::from_secs(10), asked.elapsed());
    let said = format!("the service at {} does not answer", service.address);
    assert_eq!((code, fact(&out, "service")), (4, &*said));
    assert_eq!(fact(&out, "process"), service.id().to_string());

    let asked = Instant::now();
    let (code, out, err) = harness(&home, "config").await;
    took_at_most(Duration::from_secs(10), asked.elapsed());
    assert_eq!(code, 0);
    let note = format!("harness: {said}; only the settings of this shell are shown\n");
    assert_eq!(err, note);
    assert!(!out.contains("running service"), "{out}");

    let mut restart = command(&home);
    restart.arg("restart").env("ANTHROPIC_API_KEY", API_KEY);
    let (code, _, err) = ran(restart).await;
    assert_eq!(code, 1);
    assert!(
        err.contains("`harness restart --now` does not wait"),
        "{err}"
    );
    let (code, out, err) = harness(&home, "stop").await;
    assert_eq!(
        (code, out),
        (
            0,
            format!("stopped the service, process {}\n", service.id())
        )
    );
    assert!(err.contains("does not say whether runs are going"), "{err}");
    assert_eq!(service.ended().await.code(), Some(0));
}

/// Spec: [CLI-92] [CLI-96] [CLI-101]
#[tokio::test]
async fn a_service_of_an_older_version_is_told_and_can_be_stopped() {
    let home = tempfile::tempdir().unwrap();
    let mut older = Older::start(home.path()).await;
    let pid = older.child.id();
    let (code, out, _) = harness(home.path(), "status").await;
    assert_eq!(code, 4);
    let said = format!("the running service (process {pid}) is older than 0.2");
    assert!(fact(&out, "service").starts_with(&said), "{out}");
    assert_eq!(fact(&out, "address"), "http://127.0.0.1:1");
    let (_, out, _) = harness(home.path(), "status --json").await;
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&told["state"], &told["file"]["pid"]),
        (&json!("other_version"), &json!(pid))
    );

    // How it was started is not known: it is no program of ours.
    let (code, _, err) = harness(home.path(), "restart").await;
    assert_eq!(code, 1);
    assert!(err.contains("`harness stop; cd FOLDER; harness`"), "{err}");
    assert!(older.child.try_wait().unwrap().is_none());

    let (code, out, err) = harness(home.path(), "stop").await;
    assert_eq!(
        (code, out),
        (0, format!("stopped the service, process {pid}\n"))
    );
    assert!(err.contains("ends as interrupted"), "{err}");
    let (code, out, _) = harness(home.path(), "stop").await;
    assert_eq!((code, out.starts_with("no service runs for ")), (0, true));
}

/// Spec: [CLI-95] [CLI-96]
#[tokio::test]
async fn what_runs_is_stopped_only_when_told_so() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let gate = Gate::new();
    let reply = Message::new().words_per_delta(1).text("one two three");
    script.push(reply.gate_after_delta(1, &gate));
    service.submit("hello").await;
    within("the reply", gate.reached()).await;
    let (code, out, err) = harness(&home, "stop").await;
    let said = "harness: 1 run is going; nothing was stopped: wait for the end, or `harness stop --force`\n";
    assert_eq!((code, &*out, &*err), (1, "", said));

    let mut screen = Screen::start(&home, &["stop"], &[]);
    screen.shows("Stop the service? [y/N]").await;
    screen.keys("n\r");
    assert_eq!(screen.ended().await, 1);
    assert_eq!(service.get("/v1/service").await["runs"], 1);

    let (code, out, err) = harness(&home, "stop --force").await;
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(
        out,
        format!("stopped the service, process {}\n", service.id())
    );
    assert_eq!(service.ended().await.code(), Some(0));
    assert!(service.log().contains("stopped"), "{}", service.log());
}

/// Spec: [CLI-100] [CLI-101] [CLI-102] [TUI-84]
#[tokio::test]
async fn a_restart_keeps_how_the_service_was_started_and_its_clients() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    let mut first = command(home.path())
        .current_dir(&folder)
        .args(["serve", "--demo", "--port", "0", "--max-turns=7"])
        .env("HARNESS_MODEL", "claude-env")
        .env("HARNESS_TOKEN", "a-token-of-the-old-shell")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    within("the service", async {
        while harness(home.path(), "status").await.0 != 0 {}
    })
    .await;
    let mut screen = Screen::start(home.path(), &["attach", "-c", "default"], &[]);
    screen.shows("~/project").await;
    // This shell says something else, which does not count; a token does.
    let mut restart = command(home.path());
    restart
        .arg("restart")
        .env("HARNESS_MODEL", "claude-other")
        .env("HARNESS_MAX_TURNS", "9");
    let (code, out, err) = ran(restart).await;
    let _ending = Ending::of(home.path());
    assert_eq!((code, &*err), (0, ""), "{out}");
    first.wait().unwrap();
    let pid = discovery(home.path()).unwrap().pid;
    let version = env!("CARGO_PKG_VERSION");
    let canonical = folder.canonicalize().unwrap();
    let begin = format!(
        "restarted in the background: harness {version}, process {pid}, for {}",
        canonical.display()
    );
    assert!(out.starts_with(&begin), "{out}");

    let (code, out, _) = harness(home.path(), "status --json").await;
    let told: Value = serde_json::from_str(&out).unwrap();
    let service = &told["service"];
    assert_eq!((code, &service["detached"]), (0, &json!(true)));
    assert_eq!(service["upstream"]["kind"], "demo");
    assert_eq!(service["workspace"], json!(canonical));
    let setting = |key: &str| {
        let settings = service["settings"].as_array().unwrap();
        let found = settings.iter().find(|it| it["key"] == key).unwrap();
        (found["value"].clone(), found["source"].clone())
    };
    assert_eq!(setting("max_turns"), (json!("7"), json!("--max-turns")));
    assert_eq!(
        setting("model"),
        (json!("claude-env"), json!("HARNESS_MODEL"))
    );
    assert_eq!(setting("token"), (Value::Null, json!("default")));
    // The client is there by itself, and it is the same service for it.
    screen.shows("connected again").await;
    screen.keys("/status\r");
    screen.shows(&format!("process {pid} at http://")).await;
    screen.shows("the demo: a few rules, no model").await;
}

/// Spec: [CLI-100]
#[tokio::test]
async fn a_restart_waits_for_runs_and_stops_nothing_that_it_cannot_start_again() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    // The key comes from the shell that restarts.
    let (code, _, err) = harness(&home, "restart").await;
    assert_eq!(code, 1);
    let said = "harness: the service goes on as it is, because another would not start: no API key";
    assert!(err.starts_with(said), "{err}");
    std::fs::write(home.join(".harness/config.toml"), "max_turns = 0\n").unwrap();
    let restart = || {
        let mut restart = command(&home);
        restart.arg("restart").env("ANTHROPIC_API_KEY", API_KEY);
        restart
    };
    let (code, _, err) = ran(restart()).await;
    assert_eq!((code, err.contains("max_turns must")), (1, true), "{err}");
    std::fs::remove_file(home.join(".harness/config.toml")).unwrap();
    assert_eq!(service.get("/v1/service").await["pid"], service.id());

    let gate = Gate::new();
    let reply = Message::new().words_per_delta(1).text("one two three");
    script.push(reply.gate_after_delta(1, &gate));
    service.submit("hello").await;
    within("the reply", gate.reached()).await;
    let mut waiting = restart()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let err = tokio::process::ChildStderr::from_std(waiting.stderr.take().unwrap()).unwrap();
    let mut lines = BufReader::new(err).lines();
    let said = within("a remark", lines.next_line())
        .await
        .unwrap()
        .unwrap();
    assert!(
        said.starts_with("harness: 1 run is going; the restart waits"),
        "{said}"
    );
    assert_eq!(service.get("/v1/service").await["pid"], service.id());
    gate.open();
    service.idle("default").await;
    assert_eq!(service.ended().await.code(), Some(0));
    let ended = tokio::task::spawn_blocking(move || waiting.wait());
    let ended = within("the restart", ended).await.unwrap().unwrap();
    let _ending = Ending::of(&home);
    assert_eq!(ended.code(), Some(0));
    assert_ne!(discovery(&home).unwrap().pid, service.id());
    let (code, out, _) = harness(&home, "conversations show default --json").await;
    assert_eq!(code, 0);
    assert!(out.contains("one two three"), "{out}");
}

/// Spec: [CLI-100]
#[tokio::test]
async fn without_a_service_there_is_nothing_to_restart() {
    let home = tempfile::tempdir().unwrap();
    let (code, _, err) = harness(home.path(), "restart").await;
    assert_eq!(code, 1);
    assert!(err.starts_with("harness: no service runs for "), "{err}");
    assert!(!home.path().join(".harness").exists());
}
