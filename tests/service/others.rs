//! Servers other than the API: the differences of their answers, and conversations that continue in spite of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use harness_standin::{Listing, Message, MessagesRequest, Model, Reply, Standin};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::client::{Events, within};
use crate::eventually::eventually;
use crate::program::{MODEL, Service, output};
use crate::talk::{Talk, asked, model, serving};

const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

/// The window of a server of these tests, in tokens.
const WINDOW: usize = 6144;

/// The answer of llama.cpp's server to a request over its window, and a long reply otherwise.
fn small_server(request: &MessagesRequest) -> Reply {
    let tokens = request.input_tokens();
    if tokens <= WINDOW {
        return Reply::text(if request.wants_summary() {
            "A short summary.".to_owned()
        } else {
            harness_standin::prose(4000)
        });
    }
    let error = json!({"error": {
        "code": 400,
        "message": format!("request ({tokens} tokens) exceeds the available context size \
                            ({WINDOW} tokens), try increasing it"),
        "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": WINDOW,
    }});
    Reply::json(&error).status(400)
}

/// Spec: [MODEL-58] [CONV-175]
#[tokio::test]
async fn a_server_that_names_its_window_in_an_error_is_asked_within_it_from_then_on() {
    let unknown = model(1_000_000).listed(Listing::NamesOnly);
    let (service, standin, _) = serving(small_server, unknown, &[]).await;
    let talk = Talk::with(&service);
    for prompt in 0..12 {
        talk.say(&format!("{prompt} {}", harness_standin::prose(2500)))
            .await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    }
    let started = talk.past_of("compaction_started").await;
    assert_eq!(started[0]["reason"], "overflow");
    assert!(started.len() > 1);
    assert!(
        started[1..].iter().all(|it| it["reason"] == "threshold"),
        "{started:?}"
    );
    let over = asked(&standin).len()
        - standin
            .requests()
            .iter()
            .filter(|it| it.outcome.status == 200)
            .count();
    assert!(over <= 1, "{over}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-59]
#[tokio::test]
async fn a_server_with_properties_is_never_asked_over_its_window() {
    let unknown = model(1_000_000).listed(Listing::NamesOnly);
    let (service, standin, catalogue) = serving(small_server, unknown, &[]).await;
    catalogue.set_properties(Some(json!({
        "default_generation_settings": {"n_ctx": WINDOW}, "modalities": {"vision": false},
    })));
    let talk = Talk::with(&service);
    for prompt in 0..8 {
        talk.say(&format!("{prompt} {}", harness_standin::prose(2500)))
            .await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    }
    let started = talk.past_of("compaction_started").await;
    assert!(!started.is_empty() && started.iter().all(|it| it["reason"] == "threshold"));
    let requests = standin.requests();
    let asked: Vec<_> = requests
        .iter()
        .filter(|it| it.path.starts_with("/props"))
        .collect();
    assert_eq!(asked.len(), 1, "the answer holds");
    assert!(requests.iter().all(|it| it.outcome.status == 200));
}

/// Sends a prompt with files to its end.
async fn show(talk: &Talk<'_>, content: &str, files: Value) {
    let body = json!({"content": content, "attachments": files});
    let path = talk.path("/prompt");
    let answer = talk.service.post(&path, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    within("the end of a run with files", talk.idle()).await;
}

fn has_file(request: &Value) -> bool {
    let text = request["messages"].to_string();
    text.contains(r#""type":"image""#) || text.contains(r#""type":"document""#)
}

/// The messages of the states so far that say something.
async fn remarks(talk: &Talk<'_>) -> Vec<String> {
    let states = talk.past_of("status").await;
    let said = states.iter().filter_map(|state| state["message"].as_str());
    let said = said.filter(|said| !said.is_empty()).map(str::to_owned);
    said.collect()
}

/// Spec: [MODEL-60] [MODEL-61]
#[tokio::test]
async fn a_server_that_sees_no_pictures_ends_no_conversation() {
    for (status, message, retries) in [
        (
            500,
            "image input is not supported - hint: provide the mmproj",
            0,
        ),
        (500, "Internal server error", 1),
        (501, "not implemented", 1),
        (400, "no", 0),
        (404, "No endpoints found that support image input", 0),
        (422, "Input should be 'text'", 0),
    ] {
        let blind = move |request: &MessagesRequest| {
            if has_file(&request.body) {
                Reply::error(status, "server_error", message)
            } else {
                Reply::text("well")
            }
        };
        let (service, standin, _) = serving(blind, model(200_000), &["--max-retries", "1"]).await;
        let talk = Talk::with(&service);
        show(&talk, "look", json!([{"data": GIF, "name": "dot.gif"}])).await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        let said = remarks(&talk).await;
        let remark =
            format!("asking again without dot.gif: server_error: {message} (HTTP {status}");
        assert!(said.last().unwrap().starts_with(&remark), "{said:?}");
        let first = asked(&standin).len();
        assert_eq!(first, 2 + retries);
        let last = asked(&standin).last().unwrap()["messages"][0]["content"].clone();
        assert_eq!(
            last[0]["text"],
            "(dot.gif was left out: the API does not take it)"
        );
        assert_eq!(last[1]["text"], "look");
        // From then on it is left out at once, and what is new is tried.
        for prompt in ["and", "now"] {
            talk.say(prompt).await;
        }
        assert_eq!(asked(&standin).len(), first + 2);
        show(
            &talk,
            "this?",
            json!([{"data": "bm90ZQ==", "name": "note.md"}]),
        )
        .await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        assert_eq!(asked(&standin).len(), first + 2 + 2 + retries);
        assert_eq!(
            remarks(&talk)
                .await
                .iter()
                .filter(|it| it.contains("asking"))
                .count(),
            2
        );
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [MODEL-60]
#[tokio::test]
async fn a_picture_of_the_past_ends_no_conversation_where_another_server_answers() {
    let refuses = Arc::new(AtomicU16::new(0));
    let status = Arc::clone(&refuses);
    let server = move |request: &MessagesRequest| match status.load(Ordering::Relaxed) {
        // It is up, and closes the connection over a picture.
        1 if has_file(&request.body) => Reply::raw(vec![harness_standin::Step::Reset]),
        // It is down for everybody.
        2 => Reply::error(500, "api_error", "down"),
        status if status > 2 && has_file(&request.body) => Reply::error(status, "error", "no"),
        _ => Reply::text("well"),
    };
    let (service, standin, _) = serving(server, model(200_000), &["--max-retries", "1"]).await;
    let talk = Talk::with(&service);
    for name in ["a.gif", "b.gif"] {
        show(
            &talk,
            "look",
            json!([{"data": GIF, "name": name}, {"data": "YQ=="}]),
        )
        .await;
    }
    // What fails for all says what the whole request failed with, and loses no file.
    refuses.store(2, Ordering::Relaxed);
    let before = asked(&standin).len();
    talk.say("hello").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(message.starts_with("api_error: down"), "{message}");
    assert!(asked(&standin).len() <= before + 4);
    refuses.store(0, Ordering::Relaxed);
    talk.say("and now?").await;
    assert!(has_file(asked(&standin).last().unwrap()));
    for status in [1, 503, 400] {
        refuses.store(status, Ordering::Relaxed);
        talk.say("go on").await;
        assert_eq!(
            talk.outcome().await,
            ("completed".into(), String::new()),
            "{status}"
        );
        assert!(!has_file(asked(&standin).last().unwrap()));
    }
    let before = asked(&standin).len();
    talk.say("once more").await;
    assert_eq!(asked(&standin).len(), before + 1);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-176]
#[tokio::test]
async fn a_remark_about_a_request_ends_when_it_goes_on() {
    let (service, _standin, script) = crate::program::Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let gate = harness_standin::Gate::new();
    script.push(Reply::error(529, "overloaded_error", "Overloaded").header("retry-after-ms", "5"));
    script.push(Reply::text("well").gate_head(&gate));
    talk.prompt("hello").await;
    eventually("the end of a remark", async || {
        let states = talk.past_of("status").await;
        let said = states.iter().filter_map(|it| it["message"].as_str());
        let said: Vec<&str> = said.collect();
        let [_, retrying, after] = said[..] else {
            return false;
        };
        assert!(retrying.starts_with("retrying"), "{said:?}");
        assert_eq!(after, "");
        true
    })
    .await;
    gate.open();
    talk.idle().await;
}

/// Spec: [CONV-89] [CONV-177] [MODEL-62]
#[tokio::test]
async fn tools_can_be_switched_off_for_a_model_that_takes_none() {
    let without_tools = |request: &MessagesRequest| {
        let offered = request.tool_names();
        if request.body["model"] == MODEL && !offered.is_empty() {
            return Reply::error(400, "api_error", "library/tiny does not support tools");
        }
        match (
            request.last_content().iter().any(|it| it["text"] == "call"),
            offered.is_empty(),
        ) {
            (true, false) => Reply::tool_calls([("t1", "list_dir", json!({}))]),
            _ => Reply::text("well"),
        }
    };
    let (service, standin, catalogue) = serving(without_tools, model(200_000), &[]).await;
    catalogue.set(vec![
        model(200_000),
        harness_standin::Model::new("claude-opus-5-5"),
    ]);
    let talk = Talk::with(&service);
    talk.say("hello").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(message.contains("active_tools=none"), "{message}");
    let set = async |settings: Value| {
        let body = json!({"settings": settings});
        talk.order("PATCH", "/settings", &body).await
    };
    // Another model calls one, and then there are none.
    set(json!({"model": "claude-opus-5-5"})).await;
    talk.say("call").await;
    let answer = set(json!({"active_tools": ["none"], "model": null})).await;
    assert_eq!(answer["active_tools"], json!([]));
    assert_eq!(answer["settings"]["active_tools"], json!(["none"]));
    talk.say("on").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let last = asked(&standin).pop().unwrap();
    assert!(last["tools"].is_null() && last["tool_choice"].is_null());
    assert!(last["messages"].to_string().contains("tool_use"));
    // None among others is no name, and no names are all.
    let mixed = json!({"settings": {"active_tools": ["none", "read"]}});
    assert_eq!(talk.send("PATCH", "/settings", &mixed).await.status, 400);
    let answer = set(json!({"active_tools": []})).await;
    assert_eq!(answer["active_tools"], answer["tools"]);

    // A service that has none offers them where a conversation asks for all.
    let flags = ["--active-tools", "none"];
    let (service, standin, _) = serving(without_tools, model(200_000), &flags).await;
    let talk = Talk::with(&service);
    talk.say("hello").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let body = json!({"settings": {"active_tools": ["read"]}});
    talk.order("PATCH", "/settings", &body).await;
    talk.say("hello").await;
    assert_eq!(asked(&standin)[1]["tools"].as_array().unwrap().len(), 1);
}

/// Spec: [MODEL-20] [HTTP-106]
#[tokio::test]
async fn models_that_are_listed_as_retired_take_no_place_and_are_not_recommended() {
    let models = vec![
        Model::new("claude-haiku-4-9").retired(),
        Model::new("claude-haiku-4-8").retired(),
        Model::new("claude-haiku-4-5-20251001"),
        // The default itself.
        Model::new("claude-3-haiku-20240307").retired(),
    ];
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(models);
    let service = Service::start(&standin.base_url(), &[]).await;
    let talk = Talk::with(&service);
    script.push(Reply::text("well"));
    talk.say("hello").await;
    let said = remarks(&talk).await;
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].ends_with("using claude-haiku-4-5-20251001"),
        "{said:?}"
    );
    let body = json!({"settings": {"model": "claude-haiku-4-9"}});
    talk.order("PATCH", "/settings", &body).await;
    talk.say("hello").await;
    let (_, message) = talk.outcome().await;
    let expected = "; claude-haiku-4-9 is retired; \
         set the model to one that is live: claude-haiku-4-5-20251001 (HTTP 404";
    assert!(message.contains(expected), "{message}");
    let listed = service.get("/v1/models").await;
    assert_eq!(listed["models"][0]["lifecycle"], "retired");
}

/// Spec: [MODEL-775]
#[tokio::test]
async fn a_model_that_is_soon_no_longer_served_is_remarked_once_a_day_with_one_that_stays() {
    let mut date = std::process::Command::new("date");
    let (code, day, _) = output(date.args(["-u", "-d", "+10 days", "+%F"]));
    assert_eq!(code, 0);
    let day = day.trim();
    let models = vec![
        Model::new("claude-haiku-4-9").retiring(format!("{day}T00:00:00Z")),
        Model::new("claude-haiku-4-8").retiring("2999-01-01T00:00:00Z"),
        Model::new("claude-haiku-4-5-20251001").retiring(format!("{day}T00:00:00Z")),
    ];
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(models);
    let service = Service::start(&standin.base_url(), &[]).await;
    let talk = Talk::with(&service);
    for (model, is_said) in [
        ("claude-haiku-4-8", false),
        ("claude-haiku-4-9", true),
        ("claude-haiku-4-9", false),
    ] {
        let before = remarks(&talk).await.len();
        script.push(Reply::text("well"));
        let body = json!({"settings": {"model": model, "thinking": "high"}});
        talk.order("PATCH", "/settings", &body).await;
        talk.say("hello").await;
        let said = remarks(&talk).await.split_off(before);
        let expected = format!(
            "the API serves {model} until {day}, in 10 days; set the model to one that stays, such as claude-haiku-4-8"
        );
        let wanted = if is_said { vec![expected] } else { vec![] };
        assert_eq!(said, wanted, "{model}");
    }
    let listed = service.get("/v1/models").await;
    assert_eq!(listed["models"][1]["retires_at"], "2999-01-01T00:00:00Z");
}

/// Spec: [HTTP-107]
#[tokio::test]
async fn a_position_that_is_empty_is_none() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for header in ["Last-Event-ID:\r\n", "Last-Event-ID: \r\n"] {
        for path in ["/events", "/events?after="] {
            let mut events = Events::open_at(service.address, path, header).await;
            script.push(Reply::text("well"));
            service.submit("hello").await;
            let run = Value::from(events.run().await).to_string();
            assert!(!run.contains("reset"), "{path}: {run}");
        }
        for query in ["", "?after="] {
            let mut events = service.follow("default", query, header).await;
            assert_eq!(events.event().await["type"], "attached", "{query}");
        }
    }
}

/// Spec: [CONF-75]
#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let (standin, _script) = Standin::scripted().unwrap();
    let home = tempfile::tempdir().unwrap();
    let none = [("ANTHROPIC_API_KEY".to_owned(), String::new())];
    let url = format!("{}/v1/messages", standin.base_url());
    let service = Service::start_with(home, &url, &[], &none).await;
    let talk = Talk::with(&service);
    talk.say("hello").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(
        message.contains("no key was sent: set ANTHROPIC_API_KEY"),
        "{message}"
    );
    let requests = standin.requests();
    let last = requests.last().unwrap();
    assert!(last.header("x-api-key").is_none() && last.header("authorization").is_none());
}

/// Spec: [MODEL-65]
#[tokio::test]
async fn a_server_that_closes_before_it_answers_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let order = AtomicU16::new(0);
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            // What was not read yet makes it a reset.
            let mut head = [0; 16];
            connection.read_exact(&mut head).await.unwrap();
            let turn = order.fetch_add(1, Ordering::Relaxed);
            let starts = [None, Some(""), Some("HTTP/1.1 200 OK\r\nconte")];
            if let Some(start) = starts[usize::from(turn % 3)] {
                connection.write_all(start.as_bytes()).await.unwrap();
                connection.shutdown().await.unwrap();
                tokio::io::copy(&mut connection, &mut tokio::io::sink())
                    .await
                    .unwrap();
            }
        }
    });
    let service = Service::start(&url, &["--max-retries", "0"]).await;
    let talk = Talk::with(&service);
    for _ in 0..3 {
        talk.say("hello").await;
        let (_, message) = talk.outcome().await;
        let expected = format!(
            "connection failed: the server closed the connection before it answered ({url})"
        );
        assert!(message.ends_with(&expected), "{message}");
    }
}

/// Spec: [MODEL-66] [MODEL-67] [MODEL-70] [CONF-77]
#[tokio::test]
async fn a_temperature_and_stop_sequences_are_sent_where_they_are_taken() {
    let answers = |request: &MessagesRequest| {
        let calls = request.last_content().iter().any(|it| it["text"] == "call");
        if calls {
            let thought = Message::new().signed_thinking("hm");
            return Reply::message(thought.tool_use("t1", "list_dir", json!({})));
        }
        Reply::message(Message::new().text("so far").stop_reason("stop_sequence"))
    };
    let haiku = Model::new("claude-haiku-4-5-20251001");
    let flags = ["--temperature", "0.3", "--stop-sequences", "END,STOP"];
    let (service, standin, catalogue) = serving(answers, haiku.clone(), &flags).await;
    catalogue.set(vec![haiku, Model::new("claude-opus-5-5")]);
    let talk = Talk::with(&service);
    talk.say("hello").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let ended = talk.past_of("reply_ended").await;
    assert_eq!(ended[0]["stop_reason"], "stop_sequence");
    let first = &asked(&standin)[0];
    assert_eq!(first["temperature"], 0.3);
    assert_eq!(first["stop_sequences"], json!(["END", "STOP"]));
    assert_eq!(remarks(&talk).await, [""; 0]);

    let set = async |settings: Value| {
        let body = json!({"settings": settings});
        talk.order("PATCH", "/settings", &body).await
    };
    set(json!({"thinking": "high", "stop_sequences": ["a, b"]})).await;
    talk.say("call").await;
    let thinks = "the temperature is not sent to claude-haiku-4-5-20251001: it thinks";
    let said = remarks(&talk).await;
    let count = |text: &str| said.iter().filter(|said| said.contains(text)).count();
    assert_eq!(count(thinks), 1, "{said:?}");
    let last = asked(&standin).pop().unwrap();
    assert!(last["temperature"].is_null(), "{last}");
    assert_eq!(last["stop_sequences"], json!(["a, b"]));

    set(json!({"thinking": null, "model": "claude-opus-5-5"})).await;
    talk.say("hello").await;
    let takes_none = "the temperature is not sent to claude-opus-5-5: it takes none";
    assert!(remarks(&talk).await.contains(&takes_none.to_owned()));
    for wrong in [json!(1.5), json!(-1), json!("0.5"), json!([])] {
        let body = json!({"settings": {"temperature": wrong}});
        assert_eq!(talk.send("PATCH", "/settings", &body).await.status, 400);
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONF-77]
#[tokio::test]
async fn a_file_can_give_stop_sequences_with_commas_and_line_ends() {
    let config = "temperature = 1\nstop_sequences = [\"a, b\", \"\\n- \"]\n";
    let (service, standin, script) = Service::configured(config, &[]).await;
    script.push(Reply::text("well"));
    Talk::with(&service).say("hello").await;
    let request = &asked(&standin)[0];
    assert_eq!(request["stop_sequences"], json!(["a, b", "\n- "]));
}

/// Spec: [MODEL-67]
#[tokio::test]
async fn a_level_of_thinking_that_cannot_be_sent_is_told_once_a_run() {
    let answers = |request: &MessagesRequest| {
        let calls = request.last_content().iter().any(|it| it["text"] == "call");
        match calls {
            true => Reply::tool_calls([("t1", "list_dir", json!({}))]),
            false => Reply::text("well"),
        }
    };
    let unknown = Model::new("local-7b").listed(Listing::NamesOnly);
    let (service, standin, _) = serving(answers, unknown, &["--thinking", "high"]).await;
    let talk = Talk::with(&service);
    for runs in 1..=2 {
        talk.say("call").await;
        let remark =
            "the level of thinking high is not sent to local-7b: how it thinks is not known";
        let said = remarks(&talk).await;
        let told = said.iter().filter(|said| *said == remark).count();
        assert_eq!(told, runs, "{said:?}");
    }
    assert_eq!(asked(&standin).len(), 4);
}
