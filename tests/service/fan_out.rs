//! Several clients on one conversation.

use std::time::Duration;

use harness_standin::{Message, Reply};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use crate::client::Events;
use crate::program::Service;

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
async fn a_client_that_stops_reading_delays_nobody_and_is_let_go() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut stalled = Vec::new();
    for _ in 0..12 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(2304).unwrap();
        let mut client = socket.connect(service.address).await.unwrap();
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
    // Each client is behind by up to 24 MB, which they share.
    assert!(
        grown < 96 << 20,
        "{grown} bytes for 12 times 24 MB of events"
    );
    // What the service and the system hold is far less than what was sent.
    let (mut reader, _writer) = stalled.remove(0).into_split();
    let mut received = 0_usize;
    let mut buffer = vec![0; 1 << 20];
    let mut last = Vec::new();
    loop {
        let read = tokio::io::AsyncReadExt::read(&mut reader, &mut buffer);
        let Ok(Ok(bytes @ 1..)) = tokio::time::timeout(Duration::from_secs(3), read).await else {
            break;
        };
        received += bytes;
        last = buffer[bytes.saturating_sub(200)..bytes].to_vec();
    }
    assert!(received < 20_000_000, "{received} bytes");
    let last = String::from_utf8_lossy(&last).into_owned();
    assert!(last.contains("too much waited for this client"), "{last}");
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
    let again = async {
        loop {
            if service.send("GET", "/events", "", "").await.status == 503 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            } else {
                return;
            }
        }
    };
    // The place is free as soon as the service has seen the client leave.
    tokio::select! {
        () = again => {}
        () = tokio::time::sleep(Duration::from_secs(10)) => panic!("the place was not given again"),
    }
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
