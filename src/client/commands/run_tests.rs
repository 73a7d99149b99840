use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::client::commands::common::MessageArgs;
use crate::client::commands::common::WaysArgs;
use crate::client::commands::order::{CommandOrder, NAME};
use crate::client::testing::{
    Home, Part, Record, Server, answer, frames, impatient, opening, recorded,
};
use harness_protocol::PromptOrder;

pub(super) const EVENTS: &str = "/v1/conversations/default/events";
pub(super) const PROMPT: &str = "/v1/conversations/default/prompt";
pub(super) const CANCEL: &str = "/v1/conversations/default/cancel";
const CONVERSATION: &str = "/v1/conversations/default";

pub(super) fn order(key: Option<&str>, json: bool) -> Addressed {
    let body = PromptOrder {
        content: "Hi".to_owned(),
        key: Some(key.unwrap_or("random").to_owned()),
        ..PromptOrder::default()
    };
    Addressed {
        asks: None,
        ways: WaysArgs::default(),
        is_new: false,
        is_typed: false,
        conversation: "default".to_owned(),
        route: routes::prompt("default", &body),
        by: NAME.to_owned(),
        key: key.map_or(OrderKey::New, |_| OrderKey::Known),
        json,
    }
}

/// The result of a prompt to a server.
pub(super) struct Done {
    pub(super) result: Result<i32, CommandError>,
    pub(super) record: Record,
    pub(super) requests: Vec<String>,
}

impl Done {
    fn count(&self, request: &str) -> usize {
        let requests = self.requests.iter();
        requests.filter(|sent| sent.starts_with(request)).count()
    }
}

async fn prompt_with(server: &Server, order: Addressed, presses: usize) -> Done {
    let home = Home::of(server);
    let (mut output, record) = recorded();
    let (press, receiver): (UnboundedSender<()>, _) = unbounded_channel();
    let mut interrupts = Interrupts::new(receiver);
    let pressing = async {
        // Each press has its effect before the next.
        for effect in [PROMPT, CANCEL].into_iter().take(presses) {
            server.until_asked(effect).await;
            press.send(()).unwrap();
        }
    };
    let running = run(
        order,
        &home.config,
        impatient(),
        &mut interrupts,
        &mut output,
    );
    let (result, ()) = tokio::join!(running, pressing);
    Done {
        result: result.map(|run| run.code),
        record,
        requests: server.requests(),
    }
}

pub(super) async fn prompt(server: &Server, order: Addressed) -> Done {
    prompt_with(server, order, 0).await
}

pub(super) fn attached(run_id: Option<u64>) -> (u64, Value) {
    let mut event = json!({"type": "attached", "conversation": "default", "position": "e-4-0",
        "state": "thinking", "message": ""});
    if let Some(run_id) = run_id {
        event["run_id"] = json!(run_id);
    } else {
        event["state"] = json!("idle");
    }
    (0, event)
}

pub(super) fn user(seq: u64) -> (u64, Value) {
    (
        seq,
        json!({"type": "user", "content": "Hi", "run_id": 7, "timestamp": 1}),
    )
}

fn delta(offset: u64, text: &str) -> (u64, Value) {
    (
        0,
        json!({"type": "delta", "index": 0, "kind": "text", "offset": offset, "text": text}),
    )
}

pub(super) fn text(seq: u64, content: &str) -> (u64, Value) {
    (
        seq,
        json!({"type": "text", "content": content, "timestamp": 1}),
    )
}

pub(super) fn ended(seq: u64, outcome: &str) -> (u64, Value) {
    (
        seq,
        json!({"type": "run_ended", "run_id": 7, "outcome": outcome, "message": "",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0}, "timestamp": 1}),
    )
}

pub(super) fn accepted() -> Vec<u8> {
    answer(200, &json!({"run_id": 7}))
}

pub(super) fn stream(seq: u64, events: &[(u64, Value)]) -> Vec<Part> {
    vec![opening(seq).into(), frames(events).into()]
}

/// Spec: [CLI-41] [CLI-46]
#[actix::test]
async fn the_reply_is_streamed_and_the_exit_code_tells_the_end() {
    for (outcome, code) in [
        ("completed", 0),
        ("error", 1),
        ("interrupted", 1),
        ("cancelled", 130),
        ("of a newer service", 1),
    ] {
        let server = Server::start().await;
        server.on(PROMPT, vec![accepted()]);
        let events = [
            attached(None),
            user(5),
            delta(0, "Hel"),
            delta(3, "lo"),
            text(6, "Hello."),
            ended(7, outcome),
        ];
        server.say(EVENTS, vec![stream(4, &events)]);
        let done = prompt(&server, order(None, false)).await;
        assert_eq!(done.result.unwrap(), code, "{outcome}");
        assert_eq!(done.record.out(), "Hello.\n");
        let attaching = &done.requests[0];
        assert!(attaching.starts_with("GET /v1/conversations/default/events?name=harness-prompt "));
        assert!(done.requests[1].ends_with(r#"{"content":"Hi","key":"random"}"#));
    }
}

/// Spec: [CLI-41] [CLI-31]
#[actix::test]
async fn a_break_in_the_middle_of_a_text_does_not_show_in_it() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    let first = [attached(None), user(5), text(6, "One."), delta(0, "Tw")];
    let second = [
        delta(0, "Two, thr"),
        attached(Some(7)),
        delta(8, "ee"),
        text(7, "Two, three."),
        ended(8, "completed"),
    ];
    server.say(EVENTS, vec![stream(4, &first), stream(6, &second)]);
    let done = prompt(&server, order(None, false)).await;
    assert_eq!(done.result.unwrap(), 0);
    assert_eq!(done.record.out(), "One.\nTwo, three.\n");
    let again = done.requests.last().unwrap();
    assert!(again.contains("\r\nlast-event-id: e-6-0\r\n"), "{again}");
    assert!(
        done.record.err().contains("attaching again in 1ms"),
        "{}",
        done.record.err()
    );
}

/// Spec: [CLI-47] [CLI-118]
#[actix::test]
async fn a_prompt_whose_answer_was_lost_is_sent_again_with_its_key_and_its_run_is_found() {
    let server = Server::start().await;
    let torn: Vec<u8> = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n".to_vec();
    let late = json!({"type": "x", "title": "late", "status": 504, "detail": "it is not known",
        "request_id": "r"});
    server.on(
        PROMPT,
        vec![torn[..20].to_vec(), answer(504, &late), accepted()],
    );
    let past = json!({"seq": 5, "id": "e-5-0", "event": user(5).1});
    let snapshot = json!({"summary": crate::client::testing::summary("default"), "state": "thinking",
        "message": "", "settings": {}, "queue": [], "attached": 1,
        "history": {"events": [past]}, "position": "e-5-0"});
    server.on(CONVERSATION, vec![answer(200, &snapshot)]);
    let second = [user(5), text(6, "Hello."), ended(7, "completed")];
    server.say(
        EVENTS,
        vec![stream(4, &[attached(None)]), stream(4, &second)],
    );
    let done = prompt(&server, order(None, false)).await;
    assert_eq!(done.result.as_ref().unwrap(), &0);
    assert_eq!(done.record.out(), "Hello.\n");
    let prompts: Vec<_> = done
        .requests
        .iter()
        .filter(|sent| sent.contains(PROMPT))
        .collect();
    assert_eq!(prompts.len(), 3);
    assert!(
        prompts
            .iter()
            .all(|sent| sent.contains(r#""key":"random""#))
    );
}

/// Spec: [CLI-48]
#[actix::test]
async fn a_known_key_shows_its_run_from_where_it_began_on() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    let other = json!({"seq": 600, "id": "e-600-0", "event":
        {"type": "user", "content": "Later", "run_id": 8, "timestamp": 1}});
    let snapshot = json!({"summary": crate::client::testing::summary("default"), "state": "idle",
        "message": "", "settings": {}, "queue": [], "attached": 1,
        "history": {"events": [other], "before": 600}, "position": "e-600-0"});
    let page = json!({"events": [{"seq": 5, "id": "e-5-0", "event": user(5).1}], "before": 5});
    server.on(CONVERSATION, vec![answer(200, &snapshot)]);
    server.on(
        "/v1/conversations/default/history",
        vec![answer(200, &page)],
    );
    let past = [user(5), text(6, "Hello."), ended(7, "error")];
    server.say(
        EVENTS,
        vec![stream(600, &[attached(None)]), stream(4, &past)],
    );
    let done = prompt(&server, order(Some("nightly"), false)).await;
    assert_eq!(done.result.as_ref().unwrap(), &1);
    assert_eq!(done.record.out(), "Hello.\n");
    assert_eq!(
        done.count("GET /v1/conversations/default/events?name=harness-prompt&after=4 "),
        1
    );
    assert_eq!(
        done.count("GET /v1/conversations/default/history?before=600&limit=100 "),
        1
    );
}

/// Spec: [CLI-44] [CLI-48]
#[actix::test]
async fn a_known_key_whose_run_is_gone_is_not_waited_for() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    let snapshot = json!({"summary": crate::client::testing::summary("default"), "state": "idle",
        "message": "", "settings": {}, "queue": [], "attached": 1,
        "history": {"events": []}, "position": "e-4-0"});
    server.on(CONVERSATION, vec![answer(200, &snapshot)]);
    server.say(EVENTS, vec![stream(4, &[attached(None)])]);
    let done = prompt(&server, order(Some("nightly"), false)).await;
    assert_eq!(done.result.unwrap_err().exit_code(), 1);
}

/// Spec: [CLI-49]
#[actix::test]
async fn the_first_ctrl_c_cancels_the_run_and_waits_for_its_end() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    server.on(CANCEL, vec![answer(200, &json!({"cancelled": true}))]);
    let begin = frames(&[attached(None), user(5), delta(0, "Hel")]);
    let end = frames(&[text(6, "Hello"), ended(7, "cancelled")]);
    let parts = vec![
        opening(4).into(),
        begin.into(),
        Part::Await(CANCEL),
        end.into(),
    ];
    server.say(EVENTS, vec![parts]);
    let done = prompt_with(&server, order(None, false), 1).await;
    assert_eq!(done.result.as_ref().unwrap(), &130);
    assert_eq!(done.record.out(), "Hello\n");
    let cancel = done
        .requests
        .iter()
        .find(|sent| sent.contains(CANCEL))
        .unwrap();
    assert!(
        cancel.ends_with(r#"{"run_id":7,"by":"harness-prompt"}"#),
        "{cancel}"
    );
}

/// Spec: [CLI-49]
#[actix::test]
async fn the_second_ctrl_c_does_not_wait() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    server.say(CANCEL, vec![vec![Part::Hang]]);
    let begin = frames(&[attached(None), user(5)]);
    server.say(
        EVENTS,
        vec![vec![opening(4).into(), begin.into(), Part::Hang]],
    );
    let done = prompt_with(&server, order(None, false), 2).await;
    assert_eq!(done.result.unwrap_err().exit_code(), 130);
    assert_eq!(done.record.out(), "");
}

/// Spec: [CLI-50]
#[actix::test]
async fn json_lines_are_the_events_of_the_run_as_they_were_sent() {
    let server = Server::start().await;
    server.on(PROMPT, vec![accepted()]);
    let events = [
        (
            3,
            json!({"type": "status", "state": "idle", "message": "", "timestamp": 1}),
        ),
        attached(None),
        user(5),
        (0, json!({"type": "presence", "count": 2, "names": []})),
        (6, json!({"type": "later", "x": 1})),
        ended(7, "completed"),
    ];
    server.say(EVENTS, vec![stream(2, &events)]);
    let done = prompt(&server, order(None, true)).await;
    assert_eq!(done.result.unwrap(), 0);
    let out = done.record.out();
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["type"].as_str().unwrap(),
                line["position"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("user", "e-5-0"),
            ("later", "e-6-0"),
            ("run_ended", "e-7-0")
        ]
    );
    assert_eq!(lines[1]["x"], 1);
}

/// Spec: [CLI-06] [CLI-47]
#[actix::test]
async fn a_refusal_is_told_and_not_sent_again() {
    let server = Server::start().await;
    let problem = json!({"type": "x", "title": "busy", "status": 409, "detail": "a run is going",
        "request_id": "r"});
    server.on(PROMPT, vec![answer(409, &problem)]);
    server.say(EVENTS, vec![stream(4, &[attached(Some(6))])]);
    let done = prompt(&server, order(None, false)).await;
    let error = done.result.as_ref().unwrap_err();
    assert_eq!(
        (error.to_string(), error.exit_code()),
        ("a run is going".to_owned(), 1)
    );
    assert_eq!(done.count("POST"), 1);
}

/// Spec: [CLI-51]
#[test]
fn a_prompt_is_asked_under_a_name() {
    use clap::Parser as _;

    for (flags, name) in [
        (&["--name", "ana", "hi"][..], "ana"),
        (&["--name", " ", "hi"], NAME),
        (&["hi"], NAME),
    ] {
        let line = ["harness", "prompt"].iter().chain(flags);
        let command = crate::cli::Cli::try_parse_from(line).unwrap().command;
        let Some(crate::cli::ProgramCommand::Client(crate::client::ClientCommand::Prompt(prompt))) =
            command
        else {
            panic!("{flags:?}");
        };
        let message = MessageArgs {
            text: "hi".to_owned(),
            ..MessageArgs::default()
        };
        let order = prompt
            .saying(message, None, None)
            .to("default".to_owned(), false);
        assert_eq!(order.by, name);
        let body: Value = serde_json::from_slice(order.route.sent()).unwrap();
        assert_eq!(body["by"], name);
    }
}

/// Spec: [CLI-72]
#[actix::test]
async fn a_run_without_a_prompt_is_shown_to_its_end_and_never_started_twice() {
    use clap::Parser as _;

    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;

    let resumed = |command: &str| {
        let line = ["harness", command, "--name", "ana"];
        match Cli::try_parse_from(line).unwrap().command {
            Some(ProgramCommand::Client(ClientCommand::Continue(it))) => {
                CommandOrder::without_prompt(&it, routes::resume).to("default".to_owned(), false)
            }
            Some(ProgramCommand::Client(ClientCommand::Retry(it))) => {
                CommandOrder::without_prompt(&it, routes::retry).to("default".to_owned(), false)
            }
            other => panic!("{other:?}"),
        }
    };
    for route in ["continue", "retry"] {
        let to = format!("/v1/conversations/default/{route}");
        let server = Server::start().await;
        let started = json!({"type": "run_started", "run_id": 7, "timestamp": 1});
        let events = [
            attached(None),
            (5, started),
            text(6, "Hello"),
            ended(7, "completed"),
        ];
        server.say(EVENTS, vec![stream(4, &events)]);
        server.on(&to, vec![accepted()]);
        let done = prompt(&server, resumed(route)).await;
        assert_eq!(done.result.unwrap(), 0);
        assert_eq!(done.record.out(), "Hello\n");
        let sent: Vec<_> = done
            .requests
            .iter()
            .filter(|request| request.starts_with("POST"))
            .collect();
        assert_eq!(sent.len(), 1);
        assert!(sent[0].ends_with(r#"{"by":"ana"}"#), "{}", sent[0]);

        // Nobody knows whether it arrived, and a second one might start a second run.
        let server = Server::start().await;
        server.say(
            EVENTS,
            vec![vec![
                opening(4).into(),
                frames(&[attached(None)]).into(),
                Part::Hang,
            ]],
        );
        server.say(&to, vec![vec![]]);
        let done = prompt(&server, resumed(route)).await;
        assert!(done.result.is_err());
        assert_eq!(done.count(&format!("POST {to}")), 1);
    }
}

/// Spec: [CLI-72]
#[actix::test]
async fn a_run_with_follow_ups_is_shown_to_its_end() {
    let server = Server::start().await;
    let said = json!({"type": "user", "content": "Then test", "run_id": 7, "by": "ana",
        "queue": "follow_up", "item": 1, "timestamp": 1});
    let events = [
        attached(None),
        user(5),
        text(6, "Hello"),
        (7, said),
        text(8, "Tested"),
        (9, ended(9, "completed").1),
    ];
    server.say(EVENTS, vec![stream(4, &events)]);
    server.on(PROMPT, vec![accepted()]);
    let done = prompt(&server, order(None, false)).await;
    assert_eq!(done.result.unwrap(), 0);
    assert_eq!(done.record.out(), "Hello\nTested\n");
    assert_eq!(done.record.err(), "harness: follow-up by ana: Then test\n");
}
