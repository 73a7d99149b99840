//! Time in which the service did not run does not count against any deadline.

use std::time::Duration;

use harness_standin::{Gate, Message, Reply};
use nix::sys::signal::Signal;

use crate::client::Connection;
use crate::eventually::eventually;
use crate::program::Service;

/// Longer than a body may take, which is the longest limit of a client.
const STOP: Duration = Duration::from_secs(11);

/// Spec: [MODEL-63]
#[tokio::test]
async fn a_reply_that_comes_while_the_service_is_stopped_is_complete() {
    let (service, standin, script) =
        Service::scripted(&["--idle-timeout", "1s", "--head-timeout", "1s"]).await;
    let mut events = service.events().await;
    let gates = [Gate::new(), Gate::new()];
    let message = Message::new().text("one").gate(&gates[1]).text("two");
    script.push(Reply::message(message).gate_head(&gates[0]));
    service.submit("hello").await;
    // Once before the head of the answer, and once in the middle of it.
    for gate in &gates {
        eventually("the request", async || !standin.requests().is_empty()).await;
        service.signal(Signal::SIGSTOP);
        gate.open();
        tokio::time::sleep(Duration::from_secs(3)).await;
        service.signal(Signal::SIGCONT);
        if !std::ptr::eq(gate, &gates[1]) {
            events.until("text").await;
        }
    }
    assert_eq!(events.end().await.0, "idle");
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [HTTP-104]
#[tokio::test]
async fn a_request_that_comes_while_the_service_is_stopped_came_in_time() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("well"));
    let host = format!("host: {}\r\n", service.address);
    let prompt = r#"{"content":"hello"}"#;
    let get = format!("GET /healthz HTTP/1.1\r\n{host}\r\n");
    let post = format!(
        "POST /prompt HTTP/1.1\r\n{host}content-type: application/json\r\ncontent-length: {}\r\n\r\n{prompt}",
        prompt.len()
    );
    // In the head of the first request and of a later one, in a body, and between two requests.
    let halves = [
        ("", get.split_at(9)),
        (get.as_str(), get.split_at(9)),
        ("", post.split_at(post.len() - 3)),
        (get.as_str(), ("", get.as_str())),
    ];
    let mut connections = Vec::new();
    for (before, (first, _)) in halves {
        let mut connection = Connection::open(service.address).await;
        if !before.is_empty() {
            connection.send(before.as_bytes()).await;
            assert_eq!(connection.answer().await.status, 200);
        }
        connection.send(first.as_bytes()).await;
        connections.push(connection);
    }
    // What was sent so far is there.
    service.get("/v1/service").await;
    service.signal(Signal::SIGSTOP);
    tokio::time::sleep(STOP).await;
    for (connection, (_, (_, rest))) in connections.iter_mut().zip(halves) {
        connection.send(rest.as_bytes()).await;
    }
    service.signal(Signal::SIGCONT);
    for (connection, half) in connections.iter_mut().zip(halves) {
        assert_eq!(connection.answer().await.status, 200, "{half:?}");
    }
}

/// Spec: [HTTP-83]
#[tokio::test]
async fn a_first_request_whose_head_does_not_come_is_told_so() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut connection = Connection::open(service.address).await;
    connection.send(b"GET /hea").await;
    assert_eq!(connection.answer().await.status, 408);
}
