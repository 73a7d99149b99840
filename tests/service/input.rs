//! Requests that clients may send, and the refusals of those that they may not.

use std::time::Duration;

use harness_standin::Reply;
use serde_json::json;

use crate::client::Connection;
use crate::program::Service;

/// Spec: [HTTP-06] [HTTP-07] [HTTP-09]
#[tokio::test]
async fn bad_bodies_are_refused_with_a_problem_and_have_no_effect() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let json = "content-type: application/json\r\n";
    let deep = "[".repeat(100_000);
    for (headers, body, status) in [
        (json, "", 400),
        (json, "{", 400),
        (json, "nonsense", 400),
        (json, "[]", 400),
        (json, "\"text\"", 400),
        (json, "[\"hello\"]", 400),
        (json, "{}", 400),
        (json, r#"{"content":3}"#, 400),
        (json, r#"{"content":null}"#, 400),
        (json, r#"{"content":""}"#, 400),
        (json, r#"{"content":" \n\t\u3000"}"#, 400),
        (json, r#"{"content":"\ud800"}"#, 400),
        (json, r#"{"content":"a","content":"b"}"#, 400),
        (json, &deep, 400),
        ("", r#"{"content":"x"}"#, 415),
        ("content-type: text/plain\r\n", r#"{"content":"x"}"#, 415),
        (
            "content-type: application/x-www-form-urlencoded\r\n",
            "content=x",
            415,
        ),
        (
            "content-type: multipart/form-data; boundary=x\r\n",
            "--x--",
            415,
        ),
        (
            "content-type: application/json;charset=utf-16\r\n",
            "{}",
            415,
        ),
        (
            "content-type: application/json\r\ncontent-type: text/plain\r\n",
            "{}",
            415,
        ),
        (
            "content-type: application/json\r\ncontent-encoding: gzip\r\n",
            "{}",
            415,
        ),
    ] {
        let answer = service.send("POST", "/prompt", headers, body).await;
        assert_eq!(answer.status, status, "{headers} {body:.40} {answer:?}");
        let content_type = answer.header("content-type");
        assert_eq!(content_type, Some("application/problem+json"));
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail", "request_id"] {
            assert!(
                problem[field].as_str().is_some_and(|text| !text.is_empty()),
                "{problem}"
            );
        }
        let id = problem["request_id"].as_str().unwrap();
        assert!(service.whole_log().await.contains(id));
    }
    let cancel = service
        .send("POST", "/cancel", "content-type: text/plain\r\n", "x")
        .await;
    assert_eq!(cancel.status, 415);
    for (headers, body) in [(json, "{}"), ("content-type: text/plain\r\n", "")] {
        assert_eq!(
            service.send("POST", "/cancel", headers, body).await.status,
            200
        );
    }
    assert!(standin.requests().is_empty());
}

/// Spec: [HTTP-102]
#[tokio::test]
async fn a_body_with_two_members_of_one_name_has_no_effect() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let at = "/v1/conversations/default";
    let settings = format!("{at}/settings");
    let before = service.get(&settings).await;
    for (method, path, body, name) in [
        (
            "POST",
            "/prompt",
            r#"{"content":"a","content":"b"}"#,
            "content",
        ),
        (
            "POST",
            "/prompt",
            r#"{"content":"a","x":{"y":1,"y":2}}"#,
            "y",
        ),
        (
            "POST",
            "/prompt",
            r#"{"content":"a","attachments":[{"path":"a","path":"b"}]}"#,
            "path",
        ),
        ("POST", "/cancel", r#"[{"a":1,"\u0061":2}]"#, "a"),
        (
            "POST",
            "/cancel",
            r#"{"run_id":1,"a":[{"b":1,"b":1}]}"#,
            "b",
        ),
        (
            "PATCH",
            &settings,
            r#"{"settings":{"max_turns":3,"max_turns":4}}"#,
            "max_turns",
        ),
        (
            "POST",
            "/v1/conversations",
            r#"{"settings":{"max_turns":3,"max_turns":3}}"#,
            "max_turns",
        ),
        (
            "POST",
            &format!("{at}/steer"),
            r#"{"content":"a","key":"a","key":"b"}"#,
            "key",
        ),
        (
            "POST",
            &format!("{at}/compact"),
            r#"{"force":true,"force":true}"#,
            "force",
        ),
        ("PATCH", at, r#"{"title":"a","title":"a"}"#, "title"),
        ("POST", &format!("{at}/fork"), r#"{"seq":1,"seq":1}"#, "seq"),
    ] {
        let json = "content-type: application/json\r\n";
        let answer = service.send(method, path, json, body).await;
        assert_eq!(answer.status, 400, "{body} {answer:?}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(name), "{detail}");
    }
    assert_eq!(service.get(&settings).await, before);
    assert!(standin.requests().is_empty());
    // A member that a route does not know.
    let strict = service.post(&format!("{at}/compact"), r#"{"y":1}"#).await;
    assert_eq!(strict.status, 400);
    assert_eq!(service.post("/cancel", r#"{"y":1}"#).await.status, 200);
}

/// Spec: [HTTP-07]
#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_and_without_its_length() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let limit = 4 * 1024 * 1024;
    let body = |size: usize| json!({"content": "x".repeat(size - 14)}).to_string();
    assert_eq!(body(limit).len(), limit);
    assert_eq!(service.post("/prompt", &body(limit + 1)).await.status, 413);

    let mut connection = Connection::open(service.address).await;
    let head = format!(
        "POST /v1/conversations HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        service.address
    );
    connection.send(head.as_bytes()).await;
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    for _ in 0..4 {
        connection.send(chunk.as_bytes()).await;
    }
    connection.send(b"1\r\nx\r\n").await;
    assert_eq!(connection.answer().await.status, 413);
    assert!(connection.is_closed_within(Duration::from_secs(5)).await);
    assert!(standin.requests().is_empty());

    script.push(Reply::text("x"));
    assert_eq!(service.post("/prompt", &body(limit)).await.status, 200);
}

/// Spec: [HTTP-09]
#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut connection = Connection::open(service.address).await;
    let head = format!(
        "POST /prompt HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        service.address
    );
    connection.send(head.as_bytes()).await;
    assert_eq!(connection.answer().await.status, 408);
}

/// Spec: [HTTP-08]
#[tokio::test]
async fn unknown_routes_and_methods_are_named() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    assert_eq!(service.send("GET", "/", "", "").await.status, 404);
    assert_eq!(service.send("GET", "/events/", "", "").await.status, 404);
    for (method, path, allow) in [
        ("POST", "/events", "GET"),
        ("GET", "/prompt", "POST"),
        ("PUT", "/prompt", "POST"),
        ("OPTIONS", "/prompt", "POST"),
        ("TRACE", "/cancel", "POST"),
        ("DELETE", "/healthz", "GET"),
    ] {
        let answer = service.send(method, path, "", "").await;
        assert_eq!(answer.status, 405, "{method} {path}");
        assert_eq!(answer.header("allow"), Some(allow));
    }
    let answer = service
        .send("GET", "/events", "accept: application/json\r\n", "")
        .await;
    assert_eq!(answer.status, 406);
}

/// Spec: [HTTP-03] [EVENT-02]
#[tokio::test]
async fn any_text_comes_back_exactly_and_stays_one_event() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    for text in [
        "line\nline\r\nline\rline",
        "data: x\n\nevent: y\nid: 9\n\n: z",
        "\u{2028}\u{2029}\u{feff}\u{0}\u{1b}[2J\u{202e}",
        "é😀\u{10ffff}",
        "\"\\/{}[]",
        " leading and trailing ",
    ] {
        script.push(Reply::text(text));
        service.submit(text).await;
        let run = events.run().await;
        assert_eq!(run[0], json!({"type": "user", "content": text}));
        assert_eq!(run[2], json!({"type": "text", "content": text}));
    }
    let last = standin.requests().last().unwrap().json();
    assert_eq!(
        last["messages"][0]["content"][0]["text"],
        "line\nline\r\nline\rline"
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [HTTP-09]
#[tokio::test]
async fn bytes_that_are_not_http_end_the_connection_and_nothing_else() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let host = format!("host: {}\r\n", service.address);
    for request in [
        "garbage\r\n\r\n".to_owned(),
        "GET /events\r\n\r\n".to_owned(),
        format!(
            "POST /prompt HTTP/1.1\r\n{host}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"
        ),
        format!("POST /prompt HTTP/1.1\r\n{host}content-length: 1\r\ncontent-length: 2\r\n\r\n"),
        format!("POST /prompt HTTP/1.1\r\n{host}content-length: +1\r\n\r\n"),
        format!("GET /\0 HTTP/1.1\r\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}{}\r\n", "x: y\r\n".repeat(200)),
        format!("GET / HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(200_000)),
    ] {
        let mut connection = Connection::open(service.address).await;
        connection.send(request.as_bytes()).await;
        let status = connection.answer().await.status;
        assert!(matches!(status, 400 | 431), "{status} for {request:.40}");
    }
    let mut connection = Connection::open(service.address).await;
    let get = format!("GET /healthz HTTP/1.1\r\n{host}\r\n");
    connection.send(get.repeat(100).as_bytes()).await;
    for _ in 0..100 {
        assert_eq!(connection.answer().await.status, 200);
    }
    script.push(Reply::text("x"));
    service.submit("still there?").await;
}
