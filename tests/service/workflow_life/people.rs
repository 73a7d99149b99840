//! The cases that need a person: a tool that asks, a base that is not fit, a gate, work that brings nothing, and a
//! service that dies again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::bash::{marked, none_left};
use crate::workflow_ground::{Bench, ID, Turn, file};

/// Spec: [FLOW-53]
#[tokio::test]
async fn a_tool_that_asks_pauses_the_workflow_and_the_answer_goes_on() {
    let play = |turn: &Turn| {
        let calls = [
            ("bash", json!({"command": "cp README one.txt"})),
            ("write", json!({"path": "two.txt", "content": "right\n"})),
        ];
        turn.calls(&calls, "done")
    };
    for (answer, written) in [("allow", "Words."), ("deny", "")] {
        let text = file("strict", "", &["one"])
            .replace("asks = \"deny\"", "asks = \"pause\"")
            .replace("\"one.txt\"]", "\"two.txt\"]");
        let bench = Bench::ready(&text, &[], play).await;
        bench.run().await;
        let now = bench.paused("ask").await;
        assert_eq!(now["detail"], "bash", "{now:#}");
        // It cannot be resumed in place of an answer.
        assert_eq!(bench.order("resume", &json!({})).await.status, 409);
        let conversation = format!("/v1/conversations/wf-{ID}-1");
        let snapshot = bench.service.get(&conversation).await;
        let approval = &snapshot["approvals"][0];
        let order = json!({"answer": answer, "digest": approval["digest"], "by": "ana"});
        let path = format!("{conversation}/approvals/{}", approval["id"]);
        let told = bench.service.as_owner("POST", &path, &order).await;
        assert_eq!(told.status, 200, "{told:?}");
        bench.until("completed").await;
        let (paused, resumed) = (bench.past("paused").await, bench.past("resumed").await);
        assert_eq!(
            (paused.len(), resumed.len()),
            (1, 1),
            "{paused:?} {resumed:?}"
        );
        assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
        let left = bench.git(&["ls-tree", "--name-only", "harness/words", "one.txt"]);
        assert_eq!(left.is_empty(), written.is_empty(), "{answer}: {left}");
    }
}

/// Spec: [FLOW-32]
#[tokio::test]
async fn a_base_that_is_not_fit_pauses_or_is_repaired_first() {
    let health =
        "[[health]]\nid = \"fit\"\ncmd = [\"grep\", \"right\", \"workspace.health.txt\"]\n";
    let bench = Bench::ready(&file("unlimited", health, &["one"]), &[], Turn::right).await;
    bench.run().await;
    let now = bench.paused("health").await;
    assert!(
        now["detail"].as_str().unwrap().starts_with("fit: "),
        "{now:#}"
    );
    assert_eq!(bench.asked(), 0);

    let repairs = format!("{health}[policy]\nfail_fast = {{ health = false }}\n");
    let bench = Bench::ready(&file("unlimited", &repairs, &["one"]), &[], Turn::right).await;
    bench.complete().await;
    let started = bench.past("iteration_started").await;
    let features: Vec<&Value> = started.iter().map(|one| &one["feature"]).collect();
    assert_eq!(features, ["workspace.health", "one"]);
    assert_eq!(bench.verdicts().await, [(1, 1, vec![]), (2, 1, vec![])]);
}

/// Spec: [FLOW-41]
#[tokio::test]
async fn a_gate_for_each_candidate_lets_a_person_decide_and_the_model_hears_why_not() {
    let gates = "[gates]\naccept = \"each\"\n";
    let play = |turn: &Turn| {
        let text = format!("right {}\n", turn.attempt);
        turn.writes(&[("one.txt", &text)])
    };
    let bench = Bench::ready(&file("strict", gates, &["one"]), &[], play).await;
    bench.run().await;
    for (attempt, answer) in [(1, "reject"), (2, "approve")] {
        let gate = format!("accept-1-{attempt}");
        let now = bench
            .until_it(&gate, |now| now["gate"]["gate"] == gate)
            .await;
        assert_eq!(
            (&now["state"], &now["reason"]),
            (&json!("paused"), &json!("gate"))
        );
        // Its checks ran before anybody was asked.
        let ran = bench.past("check_ended").await;
        assert_eq!(ran.last().unwrap()["attempt"], attempt);
        let body = json!({"answer": answer, "comment": "write it louder", "by": "ana"});
        let told = bench.order(&format!("gates/{gate}"), &body).await;
        assert_eq!(told.status, 200, "{told:?}");
    }
    bench.until("completed").await;
    let rejected = vec!["check_failed".to_owned()];
    assert_eq!(bench.verdicts().await, [(1, 1, rejected), (1, 2, vec![])]);
    let requests = bench.standin.requests();
    let last = requests.last().unwrap().json().to_string();
    assert!(last.contains("write it louder"), "{last}");
}

/// Spec: [FLOW-48]
#[tokio::test]
async fn five_iterations_that_bring_nothing_pause_and_a_resume_counts_anew() {
    let left = Arc::new(AtomicUsize::new(6));
    let counted = Arc::clone(&left);
    let play = move |turn: &Turn| {
        let less = |left: usize| left.checked_sub(1);
        match counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => Reply::error(400, "invalid_request_error", "cannot be"),
            Err(_) => turn.right(),
        }
    };
    let bench = Bench::ready(&file("unlimited", "", &["one"]), &[], play).await;
    bench.run().await;
    let now = bench.paused("no_progress").await;
    assert_eq!(now["iterations"], 5, "{now:#}");
    let ended = bench.past("iteration_ended").await;
    assert!(
        ended.iter().all(|ended| ended["status"] == "failed"),
        "{ended:?}"
    );
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    let now = bench.until("completed").await;
    assert_eq!(now["iterations"], 7, "{now:#}");
}

/// Spec: [FLOW-58]
#[tokio::test]
async fn three_deaths_in_one_iteration_pause_with_crash_loop_and_a_person_lets_it_go_on() {
    let sleep = marked(331);
    let text = file("strict", "", &["one"])
        + &format!("[[feature.check]]\nshell = 'test -e one.txt && sleep {sleep}'\n");
    let mut bench = Bench::ready(&text, &[], Turn::right).await;
    bench.run().await;
    for _ in 0..3 {
        bench.step("check:one.2").await;
        bench.service.kill();
        bench.service.revive().await;
    }
    let now = bench.paused("crash_loop").await;
    assert!(
        now["detail"].as_str().unwrap().contains("died 3 times"),
        "{now:#}"
    );
    none_left(&sleep, Duration::from_secs(3)).await;
    let asked = bench.asked();
    assert_eq!(
        bench.order("resume", &json!({"by": "ana"})).await.status,
        200
    );
    bench.step("check:one.2").await;
    assert_eq!(bench.asked(), asked, "the prompt was said again");
    assert_eq!(bench.order("cancel", &json!({})).await.status, 200);
    none_left(&sleep, Duration::from_secs(3)).await;
}
