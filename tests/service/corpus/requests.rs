//! Requests of clients.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use harness_standin::{Message, MessagesRequest, Reply, Standin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{chance, changed, changes, kept};
use crate::client::within;
use crate::program::Service;
use crate::talk::{model, serving};

/// Number of requests in progress at once.
const AT_ONCE: usize = 50;

/// Number of bytes at the beginning of an answer that contain its status.
const STATUS: usize = "HTTP/1.1 200".len();

/// The status of the answer to these bytes; nothing if the connection ended without one. What is
/// not whole is ended by the client after a while.
async fn status(address: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service may end the connection before it has read everything.
    drop(stream.write_all(bytes).await);
    let mut answer = Vec::new();
    let early = async {
        while answer.len() < STATUS {
            match stream.read_buf(&mut answer).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    };
    if tokio::time::timeout(Duration::from_millis(500), early)
        .await
        .is_err()
    {
        drop(stream.shutdown().await);
        // The service itself waits ten seconds for the rest of a body.
        let end = tokio::time::timeout(Duration::from_secs(120), stream.read_to_end(&mut answer));
        drop(end.await.expect("the connection ends"));
    }
    let text = std::str::from_utf8(answer.get(..STATUS)?).ok()?;
    text.strip_prefix("HTTP/1.1 ")?.parse().ok()
}

/// A request to this service.
fn addressed(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let host = address.to_string();
    let place = b"{host}";
    match request.windows(place.len()).position(|part| part == place) {
        Some(at) => [
            &request[..at],
            host.as_bytes(),
            &request[at + place.len()..],
        ]
        .concat(),
        None => request.to_vec(),
    }
}

fn with_body(address: SocketAddr, path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn start() -> (Service, Standin) {
    let reply = |_: &MessagesRequest| -> Reply { Message::new().text("Yes.").into() };
    let (service, standin, _) = serving(reply, model(10_000_000), &[]).await;
    (service, standin)
}

/// Spec: [HTTP-06] [HTTP-09] [HTTP-105]
#[tokio::test]
async fn requests_of_any_bytes_are_answered_or_ended_and_are_no_failure_of_the_service() {
    let (requests, bodies) = (kept("requests"), kept("bodies"));
    let mut random = chance();
    let (service, standin) = start().await;
    let address = service.address;
    let mut all: Vec<Vec<u8>> = Vec::new();
    for number in 0..changes(500) {
        let path = [
            "/prompt",
            "/v1/conversations",
            "/v1/conversations/default/steer",
        ][number % 3];
        all.push(match number % 2 {
            0 => with_body(address, path, &changed(&mut random, &bodies)),
            _ => addressed(address, &changed(&mut random, &requests)),
        });
    }
    for some in all.chunks(AT_ONCE) {
        let answers = join_all(some.iter().map(|bytes| status(address, bytes))).await;
        for (bytes, status) in some.iter().zip(answers) {
            let text = String::from_utf8_lossy(bytes);
            assert!(
                status.is_none_or(|status| status < 500),
                "{status:?}: {text}"
            );
        }
    }
    within("an answer", service.get("/v1/conversations")).await;
    assert!(!service.log().contains("panicked"));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [HTTP-06]
#[tokio::test]
async fn the_grammar_of_json_decides_which_bodies_are_taken() {
    let (service, _standin) = start().await;
    for (name, body) in kept("bodies") {
        let request = with_body(service.address, "/prompt", &body);
        service.idle("default").await;
        let status = status(service.address, &request).await;
        let expected = if name.starts_with("taken") { 200 } else { 400 };
        assert_eq!(status, Some(expected), "{name}");
    }
    for (name, request) in kept("requests") {
        service.idle("default").await;
        let status = status(service.address, &addressed(service.address, &request)).await;
        let expected = name.split('-').next().unwrap().parse().unwrap();
        assert_eq!(status, Some(expected), "{name}");
    }
}
