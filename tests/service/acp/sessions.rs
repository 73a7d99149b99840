//! Sessions of one editor.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};

use super::{Editor, editing, text};
use crate::eventually::eventually;

/// Spec: [ACP-01] [ACP-03] [ACP-06]
#[tokio::test]
async fn a_reply_arrives_in_pieces_each_once_and_the_turn_ends() {
    let (here, mut editor, session) = editing().await;
    let message = Message::new()
        .thinking("Let me see.", "signed")
        .text("One two three four five six.")
        .words_per_delta(1);
    here.script.extend([Reply::message(message)]);
    let prompt = editor.prompt(&session, "Count").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(
        text(&updates, "agent_message_chunk"),
        "One two three four five six."
    );
    assert_eq!(text(&updates, "agent_thought_chunk"), "Let me see.");
    // The editor shows its own prompt itself.
    assert_eq!(text(&updates, "user_message_chunk"), "");
    let chunks = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    let messages: std::collections::HashSet<_> =
        chunks.map(|chunk| chunk["messageId"].as_str()).collect();
    assert_eq!(messages.len(), 1);
    let snapshot = here
        .service
        .get(&format!("/v1/conversations/{session}?tail=50"))
        .await;
    let events = snapshot["history"]["events"].as_array().unwrap();
    assert_eq!(
        snapshot["summary"]["workspace"],
        here.at("a").parent().unwrap().to_str().unwrap()
    );
    let user = events
        .iter()
        .find(|past| past["event"]["type"] == "user")
        .unwrap();
    assert_eq!(user["event"]["by"], "Pen");
    assert_eq!(editor.leave().await, Some(0));
}

/// Spec: [ACP-06] [ACP-07] [ACP-08]
#[tokio::test]
async fn an_edit_and_a_command_are_asked_about_and_shown() {
    let (here, mut editor, session) = editing().await;
    let file = here.file("a.txt", "one\ntwo\n");
    let edit = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    here.script.extend([
        Reply::tool_calls([("c1", "edit", edit)]),
        Reply::tool_calls([("c2", "bash", json!({"command": "cat a.txt"}))]),
        Reply::text("done"),
    ]);
    let prompt = editor.prompt(&session, "Change it").await;
    let call = editor.update("tool_call").await;
    assert_eq!(
        (
            &call["toolCallId"],
            &call["kind"],
            &call["status"],
            &call["locations"]
        ),
        (
            &json!("c1"),
            &json!("edit"),
            &json!("pending"),
            &json!([{"path": file}])
        )
    );
    let question = editor.question().await;
    let params = &question["params"];
    assert_eq!(params["sessionId"], session.as_str());
    let diff = json!({
        "type": "diff", "path": file, "oldText": "one\ntwo\n", "newText": "one\n2\n",
    });
    assert_eq!(params["toolCall"]["content"][0], diff);
    let options = params["options"].as_array().unwrap();
    let kinds: Vec<_> = options
        .iter()
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["allow_once", "allow_always", "allow_always", "reject_once"]
    );
    editor.choose(&question, "once").await;
    let question = editor.question().await;
    let asked = &question["params"]["toolCall"];
    assert_eq!(
        (&asked["toolCallId"], &asked["title"]),
        (&json!("c2"), &json!("cat a.txt"))
    );
    editor.choose(&question, "once").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(here.read("a.txt"), b"one\n2\n");
    let ends: Vec<&Value> = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "tool_call_update")
        .filter(|update| update["status"] == "completed")
        .collect();
    assert_eq!(ends.len(), 1, "{updates:?}");
    let output = ends[0]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(output.starts_with("```\none\n2\n"), "{output}");
}

/// Spec: [ACP-08]
#[tokio::test]
async fn a_denied_call_fails_and_a_rule_of_the_conversation_holds() {
    let (here, mut editor, session) = editing().await;
    let write = |name: &str, text: &str| json!({"path": name, "content": text});
    here.script.extend([
        Reply::tool_calls([("c1", "write", write("a.txt", "a"))]),
        Reply::text("denied"),
        Reply::tool_calls([("c2", "write", write("b.txt", "b"))]),
        Reply::tool_calls([("c3", "write", write("b.txt", "c"))]),
        Reply::text("written"),
    ]);
    let prompt = editor.prompt(&session, "Write").await;
    let question = editor.question().await;
    editor.choose(&question, "deny").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let failed = updates
        .iter()
        .find(|update| update["status"] == "failed")
        .unwrap();
    let reason = failed["content"][0]["content"]["text"].as_str().unwrap();
    assert!(reason.contains("an operator denied it"), "{reason}");
    assert!(!here.at("a.txt").exists());
    let prompt = editor.prompt(&session, "Again").await;
    let question = editor.question().await;
    editor.choose(&question, "conversation").await;
    let (_, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    // The rule covers the second one.
    assert_eq!(here.read("b.txt"), b"c");
}

/// Spec: [ACP-04]
#[tokio::test]
async fn a_session_is_listed_loaded_with_its_past_and_resumed_without() {
    let (here, mut editor, session) = editing().await;
    here.file("a.txt", "one\n");
    here.script.extend([
        Reply::tool_calls([("c1", "read", json!({"path": "a.txt"}))]),
        Reply::text("It says one."),
    ]);
    let prompt = editor.prompt(&session, "Read it").await;
    editor.answer(prompt).await;
    assert_eq!(editor.leave().await, Some(0));

    let home = here.service.home.path();
    let mut editor = Editor::named(home, "Quill", &[]).await;
    let folder = here.at("a").parent().unwrap().to_owned();
    let list = editor.ask("session/list", json!({"cwd": folder})).await;
    let sessions = list["result"]["sessions"].as_array().unwrap();
    let found = sessions
        .iter()
        .find(|one| one["sessionId"] == session.as_str())
        .unwrap();
    assert_eq!(found["cwd"], folder.to_str().unwrap());
    let params = json!({"sessionId": session, "cwd": folder, "mcpServers": []});
    let load = editor.request("session/load", params.clone()).await;
    let (updates, answer) = editor.answer(load).await;
    assert_eq!(
        answer["result"]["modes"]["currentModeId"], "ask",
        "{answer}"
    );
    let kinds: Vec<_> = updates
        .iter()
        .map(|update| update["sessionUpdate"].as_str().unwrap())
        .filter(|kind| !["usage_update", "session_info_update"].contains(kind))
        .collect();
    let expected = [
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(text(&updates, "user_message_chunk"), "Read it");
    assert_eq!(text(&updates, "agent_message_chunk"), "It says one.");

    let mut third = Editor::named(home, "Brush", &[]).await;
    let resume = third.request("session/resume", params).await;
    let (updates, answer) = third.answer(resume).await;
    assert!(
        updates.is_empty() && answer["result"]["configOptions"].is_array(),
        "{answer}"
    );
    // Both follow what comes.
    here.script.extend([Reply::text("Still one.")]);
    let prompt = third.prompt(&session, "And now?").await;
    let (updates, _) = third.answer(prompt).await;
    assert_eq!(text(&updates, "agent_message_chunk"), "Still one.");
    let seen = editor.update("user_message_chunk").await;
    assert_eq!(seen["content"]["text"], "And now?");
    let deleted = editor
        .ask("session/delete", json!({"sessionId": session}))
        .await;
    assert_eq!(deleted["result"], json!({}));
}

/// Spec: [ACP-09]
#[tokio::test]
async fn a_cancel_ends_the_run_and_the_turn() {
    let (here, mut editor, session) = editing().await;
    let gate = Gate::new();
    let message = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    here.script
        .extend([Reply::message(message), Reply::text("Again")]);
    let prompt = editor.prompt(&session, "Count").await;
    editor.update("agent_message_chunk").await;
    editor
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let (_, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    let prompt = editor.prompt(&session, "Again").await;
    let (updates, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(text(&updates, "agent_message_chunk"), "Again");

    // By the name of the request, while a tool waits for an answer.
    here.script.extend([Reply::tool_calls([(
        "c1",
        "write",
        json!({"path": "b", "content": ""}),
    )])]);
    let prompt = editor.prompt(&session, "Write").await;
    let question = editor.question().await;
    editor
        .notify("$/cancel_request", json!({"requestId": prompt}))
        .await;
    let (_, withdrawn) = editor
        .until(|message| message["method"] == "$/cancel_request")
        .await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let (_, answer) = editor.answer(prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
}

/// Spec: [ACP-10]
#[tokio::test]
async fn modes_and_options_are_those_of_the_conversation() {
    let (here, mut editor, session) = editing().await;
    let params = json!({"sessionId": session, "modeId": "plan"});
    let answer = editor.ask("session/set_mode", params).await;
    assert_eq!(answer["result"], json!({}));
    assert_eq!(
        editor.update("current_mode_update").await["currentModeId"],
        "plan"
    );
    let params = json!({"sessionId": session, "configId": "thinking", "value": "high"});
    let answer = editor.ask("session/set_config_option", params).await;
    let options = answer["result"]["configOptions"].as_array().unwrap();
    let values: Vec<_> = options
        .iter()
        .map(|option| {
            (
                option["id"].as_str().unwrap(),
                option["currentValue"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        values,
        [
            ("mode", "plan"),
            ("model", "claude-test"),
            ("thinking", "high")
        ]
    );
    // Another client changes it.
    let settings = json!({"settings": {"mode": "edits", "thinking": null}});
    let path = format!("/v1/conversations/{session}/settings");
    let answer = here.service.as_owner("PATCH", &path, &settings).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        editor.update("current_mode_update").await["currentModeId"],
        "edits"
    );
    for params in [
        json!({"sessionId": session, "configId": "colour", "value": "red"}),
        json!({"sessionId": session, "configId": "mode", "value": "wild"}),
        json!({"sessionId": session, "configId": "mode", "value": true}),
    ] {
        let answer = editor.ask("session/set_config_option", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

/// Spec: [ACP-05]
#[tokio::test]
async fn files_go_with_a_prompt_and_skills_are_commands() {
    let (here, mut editor, session) = editing().await;
    let skill = "---\nname: tidy\ndescription: Tidies up\n---\nTidy the folder.\n";
    let home = here.service.home.path();
    std::fs::create_dir_all(home.join(".harness/skills/tidy")).unwrap();
    std::fs::write(home.join(".harness/skills/tidy/SKILL.md"), skill).unwrap();
    here.script
        .extend([Reply::text("seen"), Reply::text("tidied")]);
    let prompt = json!([
        {"type": "text", "text": "Compare"},
        {"type": "resource_link", "name": "a", "uri": format!("file://{}", here.at("a.txt").display())},
        {"type": "resource", "resource": {"uri": "file:///tmp/b.txt", "text": "unsaved text"}},
    ]);
    let params = json!({"sessionId": session, "prompt": prompt});
    let answer = editor.ask("session/prompt", params).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let request = crate::talk::asked(&here.standin).remove(0).to_string();
    assert!(request.contains("Compare @a.txt @/tmp/b.txt"), "{request}");
    assert!(request.contains("unsaved text"), "{request}");

    let params = json!({"sessionId": session, "cwd": here.at(""), "mcpServers": []});
    let loaded = editor.ask("session/load", params).await;
    assert!(loaded.get("error").is_none(), "{loaded}");
    let commands = eventually("the skill", async || {
        let commands = editor.update("available_commands_update").await;
        let commands = commands["availableCommands"].as_array().unwrap().clone();
        commands
            .iter()
            .any(|command| command["name"] == "tidy")
            .then_some(commands)
    })
    .await;
    assert_eq!(commands[0]["description"], "Tidies up");
    let prompt = editor.prompt(&session, "/tidy but keep logs").await;
    let (updates, _) = editor.answer(prompt).await;
    assert!(text(&updates, "agent_message_chunk").ends_with("tidied"));
    let request = crate::talk::asked(&here.standin).remove(1).to_string();
    assert!(
        request.contains("Tidy the folder.") && request.contains("but keep logs"),
        "{request}"
    );
}
