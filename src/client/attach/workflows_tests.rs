//! The board of workflows: its news, and its orders.

use harness_tui::ClientOrder;
use serde_json::{Value, json};

use super::*;
use crate::client::attach::testing::*;
use crate::client::testing::{Home, Part, Server, answer};

const WORKFLOW: &str = "/v1/workflows/w1";
const HISTORY: &str = "/v1/workflows/w1/history";
const STREAM: &str = "/v1/workflows/w1/events";

fn snapshot_of(state: &str, position: &str) -> Value {
    json!({"id": "w1", "name": "n", "objective": "o", "state": state, "manifest": "m", "version": 1,
        "folder": "/work", "features": [], "iterations": 0, "progress": [], "position": position,
        "spent": {"tokens": 0, "cost_micro_usd": 0, "active_ms": 0}})
}

fn record(kind: &str) -> Value {
    json!({"type": "workflow", "record": {"type": kind, "data": {}}, "timestamp": 1})
}

fn attached(position: &str) -> Value {
    json!({"type": "attached", "conversation": "w1", "position": position, "state": "idle",
        "message": "", "timestamp": 1})
}

fn past(records: &[(u64, &str)]) -> Vec<u8> {
    let event = |(seq, kind): &(u64, &str)| json!({"seq": seq, "id": "e", "event": record(kind)});
    let events: Vec<Value> = records.iter().map(event).collect();
    answer(200, &json!({"events": events}))
}

/// A service with a workflow at record 4, whose streams are these.
async fn workflow(streams: Vec<Vec<Part>>) -> (Server, Home, Client) {
    let server = Server::start().await;
    server.on(
        WORKFLOW,
        vec![answer(200, &snapshot_of("running", "e-4-0"))],
    );
    // The last one was written behind the snapshot.
    server.on(
        HISTORY,
        vec![past(&[
            (3, "iteration_started"),
            (4, "step_started"),
            (5, "x"),
        ])],
    );
    server.say(STREAM, streams);
    let home = Home::of(&server);
    let client = Client::new(&home.config, hasty());
    (server, home, client)
}

fn follows(client: &Client) {
    let workflow = "w1".to_owned();
    client.order(ClientOrder::Board(BoardOrder::Follow { workflow }));
}

/// The next news of the board, in short.
async fn told(client: &mut Client) -> String {
    let News::Board(news) = client.next().await else {
        panic!("no news of the board");
    };
    match news {
        BoardNews::Followed { snapshot, recent } => {
            let kinds: Vec<&str> = recent.iter().map(kind).collect();
            format!("followed {} {}", snapshot.state, kinds.join(" "))
        }
        BoardNews::Looked(snapshot) => format!("looked {}", snapshot.state),
        BoardNews::Happened { event, .. } => kind(&event).to_owned(),
        BoardNews::Down { .. } => "down".to_owned(),
        BoardNews::Up { .. } => "up".to_owned(),
        BoardNews::Refused { reason, .. } => format!("refused: {reason}"),
        BoardNews::Given { snapshot, order } => format!("{order:?} {}", snapshot.state),
        BoardNews::NotGiven { order, reason, .. } => format!("{order:?} refused: {reason}"),
        other => format!("{other:?}"),
    }
}

fn kind(event: &Event) -> &str {
    match event {
        Event::Workflow { record, .. } => record["type"].as_str().unwrap(),
        Event::Attached { .. } => "attached",
        _ => "other",
    }
}

async fn tells(client: &mut Client, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(told(client).await);
    }
    all
}

/// Spec: [LINK-240]
#[actix::test]
async fn a_workflow_is_told_as_it_is_and_followed_from_there() {
    let stream = open(4, &[(0, attached("e-4-0")), (5, record("paused"))]);
    let (server, _home, mut client) = workflow(vec![stream]).await;
    server.on(
        WORKFLOW,
        vec![answer(200, &snapshot_of("paused", "e-5-0")); 3],
    );
    follows(&client);
    let begun = tells(&mut client, 2).await;
    assert_eq!(
        begun,
        ["followed running iteration_started step_started", "up"]
    );
    // What happened, and how it is then, once for several records if they are fast.
    let mut rest = Vec::new();
    while rest.last().map(String::as_str) != Some("looked paused") || !has(&rest, "paused") {
        rest.push(told(&mut client).await);
    }
    assert!(has(&rest, "attached"), "{rest:?}");
    let stream = format!("GET {STREAM}?name=ana%40pts%2F3 e-4-0");
    assert!(asked(&server).contains(&stream), "{:?}", asked(&server));
}

fn has(told: &[String], words: &str) -> bool {
    told.iter().any(|told| told == words)
}

/// Spec: [LINK-240]
#[actix::test]
async fn a_stream_that_is_cut_goes_on_where_it_was() {
    let (server, _home, mut client) = workflow(vec![
        broken(4, &[(0, attached("e-4-0")), (5, record("one"))]),
        open(5, &[(6, record("two")), (0, attached("e-6-0"))]),
    ])
    .await;
    server.on(
        WORKFLOW,
        vec![answer(200, &snapshot_of("running", "e-6-0")); 9],
    );
    follows(&client);
    let mut all = Vec::new();
    while !has(&all, "two") {
        all.push(told(&mut client).await);
    }
    all.retain(|told| !told.starts_with("looked"));
    let expected = [
        "followed running iteration_started step_started",
        "up",
        "attached",
        "one",
        "down",
        "up",
        "two",
    ];
    assert_eq!(all, expected);
    let again = format!("GET {STREAM}?name=ana%40pts%2F3 e-5-0");
    assert!(asked(&server).contains(&again), "{:?}", asked(&server));
}

/// Spec: [LINK-240]
#[actix::test]
async fn where_records_were_missed_it_is_told_anew() {
    let (server, _home, mut client) = workflow(vec![
        broken(4, &[(0, attached("e-4-0"))]),
        // The service could not go on where the stream was.
        open(9, &[(0, attached("e-9-0"))]),
        open(9, &[(0, attached("e-9-0"))]),
    ])
    .await;
    server.on(
        WORKFLOW,
        vec![answer(200, &snapshot_of("paused", "e-9-0")); 9],
    );
    server.on(HISTORY, vec![past(&[(9, "paused")])]);
    follows(&client);
    let mut all = Vec::new();
    while !has(&all, "followed paused paused") {
        all.push(told(&mut client).await);
    }
}

/// Spec: [LINK-241]
#[actix::test]
async fn each_order_is_one_request_in_the_clients_name_and_a_refusal_is_told() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let mut client = Client::new(&home.config, hasty());
    for (order, path, body) in [
        (WorkflowOrder::Run, "/run", json!({"by": "ana@pts/3"})),
        (
            WorkflowOrder::Pause(PauseAt::Once),
            "/pause",
            json!({"when": "now", "by": "ana@pts/3"}),
        ),
        (
            WorkflowOrder::Pause(PauseAt::IterationEnd),
            "/pause",
            json!({"when": "iteration", "by": "ana@pts/3"}),
        ),
        (
            WorkflowOrder::Resume {
                retries_stuck: true,
            },
            "/resume",
            json!({"add_tokens": 0, "add_cost_usd": 0.0, "add_active_s": 0, "add_iterations": 0,
                "retry_stuck": true, "by": "ana@pts/3"}),
        ),
        (WorkflowOrder::Cancel, "/cancel", json!({"by": "ana@pts/3"})),
        (
            WorkflowOrder::Answer {
                gate: "plan-1".to_owned(),
                is_approved: false,
            },
            "/gates/plan-1",
            json!({"answer": "reject", "by": "ana@pts/3"}),
        ),
    ] {
        let path = format!("{WORKFLOW}{path}");
        let done = answer(200, &snapshot_of("ready", "e-9-0"));
        server.on(&path, vec![done, problem(409, "it is over")]);
        for expected in [
            format!("{order:?} ready"),
            format!("{order:?} refused: it is over"),
        ] {
            let order = order.clone();
            let workflow = "w1".to_owned();
            client.order(ClientOrder::Board(BoardOrder::Give { workflow, order }));
            assert_eq!(told(&mut client).await, expected);
        }
        let requests = server.requests();
        let (head, sent) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("POST {path} ")), "{head}");
        assert_eq!(serde_json::from_str::<Value>(sent).unwrap(), body);
    }
}

/// Spec: [LINK-241]
#[actix::test]
async fn a_list_and_the_end_of_an_output_are_had_and_what_is_gone_is_refused() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let mut client = Client::new(&home.config, hasty());
    let list = json!({"workflows": [snapshot_of("ready", "e-1-0")]});
    server.on("/v1/workflows", vec![answer(200, &list)]);
    client.order(ClientOrder::Board(BoardOrder::List));
    let News::Board(BoardNews::Listed(listed)) = client.next().await else {
        panic!("no list");
    };
    assert_eq!(listed[0].state, "ready");

    let text = format!("{}é end", "x".repeat(MAX_OUTPUT - 5));
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    let whole = [head.as_bytes(), text.as_bytes()].concat();
    let refusal = problem(401, "it needs the token");
    server.on("/v1/workflows/w1/outputs/abc", vec![whole, refusal]);
    let ask = || {
        ClientOrder::Board(BoardOrder::Output {
            workflow: "w1".to_owned(),
            sha256: "abc".to_owned(),
        })
    };
    client.order(ask());
    let News::Board(BoardNews::Output { offset, text, .. }) = client.next().await else {
        panic!("no output");
    };
    assert_eq!((offset, text.len()), (1, MAX_OUTPUT));
    assert!(text.ends_with("é end"));
    client.order(ask());
    let News::Board(BoardNews::NoOutput { reason, .. }) = client.next().await else {
        panic!("an output");
    };
    assert_eq!(reason, "it needs the token");

    server.on(WORKFLOW, vec![problem(404, "there is no workflow w1")]);
    follows(&client);
    assert_eq!(told(&mut client).await, "refused: there is no workflow w1");
}
