//! The stand-in over a real socket, with a client that knows nothing but bytes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Gate, Message, Model, Reply, Script, Standin, Step};

#[path = "wire_tests.rs"]
mod wire_tests;

const LIMIT: Duration = Duration::from_secs(5);

struct Client {
    stream: TcpStream,
}

impl Client {
    fn connect(standin: &Standin) -> Self {
        let stream = TcpStream::connect(standin.address()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self { stream }
    }

    fn send(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nX-Api-Key: k\r\n\
             anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        self.stream.write_all(head.as_bytes()).unwrap();
        self.stream.write_all(body.as_bytes()).unwrap();
    }

    fn ask(&mut self, changes: Value) {
        self.send("POST", "/v1/messages", &body(changes).to_string());
    }

    /// Reads until the answer holds this text.
    fn read_until(&mut self, text: &str) -> String {
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let answered = String::from_utf8_lossy(&answer).into_owned();
            if answered.contains(text) {
                return answered;
            }
            let read = self.stream.read(&mut piece).unwrap();
            assert!(read > 0, "the connection ended after {answered:?}");
            answer.extend_from_slice(&piece[..read]);
        }
    }

    fn read_to_end(&mut self) -> String {
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

fn body(changes: Value) -> Value {
    let mut body = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "stream": true,
        "messages": [{"role": "user", "content": "hi"}],
    });
    let Value::Object(changes) = changes else {
        panic!("not an object: {changes}")
    };
    body.as_object_mut().unwrap().extend(changes);
    body
}

fn scripted(reply: impl Into<Reply>) -> (Standin, Script, Client) {
    let (standin, script) = Standin::scripted().unwrap();
    script.push(reply);
    let client = Client::connect(&standin);
    (standin, script, client)
}

#[test]
fn a_text_streams_in_chunks_and_the_connection_takes_another_request() {
    let (standin, script, mut client) = scripted(Reply::text("one two three four"));
    client.ask(json!({}));
    let answer = client.read_until("0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        answer.contains("transfer-encoding: chunked\r\n"),
        "{answer}"
    );
    assert!(answer.contains("event: message_start\ndata: {"), "{answer}");
    assert!(answer.contains(r#""text":"one two three ""#), "{answer}");
    assert!(answer.contains(r#""stop_reason":"end_turn""#), "{answer}");

    script.push(Reply::text("again"));
    client.ask(json!({"stream": false}));
    let answer = client.read_until("0\r\n\r\n");
    assert!(
        answer.contains(r#""content":[{"type":"text","text":"again"}]"#),
        "{answer}"
    );

    let connections: Vec<u64> = standin.requests().iter().map(|r| r.connection).collect();
    assert_eq!(connections, [0, 0]);
    assert_eq!(standin.violations(), Vec::<String>::new());
    assert_eq!(standin.requests()[0].json(), body(json!({})));
}

#[tokio::test]
async fn a_gate_holds_the_reply_until_it_is_opened() {
    let gate = Gate::new();
    let message = Message::new()
        .text("one two three four")
        .gate_after_delta(1, &gate);
    let (standin, _script, mut client) = scripted(message);
    client.ask(json!({}));
    standin.request(0).await;
    gate.reached().await;
    let answer = client.read_until("three");
    assert!(!answer.contains("four"), "{answer}");
    client
        .stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let silence = client.stream.read(&mut [0; 10]).unwrap_err().kind();
    assert!(matches!(
        silence,
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
    client.stream.set_read_timeout(Some(LIMIT)).unwrap();
    gate.open();
    client.read_until("message_stop");
}

#[test]
fn a_cut_ends_without_the_last_chunk_and_a_reset_is_an_error() {
    let (standin, script, mut client) = scripted(Reply::text("one").keep_events(2).cut());
    client.ask(json!({}));
    let answer = client.read_to_end();
    assert!(
        answer.contains("content_block_start") && !answer.contains("0\r\n\r\n"),
        "{answer}"
    );

    script.push(Reply::text("one").keep_bytes(10).reset());
    let mut client = Client::connect(&standin);
    client.ask(json!({}));
    let error = client.stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn the_time_at_which_the_client_leaves_is_noted() {
    let (standin, _script, mut client) = scripted(Reply::text("one").keep_events(3).hang());
    client.ask(json!({}));
    client.read_until("ping");
    let received = standin.request(0).await;
    assert!(!received.is_closed());
    let before = tokio::time::Instant::now();
    drop(client);
    let closed_at = received.closed(LIMIT).await.unwrap();
    let after = tokio::time::Instant::now();
    assert!((before..=after).contains(&closed_at));
    assert!(received.is_closed());
}

#[tokio::test]
async fn leaving_before_the_head_and_after_the_reply_is_noted_too() {
    let (standin, script, mut client) = scripted(Reply::text("one").silent());
    client.ask(json!({}));
    let silent = standin.request(0).await;
    drop(client);
    assert!(silent.closed(LIMIT).await.is_some());

    script.push(Reply::text("one"));
    let mut client = Client::connect(&standin);
    client.ask(json!({}));
    client.read_until("0\r\n\r\n");
    let answered = standin.request(1).await;
    assert!(!answered.is_closed());
    drop(client);
    assert!(answered.closed(LIMIT).await.is_some());
}

#[test]
fn framing_can_lie_and_be_left_out() {
    let (standin, script, _) = scripted(Reply::sse("data: x\n\n").content_length(100));
    script.push(Reply::sse("data: x\n\n").close_delimited());
    script.push(Reply::raw(vec![Step::Send(
        "HTTP/1.1 200 OK\r\nx: y\r\n\r\nzz\r\n".into(),
    )]));
    script.push(Reply::sse("abcde").pieces(2));
    let mut answers = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&standin);
        client.ask(json!({}));
        answers.push(client.read_to_end());
    }
    assert!(
        answers[0].contains("content-length: 100\r\n"),
        "{}",
        answers[0]
    );
    assert!(
        answers[1].ends_with("connection: close\r\n\r\ndata: x\n\n"),
        "{}",
        answers[1]
    );
    assert_eq!(answers[2], "HTTP/1.1 200 OK\r\nx: y\r\n\r\nzz\r\n");
    let mut client = Client::connect(&standin);
    client.ask(json!({}));
    let answer = client.read_until("0\r\n\r\n");
    assert!(
        answer.ends_with("2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"),
        "{answer}"
    );
}

#[test]
fn refusals_have_the_apis_shape() {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![Model::new("m")]);
    let mut client = Client::connect(&standin);
    let refused = |client: &mut Client, status: u16, kind: &str| {
        let answer = client.read_until("request_id\":\"");
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert!(
            answer.contains(&format!(r#""error":{{"type":"{kind}""#)),
            "{answer}"
        );
        assert!(answer.contains("request-id: req_"), "{answer}");
    };
    client.ask(json!({"messages": []}));
    refused(&mut client, 400, "invalid_request_error");
    client.ask(json!({"model": "claude-3-opus-20240229"}));
    refused(&mut client, 404, "not_found_error");
    client.ask(json!({"model": "m", "max_tokens": 1_000_000}));
    refused(&mut client, 400, "invalid_request_error");
    client.ask(json!({"model": "m"}));
    refused(&mut client, 500, "api_error");
    client.send("POST", "/v2/messages", "{}");
    refused(&mut client, 404, "not_found_error");
    client.send("GET", "/v1/messages", "");
    refused(&mut client, 405, "invalid_request_error");
    assert_eq!(standin.requests().len(), 6);
    assert_eq!(standin.violations().len(), 2);
}

#[test]
fn models_and_counts_are_answered() {
    let (_standin, _script, mut client) = scripted(Reply::text("x"));
    client.send("GET", "/v1/models?limit=1", "");
    let answer = client.read_until("last_id");
    assert!(answer.contains(r#""has_more":true"#), "{answer}");
    client.send("GET", "/v1/models/claude-opus-5-5", "");
    client.read_until(r#""max_tokens":128000"#);
    let counted = json!({"model": "claude-opus-5-5", "messages": body(json!({}))["messages"]});
    client.send("POST", "/v1/messages/count_tokens", &counted.to_string());
    client.read_until(r#"{"input_tokens":"#);
}

#[test]
fn a_chunked_body_is_read_and_a_huge_one_refused() {
    let (standin, _script, mut client) = scripted(Reply::text("x"));
    let body = body(json!({})).to_string();
    let (first, second) = body.split_at(10);
    let request = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         a\r\n{first}\r\n{:x};ext=1\r\n{second}\r\n0\r\ntrailer: t\r\n\r\n",
        second.len()
    );
    client.stream.write_all(request.as_bytes()).unwrap();
    client.read_until("0\r\n\r\n");
    assert_eq!(standin.requests()[0].body, body);

    let head = "POST /v1/messages HTTP/1.1\r\ncontent-length: 33554433\r\n\r\n";
    client.stream.write_all(head.as_bytes()).unwrap();
    assert!(client.read_to_end().contains("request_too_large"));
    assert_eq!(standin.requests().len(), 2);
}

#[test]
fn bytes_that_are_no_request_are_refused_and_told() {
    let (standin, _script, mut client) = scripted(Reply::text("x"));
    client
        .stream
        .write_all(b"\x16\x03\x01 nonsense\r\n\r\n")
        .unwrap();
    assert!(client.read_to_end().starts_with("HTTP/1.1 400 "));
    assert_eq!(standin.violations().len(), 1);
}

#[test]
fn a_dropped_stand_in_is_gone() {
    let (standin, _script, mut client) = scripted(Reply::text("x").hang());
    client.ask(json!({}));
    client.read_until("message_stop");
    let address = standin.address();
    drop(standin);
    assert!(TcpStream::connect(address).is_err());
    assert_eq!(client.stream.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn the_demo_answers_over_the_wire_and_closures_are_responders() {
    let demo = Standin::demo().unwrap();
    let mut client = Client::connect(&demo);
    client.ask(json!({
        "model": "whatever",
        "messages": [{"role": "user", "content": "list src"}],
        "tools": [{"name": "list_dir", "input_schema": {"type": "object"}}],
    }));
    let answer = client.read_until("message_stop");
    assert!(answer.contains(r#""stop_reason":"tool_use""#), "{answer}");
    assert!(demo.requests().is_empty());

    let echo = Standin::start(|request: &crate::MessagesRequest| {
        Reply::text(
            request.last_content()[0]["text"]
                .as_str()
                .unwrap_or_default(),
        )
    });
    let echo = echo.unwrap();
    let mut client = Client::connect(&echo);
    client.ask(json!({}));
    client.read_until(r#""text":"hi""#);
}
