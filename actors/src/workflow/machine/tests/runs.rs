//! Runs: the initializer, iterations, which feature is next, and when all is done.

use super::world::{Move, World, feature, manifest};
use super::*;
use crate::workflow::manifest::{CheckTime, RunMode};
use crate::workflow::select::{Choice, Chosen};
use crate::workflow::state::{FeatureState, IterationStatus, WorkflowState};

fn strict(features: &[&str]) -> Manifest {
    Manifest {
        mode: RunMode::Strict,
        ..manifest(features)
    }
}

/// Spec: [FLOW-28]
#[test]
fn case_1_the_first_run_initializes_and_the_second_takes_a_feature() {
    let mut world = World::new(strict(&["a", "b"]), &[]);
    world.order(world.create());
    assert_eq!(world.state(), WorkflowState::Draft);
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.machine.ledger().manifest().unwrap().version, 1);
    assert_eq!(world.machine.ledger().progress().count(), 1);
    let has_checkpoint = |record: &WorkflowRecord| {
        matches!(
            record,
            WorkflowRecord::PhaseEnded {
                checkpoint: Some(_),
                ..
            }
        )
    };
    assert!(world.journal.iter().any(has_checkpoint));
    assert!(world.prompts.is_empty());
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Passing);
    assert_eq!(world.state(), WorkflowState::Ready);
    world.assert_sound();
}

/// Spec: [FLOW-28]
#[test]
fn case_2_making_it_twice_changes_nothing() {
    let mut world = World::made(strict(&["a"]), &[]);
    let records = world.journal.len();
    let answer = world.order(world.create());
    assert_eq!(answer, Some(OrderOutcome::Created { created: false }));
    assert_eq!(world.journal.len(), records);
}

/// Spec: [FLOW-28]
#[test]
fn case_5_nothing_runs_before_there_is_a_manifest() {
    let mut world = World::new(strict(&["a"]), &[]);
    let answer = world.run();
    assert!(matches!(
        answer,
        Some(OrderOutcome::Refused {
            kind: Refused::NotReady,
            ..
        })
    ));
    assert!(world.journal.is_empty());
}

/// Spec: [FLOW-28]
#[test]
fn a_run_is_known_by_its_key_and_a_strict_one_takes_one_feature() {
    let mut world = World::made(strict(&["a", "b"]), &[]);
    let order = |features| OperatorOrder::Run {
        key: Some("k".to_owned()),
        max_features: features,
        max_iterations: None,
    };
    assert!(matches!(
        world.order(order(Some(2))),
        Some(OrderOutcome::Refused {
            kind: Refused::InvalidRequest,
            ..
        })
    ));
    assert_eq!(world.order(order(None)), Some(OrderOutcome::Taken));
    assert_eq!(world.order(order(None)), Some(OrderOutcome::Taken));
    assert_eq!(world.ended().len(), 1);
}

/// Spec: [FLOW-29]
#[test]
fn case_7_two_lives_do_two_features_and_the_second_completes() {
    let mut world = World::made(strict(&["a", "b"]), &[]);
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    world.die();
    world.run();
    let done: Vec<&str> = world
        .ended()
        .iter()
        .map(|ended| ended.feature.feature.as_str())
        .collect();
    assert_eq!(done, ["a", "b"]);
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.notices.last(), Some(&NoticeText::Completed));
    world.assert_sound();
}

/// Spec: [FLOW-127]
#[test]
fn a_feature_that_is_to_hold_passes_from_the_start_if_its_checks_do() {
    let mut holding = strict(&["a", "b"]);
    for feature in &mut holding.features {
        feature.holds = true;
        feature.checks[0].red = false;
    }
    let mut world = World::new(holding, &[]);
    world.worktree = world::words("a");
    world.branch = world::head(&world.worktree);
    let applied = NewManifest {
        base: world.branch.clone(),
        ..world.new_manifest("hash")
    };
    world.order(OperatorOrder::Create {
        workflow: "w".to_owned(),
        applied,
    });
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.feature("a"), FeatureState::Passing);
    assert_eq!(world.feature("b"), FeatureState::Failing);
    world.run();
    assert_eq!(world.branch.tree, "a b");
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

struct Fixed(Option<&'static str>);

impl FeatureSelector for Fixed {
    fn select(&self, _: &[Choice<'_>]) -> Option<Chosen> {
        self.0.map(|feature| Chosen {
            feature: feature.to_owned(),
            why: "fixed".to_owned(),
        })
    }
}

/// Spec: [FLOW-27]
#[test]
fn case_8_a_selector_that_chooses_nothing_or_what_is_not_open_ends_the_run() {
    for chosen in [None, Some("a"), Some("unknown")] {
        let mut world = World::made(strict(&["a", "b"]), &[]);
        world.run();
        let ledger = world.machine.ledger().clone();
        let machine = WorkflowMachine::new(ledger, Some(Arc::clone(&world.manifest)));
        world.machine = machine.with_selector(Arc::new(Fixed(chosen)));
        world.run();
        assert_eq!(world.reason(), Some(PauseReason::Selector));
        assert_eq!(world.ended().len(), 1);
        assert!(world.machine.ledger().phase().is_none());
    }
}

/// Spec: [FLOW-29]
#[test]
fn case_9_a_bounded_run_takes_so_many_and_an_unlimited_one_all() {
    let mut bounded = manifest(&["a", "b", "c"]);
    bounded.mode = RunMode::Bounded;
    bounded.policy.max_features_per_run = 2;
    let mut world = World::made(bounded, &[]);
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.branch.tree, "a b");
    let mut world = World::made(manifest(&["a", "b", "c"]), &[]);
    world.run();
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.branch.tree, "a b c");
    world.assert_sound();
}

/// Spec: [FLOW-30]
#[test]
fn case_10_every_iteration_leaves_one_checkpoint_and_one_line_of_progress() {
    let moves = [Move::Fails, Move::Wrong(1), Move::Tamper, Move::Right];
    let mut world = World::made(manifest(&["a"]), &[("a", &moves)]);
    world.run();
    assert_eq!(world.state(), WorkflowState::Completed);
    let statuses: Vec<IterationStatus> = world
        .ended()
        .iter()
        .map(|ended| ended.checkpoint.status)
        .collect();
    assert_eq!(statuses[0], IterationStatus::Failed);
    assert_eq!(statuses.last(), Some(&IterationStatus::Accepted));
    let progress = world.machine.ledger().progress().count();
    assert_eq!(progress, statuses.len() + 1);
    world.assert_sound();
}

/// Spec: [FLOW-27]
#[test]
fn a_feature_waits_for_those_that_it_comes_after() {
    let mut manifest = manifest(&["a", "b"]);
    manifest.features[0].after = vec!["b".to_owned()];
    let mut world = World::made(manifest, &[]);
    world.run();
    let done: Vec<&str> = world
        .ended()
        .iter()
        .map(|ended| ended.feature.feature.as_str())
        .collect();
    assert_eq!(done, ["b", "a"]);
}

/// Spec: [FLOW-31]
#[test]
fn a_check_of_the_end_that_fails_keeps_it_from_being_done() {
    let mut manifest = manifest(&["a"]);
    manifest.checks.push(crate::workflow::manifest::Check {
        when: CheckTime::Final,
        ..super::world::check("last", false)
    });
    let mut world = World::made(manifest, &[]);
    world.rotten.insert("last".to_owned());
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::BaselineBroken));
    assert_eq!(world.feature("a"), FeatureState::Passing);
    world.assert_sound();
}

/// Spec: [FLOW-31]
#[test]
fn a_feature_that_fails_in_the_final_verification_is_open_again() {
    let mut manifest = manifest(&["a", "b"]);
    manifest.policy.regression = crate::workflow::manifest::Regression::Global;
    manifest.checks.clear();
    let mut world = World::made(manifest, &[("b", &[Move::Break("a")])]);
    world.run();
    let reopened = world.journal.iter().any(|record| {
        matches!(record, WorkflowRecord::VerificationEnded(ended) if ended.reopened == ["a"])
    });
    assert!(reopened);
    assert_ne!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-32]
#[test]
fn an_unfit_base_pauses_or_is_the_first_feature() {
    let mut world = World::made(manifest(&["a"]), &[]);
    world.rotten.insert("builds".to_owned());
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::Health));
    assert!(world.prompts.is_empty());
    world.rotten.clear();
    world.order(OperatorOrder::Resume {
        grants: crate::workflow::facts::Grants::default(),
        retry_stuck: false,
    });
    assert_eq!(world.state(), WorkflowState::Completed);

    let mut repairs = manifest(&["a"]);
    repairs.policy.fail_fast.health = false;
    let mut world = World::made(repairs, &[]);
    world.flakes.insert("builds".to_owned(), 1);
    world.run();
    let done: Vec<&str> = world
        .ended()
        .iter()
        .map(|ended| ended.feature.feature.as_str())
        .collect();
    assert_eq!(done, ["workspace.health", "a"]);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-33]
#[test]
fn another_manifest_opens_what_it_changes_and_is_initialized_again() {
    let mut world = World::made(strict(&["a", "b"]), &[]);
    world.run();
    let mut changed = strict(&["a", "c"]);
    changed.features[0].checks[0].must_not_match = Some("warning".to_owned());
    changed.features[0].checks[0].red = false;
    changed.features.push(feature("d"));
    world.manifest = Arc::new(changed);
    let apply = |allow_remove| OperatorOrder::Apply {
        applied: world.new_manifest("other"),
        over: Some("hash".to_owned()),
        allow_remove,
    };
    let (refused, taken) = (apply(false), apply(true));
    assert!(matches!(
        world.order(refused),
        Some(OrderOutcome::Refused {
            kind: Refused::InvalidRequest,
            ..
        })
    ));
    assert_eq!(world.order(taken), Some(OrderOutcome::Taken));
    assert_eq!(world.feature("a"), FeatureState::Failing);
    assert!(world.machine.ledger().feature("b").is_none());
    assert!(!world.machine.ledger().is_initialized());
    assert_eq!(world.branch, world.machine.ledger().head().unwrap().head);
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
}

/// Spec: [FLOW-147]
#[test]
fn a_feature_that_is_not_required_is_tried_before_the_end_and_hinders_nothing() {
    let mut wanted = manifest(&["a", "b"]);
    wanted.features[1].required = false;
    let mut world = World::made(wanted.clone(), &[]);
    world.run();
    assert_eq!(world.feature("b"), FeatureState::Passing);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();

    let wrong = [Move::Wrong(1), Move::Wrong(2), Move::Wrong(3)];
    let mut world = World::made(wanted.clone(), &[("b", &wrong)]);
    world.run();
    assert_eq!(world.feature("b"), FeatureState::Stuck);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();

    // A budget that is used up ends it well where all that is required passes.
    wanted.policy.max_iterations = Some(1);
    let mut world = World::made(wanted, &[]);
    world.run();
    assert_eq!(world.feature("b"), FeatureState::Failing);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}
