//! `harness mcp serve`: the conversations of the service as tools of an MCP server.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};

use crate::acp::Editor;
use crate::changing::Changing;
use crate::program::{command, output};

/// A client that has initialized the protocol.
async fn client(home: &std::path::Path, version: &str, flags: &[&str]) -> Editor {
    let mut client = Editor::silent(home, &[&["mcp", "serve"], flags].concat());
    let params = json!({
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "other-agent", "version": "1"},
    });
    let answer = client.ask("initialize", params).await;
    assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    assert_eq!(answer["result"]["serverInfo"]["name"], "harness");
    client.notify("notifications/initialized", json!({})).await;
    client
}

/// Calls a tool. Returns the text, the data and whether it failed.
async fn call(client: &mut Editor, tool: &str, input: Value) -> (String, Value, bool) {
    let params = json!({"name": tool, "arguments": input});
    let answer = client.ask("tools/call", params).await;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
    let is_error = result["isError"] == true;
    (text, result["structuredContent"].clone(), is_error)
}

/// Spec: [MCP-17]
#[tokio::test]
async fn another_agent_prompts_reads_and_continues() {
    let here = Changing::in_mode("ask").await;
    let home = here.service.home.path();
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = client(home, version, &[]).await;
        let tools = client.ask("tools/list", json!({})).await;
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let expected = [
            "prompt",
            "wait",
            "read",
            "steer",
            "cancel",
            "list_conversations",
        ];
        assert_eq!(names, expected);
        assert!(
            tools
                .iter()
                .all(|tool| tool["inputSchema"]["type"] == "object")
        );
        here.script
            .extend([Reply::text("It is a folder."), Reply::text("Still.")]);
        let input = json!({"text": "Look", "folder": here.at("a").parent().unwrap()});
        let (text, data, is_error) = call(&mut client, "prompt", input).await;
        assert!(!is_error && text.ends_with("\n\nIt is a folder."), "{text}");
        assert_eq!(
            (&data["reply"], &data["is_running"]),
            (&json!("It is a folder."), &json!(false))
        );
        let id = data["conversation"].as_str().unwrap().to_owned();
        let input = json!({"text": "And now?", "conversation": id});
        let (_, data, _) = call(&mut client, "prompt", input).await;
        assert_eq!(data["reply"], "Still.");
        let (text, _, _) = call(&mut client, "read", json!({"conversation": id})).await;
        assert!(text.contains("user by other-agent: Look"), "{text}");
        let (text, data, _) = call(&mut client, "list_conversations", json!({})).await;
        assert!(text.contains(&id), "{text}");
        assert_eq!(data["conversations"][0]["conversation"], id.as_str());
        assert_eq!(client.leave().await, Some(0));
    }
}

/// Spec: [MCP-17] [MCP-18]
#[tokio::test]
async fn a_long_run_is_waited_for_steered_and_cancelled() {
    let here = Changing::in_mode("ask").await;
    let mut client = client(here.service.home.path(), "2025-11-25", &["--name", "Bot"]).await;
    let gate = Gate::new();
    let slow = Message::new()
        .text("One two three")
        .words_per_delta(1)
        .gate_after_delta(1, &gate);
    let write = json!({"path": "a.txt", "content": "a"});
    here.script.extend([
        Reply::message(slow),
        Reply::tool_calls([("c1", "write", write)]),
    ]);
    let input = json!({"text": "Count", "conversation": here.id, "wait_s": 0});
    let (text, data, is_error) = call(&mut client, "prompt", input).await;
    assert!(!is_error && data["is_running"] == true, "{text}");
    let input = json!({"text": "More", "conversation": here.id});
    let (text, _, is_error) = call(&mut client, "prompt", input).await;
    assert!(is_error && text.contains("`wait`"), "{text}");
    let input = json!({"text": "Write it down", "conversation": here.id});
    let (text, _, is_error) = call(&mut client, "steer", input.clone()).await;
    assert!(!is_error, "{text}");
    gate.open();
    // The tool that follows waits for an operator, and no tool can answer.
    let (text, data, _) = call(&mut client, "wait", json!({"conversation": here.id})).await;
    assert!(
        text.contains("waits for an operator to answer: write: makes"),
        "{text}"
    );
    assert_eq!(data["approvals"].as_array().unwrap().len(), 1);
    let (text, _, _) = call(&mut client, "cancel", json!({"conversation": here.id})).await;
    assert_eq!(text, "The run was cancelled.");
    let (_, data, _) = call(&mut client, "wait", json!({"conversation": here.id})).await;
    assert_eq!(data["is_running"], false);
    let (text, _, is_error) = call(&mut client, "steer", input).await;
    assert!(is_error && text.contains("no run is going"), "{text}");
    assert!(!here.at("a.txt").exists());

    for (tool, input) in [
        ("read", json!({"conversation": "none"})),
        ("read", json!({})),
        ("cancel", json!({"conversation": here.id, "text": "x"})),
        (
            "prompt",
            json!({"text": "x", "folder": "/", "conversation": here.id}),
        ),
        ("prompt", json!({"text": "x", "folder": "relative"})),
        ("prompt", json!({"text": ""})),
        ("prompt", json!({"text": "x", "colour": "red"})),
    ] {
        let (text, _, is_error) = call(&mut client, tool, input.clone()).await;
        assert!(is_error && !text.is_empty(), "{tool} {input}: {text}");
    }
    let answer = client
        .ask("tools/call", json!({"name": "approve", "arguments": {}}))
        .await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("approve"),
        "{answer}"
    );
}

/// Spec: [MCP-17]
#[tokio::test]
async fn a_service_is_started_for_another_agent() {
    let home = tempfile::tempdir().unwrap();
    let mut client = client(home.path(), "2025-11-25", &["--demo"]).await;
    let (text, data, is_error) = call(&mut client, "prompt", json!({"text": "Hello"})).await;
    assert!(!is_error, "{text}");
    assert_eq!(
        data["folder"],
        home.path().canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(client.leave().await, Some(0));
    let (code, stopped, _) = output(command(home.path()).arg("stop"));
    assert_eq!(code, 0, "{stopped}");
}
