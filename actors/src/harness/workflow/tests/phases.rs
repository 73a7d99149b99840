//! Which phase runs, what the initializer leaves, and what is refused before anything is kept.

use super::bench::*;
use crate::harness::workflow::*;
use crate::workflow::file::FileFormat;
use crate::workflow::manifest::RunMode;
use crate::workflow::state::{IterationStatus, RunErrorKind};

/// Spec: [FLOW-120] [FLOW-124] [FLOW-134]
#[actix::test]
async fn case_01_the_first_run_makes_it_ready_and_the_second_works_on_a_feature() {
    let bench = Bench::new();
    let runtime = bench.builder().build().unwrap();
    let run = |key| RuntimeRunRequest::new("w", key, "All is right").with_plan(plan(&["one"]));
    let RuntimeRunOutcome::Initializer(first) = runtime.run(run("r1")).await.unwrap() else {
        panic!("nothing was ready");
    };
    assert!(first.created);
    assert_eq!(
        (first.manifest_version, &*first.features),
        (1, &["one".to_owned()][..])
    );
    assert_eq!(first.progress.unwrap().n, 0);
    assert_eq!(first.checkpoint.unwrap().status, IterationStatus::Accepted);
    assert!(bench.model.requests().is_empty());

    bench.right("one");
    let second = worked(runtime.run(run("r2")).await.unwrap());
    assert_eq!(second.selected_feature.as_deref(), Some("one"));
    assert!(second.validated && second.completed);
    let tip = git(bench.repository.path(), &["rev-parse", "harness/w"]);
    assert_eq!(second.iterations[0].commit, Some(tip));
    assert_eq!(second.iterations[0].conversation.as_deref(), Some("wf-w-1"));

    // The same keys give the same again, and nobody is asked for anything.
    let records = bench.records("w").await.len();
    let asked = bench.model.requests().len();
    assert_eq!(worked(runtime.run(run("r2")).await.unwrap()), second);
    let again = runtime.run(run("r1")).await.unwrap();
    assert!(matches!(again, RuntimeRunOutcome::Initializer(again) if !again.created));
    let done = worked(runtime.run(run("r3")).await.unwrap());
    assert!(done.completed && done.selected_feature.is_none());
    assert_eq!(bench.records("w").await.len(), records);
    assert_eq!(bench.model.requests().len(), asked);
}

/// Spec: [FLOW-124]
#[actix::test]
async fn case_02_making_it_ready_twice_adds_nothing_and_keeps_the_features() {
    let bench = Bench::new();
    let runtime = bench.builder().build().unwrap();
    let first = runtime
        .run_initializer(initializer("r1", plan(&["one", "two"])))
        .await;
    assert!(first.unwrap().created);
    let records = bench.records("w").await.len();
    let second = runtime
        .run_initializer(initializer("r2", plan(&["other"])))
        .await;
    let second = second.unwrap();
    assert!(!second.created);
    assert_eq!(second.features, ["one", "two"]);
    assert!(second.checkpoint.is_some());
    assert_eq!(bench.records("w").await.len(), records);
    let request = RuntimeRunRequest::new("w", "r3", "Something else");
    let other = runtime.run(request).await.unwrap_err();
    assert_eq!(other.kind, RunErrorKind::InvalidRequest);
    assert_eq!(bench.records("w").await.len(), records);
}

/// Spec: [FLOW-123]
#[actix::test]
async fn case_03_all_that_is_wrong_with_a_plan_is_told_at_once_and_nothing_is_kept() {
    let bench = Bench::new();
    let runtime = bench.builder().build().unwrap();
    let bare = FeatureRequest::new("bare", "no way to see it");
    let features = vec![feature("one"), feature("one"), bare];
    let bad = WorkflowPlan::new(" ").with_features(features);
    let refused = runtime
        .run_initializer(initializer("r1", bad))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, RunErrorKind::InvalidRequest);
    let places: Vec<&str> = refused
        .problems
        .iter()
        .map(|problem| &*problem.place)
        .collect();
    for place in ["workflow.objective", "feature[1].id", "feature[2]"] {
        assert!(places.contains(&place), "{place} is not in {places:?}");
    }
    let passes = br#"{"workflow": {"objective": "x"}, "feature":
        [{"id": "one", "description": "d", "steps": ["s"], "passes": true}]}"#;
    for (bad, place) in [
        (WorkflowPlan::new("x").with_features(vec![]), "feature"),
        (
            WorkflowPlan::of_file(passes, FileFormat::Json),
            "feature[0].passes",
        ),
    ] {
        let request = RuntimeRunRequest::new("w", "r1", "x").with_plan(bad);
        let refused = runtime.run(request).await.unwrap_err();
        assert_eq!(refused.kind, RunErrorKind::InvalidRequest);
        assert_eq!(refused.problems[0].place, place);
    }
    for session in ["", "A", "../w", &"w".repeat(41)] {
        let request = InitializerRequest::new(session, "r1", "x").with_plan(plan(&["one"]));
        let refused = runtime.run_initializer(request).await.unwrap_err();
        assert_eq!(refused.kind, RunErrorKind::InvalidRequest, "{session:?}");
    }
    let blank = runtime
        .run_initializer(initializer(" ", plan(&["one"])))
        .await;
    assert_eq!(blank.unwrap_err().kind, RunErrorKind::InvalidRequest);
    assert!(bench.records("w").await.is_empty());
    assert!(!bench.home.path().join("state/workflow-files").exists());
}

/// A project that builds, with a test that fails and one that passes.
const PYTHON: &[(&str, &str)] = &[
    ("pyproject.toml", ""),
    (
        "tests/test_it.py",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_good(self): pass\n    def test_bad(self): self.fail()\n",
    ),
];

/// Spec: [FLOW-126] [FLOW-127]
#[actix::test]
async fn case_04_without_a_list_there_are_four_features_at_least_and_those_that_hold_pass() {
    let bench = Bench::with(PYTHON);
    let runtime = bench.builder().build().unwrap();
    let request = InitializerRequest::new("w", "r1", "Greet the world");
    let made = runtime.run_initializer(request).await.unwrap();
    assert!(made.features.len() >= 4, "{made:?}");
    let snapshot = runtime.snapshot("w").await.unwrap();
    let states = snapshot.features.iter();
    let states: Vec<(&str, &str)> = states.map(|one| (&*one.id, &*one.state)).collect();
    let expected = [
        ("build", "passing"),
        ("tests", "failing"),
        ("objective", "failing"),
        ("no-regressions", "passing"),
    ];
    assert_eq!(states, expected);
    assert!(
        snapshot
            .features
            .iter()
            .any(|one| one.description == "Greet the world")
    );

    // A workflow of its own for each repository: what lies there decides.
    let bare = Bench::new();
    let runtime = bare.builder().build().unwrap();
    let request = InitializerRequest::new("w", "r1", "Greet the world");
    assert!(
        runtime
            .run_initializer(request)
            .await
            .unwrap()
            .features
            .len()
            >= 4
    );
    let snapshot = runtime.snapshot("w").await.unwrap();
    assert!(snapshot.features.iter().all(|one| one.state != "passing"));
}

/// Spec: [FLOW-121] [FLOW-125]
#[actix::test]
async fn case_05_what_is_missing_is_told_before_anything_is_begun() {
    let bench = Bench::new();
    let unwired = bench.bare().build().unwrap_err();
    assert_eq!(unwired.kind, RunErrorKind::NotReady);
    assert!(unwired.message.contains("provider"), "{unwired}");

    let runtime = bench.builder().build().unwrap();
    let early = runtime
        .run_task_iteration(iteration("r1"))
        .await
        .unwrap_err();
    assert_eq!(early.kind, RunErrorKind::NotReady);
    assert!(bench.records("w").await.is_empty());

    // Made, and not ready: its check is green before the work.
    let green = FeatureRequest::new("green", "it is there").with_check(&["true"]);
    let green = WorkflowPlan::new("All is right").with_features(vec![green]);
    let failed = runtime
        .run_initializer(initializer("r1", green))
        .await
        .unwrap_err();
    assert_eq!(failed.kind, RunErrorKind::Validation, "{failed}");
    let records = bench.records("w").await.len();
    let early = runtime
        .run_task_iteration(iteration("r2"))
        .await
        .unwrap_err();
    assert_eq!(early.kind, RunErrorKind::NotReady);
    assert_eq!(bench.records("w").await.len(), records);
    assert!(bench.model.requests().is_empty());
}

/// Spec: [FLOW-121] [FLOW-128]
#[actix::test]
async fn case_06_a_policy_that_cannot_be_is_refused() {
    let bench = Bench::new();
    let strict = RunPolicy::default();
    for policy in [
        RunPolicy {
            max_features_per_run: 2,
            ..strict
        },
        RunPolicy {
            max_turns_per_run: 0,
            ..strict
        },
        RunPolicy {
            mode: RunMode::Bounded,
            max_features_per_run: 0,
            ..strict
        },
    ] {
        let refused = bench.builder().policy(policy).build().unwrap_err();
        assert_eq!(refused.kind, RunErrorKind::InvalidRequest, "{policy:?}");
    }
    let fail_fast = strict.fail_fast;
    assert_eq!(
        (strict.max_turns_per_run, strict.max_features_per_run),
        (1, 1)
    );
    assert_eq!((strict.mode, strict.retry_budget), (RunMode::Strict, 0));
    assert_eq!(
        (fail_fast.health, fail_fast.chat, fail_fast.validation),
        (true, false, true)
    );
}
