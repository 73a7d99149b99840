use std::time::Duration;

use serde_json::{Value, json};

use super::tests::{
    CANCEL, EVENTS, PROMPT, accepted, attached, ended, order, prompt, stream, text, user,
};
use crate::client::testing::{Part, Server, answer, frames, opening};

fn busy_answer() -> Vec<u8> {
    let problem = json!({"type": "urn:harness:problem:busy", "title": "busy", "status": 409,
        "detail": "a run is going; wait for its end or cancel it", "request_id": "r"});
    answer(409, &problem)
}

/// Spec: [CLI-358]
#[actix::test]
async fn while_a_run_is_going_the_ways_out_are_named_or_its_end_is_waited_for() {
    let server = Server::start().await;
    server.on(PROMPT, vec![busy_answer()]);
    server.say(EVENTS, vec![stream(4, &[attached(Some(6))])]);
    let error = prompt(&server, order(None, false))
        .await
        .result
        .unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert_eq!(
        error.to_string(),
        "a run is going; wait for its end or cancel it; `harness steer` tells the model something \
         now, `harness follow-up` says it at the end, and --wait sends this then"
    );

    let server = Server::start().await;
    server.on(PROMPT, vec![busy_answer(), accepted()]);
    let mut other = ended(5, "completed");
    other.1["run_id"] = json!(6);
    let parts = vec![
        opening(4).into(),
        frames(&[attached(Some(6))]).into(),
        Part::Await(PROMPT),
        frames(&[other, user(6), text(7, "Hello."), ended(8, "completed")]).into(),
    ];
    server.say(EVENTS, vec![parts]);
    let mut waiting = order(None, false);
    waiting.ways.wait = true;
    let done = prompt(&server, waiting).await;
    assert_eq!(done.result.as_ref().unwrap(), &0);
    assert_eq!(done.record.out(), "Hello.\n");
    let told = "harness: a run is going; this is sent at its end\n";
    assert_eq!(done.record.err(), told);
    let sent = done.requests.iter().filter(|sent| sent.contains(PROMPT));
    assert_eq!(sent.count(), 2);
}

/// Spec: [CLI-359]
#[actix::test]
async fn when_its_time_is_over_a_wait_ends_and_a_run_is_cancelled() {
    let timed = |wait: bool, limit_ms: u64| {
        let mut timed = order(None, false);
        timed.ways.wait = wait;
        timed.ways.timeout = Some(Duration::from_millis(limit_ms));
        timed
    };
    // Before the service has answered that it is busy, and after that.
    for pause in [200, 0] {
        let server = Server::start().await;
        let busy = vec![
            Part::Pause(Duration::from_millis(pause)),
            busy_answer().into(),
        ];
        server.say(PROMPT, vec![busy]);
        let parts = vec![
            opening(4).into(),
            frames(&[attached(Some(6))]).into(),
            Part::Hang,
        ];
        server.say(EVENTS, vec![parts]);
        let error = prompt(&server, timed(true, 50)).await.result.unwrap_err();
        assert_eq!(error.exit_code(), 124);
        assert_eq!(error.to_string(), "nothing was sent within 50ms");
    }

    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    server.on(CANCEL, vec![answer(200, &json!({"cancelled": true}))]);
    let parts = vec![
        opening(4).into(),
        frames(&[attached(None), user(5)]).into(),
        Part::Await(CANCEL),
        frames(&[ended(7, "cancelled")]).into(),
    ];
    server.say(EVENTS, vec![parts]);
    // On a busy machine the run has to begin within the limit, too.
    let done = prompt(&server, timed(false, 3000)).await;
    assert_eq!(done.result.as_ref().unwrap(), &124);
    let told = "harness: the time of --timeout is over; the run was cancelled\n";
    assert!(done.record.err().ends_with(told), "{}", done.record.err());
}

/// Spec: [CLI-357]
#[test]
fn settings_of_a_run_are_those_of_a_new_conversation() {
    use clap::Parser as _;

    let parsed = |flags: &[&str]| {
        let line = ["harness", "prompt"].iter().chain(flags);
        match crate::cli::Cli::try_parse_from(line).unwrap().command {
            Some(crate::cli::ProgramCommand::Client(crate::client::ClientCommand::Prompt(it))) => {
                it
            }
            other => panic!("{other:?}"),
        }
    };
    for (flags, settings) in [
        (&["Hi"][..], None),
        (&["--new", "Hi"], Some(json!({}))),
        (
            &[
                "--new",
                "--model",
                "m",
                "--thinking",
                "high",
                "--max-turns",
                "3",
                "Hi",
            ],
            Some(json!({"model": "m", "thinking": "high", "max_turns": 3})),
        ),
    ] {
        let given = parsed(flags).settings().unwrap();
        assert_eq!(given.map(Value::from), settings, "{flags:?}");
    }
    for (flag, value) in [
        ("--model", "m"),
        ("--thinking", "high"),
        ("--max-turns", "3"),
    ] {
        let error = parsed(&[flag, value, "Hi"]).settings().unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let told = format!(
            "{flag} is for a new conversation, with --new; `harness settings set` changes it in \
             one that there is"
        );
        assert_eq!(error.to_string(), told);
    }
}
