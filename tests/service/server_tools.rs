//! Tools that the API runs itself: their calls and results in the requests that follow.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};

use crate::client::within;
use crate::program::Service;
use crate::talk::{Talk, asked, last_texts};

/// A call of a tool of the API, as the API names and marks it.
fn fetch(id: &str) -> Value {
    json!({
        "type": "server_tool_use", "id": id, "name": "web_fetch",
        "input": {"url": "https://example.com/a"}, "caller": {"type": "direct"},
    })
}

/// The result of such a call, with content that only the API can read.
fn fetched(id: &str) -> Value {
    json!({
        "type": "web_fetch_tool_result", "tool_use_id": id, "caller": {"type": "direct"},
        "content": {
            "type": "web_fetch_result", "url": "https://example.com/a", "retrieved_at": null,
            "content": {"type": "document", "source": {"type": "text", "media_type": "text/plain",
                        "data": "a page"}, "title": "A", "citations": {"enabled": true}},
        },
    })
}

/// Spec: [CONV-38] [CONV-796]
#[tokio::test]
async fn a_call_of_the_api_beside_calls_of_the_service_is_answered_in_the_next_reply() {
    let gate = Gate::new();
    let (service, standin, script) = Service::scripted(&[]).await;
    let mixed = Message::new()
        .text("Both.")
        .block(fetch("srvtoolu_1"))
        .tool_use("a", "list_dir", json!({"path": "."}));
    script.push(mixed.clone().gate(&gate));
    script.push(
        Message::new()
            .block(fetched("srvtoolu_1"))
            .text("Found.")
            .tool_use("b", "list_dir", json!({"path": "."})),
    );
    script.push(Reply::text("Done."));
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the reply", gate.reached()).await;
    talk.queue("steer", "turn left").await;
    gate.open();
    talk.idle().await;

    let asked = asked(&standin);
    assert_eq!(asked.len(), 3);
    let messages = |number: usize| asked[number]["messages"].as_array().unwrap();
    // The results alone, and steering not before the call has its result.
    let content = messages(1)[1]["content"].as_array().unwrap();
    assert_eq!(content[1], fetch("srvtoolu_1"));
    assert_eq!(last_texts(&asked[1]), (1, vec![]));
    assert_eq!(messages(2)[1], messages(1)[1]);
    assert_eq!(messages(2)[3]["content"][0], fetched("srvtoolu_1"));
    assert_eq!(last_texts(&asked[2]), (1, vec!["turn left".to_owned()]));
    assert_eq!(asked[1]["tools"], asked[2]["tools"]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-797]
#[tokio::test]
async fn a_call_of_the_api_that_gets_no_result_leaves_a_conversation_that_goes_on() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let mixed = |call: &str| {
        Message::new()
            .block(fetch(&format!("srvtoolu_{call}")))
            .tool_use(call, "list_dir", json!({"path": "."}))
    };
    // The next reply does not have it.
    script.push(mixed("a"));
    script.push(Reply::text("Without."));
    talk.prompt("one").await;
    talk.idle().await;
    // The request for it is refused.
    script.push(mixed("b"));
    script.push(Reply::error(400, "invalid_request_error", "no"));
    talk.prompt("two").await;
    talk.idle().await;
    // The run fails, and a prompt comes in its place.
    script.push(mixed("c"));
    script.push(Reply::error(401, "authentication_error", "no"));
    talk.prompt("three").await;
    talk.idle().await;
    script.push(Reply::text("On."));
    talk.prompt("four").await;
    talk.idle().await;
    let last = asked(&standin).pop().unwrap();
    assert!(!last.to_string().contains("server_tool_use"), "{last}");
    assert_eq!(standin.violations(), [""; 0]);
}
