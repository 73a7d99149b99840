//! The command line as scripts use it: flags, errors, files, and a person at a terminal beside them.

use std::path::Path;

use harness_standin::{ApiError, Gate, Message, Model, Reply};

use crate::client::within;
use crate::program::{API_KEY, MODEL, Service, command, output};
use crate::screen::Screen;

/// Runs a command; its exit code, output and errors.
async fn ran(home: &Path, line: &[&str]) -> (i32, String, String) {
    let mut command = command(home);
    command.args(line);
    let running = tokio::task::spawn_blocking(move || output(&mut command));
    within("the end of the command", running).await.unwrap()
}

/// Spec: [CLI-08] [CLI-340] [CLI-341] [CLI-342] [CLI-344]
#[test]
fn wrong_use_has_one_voice_and_global_flags_stand_anywhere() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    let state = state.to_str().unwrap();
    let run = |line: &[&str]| output(command(home.path()).args(line));
    let none = format!("harness: no service runs for {state}; start one with `harness serve`\n");
    for line in [
        &["--home", state, "conversations"][..],
        &["conversations", "--home", state],
    ] {
        assert_eq!(run(line), (1, String::new(), none.clone()));
    }
    for (line, told) in [
        (
            &["prompt", ""][..],
            "the prompt is empty: give it as TEXT or on standard input; \
             see `harness prompt --help`",
        ),
        (
            &["steer", " "],
            "the message is empty: give it as TEXT or on standard input; \
             see `harness steer --help`",
        ),
        (
            &["events", "--after", "garbage"],
            "invalid value 'garbage' for '--after <POSITION>': it is neither the number of a \
             record nor a position of the form <epoch>-<seq>-<sum>; see `harness events --help`",
        ),
        (
            &["prompt", "--model", "m", "Hi"],
            "--model is for a new conversation, with --new; `harness settings set` changes it in \
             one that there is",
        ),
        (
            &["man", "nothing"],
            "there is no command `harness nothing`; `harness --help` lists them",
        ),
    ] {
        let told = format!("harness: {told}\n");
        assert_eq!(run(line), (2, String::new(), told), "{line:?}");
    }
    let (code, out, err) = run(&["prompt", "--help"]);
    assert_eq!((code, &*err), (0, ""));
    assert!(out.contains("| head"), "{out}");
    let (code, out, err) = run(&["completions", "bash"]);
    assert_eq!((code, &*err), (0, ""));
    assert!(out.contains("complete -F _harness"), "{out}");
}

/// Spec: [CLI-06]
#[tokio::test]
async fn a_value_that_cannot_be_has_the_same_exit_code_wherever_it_is_seen() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    for line in [
        &["settings", "set", "colour=red"][..],
        &["settings", "set", "max-turns=0"],
        &["conversations", "new", "--max-turns", "0"],
        &["conversations", "new", "--max-turns", "x"],
    ] {
        let (code, out, err) = ran(home, line).await;
        assert_eq!((code, &*out), (2, ""), "{line:?}");
        assert!(
            err.starts_with("harness: ") && err.lines().count() == 1,
            "{err}"
        );
    }
}

/// Spec: [CLI-349] [CLI-350] [CLI-352] [CLI-357] [CLI-470] [MODEL-471]
#[tokio::test]
async fn a_prompt_of_its_own_writes_its_reply_to_a_file_or_leaves_it_as_it_was() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let file = home.join("reply.txt");
    let path = file.to_str().unwrap();
    script.push(Reply::text("One."));
    let new = ["prompt", "--new", "-q", "-o", path, "Hi"];
    assert_eq!(ran(home, &new).await, (0, String::new(), String::new()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "One.\n");
    let sent = standin.requests().last().unwrap().json();
    assert_eq!(sent["max_tokens"], Model::new(MODEL).max_tokens);

    script.push(ApiError::new(400, "invalid_request_error", "no"));
    let (code, out, err) = ran(home, &new).await;
    assert_eq!((code, &*out), (1, ""));
    assert!(
        err.starts_with("harness: invalid_request_error: no"),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "One.\n");

    script.push(Reply::text("Two."));
    let turns = ["prompt", "--new", "--max-turns", "7", "Hi"];
    let (code, out, err) = ran(home, &turns).await;
    assert_eq!((code, &*out), (0, "Two.\n"));
    let id = err.trim().strip_prefix("harness: conversation ").unwrap();
    let set = async |id: &str| {
        let settings = service
            .get(&format!("/v1/conversations/{id}/settings"))
            .await;
        settings["effective"]["max_turns"].clone()
    };
    assert_eq!(set(id).await, 7);
    assert_eq!(set("default").await, 10);
    let (_, made, _) = ran(home, &["conversations", "new"]).await;
    assert_eq!(set(made.trim()).await, 200);
    script.push(Reply::text("Three."));
    service.submit("hello").await;
    service.idle("default").await;
    let sent = standin.requests().last().unwrap().json();
    assert_eq!(sent["max_tokens"], 4096);
}

/// Spec: [CLI-352]
#[tokio::test]
async fn a_limit_that_the_service_was_given_holds_in_what_is_made() {
    let (service, _standin, _script) = Service::scripted(&["--max-turns", "5"]).await;
    let (_, made, _) = ran(service.home.path(), &["conversations", "new"]).await;
    let settings = format!("/v1/conversations/{}/settings", made.trim());
    assert_eq!(service.get(&settings).await["effective"]["max_turns"], 5);
}

/// Spec: [CLI-358] [CLI-359] [CLI-633]
#[tokio::test]
async fn a_prompt_waits_for_the_run_that_is_going_if_it_is_told_to() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let gate = Gate::new();
    let reply = Message::new().words_per_delta(1).text("one two three");
    script.push(reply.gate_after_delta(1, &gate));
    script.push(Reply::text("Second."));
    service.submit("hello").await;
    within("the reply", gate.reached()).await;
    let default = ["-c", "default"];
    let (code, _, err) = ran(&home, &[&["prompt"], &default[..], &["Hi"]].concat()).await;
    assert_eq!(code, 1);
    for way in ["harness steer", "harness follow-up", "--wait"] {
        assert!(err.contains(way), "{err}");
    }
    let (code, out, err) = ran(&home, &[&["cancel", "--run", "999"], &default[..]].concat()).await;
    let told = "harness: there is no run 999; run 1 is going, and continues\n";
    assert_eq!((code, &*out, &*err), (1, "", told));
    let late = [
        "prompt",
        "--wait",
        "--timeout",
        "200ms",
        "-c",
        "default",
        "Hi",
    ];
    let (code, _, err) = ran(&home, &late).await;
    assert_eq!(code, 124, "{err}");
    let waiting =
        tokio::spawn(async move { ran(&home, &["prompt", "--wait", "-c", "default", "Hi"]).await });
    // It is attached, beside the client of this test that is none.
    loop {
        let shown = service.get("/v1/conversations/default").await;
        if shown["attached"] == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    gate.open();
    let (code, out, _) = within("the second reply", waiting).await.unwrap();
    assert_eq!((code, &*out), (0, "Second.\n"));
}

/// Spec: [CLI-356]
#[tokio::test]
async fn a_person_is_asked_before_a_conversation_is_deleted() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let (_, made, _) = ran(home, &["conversations", "new", "--title", "Ideas"]).await;
    let made = made.trim();
    let delete = ["conversations", "delete", "Ideas"];
    let mut screen = Screen::start(home, &delete, &[]);
    screen.shows("(Ideas, 0 prompts) to the trash? [y/N]").await;
    screen.keys("n\r");
    assert_eq!(screen.ended().await, 1);
    let path = format!("/v1/conversations/{made}");
    assert_eq!(service.get(&path).await["summary"]["title"], "Ideas");
    let mut screen = Screen::start(home, &delete, &[]);
    screen.shows("to the trash? [y/N]").await;
    screen.keys("y\r");
    assert_eq!(screen.ended().await, 0);
    assert_eq!(service.send("GET", &path, "", "").await.status, 404);
}

/// Spec: [MODEL-340]
#[tokio::test]
async fn a_wrong_key_is_told_with_where_it_is_from_and_never_shown() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(ApiError::new(
        401,
        "authentication_error",
        "invalid x-api-key",
    ));
    let (code, _, err) = ran(service.home.path(), &["prompt", "Hi"]).await;
    assert_eq!(code, 1);
    let told = "the key that was sent is api_key from ANTHROPIC_API_KEY: `harness config` shows";
    assert!(err.contains(told), "{err}");
    assert!(!err.contains(API_KEY));
}
