use std::time::Duration;

use serde_json::json;

use super::*;
use crate::client::api::routes;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::attach::testing::*;
use crate::client::testing::{Home, Part, Server, answer, frames, opening};
use harness_tui::ClientOrder;

const STREAM: &str = "GET /v1/conversations/c/events?name=ana%40pts%2F3";

/// Spec: [LINK-01]
#[actix::test]
async fn a_conversation_is_opened_with_a_snapshot_and_followed_from_there() {
    let passing = json!({"type": "discarded"});
    let events = [(5, status("a")), (0, passing), (6, status("b"))];
    let server = service(vec![open(4, &events)]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    assert_eq!(
        client.tell(5).await,
        [
            "snapshot c e-4-0",
            "up",
            "status a e-5-0",
            "discarded  ",
            "status b e-6-0"
        ]
    );
    let snapshot = "GET /v1/conversations/c?tail=200";
    let stream = format!("{STREAM} e-4-0");
    assert_eq!(asked(&server), [snapshot, &stream]);
}

/// Spec: [LINK-02]
#[actix::test]
async fn a_sample_of_each_type_arrives_as_the_event_it_is() {
    let examples = include_str!("../../../specs/examples/events.jsonl");
    let samples: Vec<Event> = examples
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event| !matches!(event, Event::Reset { .. }))
        .collect();
    for name in [
        "user",
        "text",
        "tool_call",
        "tool_result",
        "reasoning",
        "status",
    ] {
        let tag = format!("{{\"type\":\"{name}\"");
        assert!(
            examples.lines().any(|line| line.starts_with(&tag)),
            "{name}"
        );
    }
    let mut sent: Vec<(u64, serde_json::Value)> = (5..)
        .zip(examples.lines())
        .map(|(seq, line)| (seq, serde_json::from_str(line).unwrap()))
        .filter(|(_, event): &(u64, serde_json::Value)| event["type"] != "reset")
        .collect();
    sent.push((0, json!({"type": "invented_later", "x": 1})));
    let server = service(vec![open(4, &sent)]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    client.tell(2).await;
    for sample in samples.into_iter().chain([Event::Unknown]) {
        let News::Event { event, .. } = client.next().await else {
            panic!("no event, but {sample:?} was sent");
        };
        assert_eq!(event, sample);
    }
}

/// Spec: [LINK-03]
#[actix::test]
async fn what_is_no_event_is_told_and_dropped_and_the_stream_goes_on() {
    let wrong = [
        "no JSON",
        "{\"type\":\"status\"",
        "[1]",
        "7",
        "{}",
        "{\"type\":1}",
        // A field is missing, or of another type.
        "{\"type\":\"text\",\"content\":\"x\"}",
        "{\"type\":\"status\",\"state\":\"idle\",\"message\":1,\"timestamp\":1}",
        "{\"type\":\"tool_call\",\"id\":\"t\",\"name\":\"n\",\"input\":[],\"timestamp\":1}",
    ];
    let mut parts = vec![Part::from(opening(4))];
    for (seq, data) in (5..).zip(wrong) {
        let frame = format!("id: e-{seq}-0\ndata: {data}\n\n");
        let length = frame.len();
        parts.push(format!("{length:x}\r\n{frame}\r\n").into_bytes().into());
    }
    parts.push(frames(&[(20, status("after"))]).into());
    // The stream is the same one to its end, and resumed behind all of them.
    let server = service(vec![parts, open(20, &[])]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    client.tell(2).await;
    assert_eq!(client.tell(wrong.len()).await, vec!["invalid"; wrong.len()]);
    assert_eq!(
        client.tell(3).await,
        ["status after e-20-0", "down 0", "up"]
    );
    assert_eq!(asked(&server)[2], format!("{STREAM} e-20-0"));
}

/// Spec: [LINK-20]
#[actix::test]
async fn one_bad_event_of_the_past_keeps_nobody_from_attaching() {
    let server = Server::start().await;
    let past = |seq: u64, event| json!({"seq": seq, "id": "e", "event": event});
    let mut snapshot = snapshot("c", "e-4-0");
    snapshot["history"]["events"] = json!([past(3, json!({"type": "text"})), past(4, status("a"))]);
    server.on(SNAPSHOT, vec![answer(200, &snapshot)]);
    server.say(EVENTS, vec![open(4, &[])]);
    let page = json!({"events": [past(1, json!({})), past(2, status("a"))]});
    server.on("/v1/conversations/c/history", vec![answer(200, &page)]);
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    assert_eq!(client.told().await, "invalid");
    let News::Snapshot { snapshot, .. } = client.next().await else {
        panic!("no snapshot");
    };
    let seqs = |history: &harness_protocol::HistoryPage| -> Vec<u64> {
        history.events.iter().map(|past| past.seq).collect()
    };
    assert_eq!(seqs(&snapshot.history), [4]);
    assert_eq!(client.told().await, "up");
    client.order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 3,
    });
    assert_eq!(client.told().await, "invalid");
    let News::Older {
        page: Some(page), ..
    } = client.next().await
    else {
        panic!("no page");
    };
    assert_eq!(seqs(&page), [2]);
}

/// Spec: [LINK-04]
#[actix::test]
async fn a_broken_stream_is_opened_again_where_it_was() {
    let server = service(vec![
        broken(4, &[(5, status("a"))]),
        // Nothing but the opening, and a service that has too much to do.
        broken(5, &[]),
        vec![problem(503, "too many clients").into()],
        open(5, &[(6, status("b"))]),
    ])
    .await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    client.tell(2).await;
    assert_eq!(
        client.tell(7).await,
        [
            "status a e-5-0",
            "down 0",
            "up",
            "down 1",
            "down 2",
            "up",
            "status b e-6-0"
        ]
    );
    let again = format!("{STREAM} e-5-0");
    assert_eq!(
        asked(&server)[2..],
        [&again, &again, &again].map(String::clone)
    );
}

/// Spec: [LINK-06]
#[actix::test]
async fn a_silent_stream_is_taken_to_be_dead() {
    let server = service(vec![open(4, &[]), open(4, &[])]).await;
    let home = Home::of(&server);
    let mut pace = hasty();
    pace.patience.silence = Duration::from_millis(100);
    let mut client = Client::attached(&home.config, pace);
    client.tell(2).await;
    let News::Down { reason, .. } = client.next().await else {
        panic!("the stream lives");
    };
    assert_eq!(reason, "the event stream fell silent");
    assert_eq!(client.told().await, "up");
    server.until_left(EVENTS).await;
}

/// Spec: [LINK-07]
#[actix::test]
async fn it_never_gives_up_and_finds_a_service_with_another_port() {
    let server = service(vec![]).await;
    server.say(
        EVENTS,
        vec![vec![
            opening(4).into(),
            frames(&[(5, status("a"))]).into(),
            Part::Await("/v1/models"),
        ]],
    );
    let home = Home::of(&server);
    let found = home.config.home.join("service.json");
    std::fs::remove_file(&found).unwrap();
    let mut client = Client::attached(&home.config, hasty());
    let downs: Vec<String> = (1..=20).map(|tries| format!("down {tries}")).collect();
    assert_eq!(client.tell(20).await, downs);
    home.write_discovery(&server.address.to_string(), Home::KEY);
    while client.told().await != "up" {}
    assert_eq!(client.told().await, "status a e-5-0");

    let other = Server::start().await;
    other.say(EVENTS, vec![open(5, &[(6, status("b"))])]);
    home.write_discovery(&other.address.to_string(), Home::KEY);
    let stranger = crate::client::api::connection::ServiceConnection::new(server.named(), None);
    drop(stranger.ask(&routes::models()).await);
    assert_eq!(client.tell(3).await, ["down 0", "up", "status b e-6-0"]);
    assert_eq!(asked(&other), [format!("{STREAM} e-5-0")]);
}

/// Spec: [LINK-08]
#[actix::test]
async fn a_wait_ends_when_the_client_is_in_a_hurry() {
    let server = service(vec![open(4, &[])]).await;
    let home = Home::of(&server);
    let found = home.config.home.join("service.json");
    std::fs::remove_file(&found).unwrap();
    let mut pace = LinkTimeouts::default();
    pace.patience.first_wait = Duration::from_secs(7200);
    pace.patience.longest_wait = Duration::from_secs(7200);
    let mut client = Client::new(&home.config, pace);
    // Nothing waits yet; this must not shorten a later wait.
    client.order(ClientOrder::TryNow);
    client.open("c");
    for tries in 1..4 {
        let News::Down {
            tries: told,
            wait,
            reason,
        } = client.next().await
        else {
            panic!("no service runs");
        };
        assert_eq!(told, tries);
        assert!(wait >= Duration::from_secs(3600));
        assert!(reason.contains("no service runs for"), "{reason}");
        client.order(ClientOrder::TryNow);
    }
    client.told().await;
    home.write_discovery(&server.address.to_string(), Home::KEY);
    client.order(ClientOrder::TryNow);
    assert_eq!(client.tell(2).await, ["snapshot c e-4-0", "up"]);
}

/// Spec: [LINK-08]
#[actix::test]
async fn a_hurry_while_the_stream_is_open_shortens_no_later_wait() {
    let server = service(vec![vec![opening(4).into(), Part::Await("/v1/models")]]).await;
    let list = answer(200, &json!({"conversations": []}));
    server.on("/v1/conversations", vec![list; 4]);
    let home = Home::of(&server);
    let mut pace = LinkTimeouts::default();
    pace.patience.first_wait = Duration::from_secs(7200);
    pace.patience.longest_wait = Duration::from_secs(7200);
    let mut client = Client::attached(&home.config, pace);
    client.tell(2).await;
    client.order(ClientOrder::TryNow);
    client.order(ClientOrder::List { folder: None });
    client.told().await;
    let stranger = crate::client::api::connection::ServiceConnection::new(server.named(), None);
    drop(stranger.ask(&routes::models()).await);
    assert_eq!(client.told().await, "down 1");
    for _ in 0..3 {
        client.order(ClientOrder::List { folder: None });
        assert_eq!(client.told().await, "Listed([])");
    }
    let streams = asked(&server)
        .into_iter()
        .filter(|line| line.starts_with(STREAM));
    assert_eq!(streams.count(), 1);
}

/// Spec: [LINK-09]
#[actix::test]
async fn a_reset_is_a_snapshot_with_its_reason() {
    let reset = json!({"type": "reset", "reason": "the journal was replaced",
        "snapshot": snapshot("c", "f-9-0")});
    let server = service(vec![
        broken(4, &[(5, status("a")), (0, reset)]),
        open(9, &[]),
    ])
    .await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    client.tell(2).await;
    assert_eq!(
        client.tell(4).await,
        [
            "status a e-5-0",
            "snapshot c f-9-0 reset: the journal was replaced",
            "down 0",
            "up"
        ]
    );
    assert_eq!(asked(&server)[2], format!("{STREAM} f-9-0"));
}

/// Spec: [LINK-10]
#[actix::test]
async fn a_conversation_that_cannot_be_had_is_refused_and_not_asked_for_again() {
    for (status, is_refused) in [
        (404, true),
        (401, true),
        (400, true),
        (500, false),
        (503, false),
        (408, false),
    ] {
        let server = Server::start().await;
        server.on(
            SNAPSHOT,
            vec![
                problem(status, "there is no conversation c"),
                answer(200, &snapshot("c", "e-4-0")),
            ],
        );
        // Then it is deleted while it is open.
        server.say(
            EVENTS,
            vec![broken(4, &[]), vec![problem(404, "gone").into()]],
        );
        let home = Home::of(&server);
        let mut client = Client::attached(&home.config, hasty());
        if is_refused {
            let refused = "refused c: there is no conversation c";
            assert_eq!(client.told().await, refused, "{status}");
            client.order(ClientOrder::TryNow);
            client.open("c");
        } else {
            assert_eq!(client.told().await, "down 1", "{status}");
        }
        let told = client.tell(4).await;
        assert_eq!(told[..2], ["snapshot c e-4-0", "up"]);
        assert!(told[2].starts_with("down "));
        assert_eq!(told[3], "refused c: gone");
        assert_eq!(asked(&server).len(), 4);
    }
}

/// Spec: [LINK-10]
#[actix::test]
async fn an_answer_of_another_shape_is_refused() {
    let server = Server::start().await;
    server.on(SNAPSHOT, vec![answer(200, &json!({"later": 1}))]);
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    let refused = client.told().await;
    assert!(refused.contains("not as expected"), "{refused}");
}

/// Spec: [LINK-17]
#[actix::test]
async fn a_client_that_does_not_keep_up_misses_nothing() {
    const COUNT: u64 = 3000;
    let events: Vec<_> = (5..5 + COUNT)
        .map(|seq| (seq, status(&seq.to_string())))
        .collect();
    let server = service(vec![open(4, &events)]).await;
    let home = Home::of(&server);
    let mut client = Client::with_room(&home.config, hasty(), 2);
    client.open("c");
    client.tell(2).await;
    for seq in 5..5 + COUNT {
        assert_eq!(client.told().await, format!("status {seq} e-{seq}-0"));
        assert!(client.news.len() <= 2);
    }
}
