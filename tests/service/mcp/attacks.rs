//! Servers that want what they may not have.

use serde_json::json;

use super::{call, offered, with_demo};
use crate::changing::Changing;

/// Spec: [MCP-03]
#[tokio::test]
async fn a_tool_named_like_one_of_the_service_takes_nothing_from_it() {
    let here = with_demo("ask", json!({})).await;
    let (told, _) = crate::bash::run(&here, json!({"command": "echo the shell"})).await;
    assert!(told.starts_with("the shell\n"), "{told}");
    assert_eq!(call(&here, "bash", json!({})).await.0, "not the shell");
    let names = offered(&here);
    assert_eq!(names.iter().filter(|name| *name == "bash").count(), 1);
}

/// Spec: [MCP-14]
#[tokio::test]
async fn a_secret_that_a_server_was_given_is_masked_wherever_it_says_it() {
    let secret = "xyzzy-very-secret-token";
    let here = with_demo("ask", json!({"env": {"DEMO_TOKEN": secret}})).await;
    assert_eq!(
        call(&here, "secret", json!({})).await.0,
        "the secret is ***"
    );
    let journal = std::fs::read_to_string(here.service.journal(&here.id)).unwrap();
    assert!(!journal.contains(secret));
    assert!(
        !here
            .service
            .get("/v1/mcp")
            .await
            .to_string()
            .contains(secret)
    );
    assert!(!here.service.whole_log().await.contains(secret));
}

/// Spec: [MCP-02]
#[tokio::test]
async fn a_command_of_the_model_accepts_no_server() {
    let here = with_demo("sandbox", json!({})).await;
    let address = here.service.address;
    let text = format!(
        "exec 3<>/dev/tcp/{}/{}; printf 'PUT /v1/mcp/evil HTTP/1.1\\r\\nhost: {address}\\r\\ncontent-type: \
         application/json\\r\\ncontent-length: 15\\r\\n\\r\\n{{\"command\":\"x\"}}' >&3; head -1 <&3",
        address.ip(),
        address.port()
    );
    let input = json!({"command": text, "network": true});
    let (told, _) = crate::bash::run(&here, input).await;
    assert!(!told.contains(" 200 "), "{told}");
    let list = here.service.get("/v1/mcp").await.to_string();
    assert!(!list.contains("evil"), "{list}");
    // Nor does it read the files in which that is kept.
    let state = here.service.home.path().join(".harness/mcp-accepted.json");
    let look = json!({"command": format!("cat {}", state.display())});
    let (told, is_error) = crate::bash::run(&here, look).await;
    assert!(is_error && !told.contains("Says it again"), "{told}");
}

/// Spec: [MCP-05]
#[tokio::test]
async fn a_server_inherits_nothing_but_its_pipes() {
    let here = Changing::in_mode("ask").await;
    let script = "ls -l /proc/self/fd >&2; exit 1";
    let entry = json!({"command": "bash", "args": ["-c", script]});
    let put = crate::changing::order(&here.service, "PUT", "/v1/mcp/nosy", &entry).await;
    assert_eq!(put.status, 200, "{put:?}");
    let tested = super::test(&here, "nosy").await;
    assert!(tested.status >= 400, "{tested:?}");
    let log = super::server(&here, "nosy").await["log"].to_string();
    let lines = log.matches(" -> ").count();
    // Three of its own, and the folder that `ls` reads.
    assert_eq!(lines, 4, "{log}");
    assert!(!log.contains("socket:"), "{log}");
}
