use clap::Parser as _;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::cli::{Cli, ProgramCommand};
use crate::client::testing::{
    Home, Part, Record, Server, answer, frames, impatient, opening, recorded,
};

const PATH: &str = "/v1/workflows/w1";

/// A workflow in that state.
pub(super) fn snapshot(state: &str) -> Value {
    json!({
        "id": "w1", "name": "parser", "objective": "Fix the parser", "state": state,
        "manifest": "abc", "version": 1, "folder": "/work", "branch": "harness/parser",
        "head": "1f0c2a9d", "iterations": 2, "position": "e-3-0",
        "features": [
            {"id": "a", "description": "first", "state": "passing", "required": true},
            {"id": "b", "description": "second", "state": "failing", "required": false},
        ],
        "spent": {"tokens": 1200, "cost_micro_usd": 1_230_000, "active_ms": 61_000},
        "progress": ["a passes"],
    })
}

fn with(mut it: Value, key: &str, value: Value) -> Value {
    it[key] = value;
    it
}

fn command(line: &[&str]) -> WorkflowCommand {
    let line = ["harness", "workflow"].iter().chain(line);
    let Some(ProgramCommand::Workflow(workflow)) = Cli::try_parse_from(line).unwrap().command
    else {
        panic!("no workflow");
    };
    workflow.service().unwrap()
}

async fn carry_out(line: &[&str], home: &Home) -> (Result<i32, String>, Record) {
    let (mut output, record) = recorded();
    let done = run(&command(line), &home.config, &mut output).await;
    (done.map_err(|error| error.to_string()), record)
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

/// Spec: [FLOW-89]
#[actix::test]
async fn each_order_is_one_request_and_is_answered_with_how_the_workflow_is() {
    let line = "workflow w1 (parser): ready, 1 of 2 pass\n";
    for (arguments, path, sent) in [
        (
            &["run", "w1", "--features", "2", "--key", "k"][..],
            "/run",
            json!({"max_features": 2, "key": "k"}),
        ),
        (
            &["pause", "w1", "--when", "now"],
            "/pause",
            json!({"when": "now"}),
        ),
        (
            &[
                "resume",
                "w1",
                "--add-tokens",
                "5",
                "--add-active",
                "2m",
                "--retry-stuck",
            ],
            "/resume",
            json!({"add_tokens": 5, "add_cost_usd": 0.0, "add_active_s": 120,
                "add_iterations": 0, "retry_stuck": true}),
        ),
        (&["cancel", "w1"], "/cancel", json!({})),
        (&["verify", "w1"], "/verify", json!({})),
        (
            &["approve", "w1", "plan-1"],
            "/gates/plan-1",
            json!({"answer": "approve"}),
        ),
        (
            &["approve", "w1", "--reject", "--say", "no"],
            "/gates/a%2Fb",
            json!({"answer": "reject", "comment": "no"}),
        ),
        (
            &["retry", "w1", "b"],
            "/features/b",
            json!({"action": "retry"}),
        ),
        (
            &["skip", "w1", "b", "--name", "ana"],
            "/features/b",
            json!({"action": "skip", "by": "ana"}),
        ),
        (
            &["unskip", "w1", "b"],
            "/features/b",
            json!({"action": "unskip"}),
        ),
    ] {
        let server = Server::start().await;
        let home = Home::of(&server);
        let gate = json!({"gate": "a/b", "asks": "?"});
        server.on(
            PATH,
            vec![answer(200, &with(snapshot("ready"), "gate", gate))],
        );
        server.on(
            &format!("{PATH}{path}"),
            vec![answer(202, &snapshot("ready"))],
        );
        let (done, record) = carry_out(arguments, &home).await;
        assert_eq!((done, &*record.out()), (Ok(0), line), "{arguments:?}");
        let request = server.requests().pop().unwrap();
        assert!(request.starts_with("POST "), "{request}");
        let found: Value = serde_json::from_str(body(&request)).unwrap();
        assert_eq!(found, sent, "{arguments:?}");
    }
}

/// Spec: [FLOW-89]
#[actix::test]
async fn workflows_are_listed_shown_and_deleted() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let all = json!({"workflows": [snapshot("ready")]});
    server.on("/v1/workflows", vec![answer(200, &all), answer(200, &all)]);
    let (done, record) = carry_out(&["list", "--all"], &home).await;
    assert_eq!(
        (done, &*record.out()),
        (
            Ok(0),
            "ID  NAME    STATE  FEATURES     FOLDER  OBJECTIVE\n\
             w1  parser  ready  1 of 2 pass  /work   Fix the parser\n"
        )
    );
    let (_, record) = carry_out(&["list"], &home).await;
    assert!(
        record.out().starts_with("no workflow; "),
        "{record}",
        record = record.out()
    );
    let mut paused = with(snapshot("paused"), "reason", json!("stuck"));
    paused["detail"] = json!("b is stuck");
    paused["step"] = json!({"iteration": 2, "attempt": 1, "step": "converse", "feature": "b",
        "conversation": "wf-w1-2", "for_ms": 90_000});
    server.on(PATH, vec![answer(200, &paused)]);
    let (_, record) = carry_out(&["status", "w1"], &home).await;
    let out = record.out();
    for part in [
        "workflow w1 (parser): paused (stuck), 1 of 2 pass\n",
        "\n  why          b is stuck\n",
        "\n  now          attempt 2.1 of b: converse for 1m30s, conversation wf-w1-2\n",
        "\n  branch       harness/parser at 1f0c2a9d\n",
        "\n  used         1200 tokens, 1.23 US dollars, 1m1s of work\n",
        "\n  failing  b  second (optional)\n",
        "\n  - a passes\n",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
    server.on(PATH, vec![answer(200, &json!({"trash": "/t/w1.jsonl"}))]);
    let (done, record) = carry_out(&["delete", "w1"], &home).await;
    assert_eq!((done, &*record.out()), (Ok(0), "moved to /t/w1.jsonl\n"));
    assert!(server.requests().pop().unwrap().starts_with("DELETE "));
}

fn record(kind: &str, data: &Value) -> Value {
    json!({"type": "workflow", "record": {"type": kind, "data": data}, "timestamp": 1_763_760_002})
}

/// Spec: [FLOW-91]
#[actix::test]
async fn the_log_goes_through_all_pages() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let past =
        |seq: u64, event: Value| json!({"seq": seq, "id": format!("e-{seq}-0"), "event": event});
    let first = past(
        1,
        record("created", &json!({"workflow": "w1", "by": "ana"})),
    );
    let second = past(
        2,
        record("paused", &json!({"reason": "stuck", "detail": "b\u{7}"})),
    );
    let pages = || {
        vec![
            answer(200, &json!({"events": [first], "after": 1})),
            answer(200, &json!({"events": [second]})),
        ]
    };
    let path = format!("{PATH}/history");
    server.on(&path, pages());
    let (done, printed) = carry_out(&["log", "w1"], &home).await;
    assert_eq!(done, Ok(0));
    assert_eq!(
        printed.out(),
        "21:20:02Z w1 was made by ana\n21:20:02Z paused (stuck): b\\u{7}\n"
    );
    server.on(&path, pages());
    let (_, printed) = carry_out(&["log", "w1", "--json"], &home).await;
    let lines = printed.out();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, [first, second]);
    let asked = server.requests();
    let target = asked.last().unwrap().split(' ').nth(1).unwrap();
    assert_eq!(target, format!("{path}?after=1&limit=500"));
}

struct Making {
    server: Server,
    home: Home,
    file: tempfile::TempDir,
}

impl Making {
    /// A service that is asked to look at a file, and then to make a workflow of it.
    async fn of(looked: &Value) -> Self {
        let server = Server::start().await;
        let home = Home::of(&server);
        let made = json!({"created": true, "workflow": snapshot("draft")});
        server.on(
            "/v1/workflows",
            vec![answer(200, looked), answer(201, &made)],
        );
        let file = tempfile::tempdir().unwrap();
        std::fs::write(file.path().join("p.toml"), "").unwrap();
        Self { server, home, file }
    }

    /// Makes it, at a terminal where somebody says this, or at none.
    async fn make(&self, more: &[&str], said: Option<bool>) -> (i32, Record, Vec<Value>) {
        let (folder, path) = (self.file.path(), self.file.path().join("p.toml"));
        let folder = folder.to_str().unwrap();
        let mut line = vec!["new", path.to_str().unwrap(), "--folder", folder];
        line.extend(more);
        let WorkflowCommand::New(new) = command(&line) else {
            panic!("{line:?}");
        };
        let (mut output, record) = recorded();
        let service = self.home.service().await;
        let code = create::run(&new, &service, &|| said, &mut output).await;
        let sent = self.server.requests();
        let sent = sent
            .iter()
            .map(|it| serde_json::from_str(body(it)).unwrap());
        (code.unwrap(), record, sent.collect())
    }
}

fn looked() -> Value {
    use harness_actors::workflow::file::{FeatureList, FileFormat, read};
    let example = include_str!("../../../../specs/examples/workflow.toml");
    let manifest = read(example.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap();
    json!({"hash": "cafe", "problems": [], "manifest": manifest})
}

/// Spec: [FLOW-90]
#[actix::test]
async fn a_file_is_shown_whole_before_somebody_approves_it() {
    let making = Making::of(&looked()).await;
    let (code, record, sent) = making.make(&["--as", "calendar"], Some(true)).await;
    assert_eq!(code, 0, "{}", record.err());
    let out = record.out();
    for part in [
        "  network      prepare `npm ci`\n",
        "  protected    ",
        "  budget       ",
        "  permissions  ",
        "  hash         cafe\n",
        "    prepare: npm ci (at most 10m, NETWORK)\n",
        "\nworkflow w1 (parser): draft, 1 of 2 pass; made\n",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
    assert_eq!(sent[0]["dry_run"], true);
    assert_eq!(sent[0]["name"], "calendar");
    assert_eq!(sent[1]["approve"], "cafe");
    assert_eq!(sent[1].get("dry_run"), None);
}

/// Spec: [FLOW-90]
#[actix::test]
async fn a_file_is_approved_by_its_hash_or_later_and_one_that_is_refused_is_not_made() {
    let making = Making::of(&looked()).await;
    let (code, _, sent) = making.make(&["--approve", "beef"], Some(false)).await;
    assert_eq!((code, &sent[1]["approve"]), (0, &json!("beef")));
    let making = Making::of(&looked()).await;
    let (code, record, sent) = making.make(&[], None).await;
    assert_eq!((code, sent[1].get("approve")), (0, None));
    assert!(record.err().contains("--approve cafe"), "{}", record.err());
    let making = Making::of(&looked()).await;
    let (code, record, sent) = making.make(&[], Some(false)).await;
    assert_eq!((code, sent.len()), (1, 1));
    assert!(record.err().contains("nothing was made"));
    let problem = json!({"place": "budget.cost_usd", "line": 7, "message": "no price"});
    let problems = json!({"hash": "cafe", "problems": [problem], "manifest": null});
    let making = Making::of(&problems).await;
    let (code, record, sent) = making.make(&[], Some(true)).await;
    assert_eq!((code, sent.len()), (1, 1));
    let out = record.out();
    assert!(
        out.ends_with("p.toml:7: budget.cost_usd: no price\n"),
        "{out}"
    );
}

/// A run that is followed, on a service that streams these records and is at rest then.
struct Followed {
    server: Server,
    home: Home,
    presses: UnboundedSender<()>,
    interrupts: Interrupts,
}

impl Followed {
    /// `looks` are what it says when it is looked at, one after the other.
    async fn to(stream: Vec<Part>, looks: &[Value]) -> Self {
        let server = Server::start().await;
        let home = Home::of(&server);
        server.on(
            &format!("{PATH}/run"),
            vec![answer(202, &snapshot("running"))],
        );
        server.say(&format!("{PATH}/events"), vec![stream]);
        server.on(PATH, looks.iter().map(|it| answer(200, it)).collect());
        let (presses, receiver) = unbounded_channel();
        Self {
            server,
            home,
            presses,
            interrupts: Interrupts::new(receiver),
        }
    }

    async fn run(&mut self, line: &[&str]) -> (Result<i32, String>, Record) {
        let WorkflowCommand::Run(it) = command(line) else {
            panic!("{line:?}");
        };
        let service = self.home.service().await;
        let (mut output, record) = recorded();
        let way = (&self.home.config, impatient());
        let done = run::run(&it, &service, way, &mut self.interrupts, &mut output).await;
        (done.map_err(|error| error.to_string()), record)
    }
}

fn stream(records: &[(u64, Value)]) -> Vec<Part> {
    vec![opening(3).into(), frames(records).into(), Part::Hang]
}

/// Spec: [FLOW-91] [FLOW-92]
#[actix::test]
async fn a_run_is_followed_to_its_rest() {
    let attached = json!({"type": "attached", "conversation": "w1", "position": "e-4-0",
        "state": "thinking", "message": ""});
    let events = [
        (
            4,
            record(
                "phase_started",
                &json!({"phase": "task_iteration", "order": {}}),
            ),
        ),
        (0, attached),
        (
            5,
            record(
                "iteration_started",
                &json!({"n": 3, "feature": "b", "why": "first"}),
            ),
        ),
        (
            6,
            record("paused", &json!({"reason": "stuck", "detail": "b"})),
        ),
    ];
    let mut paused = with(snapshot("paused"), "reason", json!("stuck"));
    paused["detail"] = json!("b is stuck");
    let looks = [snapshot("ready"), snapshot("running"), paused];
    let mut followed = Followed::to(stream(&events), &looks).await;
    let (code, printed) = followed.run(&["run", "w1", "--wait"]).await;
    assert_eq!(code, Ok(4));
    assert_eq!(
        printed.out(),
        "21:20:02Z a run begins\n21:20:02Z iteration 3: works on b (first)\n\
         21:20:02Z paused (stuck): b\n"
    );
    assert_eq!(
        printed.err(),
        "harness: workflow w1: paused (stuck): b is stuck\n"
    );
    let asked = followed.server.requests();
    let follow = asked.iter().find(|it| it.contains("/events?")).unwrap();
    assert!(
        follow.contains("name=harness-workflow&after=e-3-0"),
        "{follow}"
    );
}

/// Spec: [FLOW-92]
#[actix::test]
async fn a_run_that_a_mistake_ended_is_a_failure() {
    let ended = json!({"phase": "task_iteration", "error": "chat", "detail": "no model"});
    let events = [(4, record("phase_ended", &ended))];
    let mut followed = Followed::to(stream(&events), &[snapshot("ready"), snapshot("ready")]).await;
    let (code, printed) = followed.run(&["run", "w1", "--wait", "--json"]).await;
    assert_eq!(code, Ok(1));
    let line: Value = serde_json::from_str(&printed.out()).unwrap();
    assert_eq!(line["record"]["type"], "phase_ended");
    assert_eq!(line["position"], "e-4-0");
}

/// Spec: [FLOW-91] [FLOW-92]
#[actix::test]
async fn what_made_it_rest_is_read_to_its_end() {
    let ended = json!({"phase": "task_iteration", "error": "chat", "detail": "no model"});
    let events = [
        (
            4,
            record("verification_ended", &json!({"number": 1, "green": true})),
        ),
        (5, record("phase_ended", &ended)),
    ];
    let ready = with(snapshot("ready"), "position", json!("e-5-0"));
    let looks = [snapshot("ready"), ready.clone(), ready];
    let mut followed = Followed::to(stream(&events), &looks).await;
    let (code, printed) = followed.run(&["run", "w1", "--wait"]).await;
    assert_eq!(code, Ok(1));
    assert!(
        printed.out().contains("the run ended (chat)"),
        "{}",
        printed.out()
    );
}

/// Spec: [FLOW-93]
#[actix::test]
async fn ctrl_c_asks_for_a_pause_and_then_cancels() {
    let pause = "/v1/workflows/w1/pause";
    let cancel = "/v1/workflows/w1/cancel";
    let paused = with(snapshot("paused"), "reason", json!("operator"));
    let cancelled = snapshot("cancelled");
    for (presses, until, kind, rest) in [
        (1, pause, "paused", paused),
        (2, cancel, "cancelled", cancelled),
    ] {
        let ended = record(kind, &json!({"reason": "operator", "detail": ""}));
        let events = vec![
            opening(3).into(),
            Part::Await(until),
            frames(&[(4, ended)]).into(),
            Part::Hang,
        ];
        let mut followed = Followed::to(events, std::slice::from_ref(&rest)).await;
        followed
            .server
            .say(pause, vec![vec![answer(200, &rest).into()]]);
        followed.server.on(cancel, vec![answer(200, &rest)]);
        for _ in 0..presses {
            followed.presses.send(()).unwrap();
        }
        let watched = watch::WatchedWorkflow {
            id: "w1".to_owned(),
            after: "e-3-0".to_owned(),
            json: false,
            output: false,
            pauses: Some("ana".to_owned()),
        };
        let (mut output, _) = recorded();
        let config = &followed.home.config;
        let interrupts = &mut followed.interrupts;
        let code = watch::until_rest(&watched, config, impatient(), interrupts, &mut output).await;
        assert_eq!(code.unwrap(), 130, "{presses}");
        let asked = followed.server.requests();
        let asked = asked.iter().find(|it| path_of(it) == until).unwrap();
        let said: Value = serde_json::from_str(body(asked)).unwrap();
        assert_eq!(said["by"], "ana");
    }
}

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}

/// Spec: [FLOW-93]
#[actix::test]
async fn ctrl_c_ends_a_watch_and_not_the_workflow() {
    let mut followed =
        Followed::to(vec![opening(3).into(), Part::Hang], &[snapshot("running")]).await;
    followed.presses.send(()).unwrap();
    let WorkflowCommand::Watch(it) = command(&["watch", "w1"]) else {
        panic!("no watch");
    };
    let service = followed.home.service().await;
    let (mut output, _) = recorded();
    let way = (&followed.home.config, impatient());
    let ended = watch::run(&it, &service, way, &mut followed.interrupts, &mut output).await;
    assert_eq!(ended.unwrap_err().exit_code(), 130);
    let asked = followed.server.requests();
    assert!(!asked.iter().any(|it| it.starts_with("POST ")), "{asked:?}");
}

/// Spec: [FLOW-89]
#[test]
fn help_shows_examples_and_the_exit_codes_of_a_workflow() {
    for (command, codes) in [
        ("new", &["  1  "][..]),
        ("run", &["  3  ", "  4  ", "130  "]),
        ("watch", &["  3  ", "  4  ", "130  "]),
        ("resume", &["  3  "]),
        ("show", &["  1  "]),
        ("approve", &["  1  "]),
        ("retry", &["  1  "]),
        ("log", &["  1  "]),
    ] {
        let line = ["harness", "wf", command, "--help"];
        let help = Cli::try_parse_from(line).unwrap_err().to_string();
        for part in ["Examples:", "Exit codes:"].iter().chain(codes) {
            assert!(help.contains(part), "{part} is missing in:\n{help}");
        }
    }
    let WorkflowCommand::Skip(_) = command(&["skip", "b"]) else {
        panic!("no skip");
    };
    let wrong = ["harness", "workflow", "skip"];
    assert!(Cli::try_parse_from(wrong).is_err());
}
