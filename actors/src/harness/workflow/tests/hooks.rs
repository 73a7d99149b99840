//! The embedding program's decisions: health, features, outcomes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::bench::*;
use crate::harness::workflow::*;
use crate::workflow::facts::Grants;
use crate::workflow::hooks::*;
use crate::workflow::manifest::ServiceCommand;
use crate::workflow::select::{Choice, Chosen, FeatureSelector};
use crate::workflow::state::{FeatureState, IterationStatus, PauseReason, RunErrorKind};

fn opens(ids: &[&str]) -> WorkflowPlan {
    WorkflowPlan::new("All is right").with_features(ids.iter().map(|id| open(id)).collect())
}

async fn made(builder: WorkflowBuilder, plan: WorkflowPlan) -> WorkflowRuntime {
    let runtime = builder.build().unwrap();
    let made = runtime.run_initializer(initializer("r0", plan)).await;
    assert!(made.unwrap().created);
    runtime
}

/// Chooses what a test says.
struct Says(Arc<Mutex<Option<&'static str>>>);

impl FeatureSelector for Says {
    fn select(&self, features: &[Choice<'_>]) -> Option<Chosen> {
        assert!(
            features
                .iter()
                .any(|one| one.state == FeatureState::Failing)
        );
        let feature = (*self.0.lock().unwrap())?.to_owned();
        Some(Chosen {
            feature,
            why: "a test says so".to_owned(),
        })
    }
}

/// Spec: [FLOW-130] [FLOW-135]
#[actix::test]
async fn case_08_a_wrong_choice_ends_the_run_with_validation_and_a_good_one_goes_on() {
    let bench = Bench::new();
    let says = Arc::new(Mutex::new(Some("two")));
    let runtime = made(
        bench.builder().selector(Says(Arc::clone(&says))),
        plan(&["one", "two"]),
    )
    .await;
    bench.right("two");
    let chosen = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert_eq!(chosen.selected_feature.as_deref(), Some("two"));
    let asked = bench.model.requests().len();
    for (run, wrong) in [("r2", None), ("r3", Some("two")), ("r4", Some("unknown"))] {
        *says.lock().unwrap() = wrong;
        let refused = runtime
            .run_task_iteration(iteration(run))
            .await
            .unwrap_err();
        assert_eq!(refused.kind, RunErrorKind::Validation, "{refused}");
        assert_eq!(refused.paused, Some(PauseReason::Selector));
        let past = bench.past("w").await;
        assert!(past.ledger.phase().is_none() && past.ledger.iteration().is_none());
    }
    assert_eq!(bench.model.requests().len(), asked);
    *says.lock().unwrap() = Some("one");
    bench.right("one");
    let last = runtime.run_task_iteration(iteration("r5")).await.unwrap();
    assert!(last.validated && last.completed);
}

/// Finds the base fit as long as a flag says so.
struct Fit(Arc<AtomicBool>, Arc<Mutex<Vec<usize>>>);

impl HealthChecker for Fit {
    fn check(&self, health: &HealthSubject<'_>) -> Result<(), String> {
        assert_eq!(health.objective, "All is right");
        assert!(health.workspace.join("README").exists());
        self.1.lock().unwrap().push(health.init_plan.len());
        let is_fit = self.0.load(Ordering::SeqCst);
        is_fit
            .then_some(())
            .ok_or_else(|| "the lamp is red".to_owned())
    }
}

/// Spec: [FLOW-129] [FLOW-135] [FLOW-136]
#[actix::test]
async fn a_base_that_is_not_fit_ends_the_run_before_a_feature_is_chosen() {
    let bench = Bench::new();
    let is_fit = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let builder = bench
        .builder()
        .health_checker(Fit(Arc::clone(&is_fit), Arc::clone(&asked)));
    let runtime = made(builder, plan(&["one"]).with_init(&["true"])).await;
    assert!(asked.lock().unwrap().is_empty());
    let sick = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(sick.kind, RunErrorKind::HealthCheck);
    assert!(sick.message.contains("the lamp is red"), "{sick}");
    assert_eq!(*asked.lock().unwrap(), [1]);
    assert!(bench.model.requests().is_empty());
    is_fit.store(true, Ordering::SeqCst);
    bench.right("one");
    let well = worked(runtime.resume("w", Grants::default(), false).await.unwrap());
    assert!(well.validated && well.completed);
    assert_eq!(*asked.lock().unwrap(), [1, 1]);
}

/// Spec: [FLOW-129]
#[actix::test]
async fn without_fail_fast_the_first_work_is_to_repair_the_base() {
    let bench = Bench::new();
    let mut policy = RunPolicy::default();
    policy.fail_fast.health = false;
    let mend = ServiceCommand::from_words(&["test", "-e", "lamp"]);
    let builder = bench
        .builder()
        .policy(policy)
        .health_checker(CommandHealthChecker::new(vec![mend]));
    let runtime = made(builder, plan(&["one"])).await;
    bench.writes("lamp", "on\n", "repaired");
    let repaired = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert_eq!(
        repaired.selected_feature.as_deref(),
        Some("workspace.health")
    );
    assert!(repaired.validated && !repaired.completed);
    bench.right("one");
    assert!(
        runtime
            .run_task_iteration(iteration("r2"))
            .await
            .unwrap()
            .completed
    );
}

/// Spec: [FLOW-129]
#[actix::test]
async fn the_checker_of_commands_runs_the_init_plan_and_tells_what_failed() {
    let bench = Bench::new();
    let builder = bench
        .builder()
        .health_checker(CommandHealthChecker::default());
    // The second time it fails: what makes the worktree ready ran it once.
    let once = ["bash", "-c", "echo ran it; mkdir ../once.lock"];
    let runtime = made(builder, opens(&["one"]).with_init(&once)).await;
    let sick = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(sick.kind, RunErrorKind::HealthCheck, "{sick}");
    assert!(sick.message.contains("ran it"), "{sick}");
}

/// Rejects what a model left until it has said why.
struct Strict(Arc<Mutex<Vec<String>>>);

impl OutcomeValidator for Strict {
    fn validate(&self, outcome: &OutcomeSubject<'_>) -> OutcomeVerdict {
        let path = outcome
            .workspace
            .join(format!("{}.txt", outcome.feature.id));
        let text = std::fs::read_to_string(path).unwrap();
        let tree = git(outcome.workspace, &["rev-parse", "HEAD^{tree}"]);
        assert_eq!(tree, outcome.candidate.tree);
        self.0
            .lock()
            .unwrap()
            .push(format!("{} {}", outcome.reply, text.trim()));
        if outcome.reply.contains("because") {
            return OutcomeVerdict::accepted().with_evidence("a reason was given");
        }
        OutcomeVerdict::rejected("say why you did it").with_evidence("no reason in the reply")
    }
}

/// Spec: [FLOW-132] [FLOW-133]
#[actix::test]
async fn a_validator_sees_what_was_left_and_its_reasons_reach_the_model_and_the_result() {
    let bench = Bench::new();
    let mut policy = RunPolicy {
        max_turns_per_run: 2,
        retry_budget: 1,
        ..RunPolicy::default()
    };
    policy.fail_fast.validation = false;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let builder = bench
        .builder()
        .policy(policy)
        .validator(Strict(Arc::clone(&seen)));
    let runtime = made(builder, plan(&["one", "two"])).await;
    assert!(seen.lock().unwrap().is_empty(), "the base is not judged");
    bench.writes("one.txt", "right\n", "done");
    bench.writes("one.txt", "right now\n", "done, because it was wanted");
    let first = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert!(first.validated);
    let requests = bench.model.requests();
    let told = requests.last().unwrap()["messages"].to_string();
    assert!(told.contains("say why you did it") && told.contains("no reason in the reply"));

    // The feature that was accepted is not judged again, and the one that is rejected is not done.
    for text in ["right\n", "right too\n"] {
        bench.writes("two.txt", text, "done");
    }
    let second = runtime.run_task_iteration(iteration("r2")).await.unwrap();
    assert!(!second.validated && !second.completed);
    let reason = &second.iterations[0].reasons[0];
    assert_eq!(reason.detail, "say why you did it");
    assert_eq!(reason.check.as_deref(), Some("program/two"));
    let judged = seen.lock().unwrap().clone();
    assert_eq!(judged.len(), 4, "{judged:?}");
    assert_eq!(judged[1], "done, because it was wanted right now");
    // The manifest's own check comes first, and nobody is asked about what that rejects.
    bench.writes("two.txt", "wrong\n", "done");
    bench.writes("two.txt", "not so\n", "done");
    assert!(
        !runtime
            .run_task_iteration(iteration("r3"))
            .await
            .unwrap()
            .validated
    );
    assert_eq!(seen.lock().unwrap().len(), 4);
}

/// Spec: [FLOW-132]
#[actix::test]
async fn what_no_command_decides_the_program_decides_and_a_claim_without_a_change_is_nothing() {
    let bench = Bench::new();
    let runtime = made(bench.builder(), opens(&["one"])).await;
    bench.says("All tests pass.");
    let lied = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert!(!lied.validated);
    bench.writes("one.txt", "anything\n", "done");
    let taken = runtime.run_task_iteration(iteration("r2")).await.unwrap();
    assert!(taken.validated && taken.completed, "{taken:?}");
    let judged = bench.checks("w").await;
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].check, "program/one");
}

struct Panics;

impl OutcomeValidator for Panics {
    fn validate(&self, _: &OutcomeSubject<'_>) -> OutcomeVerdict {
        panic!("not today");
    }
}

impl HealthChecker for Panics {
    fn check(&self, _: &HealthSubject<'_>) -> Result<(), String> {
        panic!("not today");
    }
}

/// Spec: [FLOW-132]
#[actix::test]
async fn a_hook_that_panics_accepts_nothing() {
    let bench = Bench::new();
    let runtime = made(bench.builder().validator(Panics), opens(&["one"])).await;
    bench.right("one");
    let result = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert_eq!(result.iterations[0].status, IterationStatus::Rejected);
    assert!(result.iterations[0].reasons[0].detail.contains("panicked"));
    let sick = Bench::new();
    let runtime = made(sick.builder().health_checker(Panics), opens(&["one"])).await;
    let sick = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(sick.kind, RunErrorKind::HealthCheck);
}

/// Spec: [FLOW-132]
#[actix::test]
async fn a_validator_of_commands_runs_in_the_candidate_and_keeps_what_was_written() {
    let bench = Bench::new();
    let shell = "echo judged $HARNESS_FEATURE; test \"$(git rev-parse HEAD)\" = \"$HARNESS_CANDIDATE\" \
                 && grep -q good \"$HARNESS_FEATURE.txt\"";
    let command = ServiceCommand::new(crate::workflow::manifest::Program::Shell(shell.to_owned()));
    let runtime = made(
        bench.builder().validator(CommandValidator::new(command)),
        opens(&["one"]),
    )
    .await;
    bench.writes("one.txt", "bad\n", "done");
    let bad = runtime.run_task_iteration(iteration("r1")).await.unwrap();
    assert!(
        bad.iterations[0].reasons[0]
            .detail
            .ends_with("ended with code 1"),
        "{bad:?}"
    );
    bench.writes("one.txt", "good\n", "done");
    assert!(
        runtime
            .run_task_iteration(iteration("r2"))
            .await
            .unwrap()
            .completed
    );
    let judged = bench.checks("w").await;
    let tells = |tail: &str| tail.contains("judged one");
    assert!(judged.iter().all(|ended| tells(&ended.tail)), "{judged:?}");
}
