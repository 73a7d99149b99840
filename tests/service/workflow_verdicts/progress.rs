//! The progress of a workflow: the initializer, runs and their features, and the result of each iteration.

use harness_standin::Reply;
use serde_json::{Value, json};

use super::tally::{ONCE, file, ready, repository, right};
use crate::workflow_ground::{BRANCH, Bench, ID, Turn};

/// The data of a record of which there is just one.
async fn only(bench: &Bench, kind: &str) -> Value {
    let mut all = bench.past(kind).await;
    assert_eq!(all.len(), 1, "{kind}: {all:#?}");
    all.remove(0)
}

/// Spec: [FLOW-28]
#[tokio::test]
async fn case_01_the_first_run_is_the_initializer_and_the_second_takes_a_feature() {
    let bench = ready(&file("strict", "", &["add"]), right).await;
    let applied = only(&bench, "manifest_applied").await;
    assert_eq!(applied["version"], 1);
    assert_eq!(applied["features"], json!(["add"]));
    assert_eq!(applied["base"]["commit"], bench.tip("main"));
    assert_eq!(only(&bench, "phase_started").await["phase"], "initializer");
    let ended = only(&bench, "phase_ended").await;
    assert_eq!(ended["phase"], "initializer");
    for part in ["progress", "checkpoint"] {
        assert!(ended[part].is_object(), "{part}: {ended:#}");
    }
    // Nothing was asked of the model, and the check was red.
    assert_eq!(bench.asked(), 0);
    let checked = only(&bench, "check_ended").await;
    assert_eq!(checked["check"], "add.1");
    assert_eq!(checked["verdict"], "failed");

    bench.complete().await;
    let phases = bench.past("phase_started").await;
    let phases: Vec<&Value> = phases.iter().map(|phase| &phase["phase"]).collect();
    assert_eq!(phases, ["initializer", "task_iteration"]);
}

/// Spec: [FLOW-28] [FLOW-83]
#[tokio::test]
async fn case_02_a_workflow_that_is_there_is_not_made_again_and_keeps_its_features() {
    let text = file("strict", "", &["add"]);
    let bench = ready(&text, right).await;
    let (before, shown) = (bench.records().await, bench.look().await);
    // The same file, and one with other features.
    let path = bench.root().join(".harness/workflows/words.toml");
    for text in [text, file("strict", "", &["parse", "report"])] {
        std::fs::write(&path, text).unwrap();
        let made = bench.make(&bench.hash().await).await;
        assert_eq!(made.status, 200, "{made:?}");
        assert_eq!(made.json()["created"], false);
        assert_eq!(made.json()["workflow"]["features"], shown["features"]);
        assert_eq!(bench.records().await, before);
    }
}

/// Spec: [FLOW-29] [FLOW-31]
#[tokio::test]
async fn case_07_two_runs_in_two_lives_of_the_service_do_two_features() {
    let mut bench = ready(&file("strict", "", &["add", "parse"]), right).await;
    bench.run().await;
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "add"), "passing");
    assert_eq!(Bench::feature(&now, "parse"), "failing");
    bench.service.kill();
    bench.service.revive().await;
    assert_eq!(bench.look().await["state"], "ready");
    assert_eq!(bench.past("completed").await, [] as [Value; 0]);

    let now = bench.complete().await;
    assert_eq!(Bench::feature(&now, "parse"), "passing");
    let started = bench.past("iteration_started").await;
    let features: Vec<&Value> = started.iter().map(|started| &started["feature"]).collect();
    assert_eq!(features, ["add", "parse"]);
    assert_eq!(
        bench.git(&["rev-list", "--count", &format!("main..{BRANCH}")]),
        "2"
    );
}

/// Spec: [FLOW-29]
#[tokio::test]
async fn case_09_a_bounded_run_takes_as_many_features_as_it_may_and_an_unlimited_one_all() {
    let all = ["add", "parse", "report"];
    for (mode, more, state, done) in [
        (
            "bounded",
            "[policy]\nmax_features_per_run = 2\n",
            "ready",
            2,
        ),
        ("unlimited", "", "completed", 3),
    ] {
        let bench = ready(&file(mode, more, &all), right).await;
        bench.run().await;
        let now = bench.until(state).await;
        let states: Vec<&str> = all.iter().map(|id| Bench::feature(&now, id)).collect();
        let passing = |state: &&&str| **state == "passing";
        assert_eq!(
            states.iter().filter(passing).count(),
            done,
            "{mode}: {states:?}"
        );
        assert_eq!(bench.past("iteration_started").await.len(), done);
    }
}

/// Spec: [FLOW-30] [FLOW-45]
#[tokio::test]
async fn case_10_each_iteration_leaves_one_line_of_progress_and_one_checkpoint() {
    // Twice the provider fails, once in a way that pauses; then nothing is done, then all of it.
    let play = |turn: &Turn| match conversation_of(turn) {
        1 => Reply::error(400, "invalid_request_error", "not like this"),
        2 => Reply::error(401, "authentication_error", "who are you"),
        3 => Reply::text("All tests pass."),
        _ => right(turn),
    };
    let bench = ready(&file("strict", ONCE, &["add"]), play).await;
    for n in 1..=4 {
        let answer = bench
            .order(if n == 3 { "resume" } else { "run" }, &json!({}))
            .await;
        assert!(matches!(answer.status, 200 | 202), "{n}: {answer:?}");
        let at_rest = |now: &Value| {
            let is_over = now["state"] != "running" && now["state"] != "initializing";
            is_over && now["iterations"] == n
        };
        bench
            .until_it(&format!("iteration {n} to end"), at_rest)
            .await;
    }
    let ended = bench.past("iteration_ended").await;
    let statuses: Vec<&Value> = ended.iter().map(|ended| &ended["status"]).collect();
    assert_eq!(statuses, ["failed", "interrupted", "rejected", "accepted"]);
    for (at, ended) in ended.iter().enumerate() {
        assert_eq!(ended["n"], at + 1);
        assert_eq!(ended["progress"]["n"], at + 1);
        assert_eq!(ended["progress"]["feature"], "add");
        assert_eq!(ended["checkpoint"]["status"], ended["status"]);
    }
    assert_eq!(bench.past("iteration_started").await.len(), ended.len());
    assert_eq!(bench.look().await["state"], "completed");
}

/// The number of the workflow's conversation: each iteration's prompt lists those before.
fn conversation_of(turn: &Turn) -> usize {
    let known = |n: usize| turn.told.contains(&format!("\n{n} add: "));
    (1..).find(|n| !known(*n)).unwrap()
}

/// Spec: [FLOW-52] [FLOW-83]
#[tokio::test]
async fn nothing_runs_before_a_person_approved_just_this_file() {
    let bench = Bench::on(repository(&file("strict", "", &["add"])), &[], right).await;
    let other = "0".repeat(64);
    let refused = bench.make(&other).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let made = bench.post(&bench.making(&json!({}))).await;
    assert_eq!(made.status, 201, "{made:?}");
    let answer = bench.order("run", &json!({})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let now = bench.until("waiting_for_approval").await;
    assert_eq!(now["id"], ID);
    assert_eq!(bench.past("check_ended").await, [] as [Value; 0]);
    let gate = now["gate"]["gate"].as_str().unwrap();
    let yes = json!({"answer": "approve", "by": "ana"});
    let answered = bench.order(&format!("gates/{gate}"), &yes).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    bench.until("ready").await;
    bench.complete().await;
}
