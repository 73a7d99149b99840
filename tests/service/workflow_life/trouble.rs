//! Trouble of the provider: it costs no attempt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::checker::check;
use crate::client::within;
use crate::workflow_ground::{Bench, ID, Turn, file};

/// A model that fails a number of times, and then does its task.
fn failing(times: &Arc<AtomicUsize>, status: u16) -> impl Fn(&Turn) -> Reply + Send + Sync + use<> {
    let left = Arc::clone(times);
    move |turn: &Turn| {
        let now = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        match now {
            Ok(_) => Reply::error(status, "some_error", "not now").header("retry-after-ms", "5"),
            Err(_) => turn.right(),
        }
    }
}

/// Spec: [FLOW-45]
#[tokio::test]
async fn case_30_a_provider_that_is_overloaded_for_a_while_costs_no_attempt() {
    let times = Arc::new(AtomicUsize::new(3));
    let text = file("strict", "[policy]\nmax_turns_per_run = 1\n", &["one"]);
    let bench = Bench::ready(&text, &[], failing(&times, 529)).await;
    bench.complete().await;
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    assert_eq!(bench.past("paused").await, [] as [serde_json::Value; 0]);
    assert_eq!(
        bench
            .past("step_started")
            .await
            .iter()
            .filter(|step| step["step"] == "converse")
            .count(),
        1
    );
}

/// Spec: [FLOW-45]
#[tokio::test]
async fn case_30_one_that_stays_overloaded_pauses_and_the_feature_is_tried_again() {
    let times = Arc::new(AtomicUsize::new(usize::MAX));
    let text = file(
        "strict",
        "[policy]\nmax_turns_per_run = 1\nretry_budget = 0\n",
        &["one"],
    );
    let bench = Bench::ready(
        &text,
        &["--max-retries", "1", "--workflow-patience", "off"],
        failing(&times, 529),
    )
    .await;
    bench.run().await;
    for _ in 0..3 {
        bench.paused("provider_down").await;
        assert_eq!(bench.verdicts().await, []);
        assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    }
    bench.paused("provider_down").await;
    times.store(0, Ordering::Relaxed);
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    let now = bench.until("completed").await;
    assert_eq!(Bench::feature(&now, "one"), "passing");
    let ended = bench.past("iteration_ended").await;
    let (last, before) = ended.split_last().unwrap();
    assert_eq!(last["status"], "accepted");
    for ended in before {
        assert_eq!(ended["status"], "interrupted", "{ended:#}");
    }
}

/// The journal's waits so far.
async fn waits(bench: &Bench, wanted: usize) -> Vec<Value> {
    within("the waits", async {
        loop {
            let waits = bench.past("provider_waits").await;
            if waits.len() >= wanted {
                return waits;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// Spec: [FLOW-45] [FLOW-220]
#[tokio::test]
async fn case_30_one_that_outlasts_all_retries_is_waited_for_and_costs_no_attempt() {
    // Two requests a run fail: four runs.
    let times = Arc::new(AtomicUsize::new(7));
    let text = file("strict", "[policy]\nmax_turns_per_run = 1\n", &["one"]);
    // The first wait has 100 ms, each further one twice that.
    let flags = ["--max-retries", "1", "--workflow-patience", "36s"];
    let bench = Bench::ready(&text, &flags, failing(&times, 529)).await;
    bench.complete().await;
    let waits = bench.past("provider_waits").await;
    let ms: Vec<u64> = waits
        .iter()
        .map(|wait| wait["ms"].as_u64().unwrap())
        .collect();
    assert_eq!(ms, [100, 200, 400]);
    assert!(
        waits[0]["detail"].as_str().unwrap().contains("not now"),
        "{waits:?}"
    );
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    assert_eq!(bench.past("paused").await, [] as [Value; 0]);
    let steps = bench.past("step_started").await;
    let converse = steps.iter().filter(|step| step["step"] == "converse");
    assert_eq!(converse.count(), 1);
    // The waits are no work.
    let spent = bench.look().await["spent"]["active_ms"].as_u64().unwrap();
    let records = bench.records().await;
    let steps = records
        .iter()
        .filter(|record| record["type"] == "step_ended");
    let converse = steps
        .map(|step| &step["data"])
        .find(|step| step["step"] == "converse");
    let active = converse.unwrap()["spent"]["active_ms"].as_u64().unwrap();
    let charged: u64 = waits
        .iter()
        .map(|wait| wait["spent"]["active_ms"].as_u64().unwrap())
        .sum();
    assert!(active + charged <= spent, "{active} {charged} {spent}");
}

/// Spec: [FLOW-51] [FLOW-220]
#[tokio::test]
async fn case_30_a_wait_is_told_and_paused_at_once() {
    let times = Arc::new(AtomicUsize::new(1));
    let text = file("strict", "", &["one"]);
    let bench = Bench::ready(&text, &["--max-retries", "0"], failing(&times, 529)).await;
    bench.run().await;
    let told = waits(&bench, 1).await;
    assert_eq!(told[0]["ms"], 60_000);
    let now = bench.look().await;
    assert_eq!(
        (&now["state"], &now["step"]["step"]),
        (&json!("running"), &json!("converse"))
    );
    assert_eq!(now["step"]["waits_until"], told[0]["until"]);
    assert_eq!(
        bench.order("pause", &json!({"when": "now"})).await.status,
        200
    );
    bench.paused("operator").await;
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended[0]["status"], "interrupted");
    // Long before a minute is over.
    assert!(
        ended[0]["usage"]["active_ms"].as_u64().unwrap() < 50_000,
        "{ended:?}"
    );
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.until("completed").await;
    assert_eq!(bench.verdicts().await, [(2, 1, vec![])]);
}

/// Spec: [FLOW-56] [FLOW-220]
#[tokio::test]
async fn case_30_a_wait_goes_on_behind_a_kill_and_the_prompt_is_not_said_again() {
    let times = Arc::new(AtomicUsize::new(1));
    let text = file("strict", "", &["one"]);
    // The first wait has two seconds.
    let flags = ["--max-retries", "0", "--workflow-patience", "720s"];
    let mut bench = Bench::ready(&text, &flags, failing(&times, 529)).await;
    bench.run().await;
    waits(&bench, 1).await;
    bench.service.kill();
    bench.service.revive().await;
    bench.until("completed").await;
    assert_eq!(bench.past("provider_waits").await.len(), 1);
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    bench.service.kill();
    let checked = check(&bench.service.journal(&format!("wf-{ID}-1")));
    assert_eq!(checked.prompts.len(), 1);
}

/// Spec: [FLOW-45]
#[tokio::test]
async fn case_30_a_key_that_is_not_taken_pauses_at_once() {
    for (status, reason) in [
        (401, "provider_auth"),
        (403, "provider_auth"),
        (402, "provider_quota"),
    ] {
        let times = Arc::new(AtomicUsize::new(1));
        let text = file("strict", "", &["one"]);
        let bench = Bench::ready(&text, &[], failing(&times, status)).await;
        bench.run().await;
        let now = bench.paused(reason).await;
        assert!(
            now["detail"].as_str().unwrap().contains("not now"),
            "{now:#}"
        );
        assert_eq!(bench.asked(), 1);
        assert_eq!(bench.verdicts().await, []);
        assert_eq!(bench.order("resume", &json!({})).await.status, 200);
        bench.until("completed").await;
    }
}
