//! The routes of workflows: who may use them, and how a file is judged before anything is made.

use std::path::Path;

use harness_actors::attachment::sha256;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::program::Service;

const ALL: &str = "/v1/workflows";

/// The orders, each with a body that would be taken.
const ORDERS: [(&str, &str, &str); 12] = [
    ("DELETE", "", ""),
    ("GET", "/manifest", ""),
    ("GET", "/iterations/1/diff", ""),
    ("GET", "/outputs/00", ""),
    ("PUT", "/manifest", "{}"),
    ("POST", "/run", "{}"),
    ("POST", "/pause", "{}"),
    ("POST", "/resume", "{}"),
    ("POST", "/cancel", "{}"),
    ("POST", "/verify", "{}"),
    ("POST", "/gates/plan-1", r#"{"answer":"approve"}"#),
    ("POST", "/features/a", r#"{"action":"retry"}"#),
];

fn kind(answer: &Answer) -> String {
    let kind = answer.json()["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    kind.trim_start_matches("urn:harness:problem:").to_owned()
}

/// Spec: [FLOW-82] [FLOW-86]
#[actix::test]
async fn everybody_reads_workflows_and_only_the_token_steers_them() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    assert_eq!(service.get(ALL).await, json!({"workflows": []}));
    let at = |what: &str| format!("{ALL}/nobody{what}");
    for what in [
        "",
        "/history",
        "/events",
        "/history?after=0&limit=3",
        "/iterations",
        "/iterations/1",
    ] {
        let answer = service.send("GET", &at(what), "", "").await;
        assert_eq!(
            (answer.status, &*kind(&answer)),
            (404, "no-workflow"),
            "{what}"
        );
    }
    let headers = "content-type: application/json\r\n";
    for (method, what, body) in ORDERS {
        let answer = service.send(method, &at(what), headers, body).await;
        assert_eq!(
            (answer.status, &*kind(&answer)),
            (401, "unauthorized"),
            "{what}"
        );
        assert!(answer.body.contains("needs the token"), "{answer:?}");
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let answer = service.as_owner(method, &at(what), &body).await;
        assert_eq!(
            (answer.status, &*kind(&answer)),
            (404, "no-workflow"),
            "{what}"
        );
    }
    let answer = service
        .post(ALL, r#"{"path": "x.toml", "dry_run": true}"#)
        .await;
    assert_eq!(answer.status, 401, "{answer:?}");
    let answer = service.send("PUT", ALL, headers, "{}").await;
    assert_eq!(answer.header("allow"), Some("GET, POST"));
}

/// Spec: [FLOW-88]
#[actix::test]
async fn an_order_that_says_what_cannot_be_is_refused_with_what_can() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for (what, body, status, part) in [
        (
            "/pause",
            json!({"when": "later"}),
            400,
            "now, attempt or iteration",
        ),
        (
            "/gates/plan-1",
            json!({"answer": "yes"}),
            400,
            "approve or reject",
        ),
        (
            "/features/a",
            json!({"action": "pass"}),
            400,
            "retry, skip or unskip",
        ),
        ("/resume", json!({"add_cost_usd": -1.0}), 422, "between 0"),
        ("/run", json!({"max_feature": 1}), 400, "max_feature"),
    ] {
        let path = format!("{ALL}/nobody{what}");
        let answer = service.as_owner("POST", &path, &body).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert!(answer.body.contains(part), "{what}: {answer:?}");
    }
}

struct Making {
    service: Service,
    folder: tempfile::TempDir,
}

impl Making {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["--workspace", folder.path().to_str().unwrap()];
        let (service, _, _) = Service::scripted(&flags).await;
        Self { service, folder }
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        sha256(text.as_bytes())
    }

    async fn make(&self, order: Value) -> Answer {
        self.service.as_owner("POST", ALL, &order).await
    }
}

fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/examples/workflow.toml");
    std::fs::read_to_string(path).unwrap()
}

/// Spec: [FLOW-83]
#[actix::test]
async fn a_file_is_looked_at_without_making_anything_and_approved_by_its_hash_alone() {
    let making = Making::start().await;
    let hash = making.write("good.toml", &example());
    let looked = making
        .make(json!({"path": "good.toml", "dry_run": true}))
        .await;
    assert_eq!(looked.status, 200, "{looked:?}");
    let looked = looked.json();
    assert_eq!(
        (&looked["hash"], &looked["problems"]),
        (&json!(hash), &json!([]))
    );
    assert_eq!(looked["manifest"]["features"][0]["id"], "weekly");
    let other = making
        .make(json!({"path": "good.toml", "approve": "beef"}))
        .await;
    assert_eq!((other.status, &*kind(&other)), (409, "other-file"));
    assert_eq!(other.json()["hash"], hash);
    let free = example().replace("plan = true", "plan = false");
    making.write("free.toml", &free);
    let refused = making.make(json!({"path": "free.toml"})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.body.contains("gate `plan`"), "{refused:?}");
    assert_eq!(making.service.get(ALL).await["workflows"], json!([]));
}

/// Spec: [FLOW-84] [FLOW-85]
#[actix::test]
async fn a_file_that_cannot_be_used_is_refused_with_all_that_is_wrong() {
    let making = Making::start().await;
    let hash = making.write("bad.toml", "x = 1\n[workflow]\nobjective = ' '\n");
    let refused = making.make(json!({"path": "bad.toml"})).await;
    assert_eq!(
        (refused.status, &*kind(&refused)),
        (422, "invalid-workflow")
    );
    let told = refused.json();
    assert_eq!(told["hash"], hash);
    let problems = told["problems"].as_array().unwrap();
    assert!(problems.len() >= 2, "{problems:?}");
    let looked = making
        .make(json!({"path": "bad.toml", "dry_run": true}))
        .await;
    assert_eq!(looked.status, 200);
    assert_eq!(looked.json()["problems"], told["problems"]);
    assert_eq!(looked.json()["manifest"], Value::Null);
    std::os::unix::fs::symlink("/etc/passwd", making.folder.path().join("out.toml")).unwrap();
    for path in ["out.toml", "/etc/passwd", "none.toml", ".", "../x"] {
        let refused = making.make(json!({"path": path, "dry_run": true})).await;
        assert_eq!(refused.status, 400, "{path}: {refused:?}");
    }
    for order in [json!({}), json!({"path": "bad.toml", "spec": {}})] {
        assert_eq!(making.make(order).await.status, 400);
    }
    let spec = json!({"workflow": {"objective": "o"}, "budget": {"cost_usd": 1.0},
        "feature": [{"id": "a", "description": "d", "check": [{"cmd": ["true"]}]}],
        "permissions": {"model": "nobodys-model"}});
    let refused = making.make(json!({"spec": spec})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(refused.json()["problems"][0]["place"], "budget.cost_usd");
}
