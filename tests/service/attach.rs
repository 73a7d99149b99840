//! Attaching, coming back, and what a position is worth.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::checker::check;
use crate::client::{Answer, Events, Shown, seq_of, within};
use crate::eventually::eventually;
use crate::program::Service;

/// The events of a stream up to the status that ends a run.
async fn run(events: &mut Events) -> Vec<Shown> {
    let mut run = Vec::new();
    loop {
        let shown = events.shown().await.expect("the stream has ended");
        let is_end = shown.event["type"] == "status"
            && matches!(shown.event["state"].as_str(), Some("idle" | "error"));
        run.push(shown);
        if is_end {
            return run;
        }
    }
}

fn lasting(events: &[Shown]) -> Vec<&Shown> {
    events.iter().filter(|shown| shown.id.is_some()).collect()
}

fn kinds(events: &[Shown]) -> Vec<&str> {
    events
        .iter()
        .map(|shown| shown.event["type"].as_str().unwrap())
        .collect()
}

/// Spec: [HTTP-20] [HTTP-21] [EVENT-16] [EVENT-17]
#[tokio::test]
async fn a_stream_carries_every_record_with_its_position_and_deltas_in_between() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(
        Message::new()
            .text("I will look.")
            .tool_use("t", "list_dir", json!({})),
    );
    script.push(Reply::text("Done here."));
    let mut full = service.follow("default", "", "").await;
    let mut plain = service.events().await;
    assert_eq!(full.last_id, plain.last_id);
    let start = full.last_id.clone();
    let Shown {
        id,
        event: attached,
    } = full.shown().await.unwrap();
    assert_eq!(attached["type"], "attached");
    assert_eq!(attached["position"], start.as_str());
    assert_eq!(id, Some(start));
    assert_eq!(attached["state"], "idle");
    service.submit("look").await;

    let events = run(&mut full).await;
    let seqs: Vec<u64> = events.iter().filter_map(Shown::seq).collect();
    let count = u64::try_from(seqs.len()).unwrap();
    assert_eq!(seqs, (1..=count).collect::<Vec<_>>());
    let ids: Vec<String> = events.iter().filter_map(|shown| shown.id.clone()).collect();
    assert_eq!(ids, check(&service.journal("default")).positions_behind(0));
    let lasting: Vec<Shown> = lasting(&events).into_iter().cloned().collect();
    assert_eq!(
        kinds(&lasting),
        [
            "run_started",
            "user",
            "status",
            "turn_started",
            "text",
            "status",
            "tool_call",
            "reply_ended",
            "tool_result",
            "status",
            "turn_ended",
            "turn_started",
            "text",
            "reply_ended",
            "turn_ended",
            "run_ended",
            "status",
        ]
    );
    let usage = &lasting[15].event["usage"];
    assert!(usage["output_tokens"].as_u64().unwrap() > 0, "{usage}");
    // What the deltas of a text add up to is the text.
    let mut text = String::new();
    let mut texts = Vec::new();
    for shown in &events {
        let event = &shown.event;
        if event["type"] == "delta" && event["kind"] == "text" {
            assert_eq!(event["offset"], text.len());
            text += event["text"].as_str().unwrap();
        } else if event["type"] == "text" {
            assert_eq!(event["content"], text.as_str());
            texts.push(std::mem::take(&mut text));
        }
    }
    assert_eq!(texts, ["I will look.", "Done here."]);

    // A client that asks later is shown the same, from the journal.
    let mut later = service.follow("default", "?after=0", "").await;
    for shown in &lasting {
        assert_eq!(later.shown().await.as_ref(), Some(shown));
    }
    // The stream of the first version has the same events of its types, under the same ids.
    let plain = run(&mut plain).await;
    let six = [
        "user",
        "text",
        "tool_call",
        "tool_result",
        "reasoning",
        "status",
    ];
    let mut expected: Vec<Shown> = lasting
        .into_iter()
        .filter(|shown| six.contains(&shown.event["type"].as_str().unwrap()))
        .collect();
    for shown in &mut expected {
        let event = shown.event.as_object_mut().unwrap();
        // Fields that the first version did not have.
        for field in ["run_id", "key", "by", "duration_ms", "extent"] {
            event.shift_remove(field);
        }
    }
    assert_eq!(plain, expected);
}

/// Spec: [HTTP-22]
#[tokio::test]
async fn a_client_that_comes_back_gets_exactly_what_it_lacks_from_every_position() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for _ in 0..3 {
        script.push(
            Message::new()
                .text("Looking.")
                .tool_use("t", "list_dir", json!({})),
        );
        script.push(Reply::text("Done."));
        service.submit("look").await;
        service.idle("default").await;
    }
    let positions = check(&service.journal("default")).positions_behind(0);
    let all = positions.len() as u64;
    for (place, position) in positions.iter().enumerate() {
        let header = format!("last-event-id: {position}\r\n");
        // The header wins over the query.
        let mut events = service.follow("default", "?after=0", &header).await;
        assert_eq!(events.last_id, *position);
        for expected in &positions[place + 1..] {
            assert_eq!(events.shown().await.unwrap().id.as_ref(), Some(expected));
        }
        let attached = events.shown().await.unwrap();
        assert_eq!(
            (&attached.event["type"], attached.id),
            (&json!("attached"), None)
        );
    }
    let first_behind = async |query: &str| {
        let mut events = service.follow("default", query, "").await;
        (seq_of(&events.last_id), events.shown().await.unwrap())
    };
    let (from, first) = first_behind("?after=0").await;
    assert_eq!((from, first.seq()), (0, Some(1)));
    let (from, first) = first_behind("?tail=5").await;
    assert_eq!((from, first.seq()), (all - 5, Some(all - 4)));
    let (_, first) = first_behind(&format!("?after={}", positions[9])).await;
    assert_eq!(first.seq(), Some(11));
    let (_, first) = first_behind(&format!("?after={all}")).await;
    assert_eq!(first.event["type"], "attached");

    // The stream of the first version honours the header too.
    let header = format!("last-event-id: {}\r\n", positions[4]);
    let mut plain = Events::open_at(service.address, "/events", &header).await;
    let mut seen = Vec::new();
    while seq_of(&plain.last_id) < all {
        seen.push(plain.shown().await.unwrap().event);
    }
    assert!(seen.iter().all(|event| event["timestamp"].is_u64()));
    assert_eq!(
        seen.iter().filter(|event| event["type"] == "user").count(),
        2
    );
}

/// Spec: [HTTP-23]
#[tokio::test]
async fn a_position_that_cannot_be_served_is_answered_with_a_reset() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("Done."));
    service.submit("look").await;
    service.idle("default").await;
    let other = service.create(&json!({})).await;
    script.push(Reply::text("Done."));
    let path = format!("/v1/conversations/{other}/prompt");
    assert_eq!(
        service.post(&path, r#"{"content": "look"}"#).await.status,
        200
    );
    service.idle(&other).await;
    let ours = check(&service.journal("default")).positions_behind(0);
    let theirs = check(&service.journal(&other)).positions_behind(0);
    let last = ours.last().unwrap();
    let parts: Vec<&str> = last.split('-').collect();
    let [epoch, seq, sum] = parts[..] else {
        panic!("{last}")
    };
    let next = seq.parse::<u64>().unwrap() + 1;
    let long = "9".repeat(8000);
    for position in [
        theirs[2].as_str(),
        &format!("{epoch}-{next}-{sum}"),
        &format!("{epoch}-18446744073709551615-{sum}"),
        &format!("{epoch}-18446744073709551616-{sum}"),
        &format!("{epoch}--1-{sum}"),
        &format!("{epoch}-{seq}-00000000"),
        &format!("{epoch}-0-{sum}"),
        &format!("0000000000000000-{seq}-{sum}"),
        &format!("{epoch}-{seq}"),
        "3",
        "nonsense",
        "\u{e9}\u{fc}",
        &long,
    ] {
        let header = format!("last-event-id: {position}\r\n");
        let mut events = service.follow("default", "", &header).await;
        assert_eq!(events.last_id, *last, "{position}");
        let reset = events.event().await;
        assert_eq!(reset["type"], "reset", "{position}: {reset}");
        assert!(!reset["reason"].as_str().unwrap().is_empty());
        let snapshot = &reset["snapshot"];
        assert_eq!(snapshot["position"], last.as_str());
        let history = snapshot["history"]["events"].as_array().unwrap();
        assert_eq!(history.len(), ours.len());
        assert_eq!(events.event().await["type"], "attached");

        let mut plain = Events::open_at(service.address, "/events", &header).await;
        let status = plain.event().await;
        assert_eq!(status["type"], "status");
        assert!(status["message"].as_str().unwrap().starts_with("reset: "));
    }
    let query = format!("?after={next}");
    let mut events = service.follow("default", &query, "").await;
    assert_eq!(events.event().await["type"], "reset");
}

/// Spec: [HTTP-24]
#[tokio::test]
async fn whoever_attaches_in_the_middle_of_a_block_gets_the_text_so_far_as_one_delta() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(
        Message::new()
            .words_per_delta(1)
            .text("one two three four")
            .gate_after_delta(3, &gate),
    );
    let mut early = service.follow("default", "", "").await;
    service.submit("count").await;
    within("the middle of the reply", gate.reached()).await;
    // The early one has seen what came so far, and so has the service.
    let mut deltas = String::new();
    while deltas.split_whitespace().count() < 3 {
        let event = early.event().await;
        if event["type"] == "delta" {
            deltas += event["text"].as_str().unwrap();
        }
    }
    for query in ["", "?after=0", "?tail=2"] {
        let mut late = service.follow("default", query, "").await;
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|event: &Value| event["type"] != "delta")
        {
            events.push(late.event().await);
        }
        let delta = events.pop().unwrap();
        assert_eq!(delta["offset"], 0);
        assert_eq!(delta["text"], deltas.as_str());
        let attached = events.pop().unwrap();
        assert_eq!(
            (&attached["type"], &attached["state"]),
            (&json!("attached"), &json!("thinking"))
        );
        assert_eq!(attached["run_id"], 1);
    }
    gate.open();
    run(&mut early).await;
}

/// Spec: [HTTP-25]
#[tokio::test]
async fn clients_are_told_who_is_attached() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let presence = async |events: &mut Events, count: u64| loop {
        let event = events.event().await;
        if event["type"] == "presence" && event["count"] == count {
            return event["names"].clone();
        }
    };
    let mut first = service.follow("default", "?name=ann", "").await;
    assert_eq!(presence(&mut first, 1).await, json!(["ann"]));
    let second = service.follow("default", "?name=bob%20b", "").await;
    let third = service.events().await;
    assert_eq!(presence(&mut first, 3).await, json!(["ann", "bob b"]));
    drop(second);
    assert_eq!(presence(&mut first, 2).await, json!(["ann"]));
    drop(third);
    assert_eq!(presence(&mut first, 1).await, json!(["ann"]));
}

/// Spec: [HTTP-26]
#[tokio::test]
async fn the_events_route_says_what_is_wrong() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let events = "/v1/conversations/default/events";
    let get = async |path: &str, headers: &str| -> Answer {
        service.send("GET", path, headers, "").await
    };
    for id in ["nowhere", "..", "%2e%2e%2f", "A", "a%00", &"a".repeat(65)] {
        let answer = get(&format!("/v1/conversations/{id}/events"), "").await;
        assert_eq!(answer.status, 404, "{id}");
    }
    assert_eq!(
        get(events, "accept: application/json\r\n").await.status,
        406
    );
    assert_eq!(get(&format!("{events}?tail=-1"), "").await.status, 400);
    let posted = service.post(events, "{}").await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")));
}

/// Number of clients that come and go; `HARNESS_ATTACHES` sets another number.
const ATTACHES: usize = 500;
/// Number of clients that are attached at once.
const AT_ONCE: usize = 20;

/// Spec: [HTTP-55]
#[tokio::test]
async fn clients_that_come_and_go_leave_nothing_behind() {
    let attaches = std::env::var("HARNESS_ATTACHES");
    let attaches = attaches.map_or(ATTACHES, |attaches| attaches.parse().unwrap());
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let files = || {
        // Only their number: which files it has open, a service shows to nobody but root.
        let folder = format!("/proc/{}/fd", service.id());
        std::fs::metadata(folder).unwrap().len()
    };
    let mut watching = service.follow("default", "", "").await;
    let before = files();
    for round in 0..attaches / AT_ONCE {
        let mut clients = Vec::new();
        for _ in 0..AT_ONCE {
            let path = ["", "?after=0", "?tail=3&name=x"][round % 3];
            clients.push(service.follow("default", path, "").await);
        }
    }
    // The last ones are gone when the one that stays is told that it is alone.
    within("the end of all others", async {
        loop {
            let event = watching.event().await;
            if event["type"] == "presence" && event["count"] == 1 {
                return;
            }
        }
    })
    .await;
    eventually("the files to be closed", async || files() <= before).await;
}

/// Spec: [HTTP-12] [HTTP-20]
#[tokio::test]
async fn a_client_with_the_smallest_window_is_only_slow() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let text = "some words of some length ".repeat(4000);
    script.push(Message::new().text(text.as_str()));
    service.submit("go on").await;
    service.idle("default").await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2304).unwrap();
    let mut stream = socket.connect(service.address).await.unwrap();
    let request = format!(
        "GET /v1/conversations/default/events?after=0 HTTP/1.1\r\nhost: {}\r\n\r\n",
        service.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let mut piece = [0; 512];
    within("the last event", async {
        while !received.windows(10).any(|part| part == b"\"attached\"") {
            let size = stream.read(&mut piece).await.unwrap();
            received.extend_from_slice(&piece[..size]);
        }
    })
    .await;
    let words = received.windows(4).filter(|part| part == b"word").count();
    assert!((3990..=4000).contains(&words), "{words}");
}

/// Spec: [HTTP-22]
#[tokio::test]
async fn of_two_places_to_start_from_the_header_is_taken() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("x"));
    service.submit("hello").await;
    service.idle("default").await;
    let mut all = service.follow("default", "?after=0", "").await;
    let mut position = all.last_id.clone();
    while seq_of(&position) < 3 {
        position = all.shown().await.unwrap().id.unwrap_or(position);
    }
    let header = format!("last-event-id: {position}\r\n");
    for query in ["?after=1", "?tail=1"] {
        let mut both = service.follow("default", query, &header).await;
        assert_eq!(both.last_id, position, "{query}");
        assert_eq!(both.shown().await.unwrap().seq(), Some(4), "{query}");
    }
}
