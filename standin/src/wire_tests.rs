//! The state that the stand-in keeps over several requests: signatures, the window, the memory, the
//! models.

use std::io::{ErrorKind, Read as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, body};
use crate::{Catalogue, Listing, Message, MessagesRequest, Model, Reply, Standin};

/// Asks for a document and gives its status and its JSON.
fn answered(client: &mut Client, method: &str, path: &str, body: &Value) -> (String, Value) {
    client.send(method, path, &body.to_string());
    let mut answer = client.read_until("}");
    let json = loop {
        let start = answer.find("{\"").unwrap_or_default();
        let mut documents = serde_json::Deserializer::from_str(&answer[start..]).into_iter();
        if let Some(Ok(document)) = documents.next() {
            break document;
        }
        answer += &client.read_until("}");
    };
    // What is left of the chunks would be in the way of the next answer.
    if answer.contains("chunked") && !answer.ends_with("0\r\n\r\n") {
        client.read_until("0\r\n\r\n");
    }
    (answer[9..12].to_owned(), json)
}

fn ask(client: &mut Client, changes: Value) -> (String, Value) {
    let mut changes = changes;
    changes["stream"] = false.into();
    answered(client, "POST", "/v1/messages", &body(changes))
}

fn thinker() -> Standin {
    Standin::start(|_: &MessagesRequest| {
        Reply::message(Message::new().signed_thinking("hm").text("done"))
    })
    .unwrap()
}

/// Has a thought of one model sent back in a changed conversation, perhaps to another model.
fn echoed(from: &str, to: &str, change: impl FnOnce(&mut Value)) -> String {
    let standin = thinker();
    let mut client = Client::connect(&standin);
    let (_, reply) = ask(&mut client, json!({"model": from, "system": "be brief"}));
    let mut next = json!({
        "model": to,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": reply["content"]},
            {"role": "user", "content": "go on"},
        ],
    });
    change(&mut next);
    let (status, answer) = ask(&mut client, next);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    format!("{status} {message}").trim().to_owned()
}

#[test]
fn a_thought_is_bound_to_the_conversation_before_it() {
    let at = "400 messages.1.content.0: Invalid `signature` in `thinking` block";
    let conversation = format!("{at}: it is bound to a different conversation");
    let newest = ["claude-fable-5-1", "claude-opus-5-5", "claude-haiku-5-5"];
    for model in newest {
        assert_eq!(echoed(model, model, |_| {}), "200", "{model}");
        let system = echoed(model, model, |next| next["system"] = json!("be long"));
        assert_eq!(system, conversation, "{model}");
        let said = echoed(model, model, |next| {
            next["messages"][0]["content"] = json!("hello");
        });
        assert_eq!(said, conversation, "{model}");
        let tools = echoed(model, model, |next| {
            next["tools"] = json!([{"name": "read", "input_schema": {"type": "object"}}]);
        });
        assert_eq!(tools, conversation, "{model}");
        let later = echoed(model, model, |next| {
            next["messages"][2]["content"] = json!("stop");
        });
        assert_eq!(later, "200", "{model}");
    }
    let older = "claude-opus-5";
    let system = echoed(older, older, |next| next["system"] = json!("be long"));
    assert_eq!(system, "200");
    let changed = echoed(older, older, |next| {
        next["messages"][1]["content"][0]["thinking"] = json!("well");
    });
    assert_eq!(changed, at);
}

#[test]
fn a_thought_is_bound_to_its_model() {
    let other = echoed("claude-opus-5", "claude-opus-4-8", |_| {});
    assert!(other.ends_with("bound to a different model"), "{other}");
    let to_haiku = echoed("claude-opus-5-5", "claude-haiku-5-5", |_| {});
    assert_eq!(to_haiku, "200");
    let recorded = echoed("claude-opus-5", "claude-opus-4-8", |next| {
        next["messages"][1]["content"][0]["signature"] = json!("c2ln");
    });
    assert_eq!(recorded, "200");
}

#[test]
fn a_paused_reply_and_its_rest_may_be_one_message_or_two() {
    let standin = thinker();
    let mut client = Client::connect(&standin);
    let model = "claude-opus-5-5";
    let paused = json!([{"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}}]);
    let first = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": paused},
    ]);
    let (status, reply) = ask(&mut client, json!({"model": model, "messages": first}));
    assert_eq!(status, "200");
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "t", "content": []});
    let mut joined = vec![paused[0].clone(), result];
    joined.extend(reply["content"].as_array().unwrap().clone());
    let second = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": joined},
        {"role": "user", "content": "go on"},
    ]);
    let (status, answer) = ask(&mut client, json!({"model": model, "messages": second}));
    assert_eq!(status, "200", "{answer}");
}

#[test]
fn a_request_over_the_window_is_refused_and_noted() {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![Model::new("m").window(1000).token_percent(200)]);
    script.push(Reply::text("fits"));
    let mut client = Client::connect(&standin);
    let said = |length: usize| {
        let text = "a".repeat(length);
        json!({"model": "m", "messages": [{"role": "user", "content": text}]})
    };
    let (status, _) = ask(&mut client, said(1900));
    assert_eq!(status, "200");
    let (status, answer) = ask(&mut client, said(2000));
    assert_eq!(status, "400");
    assert_eq!(answer["error"]["type"], "invalid_request_error");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("prompt is too long: 10"), "{message}");
    assert!(message.ends_with(" tokens > 1000 maximum"), "{message}");

    assert_eq!(standin.violations(), [""; 0]);
    assert_eq!(standin.overflows().len(), 1);
    let requests = standin.requests();
    let [fits, over] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!((fits.outcome.status, over.outcome.status), (200, 400));
    assert_eq!(fits.outcome.refusal, None);
    assert_eq!(over.outcome.refusal.as_deref(), Some(message));
    assert_eq!(over.outcome.model.as_deref(), Some("m"));
    assert_eq!(over.outcome.window, Some(1000));
    assert!(over.outcome.input.total() > 1000 && over.body.len() > 2000);
}

#[test]
fn usage_tells_what_was_remembered_unless_the_reply_has_its_own() {
    let (standin, script) = Standin::scripted().unwrap();
    let marked = |text: &str| {
        let block = json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        json!({"messages": [{"role": "user", "content": [block]}]})
    };
    let mut client = Client::connect(&standin);
    let mut usage = |reply: Reply| {
        script.push(reply);
        let (_, answer) = ask(&mut client, marked("one two three"));
        answer["usage"].clone()
    };
    usage(Reply::error(500, "api_error", "no"));
    let first = usage(Reply::text("x"));
    assert_eq!(first["cache_read_input_tokens"], 0);
    assert_eq!(first["input_tokens"], 0);
    let second = usage(Reply::text("x"));
    let written = &first["cache_creation_input_tokens"];
    assert_eq!(second["cache_read_input_tokens"], *written);
    assert!(written.as_u64().unwrap() > 0);
    let own = json!({"input_tokens": 7, "output_tokens": 1});
    assert_eq!(
        usage(Message::new().text("x").usage(own.clone()).into()),
        own
    );
}

#[test]
fn the_models_endpoint_can_fail_hang_and_keep_quiet() {
    let models = vec![
        Model::new("claude-opus-5-5"),
        Model::text_only("m").listed(Listing::WithoutCapabilities),
    ];
    let catalogue = Catalogue::new(models);
    let echo = |_: &MessagesRequest| Reply::text("x");
    let standin = Standin::serving(echo, catalogue.clone()).unwrap();
    let mut client = Client::connect(&standin);
    let none = Value::Null;
    let (_, page) = answered(&mut client, "GET", "/v1/models", &none);
    let data = page["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    let types = &data[0]["capabilities"]["thinking"]["types"];
    assert_eq!(types["disabled"]["supported"], false);
    assert_eq!(data[1].get("capabilities"), None);
    // What is not told is true all the same.
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://x.test/a"}});
    let seen = json!({"model": "m", "messages": [{"role": "user", "content": [image]}]});
    assert_eq!(ask(&mut client, seen).0, "400");

    catalogue.answer_instead(Some(Reply::error(529, "overloaded_error", "no")));
    for path in ["/v1/models", "/v1/models/m"] {
        assert_eq!(answered(&mut client, "GET", path, &none).0, "529");
    }
    assert_eq!(ask(&mut client, json!({"model": "m"})).0, "200");
    catalogue.answer_instead(None);
    assert_eq!(answered(&mut client, "GET", "/v1/models/m", &none).0, "200");
    catalogue.set(vec![Model::new("n")]);
    assert_eq!(ask(&mut client, json!({"model": "m"})).0, "404");

    catalogue.answer_instead(Some(Reply::text("").silent()));
    client.send("GET", "/v1/models", "");
    let limit = Some(Duration::from_millis(50));
    client.stream.set_read_timeout(limit).unwrap();
    let silence = client.stream.read(&mut [0; 10]).unwrap_err().kind();
    assert!(matches!(
        silence,
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
}
