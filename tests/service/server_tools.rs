//! Tools that the API runs itself: their calls and results in the requests that follow.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};

use crate::client::within;
use crate::program::Service;
use crate::talk::{Talk, asked, bare, last_texts};

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

/// A call that searches.
fn search(id: &str) -> Value {
    json!({
        "type": "server_tool_use", "id": id, "name": "web_search",
        "input": {"query": "version 3"}, "caller": {"type": "direct"},
    })
}

/// What it found.
fn found(id: &str) -> Value {
    let page = |title: &str, url: &str| {
        json!({"type": "web_search_result", "title": title, "url": url,
               "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi", "page_age": null})
    };
    json!({
        "type": "web_search_tool_result", "tool_use_id": id, "caller": {"type": "direct"},
        "content": [page("News", "https://news.example/3"), page("Other", "https://b.example")],
    })
}

/// A text that cites a page.
fn cited() -> Value {
    json!({"type": "text", "text": "Version 3 came in May.", "citations": [{
        "type": "web_search_result_location", "url": "https://news.example/3", "title": "News",
        "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm", "cited_text": "in May",
    }]})
}

/// Spec: [WEB-01] [WEB-05] [WEB-06]
#[tokio::test]
async fn a_search_is_offered_shown_with_its_sources_and_counted() {
    let (service, standin, script) = Service::scripted(&["--web-search=on"]).await;
    let usage = json!({"input_tokens": 10, "output_tokens": 5,
                       "server_tool_use": {"web_search_requests": 3}});
    script.push(
        Message::new()
            .text("I look.")
            .block(search("srvtoolu_1"))
            .block(found("srvtoolu_1"))
            .block(cited())
            .usage(usage),
    );
    script.push(Reply::text("Done."));
    let talk = Talk::with(&service);
    let mut events = talk.follow("ann").await;
    talk.say("what is new?").await;
    let mut seen = Vec::new();
    loop {
        let event = events.event().await;
        match event["type"].as_str().unwrap() {
            "run_ended" => break,
            "block" | "text" => seen.push(bare(event)),
            _ => {}
        }
    }
    let news = json!({"title": "News", "url": "https://news.example/3"});
    let other = json!({"title": "Other", "url": "https://b.example"});
    let expected = [
        json!({"type": "text", "content": "I look."}),
        json!({"type": "block", "block_type": "server_tool_use",
               "web": {"step": "called", "tool": "web_search", "input": "version 3"}}),
        json!({"type": "block", "block_type": "web_search_tool_result",
               "web": {"step": "found", "sources": [news, other]}}),
        json!({"type": "text", "content": "Version 3 came in May.", "sources": [news]}),
    ];
    assert_eq!(seen, expected);
    talk.say("thanks").await;

    let asked = asked(&standin);
    let tools = asked[0]["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["type"], "web_search_20260318");
    assert_eq!(tools.last().unwrap()["allowed_callers"], json!(["direct"]));
    let mark = json!({"type": "ephemeral"});
    assert_eq!(tools.last().unwrap()["cache_control"], mark);
    // What only the API can read goes back to the byte.
    let sent = &asked[1]["messages"][1]["content"];
    assert_eq!(sent[1], search("srvtoolu_1"));
    assert_eq!(sent[2], found("srvtoolu_1"));
    assert_eq!(sent[3], cited());
    let usage = service.get(&talk.path("/usage")).await;
    assert_eq!(usage["usage"]["web_search_requests"], 3);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [WEB-01] [WEB-02]
#[tokio::test]
async fn the_web_is_off_by_itself_at_other_servers_and_a_setting_of_each_conversation() {
    let (service, standin, script) = Service::scripted(&[]).await;
    script.extend(["1", "2", "3"].map(Reply::text));
    let talk = Talk::with(&service);
    talk.say("one").await;
    talk.set(&json!({"web_search": "on", "web_fetch": true, "web_domains": ["docs.rs"]}))
        .await;
    talk.say("two").await;
    talk.set(&json!({"web_search": "off", "web_fetch": null}))
        .await;
    talk.say("three").await;
    let asked = asked(&standin);
    let of_web = |number: usize| {
        let tools = asked[number]["tools"].as_array().unwrap().iter();
        let of_web = tools.filter(|tool| tool["type"].is_string());
        of_web.cloned().collect::<Vec<Value>>()
    };
    assert_eq!(of_web(0), [Value::Null; 0]);
    let names: Vec<Value> = of_web(1).iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["web_search", "web_fetch"]);
    for tool in of_web(1) {
        assert_eq!(tool["allowed_domains"], json!(["docs.rs"]));
    }
    assert_eq!(of_web(2), [Value::Null; 0]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [WEB-07]
#[tokio::test]
async fn a_server_without_tools_for_the_web_is_asked_without_them() {
    let (service, standin, script) = Service::scripted(&["--web-search=on"]).await;
    script.push(
        Message::new()
            .block(search("srvtoolu_1"))
            .block(found("srvtoolu_1"))
            .text("In May."),
    );
    // As a server says it that checks each tool for a schema.
    let talk = Talk::with(&service);
    talk.say("one").await;
    let number = asked(&standin)[0]["tools"].as_array().unwrap().len() - 1;
    let refused = format!(
        "[{{'loc': ('body', 'tools', {number}, 'input_schema'), 'msg': 'Field required'}}]"
    );
    script.push(Reply::error(400, "invalid_request_error", refused));
    script.push(Reply::text("Without."));
    script.push(Reply::text("Again without."));
    talk.say("two").await;
    talk.say("three").await;
    let asked = asked(&standin);
    assert_eq!(asked.len(), 4);
    for (number, has_web) in [(0, true), (1, true), (2, false), (3, false)] {
        let tools = asked[number]["tools"].to_string();
        assert_eq!(tools.contains("web_search"), has_web, "{number}");
        let past = asked[number]["messages"].to_string();
        assert_eq!(past.contains("server_tool_use"), number == 1, "{number}");
    }
    let told = &asked[2]["messages"][1]["content"];
    assert_eq!(told[0]["text"], "[web_search: version 3]");
    assert_eq!(last_texts(&asked[2]).1, ["two"]);
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
