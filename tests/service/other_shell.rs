//! A shell that is not the one in which the service was started: another folder, another key, the
//! demo.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::alone::Ending;
use crate::program::{API_KEY, Service, command, output};
use crate::screen::Screen;

/// Starts the demo in the background, in a folder below the home folder.
fn start_demo(home: &Path, folder: &str) -> Ending {
    let folder = home.join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut first = command(home);
    first
        .current_dir(folder)
        .args(["--demo", "--plain"])
        .env("HARNESS_PORT", "0");
    let (code, _, err) = output(&mut first);
    assert_eq!(
        (code, err.contains("started a service")),
        (0, true),
        "{err}"
    );
    assert!(err.contains("`harness stop` ends it"), "{err}");
    Ending::of(home)
}

fn in_folder(home: &Path, folder: &str, arguments: &[&str]) -> Command {
    let folder = home.join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = command(home);
    command.current_dir(folder).args(arguments);
    command
}

/// Spec: [CLI-103]
#[tokio::test]
async fn who_asks_for_the_demo_does_not_get_a_service_that_costs_money() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let (code, out, err) = output(
        command(home)
            .args(["--demo", "--plain"])
            .stdin(Stdio::null()),
    );
    assert_eq!((code, &*out), (1, ""));
    let begin = "harness: a service that is not the demo runs already (claude-test at 127.0.0.1:";
    assert!(err.starts_with(begin), "{err}");
    let process = format!("process {})", service.id());
    for part in [
        &*process,
        "`harness` attaches to it",
        "`harness stop`",
        "HARNESS_HOME",
    ] {
        assert!(err.contains(part), "{part} is missing in {err}");
    }
    assert_eq!(err.lines().count(), 1);
    assert_eq!(standin.requests().len(), 0);
    let mut screen = Screen::start(home, &["--demo"], &[]);
    assert_eq!(screen.ended().await, 1);
    screen
        .shows("a service that is not the demo runs already")
        .await;
    // Who attaches is told what it is.
    let mut screen = Screen::start(home, &[], &[]);
    screen.shows("claude-test at 127.0.0.1:").await;
    screen
        .shows(&format!("process {} at http://", service.id()))
        .await;
    screen.keys("\x04");
    assert_eq!(screen.ended().await, 0);
}

/// Spec: [CLI-104] [CLI-106]
#[test]
fn a_prompt_says_once_where_the_service_is_not_what_this_shell_says() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _ending = start_demo(home, "a");
    let (code, _, err) = output(&mut in_folder(home, "a/below", &["prompt", "hi"]));
    assert_eq!((code, &*err), (0, ""));
    for arguments in [
        &["prompt", "hi"][..],
        &["steer", "x"],
        &["follow-up", "x"],
        &["continue"],
        &["retry"],
        &["skill", "none", "x"],
        &["template", "none"],
    ] {
        let mut there = in_folder(home, "b", arguments);
        there
            .env("ANTHROPIC_API_KEY", API_KEY)
            .env("HARNESS_MAX_TURNS", "3");
        let (_, _, err) = output(&mut there);
        let lines: Vec<&str> = err.lines().take(2).collect();
        let [demo, turns] = lines[..] else {
            panic!("{arguments:?}: {err}");
        };
        assert!(demo.starts_with("harness: the demo answers, though this shell has a key (ANTHROPIC_API_KEY): `harness stop`"), "{err}");
        assert_eq!(
            turns,
            "harness: max_turns: 10 in the running service, 3 (HARNESS_MAX_TURNS) in this shell; `harness stop`, then `harness` takes this shell's"
        );
        // Its conversations have folders of their own.
        assert!(!err.contains("the service works in"), "{err}");
        assert_eq!(err.matches("this shell has a key").count(), 1);
        assert!(!err.contains(API_KEY));
    }
    // What only reads is not held up by what harms nobody.
    for arguments in [
        &["conversations"][..],
        &["conversations", "export", "default"],
        &["usage"],
        &["queue"],
        &["cancel"],
        &["logs"],
        &["status"],
        &["settings"],
    ] {
        let mut there = in_folder(home, "b", arguments);
        let (code, _, err) = output(there.env("ANTHROPIC_API_KEY", API_KEY));
        assert_eq!((code, &*err), (0, ""), "{arguments:?}");
    }
}

/// Spec: [TUI-82] [TUI-83] [TUI-85] [TUI-86] [TUI-87]
#[tokio::test]
async fn a_client_shows_what_it_is_attached_to_and_where_that_is_another() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _ending = start_demo(home, "a");
    let mut screen = Screen::start(
        home,
        &["attach", "-c", "default"],
        &[("ANTHROPIC_API_KEY", API_KEY)],
    );
    screen.shows("default · demo · ~/a").await;
    screen.shows("the demo: a few rules, no model").await;
    screen.shows("not as this shell says: demo · /status").await;
    screen.shows("`harness stop` ends it").await;
    screen.keys("hi\r");
    screen.hides("Nothing was said yet").await;
    // The service has it, and not the client alone.
    screen.shows("This is Harness's built-in demo").await;
    screen.keys("/status\r");
    screen
        .shows("differs   the demo answers, though this shell has a key")
        .await;
    screen.shows("~/.harness/logs/serve.log").await;
    screen.keys("\x1b");
    screen.keys("\x04");

    let mut plain = in_folder(home, "a", &["attach", "--plain"]);
    let (code, out, err) = output(&mut plain);
    assert_eq!((code, &*err), (0, ""));
    let mut lines = out.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("status: folder ~/a · model the demo: a few rules, no model · version "),
        "{out}"
    );
    assert_eq!(lines.next(), Some("status: attached to hi (default)"));
    let mut plain = in_folder(home, "b", &["attach", "--plain"]);
    let (_, out, err) = output(&mut plain);
    assert_eq!(err, "");
    let second = out.lines().nth(1).unwrap();
    assert!(
        second.starts_with("status: attached to untitled ("),
        "{out}"
    );
    assert!(
        !second.contains("(default)"),
        "it has one of its own: {out}"
    );
}

/// Spec: [CONF-66]
#[test]
fn config_shows_the_settings_of_the_running_service_where_they_differ() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let alone = output(command(home).arg("config")).1;
    assert!(!alone.contains("running service"), "{alone}");
    let _ending = start_demo(home, "a");
    let mut config = in_folder(home, "a", &["config"]);
    let (code, out, err) = output(config.env("HARNESS_MODEL", "claude-here"));
    assert_eq!((code, &*err), (0, ""));
    let line = out.lines().find(|line| line.starts_with("model "));
    let line = line
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(
        line,
        "model claude-here HARNESS_MODEL (running service: claude-3-haiku-20240307, default)"
    );
    // The port was given to the service only.
    assert_eq!(out.matches("running service").count(), 2, "{out}");
    let (_, out, _) = output(&mut in_folder(home, "a", &["config", "--json"]));
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = rows["items"].as_array().unwrap();
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap();
    let port = serde_json::json!({"value": 0, "source": "HARNESS_PORT", "differs": true});
    assert_eq!(row("port")["running"], port);
    assert_eq!(row("model")["running"]["differs"], false);
}

/// Spec: [CLI-105]
#[tokio::test]
async fn a_service_says_where_it_listens_what_it_works_in_and_where_its_state_is() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let home = tempfile::tempdir().unwrap();
    let mut child = command(home.path())
        .args(["serve", "--demo", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = tokio::process::ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
    let mut lines = BufReader::new(out).lines();
    let mut said = Vec::new();
    for _ in 0..4 {
        let line = crate::client::within("a line", lines.next_line()).await;
        said.push(line.unwrap().unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = home.path().canonicalize().unwrap();
    assert!(said[0].starts_with("harness listens on http://127.0.0.1:"));
    assert_eq!(said[1], format!("it works in {}", folder.display()));
    let state = home.path().join(".harness");
    assert_eq!(said[2], format!("its state is in {}", state.display()));
    assert_eq!(said[3], "this is the demo: a few rules answer, no model");
}
