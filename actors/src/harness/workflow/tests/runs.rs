//! Runs of iterations: how many features, what is left on record, and what goes on later.

use std::sync::{Arc, Mutex};

use harness_protocol::Event;
use serde_json::json;

use super::bench::*;
use crate::harness::EventHandler;
use crate::harness::workflow::*;
use crate::model::ScriptedReply;
use crate::workflow::facts::Grants;
use crate::workflow::manifest::RunMode;
use crate::workflow::record::WorkflowRecord;
use crate::workflow::state::{IterationStatus, RejectReason, RunErrorKind};

async fn ready(bench: &Bench, policy: RunPolicy, ids: &[&str]) -> WorkflowRuntime {
    let runtime = bench.builder().policy(policy).build().unwrap();
    let made = runtime.run_initializer(initializer("r0", plan(ids))).await;
    assert!(made.unwrap().created);
    runtime
}

/// Spec: [FLOW-128] [FLOW-134]
#[actix::test]
async fn case_07_two_lives_do_two_features_and_the_second_one_completes() {
    let bench = Bench::new();
    let runtime = ready(&bench, RunPolicy::default(), &["one", "two"]).await;
    bench.right("one");
    let first = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert_eq!(first.selected_feature.as_deref(), Some("one"));
    assert!(first.validated && !first.completed);
    runtime.stop().await;
    drop(runtime);

    let runtime = bench.builder().build().unwrap();
    bench.right("two");
    let second = runtime.run_task_iteration(iteration("r2")).await.unwrap();
    assert_eq!(second.selected_feature.as_deref(), Some("two"));
    assert!(second.validated && second.completed);
    // What an earlier life did is known by its key.
    assert_eq!(
        runtime.run_task_iteration(iteration("r1")).await.unwrap(),
        first
    );
}

/// Spec: [FLOW-128]
#[actix::test]
async fn case_09_a_bounded_run_takes_so_many_and_an_unlimited_one_all() {
    for (mode, taken) in [(RunMode::Bounded, 2), (RunMode::Unlimited, 3)] {
        let bench = Bench::new();
        let policy = RunPolicy {
            mode,
            max_features_per_run: 2,
            ..RunPolicy::default()
        };
        let runtime = ready(&bench, policy, &["one", "two", "three"]).await;
        for id in ["one", "two", "three"] {
            bench.right(id);
        }
        let result = runtime.run_task_iteration(iteration("r1")).await.unwrap();
        assert_eq!(
            (result.iterations.len(), result.completed),
            (taken, taken == 3)
        );
        assert!(result.validated);
    }
}

/// Spec: [FLOW-133] [FLOW-135]
#[actix::test]
async fn case_10_every_iteration_leaves_one_checkpoint_and_one_line_also_after_an_error() {
    let bench = Bench::new();
    let runtime = ready(&bench, RunPolicy::default(), &["one"]).await;
    bench.fails();
    let failed = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(failed.kind, RunErrorKind::Chat, "{failed}");
    bench.says("All tests pass.");
    let lied = runtime.run_task_iteration(iteration("r2")).await.unwrap();
    assert!(!lied.validated && !lied.completed);
    assert_eq!(lied.iterations[0].reasons[0].reason, RejectReason::NoChange);
    bench.writes("one.txt", "wrong\n", "done");
    let wrong = runtime.run_task_iteration(iteration("r3")).await.unwrap();
    assert_eq!(
        wrong.iterations[0].reasons[0].reason,
        RejectReason::CheckFailed
    );
    assert!(wrong.iterations[0].commit.is_none());
    bench.right("one");
    let right = runtime.run_task_iteration(iteration("r4")).await.unwrap();
    assert!(right.validated && right.completed);

    let mut ends = Vec::new();
    for record in bench.records("w").await {
        if let WorkflowRecord::IterationEnded(ended) = record {
            assert_eq!(ended.progress.n, ended.n);
            assert_eq!(ended.checkpoint.status, ended.status);
            assert!(!ended.checkpoint.note.is_empty() && !ended.progress.text.is_empty());
            ends.push((ended.n, ended.status));
        }
    }
    let expected = [
        (1, IterationStatus::Failed),
        (2, IterationStatus::Rejected),
        (3, IterationStatus::Rejected),
        (4, IterationStatus::Accepted),
    ];
    assert_eq!(ends, expected);
    // An error is told again under its key, as a result is.
    let again = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(again, failed);
}

/// Spec: [FLOW-128]
#[actix::test]
async fn a_retry_is_answered_in_the_same_conversation_until_the_budget_is_used_up() {
    let bench = Bench::new();
    let mut policy = RunPolicy {
        max_turns_per_run: 2,
        retry_budget: 1,
        ..RunPolicy::default()
    };
    policy.fail_fast.validation = false;
    let runtime = ready(&bench, policy, &["one"]).await;
    bench.writes("one.txt", "wrong\n", "done");
    bench.right("one");
    let result = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert!(result.validated && result.completed);
    assert_eq!(result.iterations.len(), 1);
    assert_eq!(bench.model.requests().len(), 4);
}

/// Spec: [FLOW-136]
#[actix::test]
async fn a_workflow_that_is_paused_goes_on_when_it_is_resumed_and_not_by_another_run() {
    let bench = Bench::new();
    let file = br#"{"workflow": {"objective": "x"}, "budget": {"tokens": 1},
        "permissions": {"mode": "edits", "asks": "deny"}, "feature":
        [{"id": "one", "description": "d", "check": [{"cmd": ["grep", "right", "one.txt"]}]}]}"#;
    let plan = WorkflowPlan::of_file(file, crate::workflow::file::FileFormat::Json);
    let runtime = bench.builder().build().unwrap();
    runtime
        .run_initializer(initializer("r0", plan))
        .await
        .unwrap();
    let call = json!({"type": "tool_use", "id": "c", "name": "write",
        "input": {"path": "one.txt", "content": "right\n"}});
    let used = json!({"input_tokens": 3, "output_tokens": 2});
    bench.model.push(ScriptedReply::with_usage(&[call], &used));
    bench.says("done");
    let paused = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(paused.kind, RunErrorKind::NotReady, "{paused}");
    let records = bench.records("w").await.len();
    for run in ["r1", "r2"] {
        let still = runtime
            .run_task_iteration(iteration(run))
            .await
            .unwrap_err();
        assert_eq!(still.paused, paused.paused);
    }
    assert_eq!(bench.records("w").await.len(), records);
    let grants = Grants {
        tokens: 1_000_000,
        ..Grants::default()
    };
    // The reply that was cut off is not said again.
    bench.right("one");
    let resumed = worked(runtime.resume("w", grants, false).await.unwrap());
    assert_eq!(resumed.run_id, "r1");
    assert!(resumed.validated && resumed.completed, "{resumed:?}");
}

/// Keeps what it is told.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl EventHandler for Seen {
    fn event(&self, event: &Event) {
        if let Event::Delta { .. } = event {
            self.0.lock().unwrap().push("delta".to_owned());
        }
    }

    fn user(&self, content: &str) {
        let feature = content.split("# The feature `").nth(1);
        let feature = feature.and_then(|rest| rest.split('`').next());
        self.0
            .lock()
            .unwrap()
            .push(format!("user {}", feature.unwrap_or_default()));
    }

    fn text(&self, text: &str) {
        self.0.lock().unwrap().push(format!("text {text}"));
    }

    fn tool_result(&self, _: &str, _: &str, is_error: bool) {
        self.0.lock().unwrap().push(format!("result {is_error}"));
    }
}

/// Spec: [FLOW-131]
#[actix::test]
async fn a_run_is_the_same_whether_somebody_follows_its_conversations_or_nobody() {
    let bench = Bench::new();
    let policy = RunPolicy {
        mode: RunMode::Unlimited,
        ..RunPolicy::default()
    };
    let runtime = ready(&bench, policy, &["one", "two"]).await;
    bench.writes("one.txt", "right\n", "the first");
    bench.writes("two.txt", "right\n", "the second");
    let seen = Arc::new(Seen::default());
    let request = iteration("r1").streaming(Arc::clone(&seen) as Arc<dyn EventHandler>);
    let followed = runtime.run_task_iteration(request).await.unwrap();
    assert!(followed.completed);
    let told = seen.0.lock().unwrap().clone();
    let lasting: Vec<&str> = told
        .iter()
        .map(|told| &**told)
        .filter(|told| *told != "delta")
        .collect();
    let expected = [
        "user one",
        "result false",
        "text the first",
        "user two",
        "result false",
        "text the second",
    ];
    assert_eq!(lasting, expected);

    let alone = Bench::new();
    let runtime = ready(&alone, policy, &["one", "two"]).await;
    alone.writes("one.txt", "right\n", "the first");
    alone.writes("two.txt", "right\n", "the second");
    let unfollowed = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    let features = |result: &TaskIterationResult| {
        let all = result.iterations.iter();
        all.map(|one| (one.feature.clone(), one.status, one.note.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(features(&followed), features(&unfollowed));
}

/// Spec: [FLOW-131]
#[actix::test]
async fn pieces_of_a_reply_are_told_while_it_comes() {
    let bench = Bench::new();
    let runtime = ready(&bench, RunPolicy::default(), &["one"]).await;
    let (open, opened) = tokio::sync::oneshot::channel::<()>();
    let input = json!({"path": "one.txt", "content": "right\n"});
    let call = ScriptedReply::tool_use("c", "write", input.as_object().unwrap());
    bench.model.push(call);
    let reply = ScriptedReply::text("done");
    bench
        .model
        .push(reply.after(async move { drop(opened.await) }));
    let seen = Arc::new(Seen::default());
    let request = iteration("r1").streaming(Arc::clone(&seen) as Arc<dyn EventHandler>);
    let running = actix::spawn(async move { runtime.run_task_iteration(request).await });
    // The call's result is told before the run goes on.
    let told = async {
        while !seen.0.lock().unwrap().contains(&"result false".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    crate::within(std::time::Duration::from_secs(20), told)
        .await
        .unwrap();
    open.send(()).unwrap();
    assert!(running.await.unwrap().unwrap().completed);
}
