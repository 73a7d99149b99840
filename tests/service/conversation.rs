//! Whole conversations, as an operator sees them.

use harness_standin::{Message, Reply};
use serde_json::{Value, json};

use crate::program::Service;
use crate::talk::said;

fn status(state: &str, message: &str) -> Value {
    json!({"type": "status", "state": state, "message": message})
}

/// Spec: [EVENT-01] [EVENT-04] [EVENT-05] [EVENT-06] [HTTP-01] [HTTP-02]
#[tokio::test]
async fn a_run_with_tools_shows_every_event_in_order() {
    let (service, standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("a.txt"), "one\ntwo\n").unwrap();
    script.push(
        Message::new()
            .thinking("I should look.", "c2lnbmF0dXJl")
            .text("I will look.")
            .tool_use("toolu_1", "read", json!({"path": "a.txt", "end_line": 1}))
            .tool_use("toolu_2", "grep", json!({"pattern": "t", "path": "a.txt"})),
    );
    script.push(Message::new().text("There is one."));
    let mut events = service.events().await;
    let answer = service.prompt("What is in a.txt?").await;
    assert_eq!((answer.status, answer.json()), (200, json!({"run_id": 1})));
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_call", "id": id, "name": name, "input": input});
    let result = |id: &str, result: &str| json!({"type": "tool_result", "id": id, "result": result, "isError": false});
    assert_eq!(
        events.run().await,
        [
            json!({"type": "user", "content": "What is in a.txt?"}),
            status("thinking", ""),
            json!({"type": "reasoning", "content": "I should look."}),
            json!({"type": "text", "content": "I will look."}),
            status("running_tool", "read"),
            call("toolu_1", "read", json!({"path": "a.txt", "end_line": 1})),
            status("running_tool", "grep"),
            call("toolu_2", "grep", json!({"pattern": "t", "path": "a.txt"})),
            result("toolu_1", r#"{"content":"one"}"#),
            status("thinking", ""),
            result("toolu_2", r#"{"matches":"2:two"}"#),
            status("thinking", ""),
            json!({"type": "text", "content": "There is one."}),
            status("idle", ""),
        ]
    );

    let requests = standin.requests();
    let first = requests[0].json();
    assert_eq!(first["max_tokens"], 4096);
    assert_eq!(first["tool_choice"], json!({"type": "auto"}));
    let names: Vec<&str> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["read", "list_dir", "grep", "edit", "write", "bash", "job"]
    );
    assert_eq!(first.get("system"), None);
    let second = requests[1].json();
    assert_eq!(second["tools"], first["tools"]);
    let result = |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": false});
    let mut marked = result("toolu_2", r#"{"matches":"2:two"}"#);
    marked["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(
        second["messages"][2],
        json!({"role": "user", "content": [
            result("toolu_1", r#"{"content":"one"}"#),
            marked,
        ]})
    );
    assert_eq!(
        second["messages"][1]["content"][0]["signature"],
        "c2lnbmF0dXJl"
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-06] [CONV-39] [HTTP-03]
#[tokio::test]
async fn the_history_carries_over_and_its_serialized_start_never_changes() {
    let (service, standin, script) = Service::scripted(&["--system-prompt", "be brief"]).await;
    let mut events = service.events().await;
    for number in 0..4 {
        script.push(Reply::text(format!("answer {number}")));
        service.submit(&format!("question {number}")).await;
        events.run().await;
    }
    let requests = standin.requests();
    let last = requests[3].json();
    assert_eq!(last["system"][0]["text"], "be brief");
    assert_eq!(last["messages"].as_array().unwrap().len(), 7);
    for pair in requests.windows(2) {
        // The mark of what the API is to remember stands at the end, and moves on.
        let mark = br#","cache_control":{"type":"ephemeral"}}]}]}"#;
        let shared = pair[0].body.strip_suffix(mark).unwrap();
        assert!(pair[1].body.starts_with(shared));
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [HTTP-04]
#[tokio::test]
async fn a_prompt_while_a_run_is_going_is_refused_and_changes_nothing() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let gate = harness_standin::Gate::new();
    script.push(Reply::text("first").gate_head(&gate));
    let mut events = service.events().await;
    service.submit("one").await;
    for _ in 0..50 {
        let answer = service.prompt("two").await;
        assert_eq!(answer.status, 409);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(answer.json()["type"], "urn:harness:problem:busy");
    }
    gate.open();
    let run = events.run().await;
    assert_eq!(
        run.iter().filter(|event| event["type"] == "user").count(),
        1
    );
    assert_eq!(run.len(), 4, "{run:?}");
    script.push(Reply::text("second"));
    service.submit("three").await;
    events.run().await;
    let prompts = standin.requests()[1].json()["messages"].clone();
    assert_eq!(prompts.as_array().unwrap().len(), 3);
}

/// Spec: [CONV-05]
#[tokio::test]
async fn max_turns_ends_the_run_and_says_so() {
    let (service, standin, script) = Service::scripted(&["--max-turns", "3"]).await;
    for number in 0..4 {
        script.push(Message::new().tool_use(
            format!("t{number}"),
            "list_dir",
            json!({"path": "."}),
        ));
    }
    let mut events = service.events().await;
    service.submit("go on for ever").await;
    let end = events.end().await;
    assert_eq!(
        end,
        ("idle".into(), "stopped: reached max_turns (3)".into())
    );
    assert_eq!(standin.requests().len(), 3);
    script.push(Reply::text("done"));
    script.clear();
    script.push(Reply::text("done"));
    service.submit("and now?").await;
    assert_eq!(events.end().await.0, "idle");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-430] [CONV-05]
#[tokio::test]
async fn a_bad_input_asks_for_no_approval_and_counts_as_a_turn() {
    let (service, standin, script) =
        Service::scripted(&["--max-turns", "3", "--mode", "ask"]).await;
    let mut events = service.events().await;
    for id in ["a", "b", "c"] {
        script.push(Message::new().raw_tool_use(id, "write", r#"{"path": "n", "content": "x",}"#));
    }
    service.submit("go").await;
    // A run that asks for an approval would not end.
    let run = events.run().await;
    let results = run.iter().filter(|event| event["isError"] == true);
    assert_eq!(results.count(), 3);
    assert_eq!(
        run.last(),
        Some(&status("idle", "stopped: reached max_turns (3)"))
    );
    assert_eq!(standin.requests().len(), 3);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-430]
#[tokio::test]
async fn a_refusal_does_not_stick_to_the_conversation() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let look = |id: &str| Message::new().tool_use(id, "list_dir", json!({"path": "."}));
    let declined = |message: Message| Reply::message(message.stop_reason("refusal"));
    script.push(Reply::text("well"));
    script.push(declined(look("t")));
    script.push(Reply::text("fine"));
    for prompt in ["one", "two", "three"] {
        service.submit(prompt).await;
        let (state, message) = events.end().await;
        assert_eq!(state, "idle");
        let is_left_out = message.contains("is left out of later ones");
        assert_eq!(is_left_out, prompt == "two", "{message}");
    }
    let sent = standin.requests()[2].json();
    assert_eq!(said(&sent), ["one", "three"]);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);

    // In a run it is the results that are left out, and each call keeps one.
    script.push(look("u"));
    script.push(declined(Message::new().text("I would")));
    script.push(Reply::text("fine"));
    for prompt in ["look", "again"] {
        service.submit(prompt).await;
        assert_eq!(events.end().await.0, "idle");
    }
    let sent = standin.requests()[5].json();
    let messages = sent["messages"].as_array().unwrap();
    let [.., call, answer] = &messages[..] else {
        panic!("{sent}");
    };
    let result = &answer["content"][0];
    assert_eq!(result["tool_use_id"], call["content"][0]["id"]);
    let note = "not available: the API refused the request with this result";
    assert_eq!(result["content"], note);
    assert_eq!(answer["content"][1]["text"], "again");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-431]
#[tokio::test]
async fn an_empty_reply_says_so_and_is_not_sent_back() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    script.push(Message::new().stop_reason("end_turn"));
    service.submit("one").await;
    let (state, message) = events.end().await;
    assert_eq!(state, "idle");
    assert!(
        message.starts_with("stopped: the model's reply was empty"),
        "{message}"
    );
    script.push(Reply::text("well"));
    service.submit("two").await;
    assert_eq!(events.end().await, ("idle".into(), String::new()));
    let sent = standin.requests()[1].json();
    assert_eq!(said(&sent), ["one", "two"]);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-11] [CONV-12] [CONV-34]
#[tokio::test]
async fn the_first_failed_tool_stops_the_others_and_the_model_decides() {
    let (service, standin, script) = Service::scripted(&[]).await;
    script.push(
        Message::new()
            .tool_use("a", "read", json!({"path": "missing.txt"}))
            .tool_use("b", "list_dir", json!({"path": "."}))
            .tool_use("c", "no_such_tool", json!({})),
    );
    script.push(Message::new().tool_use("d", "no_such_tool", json!({"x": 1})));
    script.push(Reply::text("I give up."));
    let mut events = service.events().await;
    service.submit("try").await;
    let run = events.run().await;
    let results: Vec<(&str, &str)> = run
        .iter()
        .filter(|event| event["type"] == "tool_result")
        .map(|event| {
            (
                event["id"].as_str().unwrap(),
                event["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            ("a", r#"{"error":"file not found"}"#),
            ("d", r#"{"error":"unknown tool: no_such_tool"}"#),
        ]
    );
    let answered = &standin.requests()[1].json()["messages"][2]["content"];
    assert_eq!(answered.as_array().unwrap().len(), 3);
    assert!(
        answered
            .as_array()
            .unwrap()
            .iter()
            .all(|result| result["is_error"] == true)
    );
    assert_eq!(standin.violations(), [""; 0]);
}
