//! Editors beside other clients, and beside failures of the service.

use harness_standin::{Gate, Message, Reply};
use serde_json::json;

use super::{Editor, editing, text};
use crate::eventually::eventually;
use crate::program::{command, output};

/// Spec: [ACP-08] [ACP-11]
#[tokio::test]
async fn two_editors_see_one_conversation_and_one_answers_for_both() {
    let (here, mut first, session) = editing().await;
    let home = here.service.home.path();
    let mut second = Editor::named(home, "Quill", &[]).await;
    let params = json!({"sessionId": session, "cwd": here.at(""), "mcpServers": []});
    second.ask("session/load", params).await;
    let write = json!({"path": "b.txt", "content": "b\n"});
    here.script.extend([
        Reply::tool_calls([("c1", "write", write)]),
        Reply::text("written"),
    ]);
    let prompt = first.prompt(&session, "Write b").await;
    assert_eq!(
        second.update("user_message_chunk").await["content"]["text"],
        "Write b"
    );
    let question = first.question().await;
    let other = second.question().await;
    second.choose(&other, "once").await;
    let (_, withdrawn) = first
        .until(|message| message["method"] == "$/cancel_request")
        .await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // A late answer changes nothing.
    first.choose(&question, "deny").await;
    let (updates, answer) = first.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(text(&updates, "agent_message_chunk"), "written");
    let seen = second.update("agent_message_chunk").await;
    assert_eq!(seen["content"]["text"], "written");
    assert_eq!(here.read("b.txt"), b"b\n");
}

/// Spec: [ACP-11]
#[tokio::test]
async fn a_prompt_during_another_run_waits_for_its_end() {
    let (here, mut editor, session) = editing().await;
    let gate = Gate::new();
    let slow = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    here.script
        .extend([Reply::message(slow), Reply::text("second")]);
    let path = format!("/v1/conversations/{session}/prompt");
    let answer = here
        .service
        .post(&path, r#"{"content": "of another client"}"#)
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        editor.update("user_message_chunk").await["content"]["text"],
        "of another client"
    );
    editor.update("agent_message_chunk").await;
    let prompt = editor.prompt(&session, "mine").await;
    eventually("the refusal of the prompt", async || {
        here.service.log().contains("409 Conflict")
    })
    .await;
    gate.open();
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(text(&updates, "agent_message_chunk"), "two threesecond");

    // One that waits behind a run that is cancelled, and one that is cancelled itself.
    for is_own in [false, true] {
        let gate = Gate::new();
        let slow = Message::new()
            .text("One two three")
            .words_per_delta(1)
            .gate_after_delta(1, &gate);
        here.script.extend([Reply::message(slow)]);
        let refused = here.service.log().matches("409 Conflict").count();
        let answer = here
            .service
            .post(&path, r#"{"content": "of another client"}"#)
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        editor.update("agent_message_chunk").await;
        let prompt = editor.prompt(&session, "mine").await;
        eventually("the refusal of the prompt", async || {
            here.service.log().matches("409 Conflict").count() > refused
        })
        .await;
        if is_own {
            let params = json!({"sessionId": session});
            editor.notify("session/cancel", params).await;
            let (_, answer) = editor.answer(prompt).await;
            assert_eq!(answer["result"]["stopReason"], "cancelled", "{answer}");
            gate.open();
        } else {
            here.script.extend([Reply::text("third")]);
            let cancel = format!("/v1/conversations/{session}/cancel");
            let answer = here.service.post(&cancel, "{}").await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let (updates, answer) = editor.answer(prompt).await;
            assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
            assert!(text(&updates, "agent_message_chunk").ends_with("third"));
        }
        here.service.idle(&session).await;
    }
}

/// Spec: [ACP-12]
#[tokio::test]
async fn the_end_of_the_editor_ends_no_run() {
    let (here, mut editor, session) = editing().await;
    let gate = Gate::new();
    let slow = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    here.script.extend([Reply::message(slow)]);
    editor.prompt(&session, "Count").await;
    editor.update("agent_message_chunk").await;
    assert_eq!(editor.leave().await, Some(0));
    let mut editor = Editor::named(here.service.home.path(), "Quill", &[]).await;
    let params = json!({"sessionId": session, "cwd": here.at(""), "mcpServers": []});
    let load = editor.request("session/load", params).await;
    let (updates, answer) = editor.answer(load).await;
    assert!(answer.get("error").is_none(), "{answer}");
    gate.open();
    let mut seen = text(&updates, "agent_message_chunk");
    while seen != "One two three" {
        let chunk = editor.update("agent_message_chunk").await;
        seen += chunk["content"]["text"].as_str().unwrap();
        assert!("One two three".starts_with(&seen), "{seen}");
    }
    here.service.idle(&session).await;
}

/// Spec: [ACP-12]
#[tokio::test]
async fn a_service_that_dies_fails_the_prompt_and_the_session_continues() {
    let (mut here, mut editor, session) = editing().await;
    let gate = Gate::new();
    let slow = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    here.script
        .extend([Reply::message(slow), Reply::text("Again")]);
    let prompt = editor.prompt(&session, "Count").await;
    editor.update("agent_message_chunk").await;
    here.service.kill();
    here.service.revive().await;
    let (_, answer) = editor.answer(prompt).await;
    let reason = answer["error"]["message"].as_str().unwrap();
    assert!(reason.contains("the service was stopped in it"), "{reason}");
    let prompt = editor.prompt(&session, "Again").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(
        text(&updates, "agent_message_chunk").ends_with("Again"),
        "{updates:?}"
    );
    gate.open();
}

/// Spec: [ACP-01]
#[tokio::test]
async fn a_service_is_started_where_none_runs() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let mut editor = Editor::named(home.path(), "Pen", &["--demo"]).await;
    let session = editor.open(&folder).await;
    let prompt = editor.prompt(&session, "Hello").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(!text(&updates, "agent_message_chunk").is_empty());
    assert_eq!(editor.leave().await, Some(0));
    // It continues to run.
    let (code, stopped, _) = output(command(home.path()).arg("stop"));
    assert_eq!(code, 0, "{stopped}");
}

/// Spec: [ACP-12]
#[tokio::test]
async fn a_prompt_without_a_service_starts_one_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let mut editor = Editor::named(home.path(), "Pen", &["--demo"]).await;
    let session = editor.open(&folder).await;
    let (code, stopped, _) = output(command(home.path()).arg("stop"));
    assert_eq!(code, 0, "{stopped}");
    let prompt = editor.prompt(&session, "Hello").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(!text(&updates, "agent_message_chunk").is_empty());
    let (code, stopped, _) = output(command(home.path()).arg("stop"));
    assert_eq!(code, 0, "{stopped}");
}

/// Spec: [ACP-09] [ACP-12]
#[tokio::test]
async fn what_the_editor_orders_last_is_carried_out() {
    let (here, mut editor, session) = editing().await;
    let gate = Gate::new();
    let slow = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    here.script.extend([Reply::message(slow)]);
    editor.prompt(&session, "Count").await;
    editor.update("agent_message_chunk").await;
    let params = json!({"sessionId": session});
    editor.notify("session/cancel", params).await;
    assert_eq!(editor.leave().await, Some(0));
    let path = format!("/v1/conversations/{session}?tail=20");
    let past = here.service.get(&path).await["history"].to_string();
    assert!(past.contains(r#""outcome":"cancelled""#), "{past}");
    gate.open();
}
