//! Cancel, in each state that a run can be in.

use std::time::Duration;

use harness_standin::{Gate, Message, Reply, Script, Standin};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::bounds::{stretched, took_at_most};
use crate::client::{Events, within};
use crate::eventually::eventually;
use crate::program::{Service, slow_search};

/// Time limit for closing the connection to the API.
const CLOSED_WITHIN: Duration = Duration::from_millis(250);

/// Cancels, and checks everything that must follow: one end, a closed connection, and a next
/// prompt that the API accepts.
async fn cancel(service: &Service, standin: &Standin, script: &Script, events: &mut Events) {
    let asked = Instant::now();
    assert!(service.cancel().await);
    took_at_most(Duration::from_secs(1), asked.elapsed());
    if let Some(request) = standin.requests().last() {
        let closed = request.closed(stretched(CLOSED_WITHIN)).await;
        assert!(closed.is_some(), "the connection is still open");
    }
    assert_eq!(events.end().await, ("idle".into(), "cancelled".into()));
    assert!(!service.cancel().await);
    script.clear();
    script.push(Reply::text("go on"));
    service.submit("next").await;
    let next = events.run().await;
    assert_eq!(next[0], json!({"type": "user", "content": "next"}));
    assert_eq!(next.last().unwrap()["message"], "");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-21] [CONV-30] [HTTP-05] [MODEL-18]
#[tokio::test]
async fn while_waiting_for_the_head() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    let mut events = service.events().await;
    service.submit("one").await;
    within("the request", gate.reached()).await;
    cancel(&service, &standin, &script, &mut events).await;
    // The prompt that got no answer is still known.
    let next = standin.requests()[1].json();
    assert_eq!(next["messages"][0]["content"].as_array().unwrap().len(), 2);
}

/// Spec: [CONV-21] [CONV-23] [EVENT-07] [MODEL-18]
#[tokio::test]
async fn in_the_middle_of_each_kind_of_block() {
    let input = json!({"path": "a long name that takes several pieces to arrive"});
    let text = "one two three four five six seven eight nine ten";
    for kind in ["text", "thinking", "tool_use"] {
        let (service, standin, script) = Service::scripted(&[]).await;
        let gate = Gate::new();
        let message = Message::new().words_per_delta(2).text("A finished block.");
        let message = match kind {
            "text" => message.text(text),
            "thinking" => message.thinking(text, "c2lnbmF0dXJl"),
            _ => message.tool_use("t", "read", input.clone()),
        };
        script.push(message.gate_after_delta(4, &gate));
        let mut events = service.events().await;
        service.submit("one").await;
        within("the middle of the reply", gate.reached()).await;
        events.until("text").await;
        let mut watching = service.events().await;
        cancel(&service, &standin, &script, &mut events).await;
        let shown = watching.run().await;
        if kind == "text" {
            assert_eq!(shown[0]["partial"], true, "{shown:?}");
            assert!(text.starts_with(shown[0]["content"].as_str().unwrap()));
        } else {
            assert_eq!(shown.len(), 1, "{shown:?}");
        }
    }
}

/// Spec: [CONV-21] [CONV-22]
#[tokio::test]
async fn while_a_tool_runs() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let (name, content, pattern) = slow_search();
    std::fs::write(service.home.path().join(name), content).unwrap();
    script.push(
        Message::new()
            .tool_use("t1", "grep", json!({"pattern": pattern, "path": name}))
            .tool_use("t2", "list_dir", json!({"path": "."})),
    );
    let mut events = service.events().await;
    service.submit("search").await;
    events.until("tool_call").await;
    eventually("a running grep", async || !children(&service).is_empty()).await;
    cancel(&service, &standin, &script, &mut events).await;
    eventually("the end of grep", async || children(&service).is_empty()).await;
    let answers = &standin.requests()[1].json()["messages"][2]["content"];
    assert_eq!(answers[0]["content"], r#"{"error":"cancelled by user"}"#);
    assert_eq!(answers[1]["content"], "not executed: cancelled by user");
}

/// The processes that the service has started.
pub(crate) fn children(service: &Service) -> Vec<u32> {
    let id = service.id();
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let mut children = Vec::new();
    for task in tasks {
        let path = task.unwrap().path().join("children");
        let list = std::fs::read_to_string(path).unwrap_or_default();
        children.extend(list.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
    }
    children
}

/// Spec: [CONV-21] [MODEL-18]
#[tokio::test]
async fn while_waiting_for_a_retry() {
    let (service, standin, script) = Service::scripted(&[]).await;
    script.push(Reply::error(529, "overloaded_error", "busy").header("retry-after", "30"));
    let mut events = service.events().await;
    service.submit("one").await;
    loop {
        let event = events.until("status").await;
        if event["message"]
            .as_str()
            .unwrap()
            .starts_with("retrying in 30.0 s")
        {
            break;
        }
    }
    assert!(service.cancel().await);
    let refused = &standin.requests()[0];
    assert!(refused.closed(stretched(CLOSED_WITHIN)).await.is_some());
    assert_eq!(events.end().await, ("idle".into(), "cancelled".into()));
    script.push(Reply::text("go on"));
    service.submit("next").await;
    assert_eq!(events.end().await, ("idle".into(), String::new()));
    assert_eq!(standin.requests().len(), 2);
}

/// Spec: [CONV-23] [MODEL-17]
#[tokio::test]
async fn in_a_wait_nothing_of_the_failed_attempt_is_shown() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let begun = Reply::message(Message::new().words_per_delta(1).text("half a reply"));
    script.push(
        begun
            .keep_events(5)
            .then_error_event("overloaded_error", "busy"),
    );
    // A cancel that comes late finds the next attempt.
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    let mut events = service.events().await;
    service.submit("one").await;
    loop {
        let event = events.until("status").await;
        if event["message"].as_str().unwrap().starts_with("retrying") {
            break;
        }
    }
    assert!(service.cancel().await);
    let rest = events.run().await;
    let is_status = |event: &Value| event["type"] == "status";
    assert!(rest.iter().all(is_status), "{rest:?}");
    assert!(standin.requests().len() <= 2);
}

/// Spec: [CONV-21] [MODEL-18]
#[tokio::test]
async fn while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = Service::start(&format!("https://{address}"), &[]).await;
    let mut events = service.events().await;
    service.submit("one").await;
    // The handshake is never answered.
    let (mut stream, _) = within("a connection", listener.accept()).await.unwrap();
    let asked = Instant::now();
    assert!(service.cancel().await);
    let mut hello = Vec::new();
    within("the end of the connection", stream.read_to_end(&mut hello))
        .await
        .unwrap();
    took_at_most(CLOSED_WITHIN, asked.elapsed());
    assert_eq!(events.end().await, ("idle".into(), "cancelled".into()));
}

/// Spec: [CONV-24] [HTTP-05]
#[tokio::test]
async fn a_hundred_cancels_at_once_have_one_effect() {
    let (service, standin, script) = Service::scripted(&[]).await;
    assert!(!service.cancel().await);
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    let mut events = service.events().await;
    service.submit("one").await;
    within("the request", gate.reached()).await;
    let cancels = (0..100).map(|_| service.cancel());
    let cancelled = futures_util::future::join_all(cancels).await;
    assert!(cancelled.iter().any(|cancelled| *cancelled));
    assert_eq!(events.end().await, ("idle".into(), "cancelled".into()));
    script.push(Reply::text("go on"));
    service.submit("next").await;
    let next = events.run().await;
    assert_eq!(next[0]["type"], "user", "{next:?}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-03] [CONV-32]
#[tokio::test]
async fn at_random_times_every_run_has_one_end_and_every_request_is_valid() {
    let seed = std::process::id();
    println!("seed {seed}");
    let mut random = u64::from(seed);
    let mut below = |bound: u64| {
        // Numerical Recipes' linear congruential generator.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    let standin = Standin::start(|request: &harness_standin::MessagesRequest| {
        let results = request
            .last_content()
            .iter()
            .any(|block| block["type"] == "tool_result");
        let message = Message::new()
            .delta_pause(Duration::from_micros(300))
            .thinking("let me think about this for a while", "c2lnbmF0dXJl")
            .text("some words that arrive one after the other");
        Reply::message(if results {
            message
        } else {
            let id = |n| format!("t{n}_{}", request.messages().len());
            message
                .tool_use(id(1), "list_dir", json!({"path": "."}))
                .tool_use(
                    id(2),
                    "grep",
                    json!({"pattern": "x", "path": ".", "recursive": true}),
                )
        })
    })
    .unwrap();
    let service = Service::start(&standin.base_url(), &["--model", "claude-haiku-5-5"]).await;
    let mut events = service.events().await;
    let rounds = std::env::var("HARNESS_CANCELS").map_or(60, |rounds| rounds.parse().unwrap());
    for _ in 0..rounds {
        service.submit("work").await;
        tokio::time::sleep(Duration::from_micros(below(30_000))).await;
        service.cancel().await;
        let run = events.run().await;
        assert_eq!(run[0]["type"], "user", "{run:?}");
    }
    assert_eq!(standin.violations(), [""; 0]);
    eventually("the end of all programs", async || {
        children(&service).is_empty()
    })
    .await;
}
