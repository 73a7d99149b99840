//! Workflows that cannot be made and orders that are refused: told as a whole, and without a trace.

use std::sync::Arc;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::workflow_ground::{Bench, Turn, file, repository_with};

async fn bench(file: &str) -> Bench {
    Bench::start(file, &[], |_: &Turn| Reply::text("done")).await
}

/// The places of the problems that an answer tells.
fn places(answer: &Value) -> Vec<&str> {
    let problems = answer["problems"].as_array().unwrap().iter();
    problems
        .map(|problem| problem["place"].as_str().unwrap())
        .collect()
}

async fn nothing_is_there(bench: &Bench) {
    let listed = bench.service.get("/v1/workflows").await;
    assert_eq!(listed["workflows"], json!([]));
    let kept = bench.service.home.path().join(".harness/workflow-files");
    assert!(!kept.exists());
}

/// Spec: [FLOW-06] [FLOW-84]
#[tokio::test]
async fn case_03_all_that_is_wrong_with_a_file_is_told_at_once_and_nothing_is_kept() {
    let text = "\
[workflow]
objective = \" \"
[[feature]]
id = \"one\"
description = \"a\"
passes = true
steps = [\"s\"]
[[feature]]
id = \"one\"
description = \"b\"
steps = [\"s\"]
[[feature]]
id = \"two\"
description = \"c\"
";
    let bench = bench(text).await;
    let order = bench.making(&json!({}));
    let refused = bench.post(&order).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let told = refused.json();
    assert_eq!(told["hash"].as_str().unwrap().len(), 64);
    let places = places(&told);
    let expected = [
        "workflow.objective",
        "feature[0].passes",
        "feature[1].id",
        "feature[2]",
    ];
    for place in expected {
        assert!(
            places.iter().any(|told| told.starts_with(place)),
            "{place}: {told:#}"
        );
    }
    nothing_is_there(&bench).await;

    // A dry run tells the same and is no failure.
    let dry = bench.post(&bench.making(&json!({"dry_run": true}))).await;
    assert_eq!(
        (dry.status, &dry.json()["problems"]),
        (200, &told["problems"])
    );

    let empty =
        json!({"workflow": {"objective": "all"}, "feature": [], "permissions": {"mode": "edits"}});
    let order = json!({"folder": bench.root(), "spec": empty, "id": "w2"});
    let refused = bench.post(&order).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(refused.json()["problems"][0]["place"], "feature");
    nothing_is_there(&bench).await;
}

/// Spec: [FLOW-126] [FLOW-127]
#[tokio::test]
async fn case_04_a_file_without_a_list_gets_one_that_is_seen_before_it_is_approved() {
    let text = "[workflow]\nobjective = \"Greet the world\"\nplan = \"starter\"\n\
                [permissions]\nmode = \"edits\"\nasks = \"deny\"\n";
    let test =
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): self.fail()\n";
    let files = [("pyproject.toml", ""), ("tests/test_it.py", test)];
    let repository = Arc::new(repository_with(text, &files));
    let bench = Bench::on(repository, &[], |_: &Turn| Reply::text("done")).await;
    let told = bench.post(&bench.making(&json!({"dry_run": true}))).await;
    let told = told.json();
    assert_eq!(told["problems"], json!([]));
    let features = told["manifest"]["features"].as_array().unwrap();
    assert!(features.len() >= 4, "{told:#}");
    assert!(
        features
            .iter()
            .any(|one| one["description"] == "Greet the world")
    );
    assert!(told.to_string().contains("unittest"));

    // What lies there has changed the list, so nobody has approved it.
    std::fs::rename(bench.root().join("tests"), bench.root().join("checks")).unwrap();
    let hash = told["hash"].as_str().unwrap();
    let refused = bench.make(hash).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    nothing_is_there(&bench).await;
    std::fs::rename(bench.root().join("checks"), bench.root().join("tests")).unwrap();
    assert_eq!(bench.make(hash).await.status, 201);
    bench.run().await;
    let ready = bench.until("ready").await;
    assert_eq!(Bench::feature(&ready, "build"), "passing");
    assert_eq!(Bench::feature(&ready, "tests"), "failing");
}

/// Spec: [FLOW-86]
#[tokio::test]
async fn case_05_what_needs_an_initialized_workflow_is_refused_before_and_leaves_no_record() {
    let bench = bench(&file("strict", "", &["one"])).await;
    let missing = bench.order("run", &json!({})).await;
    assert_eq!(missing.status, 404, "{missing:?}");

    let made = bench.make(&bench.hash().await).await;
    assert_eq!(made.status, 201, "{made:?}");
    let before = bench.records().await;
    let refused = bench.order("verify", &json!({})).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let told = refused.json();
    assert_eq!(told["type"], "urn:harness:problem:workflow-not-ready");
    for (order, status) in [("resume", 409), ("gates/plan-1", 422)] {
        let body = if order == "resume" {
            json!({})
        } else {
            json!({"answer": "approve"})
        };
        let refused = bench.order(order, &body).await;
        assert_eq!(refused.status, status, "{order}: {refused:?}");
    }
    assert_eq!(bench.records().await, before);
    assert_eq!(bench.look().await["state"], "draft");
    assert_eq!(bench.asked(), 0);
}

/// Spec: [FLOW-06] [FLOW-29] [FLOW-86]
#[tokio::test]
async fn case_06_a_strict_workflow_with_two_features_a_run_and_one_without_turns_are_refused() {
    for (policy, place) in [
        ("max_features_per_run = 2", "policy.max_features_per_run"),
        ("max_turns_per_run = 0", "policy.max_turns_per_run"),
    ] {
        let text = file("strict", &format!("[policy]\n{policy}\n"), &["one"]);
        let bench = bench(&text).await;
        let refused = bench.post(&bench.making(&json!({}))).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert_eq!(places(&refused.json()), [place]);
        nothing_is_there(&bench).await;
    }

    let bench = bench(&file("strict", "", &["one", "two"])).await;
    bench.make(&bench.hash().await).await;
    let before = bench.records().await;
    for body in [json!({"max_features": 2}), json!({"max_iterations": 0})] {
        let refused = bench.order("run", &body).await;
        assert_eq!(refused.status, 422, "{body}: {refused:?}");
    }
    assert_eq!(bench.records().await, before);
}

/// Spec: [FLOW-27] [FLOW-55]
#[tokio::test]
async fn case_08_a_run_that_can_choose_no_feature_ends_in_a_pause_that_names_those_that_are_open() {
    let text = file("bounded", "", &["one"])
        + "\n[[feature]]\nid = \"two\"\ndescription = \"d\"\nsteps = [\"s\"]\nafter = [\"one\"]\n";
    let bench = Bench::ready(&text, &[], Turn::right).await;
    let skipped = bench
        .order("features/one", &json!({"action": "skip"}))
        .await;
    assert_eq!(skipped.status, 200, "{skipped:?}");
    bench.run().await;
    let now = bench.paused("stuck").await;
    assert!(now["detail"].as_str().unwrap().contains("two"), "{now:#}");
    assert_eq!(now["iterations"], 0);
    assert_eq!(bench.asked(), 0);

    let opened = bench
        .order("features/one", &json!({"action": "unskip"}))
        .await;
    assert_eq!(opened.status, 200, "{opened:?}");
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    let ready = bench
        .until_it("passing", |now| Bench::feature(now, "one") == "passing")
        .await;
    assert_eq!(Bench::feature(&ready, "two"), "failing");
}
