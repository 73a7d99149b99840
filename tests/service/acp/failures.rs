//! What an agent refuses.

use serde_json::{Value, json};

use super::{Editor, editing};

/// Spec: [ACP-02]
#[tokio::test]
async fn what_is_no_message_or_no_method_is_refused_and_the_next_is_answered() {
    let (_here, mut editor, session) = editing().await;
    editor.send_line("{").await;
    let (_, refusal) = editor
        .until(|message| message["error"]["code"] == -32700)
        .await;
    assert_eq!(refusal["id"], Value::Null);
    for (method, params, code) in [
        ("session/sing", json!({}), -32601),
        (
            "session/new",
            json!({"cwd": "work", "mcpServers": []}),
            -32602,
        ),
        (
            "session/new",
            json!({"cwd": "/no/such/folder", "mcpServers": []}),
            -32602,
        ),
        ("session/new", json!({"mcpServers": []}), -32602),
        (
            "session/new",
            json!({"cwd": "/", "mcpServers": [], "additionalDirectories": ["/tmp"]}),
            -32602,
        ),
        (
            "session/load",
            json!({"cwd": "/", "sessionId": session, "mcpServers": []}),
            -32602,
        ),
        (
            "session/load",
            json!({"cwd": "/", "sessionId": "none", "mcpServers": []}),
            -32002,
        ),
        (
            "session/prompt",
            json!({"sessionId": "none", "prompt": [{"type": "text", "text": "x"}]}),
            -32002,
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": []}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "audio"}]}),
            -32602,
        ),
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": "wild"}),
            -32602,
        ),
        ("authenticate", json!({"methodId": "x"}), -32602),
    ] {
        let answer = editor.ask(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    // Notifications have no answer.
    editor
        .notify("session/cancel", json!({"sessionId": "none"}))
        .await;
    editor.notify("later", json!({})).await;
    let closed = editor
        .ask("session/close", json!({"sessionId": session}))
        .await;
    assert_eq!(closed["result"], json!({}));
    let closed = editor
        .ask("session/close", json!({"sessionId": session}))
        .await;
    assert_eq!(closed["error"]["code"], -32002);
}

/// Spec: [ACP-03]
#[tokio::test]
async fn servers_of_the_editor_are_not_dropped_without_a_word() {
    let (here, _, _) = editing().await;
    let mut editor = Editor::named(here.service.home.path(), "Quill", &[]).await;
    let server = json!({"name": "files", "command": "/bin/true", "args": [], "env": []});
    let params = json!({"cwd": here.at(""), "mcpServers": [server]});
    let answer = editor.ask("session/new", params).await;
    assert!(answer["result"]["sessionId"].is_string(), "{answer}");
    let notice = editor.update("notice").await;
    assert_eq!(notice["severity"], "warning");
    assert!(notice["title"].as_str().unwrap().contains("files"));
}
