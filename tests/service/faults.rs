//! The faults of the API and of the way to it.

use std::time::Duration;

use bytes::Bytes;
use harness_standin::{Gate, Message, Model, Reply, Standin, Step};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::bounds::took_at_most;
use crate::client::{Events, within};
use crate::program::{MODEL, Service};

/// Sends a prompt and returns how its run ended.
async fn ask(service: &Service, events: &mut Events) -> (String, String) {
    service.submit("hello").await;
    events.end().await
}

fn idle() -> (String, String) {
    ("idle".to_owned(), String::new())
}

fn texts(run: &[Value]) -> Vec<&str> {
    let text = |event: &&Value| event["type"] == "text";
    run.iter()
        .filter(text)
        .map(|event| event["content"].as_str().unwrap())
        .collect()
}

/// Spec: [MODEL-14] [MODEL-21]
#[tokio::test]
async fn errors_that_another_attempt_would_not_cure_are_not_retried() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let html = format!(
        "<html><script>\u{1b}[2J{}</script></html>",
        "x".repeat(2000)
    );
    for (reply, expected) in [
        (
            Reply::error(401, "authentication_error", "invalid x-api-key")
                .header("request-id", "req_1"),
            "authentication_error: invalid x-api-key; the key that was sent is api_key from",
        ),
        (
            Reply::error(400, "invalid_request_error", "no"),
            "invalid_request_error: no (HTTP 400, request",
        ),
        (
            Reply::body("text/html", html.clone()).status(403),
            "HTTP 403 Forbidden: <html><script>\\u{1b}[2Jxxx",
        ),
        (
            Reply::body("text/html", html.clone()).status(413),
            "HTTP 413 Payload Too Large: <html>",
        ),
        (
            Reply::body("text/html", "").status(404),
            "HTTP 404 Not Found: (no body)",
        ),
        (
            Reply::error(429, "rate_limit_error", "enforced_spend_limit_reached"),
            "rate_limit_error: ",
        ),
        (
            Reply::error(529, "overloaded_error", "m").header("x-should-retry", "false"),
            "overloaded_error: m",
        ),
    ] {
        script.push(reply);
        let before = standin.requests().len();
        let (state, message) = ask(&service, &mut events).await;
        assert_eq!(state, "error");
        assert!(message.starts_with(expected), "{message}");
        assert!(message.len() < 1000, "{message}");
        assert_eq!(standin.requests().len(), before + 1);
    }
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
}

/// Spec: [CONV-730] [CONV-731]
#[tokio::test]
async fn calls_of_an_attempt_before_a_fallback_do_not_run() {
    let (mut service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let hop = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    script.push(
        Message::new()
            .text("Part.")
            .tool_use("refused", "list_dir", json!({"path": "."}))
            .block(hop)
            .text("Again.")
            .tool_use("served", "list_dir", json!({"path": "."}))
            .stop_reason("tool_use"),
    );
    script.push(Reply::text("done"));
    service.submit("hello").await;
    let run = events.run().await;
    let results: Vec<&Value> = run
        .iter()
        .filter(|event| event["type"] == "tool_result")
        .map(|event| &event["id"])
        .collect();
    assert_eq!(results, ["served"]);
    // The same history is read from the journal.
    service.kill();
    let service = service.restart().await;
    script.push(Reply::text("still"));
    service.submit("and now?").await;
    service.idle("default").await;
    assert_eq!(standin.requests().len(), 3);
    for request in standin.requests() {
        let Some(reply) = request.json()["messages"].get(1).cloned() else {
            continue;
        };
        let kinds: Vec<&Value> = reply["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| &block["type"])
            .collect();
        assert_eq!(kinds, ["text", "text", "tool_use"]); // The mark goes with the beta alone.
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-29] [MODEL-14]
#[tokio::test]
async fn a_refused_request_does_not_poison_the_history() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    script.push(Reply::text("first answer"));
    script.push(Reply::error(400, "invalid_request_error", "no"));
    script.push(Reply::text("third answer"));
    for prompt in ["first", "second", "third"] {
        service.submit(prompt).await;
        events.run().await;
    }
    let messages = standin.requests()[2].json()["messages"].clone();
    let texts: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["first", "first answer", "third"]);
}

/// Spec: [MODEL-731] [CLI-772]
#[tokio::test]
async fn money_that_is_used_up_ends_the_run_at_once_and_costs_no_prompt() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let details = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "no",
        "details": {"error_code": "contract_spend_limit_reached"}}});
    let specified = "You have reached your specified API usage limits.";
    let credit = "Your credit balance is too low to access the API.";
    for reply in [
        Reply::body("application/json", details.to_string()).status(429),
        Reply::error(402, "billing_error", "pay"),
        Reply::error(400, "invalid_request_error", specified),
        Reply::error(400, "invalid_request_error", credit),
    ] {
        script.push(reply);
        let before = standin.requests().len();
        assert_eq!(ask(&service, &mut events).await.0, "error");
        assert_eq!(standin.requests().len(), before + 1);
    }
    let path = "/v1/conversations/default?tail=0";
    let summary = async || service.get(path).await["summary"].clone();
    let failure = summary().await["failure"].to_string();
    assert!(failure.contains(credit), "{failure}");
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
    assert_eq!(summary().await["failure"], Value::Null);
    // Nothing that was asked is left out.
    let last = standin.requests().last().unwrap().json();
    assert_eq!(last["messages"].to_string().matches("hello").count(), 5);
}

/// Spec: [MODEL-14] [MODEL-15] [EVENT-08]
#[tokio::test]
async fn errors_that_pass_are_retried_and_the_waits_are_shown() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let soon = |reply: Reply| {
            reply
                .header("retry-after-ms", "10")
                .header("retry-after", "9")
        };
        script.push(soon(Reply::error(status, "some_error", "later")));
        script.push(soon(Reply::error(status, "some_error", "later")));
        script.push(Reply::text("well"));
        service.submit("hello").await;
        let run = events.run().await;
        let waits: Vec<&str> = run
            .iter()
            .filter_map(|event| event["message"].as_str())
            .filter(|message| message.starts_with("retrying in 0.0 s"))
            .collect();
        assert_eq!(waits.len(), 2, "{run:?}");
        assert!(
            waits[1].contains(&format!("(2 of 4): some_error: later (HTTP {status}")),
            "{waits:?}"
        );
        assert_eq!(texts(&run), ["well"]);
    }
    assert_eq!(standin.requests().len(), 24);
}

/// Spec: [MODEL-15]
#[tokio::test]
async fn the_wait_that_the_server_asks_for_is_kept() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    script.push(Reply::error(429, "rate_limit_error", "later").header("retry-after", "1"));
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
    let requests = standin.requests();
    assert!(requests[1].at - requests[0].at >= Duration::from_secs(1));
}

/// Spec: [MODEL-16]
#[tokio::test]
async fn attempts_and_waits_are_bounded() {
    let flags = ["--max-retries", "3", "--max-retry-wait", "5s"];
    let (service, standin, script) = Service::scripted(&flags).await;
    let mut events = service.events().await;
    for _ in 0..9 {
        script.push(Reply::error(529, "overloaded_error", "busy").header("retry-after-ms", "5"));
    }
    let (state, message) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    assert!(message.starts_with("overloaded_error: busy"), "{message}");
    assert_eq!(standin.requests().len(), 4);
    script.clear();
    script.push(Reply::error(529, "overloaded_error", "busy").header("retry-after", "6"));
    assert_eq!(ask(&service, &mut events).await.0, "error");
    assert_eq!(standin.requests().len(), 5);
}

/// Spec: [MODEL-22]
#[tokio::test]
async fn what_cannot_be_reached_is_said_and_the_next_prompt_works() {
    let flags = [
        "--max-retries",
        "1",
        "--connect-timeout",
        "300ms",
        "--model",
        MODEL,
    ];
    // Taken, and nobody listens there.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    let service = Service::start(&format!("http://{closed}"), &flags).await;
    let mut events = service.events().await;
    let (state, message) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    assert!(message.starts_with("connection failed: "), "{message}");
    assert!(
        message.ends_with(&format!(" (http://{closed})")),
        "{message}"
    );

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let service = Service::start(&format!("https://{address}"), &flags).await;
    let mut events = service.events().await;
    let began = Instant::now();
    let (state, _) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    took_at_most(Duration::from_secs(5), began.elapsed());

    // The queue of this listener is full, so the system drops what asks to connect.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let black_hole = socket.listen(0).unwrap();
    let address = black_hole.local_addr().unwrap();
    let _queued = TcpStream::connect(address).await.unwrap();
    let service = Service::start(&format!("http://{address}"), &flags).await;
    let mut events = service.events().await;
    let (state, message) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    let expected = format!("connection failed: no connection within 300ms (http://{address})");
    assert_eq!(message, expected);

    let service = Service::start("https://no-such-host.invalid", &flags).await;
    let mut events = service.events().await;
    let (state, message) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    assert!(message.starts_with("connection failed: "), "{message}");
}

/// Spec: [MODEL-23]
#[tokio::test]
async fn silence_is_bounded_before_and_inside_a_reply_and_any_byte_counts() {
    let flags = [
        "--head-timeout",
        "3s",
        "--idle-timeout",
        "3s",
        "--max-retries",
        "4",
    ];
    let (service, standin, script) = Service::scripted(&flags).await;
    let mut events = service.events().await;
    let never = Gate::new();
    for _ in 0..2 {
        script.push(Reply::text("x").gate_head(&never));
    }
    let end = ask(&service, &mut events).await;
    assert_eq!(end, ("error".into(), "no answer within 3s".into()));
    assert_eq!(standin.requests().len(), 2);

    let stalled = || {
        Reply::message(Message::new().text("a b c d"))
            .keep_events(4)
            .hang()
    };
    script.push(stalled());
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
    script.push(stalled());
    script.push(stalled());
    let end = ask(&service, &mut events).await;
    assert_eq!(end, ("error".into(), "interrupted: no byte for 3s".into()));

    let mut steps = Vec::new();
    for _ in 0..8 {
        steps.push(Step::Send(Bytes::from_static(
            b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
        )));
        steps.push(Step::Sleep(Duration::from_millis(750)));
    }
    let rest = [
        json!({"type": "message_start", "message": {}}),
        json!({"type": "message_stop"}),
    ];
    steps.extend(
        rest.iter()
            .map(|event| Step::Send(harness_standin::encode_event(event))),
    );
    steps.push(Step::Finish);
    script.push(Reply::steps("text/event-stream", steps));
    assert_eq!(ask(&service, &mut events).await.0, "idle");
}

/// Spec: [MODEL-23]
#[tokio::test]
async fn a_model_that_takes_its_time_is_waited_for() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    // Longer than the limit that the client library has by itself.
    script.push(Reply::text("well").delay_head(Duration::from_millis(5500)));
    assert_eq!(ask(&service, &mut events).await, idle());
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [MODEL-23] [CONV-03]
#[tokio::test]
async fn the_watchdog_is_gone_with_its_reply() {
    let (service, standin, script) = Service::scripted(&["--idle-timeout", "2s"]).await;
    let mut events = service.events().await;
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
    let hanging = Gate::new();
    script.push(Reply::text("never").gate_head(&hanging));
    service.submit("hello").await;
    within("the request", hanging.reached()).await;
    service.cancel().await;
    assert_eq!(events.end().await.1, "cancelled");
    let later = tokio::time::timeout(Duration::from_secs(3), events.event()).await;
    assert!(later.is_err(), "{later:?}");
    assert_eq!(standin.requests().len(), 2);
}

/// Spec: [MODEL-06] [MODEL-16] [CONV-31]
#[tokio::test]
async fn a_reply_that_breaks_off_is_asked_again_only_while_nothing_was_shown() {
    let (service, standin, script) = Service::scripted(&["--max-retries", "1"]).await;
    let mut events = service.events().await;
    let whole = || {
        Reply::message(
            Message::new()
                .words_per_delta(1)
                .text("one two")
                .text("three four"),
        )
    };
    let overloaded = || Reply::message(Message::new().text("a b")).keep_events(4);
    // Nothing was shown: silently ends, breaks, or says so.
    for broken in [
        whole().keep_events(1).cut(),
        whole().keep_events(4).cut(),
        whole().keep_events(4).reset(),
        whole().keep_events(3),
        overloaded().then_error_event("overloaded_error", "busy"),
        Reply::error_event("overloaded_error", "busy"),
        whole()
            .keep_events(3)
            .then_event(json!({"type": "content_block_delta", "index": 7, "delta": {}})),
    ] {
        let before = standin.requests().len();
        script.push(broken);
        script.push(whole());
        service.submit("hello").await;
        let run = events.run().await;
        assert_eq!(texts(&run), ["one two", "three four"], "{run:?}");
        assert_eq!(standin.requests().len(), before + 2);
    }
    // The first block was shown.
    for (broken, reason) in [
        (
            whole().keep_events(7).cut(),
            "interrupted: the reply ended before message_stop",
        ),
        (
            whole().keep_events(8),
            "interrupted: the reply ended before message_stop",
        ),
        (
            whole()
                .keep_events(8)
                .then_error_event("overloaded_error", "busy"),
            "interrupted: overloaded_error: busy",
        ),
        (whole().keep_events(8).reset(), "interrupted: "),
    ] {
        let before = standin.requests().len();
        script.push(broken);
        service.submit("hello").await;
        let run = events.run().await;
        assert_eq!(texts(&run), ["one two"], "{run:?}");
        let last = run.last().unwrap();
        assert_eq!(last["state"], "error");
        assert!(
            last["message"].as_str().unwrap().starts_with(reason),
            "{last}"
        );
        assert_eq!(standin.requests().len(), before + 1);
    }
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-06]
#[tokio::test]
async fn no_way_to_end_a_stream_early_is_taken_for_its_end() {
    let (service, _standin, script) = Service::scripted(&["--max-retries", "0"]).await;
    let mut events = service.events().await;
    let message = || Reply::message(Message::new().text("one two three"));
    let body = b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
    let raw = |head: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{head}\r\n");
        let bytes = [head.as_bytes(), body].concat();
        Reply::raw(vec![Step::Send(bytes.into()), Step::Cut])
    };
    let size = format!("{:x}\r\n", body.len());
    for broken in [
        raw(
            "transfer-encoding: chunked\r\n",
            &[size.as_bytes(), body].concat(),
        ),
        raw(
            "transfer-encoding: chunked\r\n",
            &[b"zz\r\n", body.as_slice()].concat(),
        ),
        raw(
            "transfer-encoding: chunked\r\n",
            &[b"5\r\n", body.as_slice()].concat(),
        ),
        raw("content-length: 5000\r\n", body),
        raw("", body),
        message().content_length(60),
        message().keep_events(2).cut(),
        message().keep_events(0),
    ] {
        script.push(broken);
        let (state, message) = ask(&service, &mut events).await;
        assert_eq!(state, "error", "{message}");
    }
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
}

/// Spec: [MODEL-24]
#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_named() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let stream = || Reply::message(Message::new().text("x"));
    for (reply, named) in [
        (Reply::body("text/html", "<html>"), "text/html"),
        (Reply::json(&json!({"type": "message"})), "application/json"),
        (
            stream().header("content-encoding", "gzip"),
            "content encoded as gzip",
        ),
    ] {
        script.push(reply);
        let (state, message) = ask(&service, &mut events).await;
        assert_eq!(state, "error");
        assert!(
            message.contains(named) && message.contains("event stream"),
            "{message}"
        );
    }
    assert_eq!(standin.requests().len(), 3);
    let encoded = Reply::error(400, "invalid_request_error", "no").header("content-encoding", "br");
    script.push(encoded);
    let (_, message) = ask(&service, &mut events).await;
    let expected = "HTTP 400 Bad Request: (a body encoded as br)";
    assert!(message.starts_with(expected), "{message}");
    script.push(Reply::sse("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"message_stop\"}\n\n"));
    assert_eq!(ask(&service, &mut events).await.0, "idle");
}

/// Spec: [SEC-08]
#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let other = Standin::start(|_: &harness_standin::MessagesRequest| Reply::text("x")).unwrap();
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}/v1/messages", other.base_url());
        script.push(
            Reply::body("text/plain", "")
                .status(status)
                .header("location", &*location),
        );
        let (state, message) = ask(&service, &mut events).await;
        assert_eq!(state, "error");
        assert!(
            message.contains(&location) && message.contains("not followed"),
            "{message}"
        );
    }
    assert!(other.requests().is_empty());
}

/// Spec: [MODEL-20]
#[tokio::test]
async fn a_retired_default_gives_way_to_the_newest_of_its_family_and_a_choice_never_does() {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![
        Model::new("claude-haiku-9"),
        Model::new("claude-opus-9"),
    ]);
    let service = Service::start(&standin.base_url(), &[]).await;
    let mut events = service.events().await;
    for _ in 0..2 {
        script.push(Reply::text("well"));
    }
    service.submit("hello").await;
    let run = events.run().await;
    let remark = "the model claude-3-haiku-20240307 is not served any more; using claude-haiku-9";
    assert!(
        run.iter().any(|event| event["message"] == remark),
        "{run:?}"
    );
    assert_eq!(texts(&run), ["well"]);
    assert!(
        service
            .whole_log()
            .await
            .contains(remark.split(';').next().unwrap())
    );
    assert_eq!(ask(&service, &mut events).await, idle());
    let models: Vec<Value> = standin
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(
        models,
        [
            "claude-3-haiku-20240307",
            "claude-haiku-9",
            "claude-haiku-9"
        ]
    );

    let chosen = ["--model", "claude-3-haiku-20240307"];
    let service = Service::start(&standin.base_url(), &chosen).await;
    let mut events = service.events().await;
    let (state, message) = ask(&service, &mut events).await;
    assert_eq!(state, "error");
    assert!(
        message.contains("claude-haiku-9, claude-opus-9"),
        "{message}"
    );
}

/// Spec: [CONV-15] [CONV-16] [CONV-17] [CONV-18] [CONV-19] [CONV-20]
#[tokio::test]
async fn every_stop_reason_ends_or_continues_as_it_should() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let reply = |reason: &str| Message::new().text("words").stop_reason(reason);
    for (reason, remark) in [
        ("end_turn", ""),
        ("stop_sequence", ""),
        ("max_tokens", "stopped: the reply reached max_tokens"),
        (
            "model_context_window_exceeded",
            "stopped: the model's context window is full",
        ),
        ("something_new", "stopped: something_new"),
    ] {
        script.push(reply(reason));
        assert_eq!(
            ask(&service, &mut events).await,
            ("idle".into(), remark.into())
        );
    }
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "Not that."});
    script.push(reply("refusal").stop_details(details));
    let end = ask(&service, &mut events).await;
    assert_eq!(end.0, "idle");
    let said = "refusal: the model declined to answer; cyber; Not that.; what was new in the \
                request is left out of later ones; say it in other words, or send it again with \
                `/retry` or `harness retry`";
    assert_eq!(end.1, said);

    let search =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    script.push(
        Message::new()
            .text("wait")
            .block(search)
            .stop_reason("pause_turn"),
    );
    script.push(Reply::text("done"));
    assert_eq!(ask(&service, &mut events).await, idle());
    let resent = standin.requests().last().unwrap().json();
    assert_eq!(
        resent["messages"].as_array().unwrap().last().unwrap()["role"],
        "assistant"
    );

    script.push(
        Message::new()
            .tool_use("cut", "list_dir", json!({"path": "."}))
            .stop_reason("max_tokens"),
    );
    script.push(Reply::text("shorter"));
    service.submit("hello").await;
    let run = events.run().await;
    let result = run
        .iter()
        .find(|event| event["type"] == "tool_result")
        .unwrap();
    assert_eq!(result["isError"], true);
    assert!(
        result["result"].as_str().unwrap().contains("not executed"),
        "{result}"
    );
    assert_eq!(texts(&run), ["shorter"]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-10] [MODEL-430]
#[tokio::test]
async fn half_an_input_runs_no_tool() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let deep = format!("{{\"path\":{}", "[".repeat(10_000));
    for input in [
        "{\"path\": \".\"",
        "{}{}",
        "[]",
        "{\"a\":1e400}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":1,\"a\":2}",
        "{\"path\": \".\",}",
        "{\"path\": \"a\nb\"}",
        "{\"path\": \"a\tb\"}",
        "{\"path\": \"x\\ud99c y\"}",
        "{path: \".\"}",
        "\"{\\\"path\\\": \\\".\\\"}\"",
        &deep,
    ] {
        script.push(
            Message::new()
                .text("Now.")
                .raw_tool_use("t", "list_dir", input),
        );
        script.push(Reply::text("mended"));
        service.submit("hello").await;
        let run = events.run().await;
        let last = run.last().unwrap();
        assert_eq!(last["state"], "idle", "{input:.20}");
        let of_kind = |kind: &'static str| run.iter().filter(move |event| event["type"] == kind);
        let calls: Vec<&Value> = of_kind("tool_call").map(|event| &event["input"]).collect();
        assert_eq!(calls, [&json!({})], "{input:.20}");
        let results: Vec<&Value> = of_kind("tool_result").collect();
        assert_eq!(results.len(), 1, "{input:.20}");
        assert_eq!(results[0]["isError"], true);
        let result = results[0]["result"].as_str().unwrap();
        assert!(
            result.contains("not executed: its input") && result.contains("make the call again"),
            "{result}"
        );
        let sent = standin.requests().last().unwrap().json();
        let messages = sent["messages"].as_array().unwrap();
        let [.., reply, answer] = &messages[..] else {
            panic!("{sent}");
        };
        let call = &reply["content"][1];
        assert_eq!(call["input"], json!({}), "{input:.20}");
        assert_eq!(call.get("input_error"), None);
        assert_eq!(answer["content"][0]["is_error"], true);
        assert_eq!(answer["content"][0]["tool_use_id"], call["id"]);
    }
    script.push(Message::new().raw_tool_use("t", "list_dir", ""));
    script.push(Reply::text("well"));
    service.submit("hello").await;
    let run = events.run().await;
    let call = run
        .iter()
        .find(|event| event["type"] == "tool_call")
        .unwrap();
    assert_eq!(call["input"], json!({}));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-20]
#[tokio::test]
async fn an_unknown_model_inside_a_stream_is_only_an_error() {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![
        Model::new("claude-3-haiku-20240307"),
        Model::new("claude-haiku-9"),
    ]);
    let service = Service::start(&standin.base_url(), &[]).await;
    let mut events = service.events().await;
    let shown = Reply::message(Message::new().text("a b").text("c"));
    script.push(
        shown
            .keep_events(6)
            .then_error_event("not_found_error", "gone"),
    );
    service.submit("hello").await;
    let run = events.run().await;
    assert_eq!(
        run.last().unwrap()["message"],
        "interrupted: not_found_error: gone (HTTP 404)"
    );
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [MODEL-21]
#[tokio::test]
async fn an_error_without_end_is_quoted_as_far_as_it_came() {
    let (service, _standin, script) = Service::scripted(&["--max-retries", "0"]).await;
    let mut events = service.events().await;
    let page = format!("<html>{}", "x".repeat(300_000));
    script.push(Reply::body("text/html", page.clone()).status(503));
    let (_, message) = ask(&service, &mut events).await;
    assert!(
        message.starts_with("HTTP 503 Service Unavailable: <html>xxx"),
        "{message}"
    );
    script.push(
        Reply::body("text/html", page)
            .status(503)
            .content_length(400_000),
    );
    let (_, message) = ask(&service, &mut events).await;
    assert!(
        message.starts_with("HTTP 503 Service Unavailable: <html>xxx"),
        "{message}"
    );
    script.push(Reply::error(
        400,
        "invalid_request_error",
        "long ".repeat(10_000),
    ));
    let (_, message) = ask(&service, &mut events).await;
    assert!(message.len() < 2200, "{}", message.len());
}

/// Spec: [MODEL-09]
#[tokio::test]
async fn a_stream_without_bounds_does_not_grow_the_service() {
    let (service, _standin, script) = Service::scripted(&["--max-retries", "0"]).await;
    let mut events = service.events().await;
    let before = service.resident_bytes();
    let megabyte = Bytes::from(vec![b'x'; 1 << 20]);
    for start in ["data: ", ": ", "unknown"] {
        let mut steps = vec![Step::Send(Bytes::copy_from_slice(start.as_bytes()))];
        steps.extend(vec![Step::Send(megabyte.clone()); 100]);
        steps.push(Step::Finish);
        script.push(Reply::steps("text/event-stream", steps));
        let (state, message) = ask(&service, &mut events).await;
        assert_eq!(state, "error", "{message}");
        let grown = service.resident_bytes().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes after {start:?}");
    }
}

/// Spec: [MODEL-25]
#[tokio::test]
async fn a_request_larger_than_the_api_takes_is_not_sent() {
    let (service, standin, script) = Service::scripted(&["--auto-compact", "false"]).await;
    // A window that is not full before the request is too large.
    script.set_models(vec![Model::new(MODEL).window(100_000_000)]);
    let mut events = service.events().await;
    let prompt = "x".repeat(4_000_000);
    for _ in 0..8 {
        script.push(Reply::text("well"));
        service.submit(&prompt).await;
        assert_eq!(events.end().await, idle());
    }
    service.submit(&prompt).await;
    let (state, message) = events.end().await;
    assert_eq!(state, "error");
    assert!(
        message.starts_with("the conversation has grown to "),
        "{message}"
    );
    assert_eq!(standin.requests().len(), 8);
    script.push(Reply::text("well"));
    assert_eq!(ask(&service, &mut events).await, idle());
}
