//! Several clients on one conversation.

use harness_standin::{Message, Model, Reply, encode_event};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Events, within};
use crate::eventually::eventually;
use crate::program::{MODEL, Service};

/// Spec: [HTTP-11]
#[tokio::test]
async fn clients_see_identical_sequences_and_one_that_leaves_changes_nothing() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(service.events().await);
    }
    for number in 0..3 {
        script.push(Message::new().text("I will look.").tool_use(
            format!("t{number}"),
            "list_dir",
            json!({"path": "."}),
        ));
        script.push(Reply::text("Done."));
        service.submit("look").await;
        let mut seen = Vec::new();
        for client in &mut clients {
            seen.push(client.run().await);
        }
        assert!(seen.iter().all(|run| *run == seen[0]), "{seen:?}");
        clients.pop();
    }
}

/// Spec: [HTTP-12] [HTTP-15]
#[tokio::test]
async fn a_client_that_stops_reading_delays_nobody_and_misses_nothing() {
    let (service, _standin, script) = Service::scripted(&["--auto-compact", "false"]).await;
    // All that was said fits.
    script.set_models(vec![Model::new(MODEL).window(100_000_000)]);
    let mut stalled = Vec::new();
    for _ in 0..12 {
        let mut client = TcpStream::connect(service.address).await.unwrap();
        let request = format!("GET /events HTTP/1.1\r\nhost: {}\r\n\r\n", service.address);
        client.write_all(request.as_bytes()).await.unwrap();
        stalled.push(client);
    }
    let mut reading = service.events().await;
    let before = service.resident_bytes();
    let text = "x".repeat(400_000);
    let message = (0..60).fold(Message::new(), |message, _| message.text(text.as_str()));
    script.push(message);
    service.submit("a lot, please").await;
    assert_eq!(reading.end().await.0, "idle");
    let grown = service.resident_bytes().saturating_sub(before);
    // Each client is behind by 24 MB, which the journal keeps for them.
    assert!(
        grown < 180 << 20,
        "{grown} bytes for 12 times 24 MB of events"
    );
    script.push(Reply::text("the last words"));
    service.submit("more").await;
    assert_eq!(reading.end().await.0, "idle");
    // One that reads on gets everything, from the journal at its own pace.
    let (mut reader, _writer) = stalled.remove(0).into_split();
    let mut received = Vec::new();
    let is_end = |received: &[u8]| {
        let end = &received[received.len().saturating_sub(400)..];
        end.windows(14).any(|part| part == b"the last words")
    };
    while !is_end(&received) {
        let read = within("the rest", reader.read_buf(&mut received));
        assert!(read.await.unwrap() > 0);
    }
    let texts = received
        .windows(13)
        .filter(|part| part == b"\"type\":\"text\"");
    assert_eq!(texts.count(), 61);
}

/// Spec: [HTTP-11] [HTTP-12]
#[tokio::test]
async fn a_reply_that_arrives_at_once_reaches_every_client_whole() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut clients = [service.events().await, service.events().await];
    let blocks = (0..5000).map(|index| {
        let events = [
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "x"}}),
            json!({"type": "content_block_stop", "index": index}),
        ];
        events.iter().map(encode_event).collect::<Vec<_>>().concat()
    });
    let start = encode_event(&json!({"type": "message_start", "message": {}}));
    let stop = encode_event(&json!({"type": "message_stop"}));
    let stream = [
        start.to_vec(),
        blocks.collect::<Vec<_>>().concat(),
        stop.to_vec(),
    ]
    .concat();
    script.push(Reply::sse(stream));
    service.submit("quick").await;
    for client in &mut clients {
        let run = client.run().await;
        assert_eq!(run.len(), 5003);
        assert_eq!(run[5002]["state"], "idle");
    }
}

/// Spec: [HTTP-13]
#[tokio::test]
async fn one_client_too_many_is_refused_and_the_rest_goes_on() {
    let (service, _standin, script) = Service::scripted(&["--max-subscribers", "2"]).await;
    let mut first = service.events().await;
    let second = service.events().await;
    let refused = service.send("GET", "/events", "", "").await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(second);
    script.push(Reply::text("still here"));
    service.submit("hello").await;
    assert_eq!(first.end().await.0, "idle");
    // The place is free as soon as the service has seen the client leave.
    eventually("the place of the client that left", async || {
        service.send("GET", "/events", "", "").await.status != 503
    })
    .await;
}

/// Spec: [HTTP-10]
#[tokio::test]
async fn heartbeats_come_and_the_head_keeps_proxies_from_holding_events_back() {
    let (service, _standin, _script) = Service::scripted(&["--heartbeat", "50ms"]).await;
    let mut events: Events = service.events().await;
    for _ in 0..3 {
        assert_eq!(events.frame().await.unwrap(), ": heartbeat");
    }
    for (name, value) in [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("cache-control", "no-store, no-transform"),
        ("x-accel-buffering", "no"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(events.head.header(name), Some(value));
    }
    assert_eq!(events.head.header("content-encoding"), None);
}
