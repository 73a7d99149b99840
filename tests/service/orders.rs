//! The routes of orders besides prompts: what they refuse, and what they tell of a conversation.

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::program::Service;

/// The routes of a conversation, with their methods.
const ROUTES: [(&str, &str); 11] = [
    ("POST", "/steer"),
    ("POST", "/follow-up"),
    ("GET", "/queue"),
    ("DELETE", "/queue"),
    ("DELETE", "/queue/1"),
    ("POST", "/continue"),
    ("POST", "/retry"),
    ("GET", "/settings"),
    ("PATCH", "/settings"),
    ("POST", "/compact"),
    ("GET", "/usage"),
];

/// A body that the route takes.
fn body(path: &str) -> &'static str {
    match path {
        "/steer" | "/follow-up" => r#"{"content": "x"}"#,
        "/settings" => r#"{"settings": {}}"#,
        _ => "{}",
    }
}

async fn send(service: &Service, method: &str, path: &str, body: &str) -> Answer {
    let headers = "content-type: application/json\r\n";
    service.send(method, path, headers, body).await
}

fn kind(answer: &Answer) -> String {
    answer.json()["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Spec: [HTTP-71]
#[tokio::test]
async fn an_unknown_conversation_and_another_method_are_refused() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for (method, path) in ROUTES {
        let unknown = format!("/v1/conversations/nobody{path}");
        let answer = send(&service, method, &unknown, body(path)).await;
        assert_eq!(answer.status, 404, "{method} {path}");
        assert_eq!(kind(&answer), "urn:harness:problem:no-conversation");
    }
    for (path, allow) in [
        ("/v1/conversations/default/steer", "POST"),
        ("/v1/conversations/default/follow-up", "POST"),
        ("/v1/conversations/default/queue", "GET, DELETE"),
        ("/v1/conversations/default/queue/1", "DELETE"),
        ("/v1/conversations/default/continue", "POST"),
        ("/v1/conversations/default/retry", "POST"),
        ("/v1/conversations/default/settings", "GET, PATCH"),
        ("/v1/conversations/default/compact", "POST"),
        ("/v1/conversations/default/usage", "GET"),
        ("/v1/tools", "GET"),
    ] {
        let answer = send(&service, "PUT", path, "{}").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)));
    }
}

/// Spec: [HTTP-71]
#[tokio::test]
async fn a_body_that_cannot_be_is_refused() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for (method, path) in ROUTES {
        if !matches!(method, "POST" | "PATCH") {
            continue;
        }
        let to = format!("/v1/conversations/default{path}");
        let plain = "content-type: text/plain\r\n";
        let answer = service.send(method, &to, plain, body(path)).await;
        assert_eq!(answer.status, 415, "{path}");
        for wrong in ["[]", "{", "7"] {
            let answer = send(&service, method, &to, wrong).await;
            assert_eq!(answer.status, 400, "{path} {wrong}");
        }
        if !matches!(path, "/steer" | "/follow-up") {
            let answer = send(&service, method, &to, r#"{"later": 1}"#).await;
            assert_eq!(answer.status, 400, "{path}");
            assert!(answer.body.contains("later"), "{}", answer.body);
        }
    }
}

/// Spec: [HTTP-60]
#[tokio::test]
async fn a_blank_message_is_refused_and_a_key_is_checked() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for path in ["steer", "follow-up"] {
        let to = format!("/v1/conversations/default/{path}");
        for wrong in [
            r#"{"content": " \n"}"#,
            r#"{"content": "x", "key": ""}"#,
            "{}",
        ] {
            let answer = service.post(&to, wrong).await;
            assert_eq!(answer.status, 400, "{path} {wrong}");
        }
        let headers = "content-type: application/json\r\nidempotency-key: a\r\n";
        let two_keys = r#"{"content": "x", "key": "b"}"#;
        let answer = service.send("POST", &to, headers, two_keys).await;
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains("Idempotency-Key"), "{}", answer.body);
    }
    let queue = service.get("/v1/conversations/default/queue").await;
    assert_eq!(queue, json!({"items": []}));
}

/// Spec: [HTTP-62]
#[tokio::test]
async fn what_does_not_wait_cannot_be_withdrawn() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let queue = "/v1/conversations/default/queue";
    for item in ["1", "x", "-1", "99999999999999999999"] {
        let answer = service
            .send("DELETE", &format!("{queue}/{item}"), "", "")
            .await;
        assert_eq!(answer.status, 404, "{item}");
        assert_eq!(kind(&answer), "urn:harness:problem:no-item");
    }
    let answer = service
        .send("DELETE", &format!("{queue}?by=ana"), "", "")
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json(), json!({"withdrawn": []}));
}

/// Spec: [HTTP-63]
#[tokio::test]
async fn an_empty_conversation_has_nothing_to_go_on_from() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    for path in ["continue", "retry"] {
        for body in ["", "{}", r#"{"by": "ana"}"#] {
            let to = format!("/v1/conversations/default/{path}");
            let answer = service.post(&to, body).await;
            assert_eq!(answer.status, 409, "{path} {body}");
            assert_eq!(kind(&answer), "urn:harness:problem:nothing-to-continue");
        }
    }
    assert_eq!(standin.requests().len(), 0);
}

/// Spec: [HTTP-65]
#[tokio::test]
async fn a_setting_that_cannot_be_is_refused_by_name() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let to = "/v1/conversations/default/settings";
    let before = service.get(to).await;
    for (patch, parts) in [
        (json!({"thinking": "lots"}), ["thinking", "lots", "xhigh"]),
        (
            json!({"max_turns": 0, "model": "m"}),
            ["max_turns", "cannot be 0", "a whole number from 1 to"],
        ),
        (json!({"colour": null}), ["colour", "no setting", "model"]),
    ] {
        let body = json!({"settings": patch}).to_string();
        let answer = send(&service, "PATCH", to, &body).await;
        assert_eq!(answer.status, 400, "{body}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        for part in parts {
            assert!(detail.contains(part), "{part} is not in {detail}");
        }
    }
    assert_eq!(service.get(to).await, before);
}

/// Spec: [HTTP-68] [HTTP-810]
#[tokio::test]
async fn usage_is_told_by_model_and_of_the_last_run() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let path = "/v1/conversations/default/usage";
    let nothing = service.get(path).await;
    assert_eq!(nothing["models"], json!([]));
    assert_eq!(nothing["cost_usd"], json!(0.0));
    assert_eq!(nothing.get("last_run"), None);
    script.push(Reply::text("done"));
    service.submit("go").await;
    service.idle("default").await;
    let used = service.get(path).await;
    let models = used["models"].as_array().unwrap();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0]["usage"], used["usage"]);
    assert!(used["usage"]["output_tokens"].as_u64().unwrap() > 0);
    assert_eq!(used["last_run"]["run_id"], 1);
    assert_eq!(used["last_run"]["usage"], used["usage"]);
    // The default model is retired, and its price is not in the table.
    assert_eq!(used["cost_usd"], Value::Null);
    assert_eq!(used["prices_as_of"].as_str().unwrap().len(), 10);

    // The operator has a price.
    service.kill();
    let model = models[0]["model"].as_str().unwrap();
    let prices =
        json!({"as_of": "2031-01-01", "models": {model: {"prices": {"input": 0, "output": 1e6}}}});
    let file = service.home.path().join(".harness/prices.json");
    std::fs::write(file, prices.to_string()).unwrap();
    let service = service.restart().await;
    let priced = service.get(path).await;
    let written = priced["usage"]["output_tokens"].as_f64().unwrap();
    assert_eq!(priced["cost_usd"], json!(written));
    assert_eq!(priced["prices_as_of"], "2031-01-01");
}

/// Spec: [HTTP-70]
#[tokio::test]
async fn the_tools_are_listed_as_a_model_is_offered_them() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let listed = service.get("/v1/tools").await;
    script.push(Reply::text("done"));
    service.submit("go").await;
    service.idle("default").await;
    let sent: Value = serde_json::from_slice(&standin.requests()[0].body).unwrap();
    let told = |tool: &Value| json!({"name": tool["name"], "description": tool["description"]});
    let offered: Vec<Value> = sent["tools"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(listed, json!({"tools": offered}));
}

/// Spec: [HTTP-73]
#[tokio::test]
async fn a_snapshot_names_the_context_files_that_are_told() {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("AGENTS.md"), "Be kind.\n").unwrap();
    let flags = ["--workspace", workspace.path().to_str().unwrap()];
    let (service, _standin, _script) = Service::scripted(&flags).await;
    let told = service.get("/v1/conversations/default").await;
    let files = told["context_files"].as_array().unwrap();
    assert_eq!(files.len(), 1);
    assert!(files[0]["path"].as_str().unwrap().ends_with("AGENTS.md"));
    assert!(files[0]["bytes"].as_u64().unwrap() >= "Be kind.".len() as u64);
    let settings = json!({"settings": {"context_files": false}});
    let quiet = service.create(&settings).await;
    let snapshot = service.get(&format!("/v1/conversations/{quiet}")).await;
    assert_eq!(snapshot.get("context_files"), None);
}
