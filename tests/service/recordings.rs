//! Recorded streams of the Messages API, replayed to the built program.

use std::path::Path;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::program::Service;

/// The last words of a run that a recorded tool call keeps going.
const LAST: &str = "That was all.";

fn recording(name: &str) -> (Vec<u8>, Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/examples/streams");
    let stream = std::fs::read(folder.join(format!("{name}.sse"))).unwrap();
    let expected = std::fs::read(folder.join(format!("{name}.expected.json"))).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    (stream, expected["message"].clone())
}

/// The events that a message must give, without statuses and results.
fn expected_events(message: &Value) -> Vec<Value> {
    let blocks = message["content"].as_array().unwrap().iter();
    blocks
        .filter_map(|block| match block["type"].as_str().unwrap() {
            "text" => Some(json!({"type": "text", "content": block["text"]})),
            "tool_use" => Some(json!({
                "type": "tool_call", "id": block["id"], "name": block["name"], "input": block["input"],
            })),
            _ => None,
        })
        .collect()
}

/// Spec: [MODEL-04] [MODEL-05]
#[tokio::test]
async fn recordings_give_the_blocks_that_the_official_sdks_assemble() {
    for name in [
        "anthropic-sdk-python/basic_response",
        "anthropic-sdk-python/incomplete_partial_json_response",
        "anthropic-sdk-python/message_delta_omitted_usage_response",
        "anthropic-sdk-python/refusal_response",
        "anthropic-sdk-python/server_tool_use_response",
        "anthropic-sdk-python/tool_use_response",
        "anthropic-sdk-python/unknown_events_response",
        "langchain-anthropic/test_agent_loop_streaming.0",
        "langchain-anthropic/test_agent_loop_streaming.1",
    ] {
        let (stream, message) = recording(name);
        for size in [stream.len(), 1, 7] {
            let (service, standin, script) = Service::scripted(&[]).await;
            let mut events = service.events().await;
            script.push(Reply::sse(stream.clone()).pieces(size));
            // A recorded tool call is answered, and then the loop goes on.
            script.push(Reply::text(LAST));
            service.submit("hello").await;
            let mut run = events.run().await;
            run.retain(|event| matches!(event["type"].as_str(), Some("text" | "tool_call")));
            run.retain(|event| event["content"] != LAST);
            assert_eq!(run, expected_events(&message), "{name} by {size}");
            assert_eq!(standin.violations(), [""; 0], "{name}");
        }
    }
}

/// Spec: [MODEL-430]
#[tokio::test]
async fn the_recording_with_an_invalid_tool_input_is_answered_with_an_error() {
    let (stream, _) = recording("anthropic-sdk-python/tool_use_invalid_json_response");
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    script.push(Reply::sse(stream));
    script.push(Reply::text("well"));
    service.submit("hello").await;
    let run = events.run().await;
    assert_eq!(run.last().unwrap()["state"], "idle");
    let mut results = run.iter().filter(|event| event["type"] == "tool_result");
    assert_eq!(results.next().unwrap()["isError"], true);
    assert_eq!(results.next(), None);
    assert_eq!(standin.requests().len(), 2);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-06]
#[tokio::test]
async fn a_recording_that_is_cut_or_reset_is_an_explicit_interruption() {
    let (stream, _) = recording("langchain-anthropic/test_agent_loop_streaming.1");
    let (service, standin, script) = Service::scripted(&["--max-retries", "0"]).await;
    let mut events = service.events().await;
    let end = stream
        .windows(14)
        .rposition(|part| part == b"\"message_stop\"")
        .unwrap();
    for at in (0..end).step_by(29) {
        for reply in [
            Reply::sse(stream.clone()).keep_bytes(at).cut(),
            Reply::sse(stream.clone()).keep_bytes(at).reset(),
        ] {
            script.push(reply);
            service.submit("hello").await;
            let (state, message) = events.end().await;
            assert_eq!(state, "error", "{at}");
            assert!(
                message.starts_with("interrupted: ") || message.starts_with("connection failed"),
                "{at}: {message}"
            );
        }
    }
    script.push(Reply::text("well"));
    service.submit("hello").await;
    assert_eq!(events.end().await.0, "idle");
    assert_eq!(standin.violations(), [""; 0]);
}
