//! The betas of the API: what a request has of them, and what takes their place where a server refuses one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_standin::{Catalogue, Message, MessagesRequest, Model, Reply, Standin};
use serde_json::{Value, json};

use crate::program::Service;
use crate::talk::{Talk, asked, last_texts};

/// The model that is asked, and the one that replies where it declines.
const ASKED: &str = "claude-fable-5-1";
const OTHER: &str = "claude-opus-5-5";
const FALLBACK: &str = "server-side-fallback-2026-07-01";
const CLEARING: &str = "context-management-2025-06-27";
const BOTH: &[&str] = &["--refusal-fallback=on", "--clear-tool-results=true"];

fn models() -> Vec<Model> {
    vec![
        Model::new(ASKED).falling_back_to(&[OTHER]),
        Model::new(OTHER),
    ]
}

fn hop() -> Value {
    json!({"type": "fallback", "from": {"model": ASKED}, "to": {"model": OTHER},
           "trigger": {"type": "refusal", "category": "cyber"}})
}

async fn scripted(flags: &[&str]) -> (Service, Standin, harness_standin::Script) {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(models());
    let flags: Vec<&str> = ["--model", ASKED].iter().chain(flags).copied().collect();
    let service = Service::start(&standin.base_url(), &flags).await;
    (service, standin, script)
}

/// The names of betas in the header of each request.
fn headers(standin: &Standin) -> Vec<Option<String>> {
    let requests = standin.requests();
    let messages = requests
        .iter()
        .filter(|request| request.path == "/v1/messages");
    messages
        .map(|request| request.header("anthropic-beta").map(str::to_owned))
        .collect()
}

/// Spec: [MODEL-801] [MODEL-803] [CONV-731] [EVENT-801]
#[tokio::test]
async fn where_the_model_declines_another_one_replies_and_the_mark_is_sent_back() {
    let (mut service, standin, script) = scripted(&["--refusal-fallback=on"]).await;
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "iterations": [
        {"type": "message", "model": null, "input_tokens": 9, "output_tokens": 2},
        {"type": "fallback_message", "model": OTHER, "input_tokens": 10, "output_tokens": 5},
    ]});
    script.push(
        Message::new()
            .signed_thinking("first")
            .text("Part. ")
            .block(hop())
            .signed_thinking("second")
            .text("Rest.")
            .usage(usage),
    );
    let talk = Talk::with(&service);
    talk.say("go").await;
    let marks = talk.past_of("block").await;
    let changed = json!({"type": "block", "block_type": "fallback",
                         "fallback": {"from": ASKED, "to": OTHER, "category": "cyber"}});
    assert!(marks.contains(&changed), "{marks:?}");
    let usage = service.get(&talk.path("/usage")).await;
    let of = |id: &str| {
        let models = usage["models"].as_array().unwrap();
        let found = models.iter().find(|model| model["model"] == id);
        found.map(|model| model["usage"]["input_tokens"].as_u64().unwrap())
    };
    assert_eq!((of(ASKED), of(OTHER)), (Some(9), Some(10)));

    // The same past is read from the journal.
    service.kill();
    let service = service.restart().await;
    let talk = Talk::with(&service);
    script.push(Reply::text("Yes."));
    talk.say("more").await;
    let bodies = asked(&standin);
    assert_eq!(bodies[0]["fallbacks"], "default");
    let sent = bodies[1]["messages"][1]["content"].as_array().unwrap();
    let kinds: Vec<&Value> = sent.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "fallback", "thinking", "text"]);
    assert_eq!(sent[1], hop());
    assert_eq!(
        headers(&standin),
        [Some(FALLBACK.to_owned()), Some(FALLBACK.to_owned())]
    );

    // Without the setting, and so without the beta, the mark and the thinking beside it are left out.
    talk.set(&json!({"refusal_fallback": "off"})).await;
    script.push(Reply::text("Still."));
    talk.say("and now?").await;
    let last = asked(&standin).pop().unwrap();
    let sent = last["messages"][1]["content"].as_array().unwrap();
    let texts: Vec<&Value> = sent.iter().map(|block| &block["text"]).collect();
    assert_eq!(texts, ["Part. ", "Rest."]);
    assert_eq!(
        (last.get("fallbacks"), headers(&standin).pop().unwrap()),
        (None, None)
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-802] [MODEL-803]
#[tokio::test]
async fn a_beta_that_a_server_refuses_is_left_out_for_an_hour_and_nothing_of_the_user_is() {
    let field = "context_management: Extra inputs are not permitted";
    let all = [FALLBACK, CLEARING].join(",");
    for (refusal, status, left, words) in [
        // As a gateway does that leaves the header out, and keeps the field.
        (
            field,
            400,
            Some(FALLBACK),
            "without clearing results of tools",
        ),
        (
            "fallbacks: Extra inputs are not permitted",
            422,
            Some(CLEARING),
            "without another model for refusals",
        ),
        (
            "invalid beta flag",
            400,
            None,
            "without another model for refusals, without clearing results of tools",
        ),
    ] {
        let (service, standin, script) = scripted(BOTH).await;
        let talk = Talk::with(&service);
        script.push(Reply::error(status, "invalid_request_error", refusal));
        script.extend(["One.", "Two."].map(Reply::text));
        talk.say("one").await;
        let run = talk.past().await;
        let said = |event: &&Value| {
            event["message"]
                .as_str()
                .is_some_and(|text| text.contains(words))
        };
        assert_eq!(run.iter().filter(said).count(), 1, "{refusal}");
        talk.say("two").await;
        let run = talk.past().await;
        let again = |event: &&Value| event.to_string().contains("asking again");
        assert_eq!(run.iter().filter(again).count(), 1, "{run:?}");
        let asked = asked(&standin);
        assert_eq!(asked.len(), 3, "{refusal}");
        let left = left.map(str::to_owned);
        assert_eq!(
            headers(&standin),
            [Some(all.clone()), left.clone(), left.clone()],
            "{refusal}"
        );
        for body in &asked[1..] {
            let has = |field: &str| body.get(field).is_some();
            let has_beta = |name: &str| left.as_deref() == Some(name);
            assert_eq!(has("fallbacks"), has_beta(FALLBACK), "{refusal}");
            assert_eq!(has("context_management"), has_beta(CLEARING), "{refusal}");
        }
        assert_eq!(last_texts(&asked[1]).1, ["one"], "{refusal}");
        assert_eq!(last_texts(&asked[2]).1, ["two"], "{refusal}");
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [MODEL-802]
#[tokio::test]
async fn a_refused_mark_of_the_past_is_left_out_with_its_beta() {
    let (service, standin, script) = scripted(&["--refusal-fallback=on"]).await;
    let talk = Talk::with(&service);
    script.push(
        Message::new()
            .text("Part. ")
            .block(hop())
            .signed_thinking("t")
            .text("Rest."),
    );
    talk.say("one").await;
    let refusal = "messages.1.content.1: Input tag 'fallback' found using 'type' does not match any of the tags";
    script.push(Reply::error(400, "invalid_request_error", refusal));
    script.push(Reply::text("Yes."));
    talk.say("two").await;
    let last = asked(&standin).pop().unwrap();
    assert_eq!(last["messages"][1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(
        (last.get("fallbacks"), last_texts(&last).1),
        (None, vec!["two".to_owned()])
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-801]
#[tokio::test]
async fn a_beta_is_used_only_where_it_is_set_and_of_use() {
    // By itself nothing is asked for at a server that is not the vendor's.
    let (service, standin, script) = scripted(&[]).await;
    script.push(Reply::text("1"));
    Talk::with(&service).say("one").await;
    assert_eq!(headers(&standin), [None]);
    // A model that none takes the place of, and a conversation without tools.
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![Model::new(ASKED)]);
    let flags = [&["--model", ASKED, "--active-tools=none"], BOTH].concat();
    let service = Service::start(&standin.base_url(), &flags).await;
    script.push(Reply::text("2"));
    Talk::with(&service).say("two").await;
    assert_eq!(headers(&standin), [None]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Models of the next test, so that what is learned of one says nothing of the others.
const MODELS: [&str; 6] = [
    "claude-fable-5-1",
    "claude-fable-5",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-sonnet-5-5",
    "claude-sonnet-5",
];

/// Spec: [MODEL-802]
#[tokio::test]
async fn no_turn_fails_at_a_server_that_refuses_betas_now_and_then() {
    let refusals = [
        "context_management: Extra inputs are not permitted",
        "fallbacks: Extra inputs are not permitted",
        "Unexpected value(s) `x` for the `anthropic-beta` header",
    ];
    let given: Arc<[AtomicUsize; 3]> = Arc::default();
    let counted = Arc::clone(&given);
    let asks = AtomicUsize::new(0);
    let responder = move |request: &MessagesRequest| {
        let number = asks.fetch_add(1, Ordering::Relaxed) % 5;
        let has_beta = request.header("anthropic-beta").is_some();
        match refusals.get(number).filter(|_| has_beta) {
            Some(refusal) => {
                counted[number].fetch_add(1, Ordering::Relaxed);
                Reply::error(400, "invalid_request_error", *refusal)
            }
            None => Reply::text("Yes."),
        }
    };
    let models = MODELS.map(|id| Model::new(id).falling_back_to(&["claude-opus-4-8"]));
    let standin = Standin::serving(responder, Catalogue::new(models.into())).unwrap();
    let flags = [&["--model", ASKED], BOTH].concat();
    let service = Service::start(&standin.base_url(), &flags).await;
    for model in MODELS {
        for _ in 0..2 {
            let id = service.create(&json!({"settings": {"model": model}})).await;
            let talk = Talk {
                service: &service,
                id,
            };
            for _ in 0..3 {
                talk.say("go").await;
            }
            assert_eq!(talk.past_of("reply_failed").await, [Value::Null; 0]);
            assert_eq!(talk.past_of("reply_ended").await.len(), 3);
        }
    }
    let given: Vec<usize> = given
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .collect();
    assert!(given.iter().all(|count| *count > 0), "{given:?}");
    assert_eq!(standin.violations(), [""; 0]);
}
