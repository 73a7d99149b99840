//! Servers that die, hang, flood, or say what is no answer: each harms one call.

use std::time::Duration;

use serde_json::json;

use super::{accept, call, put, server, test, with_demo};
use crate::bash::none_left;
use crate::changing::{Changing, order};
use crate::eventually::eventually;

/// Spec: [MCP-07]
#[tokio::test]
async fn a_fault_harms_one_call_and_the_next_one_starts_the_server_again() {
    let here = with_demo("ask", json!({"timeout": 20_000})).await;
    let (told, is_error) = call(&here, "die", json!({})).await;
    assert!(is_error, "{told}");
    for part in ["the MCP server demo failed", "exit code 3", "out of ideas"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let error = server(&here, "demo").await["error"].to_string();
    assert!(error.contains("out of ideas"), "{error}");
    assert_eq!(
        call(&here, "echo", json!({"text": "back"})).await.0,
        "you said back"
    );
    assert_eq!(server(&here, "demo").await["error"], json!(null));
    assert_eq!(call(&here, "junk", json!({})).await.0, "behind junk");
    assert_eq!(call(&here, "flood", json!({})).await.0, "behind a flood");
    let (huge, is_error) = call(&here, "huge", json!({})).await;
    assert!(!is_error && huge.starts_with("yyyy"), "{huge:.50}");
    let (_, said) = huge.rsplit_once('\n').unwrap();
    assert!(said.starts_with("[cut: the first 131072 of "), "{said}");
    assert!(huge.len() < 200_000, "{}", huge.len());
    assert!(here.service.resident_bytes() < 300 << 20);
    // One that closed its input harms one call, or none.
    assert_eq!(call(&here, "shut", json!({})).await.0, "closes its input");
    call(&here, "echo", json!({"text": "harmed"})).await;
    assert_eq!(
        call(&here, "echo", json!({"text": "well"})).await.0,
        "you said well"
    );
    assert!(!here.service.whole_log().await.contains("rmcp"));
    let script = here.at("server.sh").display().to_string();
    drop(here);
    none_left(&script, Duration::from_secs(5)).await;
}

/// Spec: [MCP-07]
#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_after_its_time() {
    let here = with_demo("ask", json!({"timeout": 300})).await;
    let (told, is_error) = call(&here, "hang", json!({})).await;
    assert!(
        is_error && told.contains("did not answer within 300ms"),
        "{told}"
    );
    // It does not even answer a ping, so the next call starts it anew. One that does not read is no better.
    assert_eq!(
        call(&here, "echo", json!({"text": "x"})).await.0,
        "you said x"
    );
    let heard = String::from_utf8(here.read("heard")).unwrap();
    assert_eq!(heard.matches("\"method\":\"initialize\"").count(), 3);
    let (told, is_error) = call(&here, "deaf", json!({"text": "y".repeat(300_000)})).await;
    assert!(is_error && told.contains("did not answer"), "{told}");
    assert_eq!(
        call(&here, "echo", json!({"text": "x"})).await.0,
        "you said x"
    );
    let (told, is_error) = call(&here, "asks", json!({})).await;
    assert!(is_error && told.contains("not supported yet"), "{told}");
}

/// Spec: [MCP-05]
#[tokio::test]
async fn a_server_that_is_removed_ends_with_the_call_that_runs() {
    let here = with_demo("ask", json!({})).await;
    let script = here.at("server.sh").display().to_string();
    let id = here.begin("mcp__demo__hang", json!({})).await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    eventually("the call", async || {
        String::from_utf8_lossy(&here.read("heard")).contains("\"name\":\"hang\"")
    })
    .await;
    let gone = order(&here.service, "DELETE", "/v1/mcp/demo", &json!({})).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    let (told, is_error) = here.result(&id).await;
    assert!(is_error && told.contains("changed or removed"), "{told}");
    none_left(&script, Duration::from_secs(5)).await;
}

/// Spec: [MCP-07]
#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    let here = Changing::in_mode("ask").await;
    for (arguments, more, parts) in [
        (
            &["dead"][..],
            json!({}),
            &["exit code 1", "no such database"][..],
        ),
        (
            &[],
            json!({"command": "no-such-program"}),
            &["no-such-program"],
        ),
        (
            &[],
            json!({"env": {"X": "${NOT_SET_ANYWHERE}"}}),
            &["NOT_SET_ANYWHERE"],
        ),
        (
            &[],
            json!({"env": {"X": "${ANTHROPIC_API_KEY}"}}),
            &["ANTHROPIC_API_KEY"],
        ),
    ] {
        assert_eq!(put(&here, "demo", arguments, more).await.status, 200);
        let refused = test(&here, "demo").await;
        assert!((400..500).contains(&refused.status), "{refused:?}");
        for part in parts {
            assert!(refused.body.contains(part), "{part}: {refused:?}");
        }
        let error = server(&here, "demo").await["error"].to_string();
        assert!(error.contains(parts[0]), "{error}");
    }
    // Temporary folders of others are out of sight.
    if crate::contained::contains_commands() {
        let program = tempfile::tempdir().unwrap();
        let program = program.path().join("server");
        std::os::unix::fs::symlink("/bin/cat", &program).unwrap();
        let hidden = json!({"command": program});
        assert_eq!(put(&here, "demo", &[], hidden).await.status, 200);
        let refused = test(&here, "demo").await.body;
        assert!(refused.contains("sandbox_write"), "{refused}");
    }
    // It works once it is mended.
    assert_eq!(put(&here, "demo", &[], json!({})).await.status, 200);
    accept(&here, "demo").await;
}
