//! Runs without a new prompt: continuing from the end of the last one, and trying again.

use harness_standin::{Gate, Message, Reply, Script, Standin};
use serde_json::{Value, json};

use crate::checker::check;
use crate::client::within;
use crate::program::{Service, slow_search};
use crate::talk::{Talk, asked, said};

/// Orders a run that must begin, waits for its end, and tells the request that it began with.
async fn goes_on(talk: &Talk<'_>, standin: &Standin, order: &str) -> Value {
    let before = asked(standin).len();
    let users = talk.past_of("user").await.len();
    let answer = talk.order("POST", order, &json!({"by": "bob"})).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let runs = talk.past_of("run_started").await;
    assert_eq!(runs.last().unwrap()["run_id"], answer["run_id"]);
    // Nobody said anything new.
    assert_eq!(talk.past_of("user").await.len(), users);
    asked(standin)[before].clone()
}

/// An order that must find nothing to do; tells why.
async fn refused(talk: &Talk<'_>, order: &str) -> String {
    let answer = talk.send("POST", order, &json!({})).await;
    assert_eq!(answer.status, 409, "{order}: {answer:?}");
    let problem = answer.json();
    assert_eq!(problem["type"], "urn:harness:problem:nothing-to-continue");
    problem["detail"].as_str().unwrap().to_owned()
}

/// A conversation with the prompt `go` that stopped in the middle of a text.
async fn cancelled_in_a_text(talk: &Talk<'_>, script: &Script) {
    let gate = Gate::new();
    let text = "some words of which not all come";
    script.push(
        Message::new()
            .words_per_delta(1)
            .text(text)
            .gate_after_delta(3, &gate),
    );
    talk.prompt("go").await;
    within("the reply", gate.reached()).await;
    talk.order("POST", "/cancel", &json!({})).await;
    assert_eq!(talk.outcome().await.0, "cancelled");
}

/// Spec: [CONV-130] [HTTP-63]
#[tokio::test]
async fn there_is_nothing_to_continue_before_a_prompt_or_behind_a_reply() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let empty = [
        refused(&talk, "/continue").await,
        refused(&talk, "/retry").await,
    ];
    script.push(Reply::text("done"));
    talk.say("go").await;
    let replied = [
        refused(&talk, "/continue").await,
        refused(&talk, "/retry").await,
    ];
    assert!(
        empty.iter().all(|reason| !replied.contains(reason)),
        "{empty:?}"
    );
    assert_eq!(asked(&standin).len(), 1);
    let records = check(&service.journal("default")).records.len();
    // Nothing of it is on record.
    assert_eq!(records, talk.past().await.len());
    assert_eq!(talk.past_of("run_started").await.len(), 1);
    // A restart does not change that.
    let service = service.restart().await;
    let talk = Talk::with(&service);
    assert_eq!(
        [
            refused(&talk, "/continue").await,
            refused(&talk, "/retry").await
        ],
        replied
    );
}

/// Spec: [CONV-131]
#[tokio::test]
async fn after_a_request_that_failed_the_same_is_sent_again() {
    for order in ["/continue", "/retry"] {
        let (service, standin, script) = Service::scripted(&[]).await;
        let talk = Talk::with(&service);
        script.push(Reply::error(401, "authentication_error", "no"));
        talk.say("go").await;
        assert_eq!(talk.outcome().await.0, "error");
        script.push(Reply::text("done"));
        let request = goes_on(&talk, &standin, order).await;
        assert_eq!(request, asked(&standin)[0], "{order}");
        refused(&talk, order).await;
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONV-131] [CONV-145]
#[tokio::test]
async fn what_the_api_refused_is_not_continued_with() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    script.push(Reply::error(400, "invalid_request_error", "not this"));
    talk.say("go").await;
    refused(&talk, "/continue").await;
    script.push(Reply::error(400, "invalid_request_error", "not this"));
    talk.say("other").await;
    assert_eq!(said(&asked(&standin)[1]), ["other"]);
    // A client that insists has it sent once more.
    script.push(Reply::text("done"));
    let request = goes_on(&talk, &standin, "/retry").await;
    assert_eq!(said(&request), ["other"]);
}

/// Spec: [CONV-132]
#[tokio::test]
async fn a_retry_leaves_a_cancelled_reply_out_and_a_prompt_keeps_it() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    cancelled_in_a_text(&talk, &script).await;
    // A reply cannot be gone on with in the middle.
    refused(&talk, "/continue").await;
    script.push(Reply::text("better"));
    let request = goes_on(&talk, &standin, "/retry").await;
    assert_eq!(request["messages"], asked(&standin)[0]["messages"]);
    assert_eq!(talk.past_of("reply_left_out").await.len(), 1);
    refused(&talk, "/retry").await;
    script.push(Reply::text("fine"));
    talk.say("on").await;
    let next = asked(&standin).pop().unwrap().to_string();
    assert!(
        next.contains("better") && !next.contains("some words"),
        "{next}"
    );

    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    cancelled_in_a_text(&talk, &script).await;
    script.push(Reply::text("fine"));
    talk.say("on").await;
    let next = asked(&standin).pop().unwrap().to_string();
    assert!(next.contains("some words"), "{next}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-133]
#[tokio::test]
async fn after_max_turns_and_after_a_cancelled_tool_the_results_are_gone_on_with() {
    let (service, standin, script) = Service::scripted(&["--max-turns", "1"]).await;
    let talk = Talk::with(&service);
    let look = json!({"path": "."});
    script.push(Reply::tool_calls([("a", "list_dir", look.clone())]));
    talk.say("go").await;
    assert!(talk.outcome().await.1.contains("max_turns (1)"));
    script.push(Reply::text("done"));
    let request = goes_on(&talk, &standin, "/continue").await;
    let last = request["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["type"], "tool_result");
    assert_eq!(last["content"].as_array().unwrap().len(), 1);

    let (name, content, pattern) = slow_search();
    std::fs::write(service.home.path().join(name), content).unwrap();
    let search = json!({"path": name, "pattern": pattern});
    script.push(Reply::tool_calls([
        ("b", "grep", search),
        ("c", "list_dir", look),
    ]));
    let mut events = talk.follow("ann").await;
    talk.prompt("search").await;
    while events.until("status").await["message"] != "grep" {}
    events.until("tool_call").await;
    talk.order("POST", "/cancel", &json!({})).await;
    assert_eq!(talk.outcome().await.0, "cancelled");
    script.push(Reply::text("done"));
    let request = goes_on(&talk, &standin, "/continue").await;
    let last = request["messages"].as_array().unwrap().last().unwrap();
    let is_error = |place: usize| last["content"][place]["is_error"] == true;
    assert!(is_error(0) && is_error(1), "{last}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-134]
#[tokio::test]
async fn after_a_kill_a_run_is_gone_on_with() {
    // While it was asked, in the middle of a text, and in a tool.
    for place in ["head", "text", "tool"] {
        for order in ["/continue", "/retry"] {
            let (service, standin, script) = Service::scripted(&[]).await;
            let talk = Talk::with(&service);
            let (name, content, pattern) = slow_search();
            std::fs::write(service.home.path().join(name), content).unwrap();
            let gate = Gate::new();
            script.push(match place {
                "head" => Reply::text("never").gate_head(&gate),
                "text" => {
                    let text = "one two three four";
                    let message = Message::new().text("A whole block.").words_per_delta(1);
                    message.text(text).gate_after_delta(5, &gate).into()
                }
                _ => {
                    let search = json!({"path": name, "pattern": pattern});
                    Reply::tool_calls([("a", "grep", search)])
                }
            });
            let mut events = talk.follow("ann").await;
            talk.prompt("go").await;
            match place {
                "head" => within("the request", gate.reached()).await,
                "text" => drop(events.until("text").await),
                _ => drop(events.until("tool_call").await),
            }
            let service = service.restart().await;
            let talk = Talk::with(&service);
            assert_eq!(talk.snapshot().await["summary"]["state"], "interrupted");
            script.push(Reply::text("done"));
            if (place, order) == ("text", "/continue") {
                // The kept block is the last word; only a retry leaves it out.
                refused(&talk, order).await;
                continue;
            }
            let request = goes_on(&talk, &standin, order).await;
            assert_eq!(said(&request), ["go"], "{place} {order}");
            match place {
                "tool" => {
                    let result = &request["messages"][2]["content"][0];
                    let text = result["content"].to_string();
                    assert!(text.contains("interrupted, effect unknown"), "{result}");
                }
                _ => assert_eq!(request, asked(&standin)[0], "{place} {order}"),
            }
            check(&service.journal("default"));
            assert_eq!(standin.violations(), [""; 0]);
        }
    }
}

/// Spec: [CONV-130]
#[tokio::test]
async fn what_waits_is_something_to_go_on_with() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    // Also in a conversation that is empty.
    for (number, queue) in ["follow-up", "steer"].into_iter().enumerate() {
        talk.queue(queue, queue).await;
        script.push(Reply::text("done"));
        talk.order("POST", "/continue", &json!({})).await;
        talk.idle().await;
        assert_eq!(said(&asked(&standin)[number]).last().unwrap(), queue);
    }
    refused(&talk, "/continue").await;
    assert_eq!(talk.past_of("run_ended").await.len(), 2);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-130]
#[tokio::test]
async fn only_one_run_goes_at_a_time() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let gate = Gate::new();
    script.push(Reply::text("done").gate_head(&gate));
    talk.prompt("go").await;
    within("the request", gate.reached()).await;
    for order in ["/continue", "/retry"] {
        let answer = talk.send("POST", order, &json!({})).await;
        assert_eq!(answer.status, 409);
        assert_eq!(answer.json()["type"], "urn:harness:problem:busy");
    }
    gate.open();
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
}
