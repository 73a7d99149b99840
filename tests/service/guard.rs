//! The access to the service.

use std::os::unix::fs::PermissionsExt as _;

use harness_standin::{Message, Reply};
use nix::unistd::{Uid, setfsuid};
use serde_json::json;

use crate::client::{Answer, Connection};
use crate::program::{API_KEY, Service};

/// Every route, with its method, and some that are none.
const ROUTES: [(&str, &str); 32] = [
    ("GET", "/events"),
    ("POST", "/prompt"),
    ("POST", "/cancel"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/nowhere"),
    ("DELETE", "/prompt"),
    ("GET", "/v1/conversations"),
    ("POST", "/v1/conversations"),
    ("GET", "/v1/conversations/default"),
    ("PATCH", "/v1/conversations/default"),
    ("DELETE", "/v1/conversations/default"),
    ("GET", "/v1/conversations/default/history"),
    ("GET", "/v1/conversations/default/events"),
    ("POST", "/v1/conversations/default/prompt"),
    ("POST", "/v1/conversations/default/cancel"),
    ("POST", "/v1/conversations/default/fork"),
    ("POST", "/v1/conversations/default/steer"),
    ("POST", "/v1/conversations/default/follow-up"),
    ("GET", "/v1/conversations/default/queue"),
    ("DELETE", "/v1/conversations/default/queue"),
    ("DELETE", "/v1/conversations/default/queue/1"),
    ("POST", "/v1/conversations/default/continue"),
    ("POST", "/v1/conversations/default/retry"),
    ("GET", "/v1/conversations/default/settings"),
    ("PATCH", "/v1/conversations/default/settings"),
    ("POST", "/v1/conversations/default/compact"),
    ("GET", "/v1/conversations/default/usage"),
    ("GET", "/v1/models"),
    ("GET", "/v1/tools"),
    ("GET", "/v1/attachments/x"),
    ("GET", "/v1/service"),
];

async fn raw(service: &Service, request: String) -> Answer {
    let mut connection = Connection::open(service.address).await;
    connection.send(request.as_bytes()).await;
    connection.answer().await
}

/// Spec: [SEC-02] [HTTP-08]
#[tokio::test]
async fn a_request_for_another_host_is_refused_on_every_route() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let port = service.address.port();
    for (method, path) in ROUTES {
        for host in [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            format!("127.0.0.1.evil.example:{port}"),
            format!("localhost.:{port}"),
            "127.0.0.1".to_owned(),
            format!("0.0.0.0:{port}"),
            format!("2130706433:{port}"),
        ] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
            let answer = raw(&service, request).await;
            assert_eq!(answer.status, 421, "{method} {path} {host}");
            assert_eq!(answer.json()["status"], 421);
        }
        let absolute = format!(
            "{method} http://evil.example{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 0\r\n\r\n"
        );
        assert_eq!(raw(&service, absolute).await.status, 421);
    }
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let request = format!("GET /healthz HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n");
        let answer = raw(&service, request).await;
        assert_eq!(
            (answer.status, &answer.json()["status"]),
            (200, &"ok".into())
        );
    }
}

/// Spec: [SEC-03] [SEC-04]
#[tokio::test]
async fn web_pages_are_refused_whatever_they_say_they_are() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let own = format!("origin: http://{}", service.address);
    for (method, path) in ROUTES {
        for header in [
            "origin: null",
            "origin: https://evil.example",
            "origin: http://localhost:1",
            "origin: chrome-extension://abc",
            &own,
            "sec-fetch-site: cross-site",
            "sec-fetch-site: same-site",
        ] {
            let headers = format!("content-type: application/json\r\n{header}\r\n");
            let body = r#"{"content":"x"}"#;
            let answer = service.send(method, path, &headers, body).await;
            assert_eq!(answer.status, 403, "{method} {path} {header}");
        }
    }
    let preflight = "origin: https://evil.example\r\naccess-control-request-method: POST\r\naccess-control-request-private-network: true\r\n";
    let answer = service.send("OPTIONS", "/prompt", preflight, "").await;
    assert_eq!(answer.status, 403);
    let typed = "sec-fetch-site: none\r\n";
    assert_eq!(service.send("GET", "/healthz", typed, "").await.status, 200);
    assert!(standin.requests().is_empty());
}

/// Spec: [SEC-05] [SEC-06] [SEC-07]
#[tokio::test]
async fn with_require_token_every_route_but_health_needs_the_token() {
    let (service, _standin, script) = Service::scripted(&["--require-token"]).await;
    let path = service.home.path().join(".harness/token");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let folder = path.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let token = std::fs::read_to_string(&path).unwrap();
    let token = token.trim_end();
    assert_eq!(token.len(), 64);
    for (method, path) in ROUTES {
        let expected = if path == "/healthz" { 200 } else { 401 };
        let cut = format!("authorization: Bearer {}\r\n", &token[1..]);
        let twice = format!("authorization: Bearer {token}\r\n").repeat(2);
        for headers in ["", "authorization: Bearer \r\n", &cut, &twice] {
            let answer = service.send(method, path, headers, "").await;
            assert_eq!(answer.status, expected, "{method} {path} {headers}");
        }
        let path = format!("{path}?token={token}");
        let in_query = service.send(method, &path, "", "").await;
        assert_eq!(in_query.status, expected);
        if expected == 401 {
            assert_eq!(in_query.header("www-authenticate"), Some("Bearer"));
            assert!(!in_query.body.contains(token));
        }
    }
    script.push(Reply::text("x"));
    let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    let body = r#"{"content":"x"}"#;
    let answer = service.send("POST", "/prompt", &headers, body).await;
    assert_eq!(answer.status, 200);
    assert!(!service.whole_log().await.contains(token));
}

/// Spec: [SEC-12]
#[tokio::test]
async fn secrets_in_files_and_in_the_api_s_words_are_not_shown() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    let token = token.trim_end();
    // What is in the state folder is closed to tools; a copy is not.
    std::fs::write(service.home.path().join("copy"), token).unwrap();
    let read = |id: &str, path: &str| Message::new().tool_use(id, "read", json!({ "path": path }));
    script.push(read("a", "copy"));
    script.push(Message::new().tool_use("c", "grep", json!({"pattern": ".", "path": "copy"})));
    script.push(read("d", ".harness/token"));
    script.push(read("b", &format!("/proc/{}/environ", service.id())));
    let quoting = format!("there is no key {API_KEY} here");
    script.push(Reply::error(401, "authentication_error", quoting.as_str()));
    let mut events = service.events().await;
    service.submit("what is the key?").await;
    let run = events.run().await;
    let shown = serde_json::to_string(&run).unwrap();
    assert_eq!(shown.matches("***").count(), 3, "{shown}");
    assert_eq!(shown.matches("\"isError\":false").count(), 2, "{shown}");
    let refused = "permission denied: the memory and the environment of processes are not read";
    assert!(shown.contains(refused), "{shown}");
    for secret in [API_KEY, token] {
        assert!(!shown.contains(secret) && !service.whole_log().await.contains(secret));
        let sent = standin.requests();
        assert!(
            sent.iter()
                .all(|request| !request.json().to_string().contains(secret))
        );
    }
}

/// Spec: [SEC-10]
#[tokio::test]
async fn the_key_goes_to_the_api_and_nowhere_else() {
    let (service, standin, script) = Service::scripted(&["--log", "trace"]).await;
    let mut events = service.events().await;
    script.push(Reply::error(
        401,
        "authentication_error",
        "invalid x-api-key",
    ));
    script.push(Reply::text("x"));
    for _ in 0..2 {
        service.submit("hello").await;
        let run = events.run().await;
        assert!(run.iter().all(|event| !event.to_string().contains(API_KEY)));
    }
    let request = &standin.requests()[0];
    assert_eq!(request.header("x-api-key"), Some(API_KEY));
    assert_eq!(request.header("authorization"), None);
    assert!(!service.whole_log().await.contains(API_KEY));
}

/// Spec: [SEC-05]
#[tokio::test]
async fn a_process_of_another_user_needs_the_token() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    // The kernel gives a socket to the user that its thread has for the file system. Only root
    // can become somebody else there; for anybody else this stays a connection of their own.
    let us = Uid::effective();
    let other = if us.is_root() {
        Uid::from_raw(65534)
    } else {
        us
    };
    setfsuid(other);
    let mut connection = Connection::open(service.address).await;
    setfsuid(us);
    let request = format!(
        "POST /cancel HTTP/1.1\r\nhost: {}\r\ncontent-length: 0\r\n\r\n",
        service.address
    );
    connection.send(request.as_bytes()).await;
    let expected = if other == us { 200 } else { 401 };
    assert_eq!(connection.answer().await.status, expected);
    assert!(!service.cancel().await);
}
