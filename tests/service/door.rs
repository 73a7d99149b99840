//! Clients that are slow, many, or handed on.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::bash::run;
use crate::bounds::took_at_most;
use crate::changing::Changing;
use crate::client::{Connection, Events, LIMIT, within};
use crate::program::Service;

/// A client that hides its socket, as the program says.
const HIDDEN_CLIENT: &str = include_str!("../support/hidden_client.py");

/// The lifetime of a connection on which this is sent at once, and then `x` again and again.
async fn dripping(address: SocketAddr, first: String) -> Duration {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let start = Instant::now();
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut bytes = [0; 4096];
    let until_closed = async {
        loop {
            match tokio::time::timeout(Duration::from_millis(300), stream.read(&mut bytes)).await {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(_)) => {}
                Err(_) => {
                    if stream.write_all(b"1\r\nx\r\n").await.is_err() {
                        return;
                    }
                }
            }
        }
    };
    let closed = tokio::time::timeout(3 * LIMIT, until_closed).await;
    closed.expect("the end of the connection");
    start.elapsed()
}

/// Spec: [HTTP-83]
#[tokio::test]
async fn a_byte_now_and_then_keeps_no_connection_on_any_route() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let address = service.address;
    let host = format!("host: {address}\r\n");
    let whole = format!("GET /healthz HTTP/1.1\r\n{host}\r\n");
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut firsts = vec![
        "GET /hea".to_owned(),
        format!("{whole}GET /hea"),
        format!("{whole}{whole}GET /healthz HTTP/1.1\r\nx-"),
        format!("GET /healthz HTTP/1.1\r\n{host}expect: 100-continue\r\ncontent-length: 9\r\n\r\n"),
    ];
    for (method, path) in [
        ("GET", "/healthz"),
        ("GET", "/events"),
        ("GET", "/v1/tools"),
        ("HEAD", "/v1/service"),
        ("PUT", "/prompt"),
        ("DELETE", "/v1/conversations/default/queue"),
        ("POST", "/prompt"),
        ("POST", "/cancel"),
        ("POST", "/nowhere"),
        ("POST", "/v1/conversations/default/fork"),
    ] {
        firsts.push(format!("{method} {path} HTTP/1.1\r\n{host}{chunked}"));
    }
    let lasted = firsts.iter().map(|first| dripping(address, first.clone()));
    for (first, lasted) in firsts.iter().zip(join_all(lasted).await) {
        assert!(lasted < 2 * LIMIT, "{lasted:?}: {first}");
    }
    assert!(!service.cancel().await);
}

/// Spec: [HTTP-83]
#[tokio::test]
async fn a_connection_is_good_for_many_requests_with_bodies_and_without() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let host = format!("host: {}\r\n", service.address);
    let mut connection = Connection::open(service.address).await;
    for _ in 0..3 {
        for (method, path, status) in [
            ("GET", "/healthz", 200),
            ("GET", "/v1/service", 200),
            ("POST", "/cancel", 200),
            ("GET", "/nowhere", 404),
        ] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\n{host}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
            );
            connection.send(request.as_bytes()).await;
            let answer = connection.answer().await;
            assert_eq!(answer.status, status, "{method} {path}");
        }
    }
}

/// Spec: [SEC-52]
#[tokio::test]
async fn a_request_that_is_handed_on_needs_the_token() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let forwarded = "x-forwarded-for: 192.0.2.1\r\n";
    let answer = service.send("GET", "/v1/tools", forwarded, "").await;
    assert_eq!(answer.status, 401);
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    let shown = format!("{forwarded}authorization: Bearer {}\r\n", token.trim_end());
    let answer = service.send("GET", "/v1/tools", &shown, "").await;
    assert_eq!(answer.status, 200);
}

/// Spec: [SEC-50]
#[tokio::test]
async fn a_token_that_is_replaced_counts_at_once() {
    let (service, _standin, _script) = Service::scripted(&["--require-token"]).await;
    let file = service.home.path().join(".harness/token");
    let old = std::fs::read_to_string(&file).unwrap();
    let status = async |token: &str| {
        let header = format!("authorization: Bearer {}\r\n", token.trim_end());
        service.send("GET", "/v1/tools", &header, "").await.status
    };
    assert_eq!(status(&old).await, 200);
    let new = "a-new-token-of-the-operator";
    std::fs::write(&file, new).unwrap();
    assert_eq!((status(&old).await, status(new).await), (401, 200));
    assert!(!service.whole_log().await.contains(new));
}

/// Spec: [SEC-513]
#[tokio::test]
async fn a_stream_ends_with_the_token_that_opened_it() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let file = service.home.path().join(".harness/token");
    let token = std::fs::read_to_string(&file).unwrap();
    let shown = format!("authorization: Bearer {}\r\n", token.trim_end());
    let full = service.follow("default", "", &shown).await;
    let plain = Events::open_at(service.address, "/events", &shown).await;
    let mut known = service.events().await;
    std::fs::write(&file, "a-new-token-of-the-operator").unwrap();
    let replaced = Instant::now();
    for mut events in [full, plain] {
        let mut last = String::new();
        while let Some(frame) = events.frame().await {
            last = frame;
        }
        assert!(last.starts_with(": the token was replaced"), "{last:?}");
    }
    took_at_most(Duration::from_secs(5), replaced.elapsed());
    // The stream of a client that needs no token continues.
    script.push(harness_standin::Reply::text("x"));
    service.submit("hello").await;
    assert!(known.shown().await.is_some());
    service.idle("default").await;
}

/// Spec: [SEC-510] [SEC-511]
#[tokio::test]
async fn what_a_tool_starts_is_refused_also_if_it_hides_its_socket() {
    let here = Changing::in_mode("ask").await;
    let token = std::fs::read(here.service.home.path().join(".harness/token")).unwrap();
    here.file("token", token);
    here.file("ask.py", HIDDEN_CLIENT);
    let address = here.service.address;
    // Without the token, and with it if the socket can be found.
    for (kind, token, expected) in [
        ("table", "$(cat token)", "403 403 "),
        ("ended", "$(cat token)", "403 403 "),
        ("undumpable", "", "403 "),
        ("flight", "", "403 "),
    ] {
        let (host, port) = (address.ip(), address.port());
        let command = format!("python3 ask.py {kind} {host} {port} {token}");
        let input = json!({"command": command, "access": "read", "network": true});
        // Meanwhile this client, which no tool started, asks how the run is and is answered without the token.
        let (result, _) = run(&here, input).await;
        assert!(result.starts_with(expected), "{kind}: {result}");
    }
}

/// Spec: [SEC-512] [ATT-510]
#[tokio::test]
async fn what_is_closed_to_tools_is_closed_to_conversations_and_attachments() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let keys = service.home.path().join(".ssh");
    std::fs::create_dir(&keys).unwrap();
    std::fs::write(keys.join("id_rsa"), "private").unwrap();
    let folder = json!({ "workspace": keys });
    let body = folder.to_string();
    let answer = service.post("/v1/conversations", &body).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(answer.body.contains("it is closed to tools"), "{answer:?}");
    // The default conversation works in the folder above it, and this one in it.
    let id = service.create(&folder).await;
    let inside = format!("/v1/conversations/{id}/prompt");
    for (path, attached) in [("/prompt", ".ssh/id_rsa"), (&*inside, "id_rsa")] {
        let order = json!({"content": "Look.", "attachments": [{"path": attached}]});
        let answer = service.as_owner("POST", path, &order).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let detail = "permission denied: it is closed to tools";
        assert!(answer.body.contains(detail), "{answer:?}");
    }
}

/// Spec: [SEC-54]
#[tokio::test]
async fn what_strangers_ask_for_does_not_fill_the_log() {
    let (service, _standin, _script) = Service::scripted(&["--log", "info"]).await;
    for headers in ["via: x\r\n", "origin: https://evil.example\r\n"] {
        for _ in 0..20 {
            let answer = service.send("GET", "/v1/tools", headers, "").await;
            assert!(matches!(answer.status, 401 | 403), "{answer:?}");
        }
    }
    let log = service.whole_log().await;
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("refused"))
        .collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("404"), "{log}");
}

/// Spec: [HTTP-84]
#[tokio::test]
async fn bodies_under_way_have_a_bound_and_leave_room_for_a_prompt() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let head = format!(
        "POST /prompt HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{{",
        service.address,
        18 * 1024 * 1024
    );
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut connection = Connection::open(service.address).await;
        connection.send(head.as_bytes()).await;
        held.push(connection);
    }
    let refused = within("a refusal", async {
        loop {
            let mut connection = Connection::open(service.address).await;
            connection.send(head.as_bytes()).await;
            let limit = Duration::from_secs(2);
            // What is not refused was there before one of the two.
            match tokio::time::timeout(limit, connection.answer()).await {
                Ok(answer) => return answer,
                Err(_) => held.push(connection),
            }
        }
    });
    let refused = refused.await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some() && refused.body.contains("bodies of"));
    script.push(harness_standin::Reply::text("x"));
    service.submit("there is room for this").await;
    service.idle("default").await;
    drop(held);
}
