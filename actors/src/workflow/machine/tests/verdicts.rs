//! The outcomes of candidates.

use super::world::{Move, World, check, manifest};
use super::*;
use crate::workflow::manifest::{Check, OnChange};
use crate::workflow::state::{CheckVerdict, FeatureState, IterationStatus, WorkflowState};

/// Spec: [FLOW-34]
#[test]
fn case_11_words_without_a_change_are_no_change_and_nothing_runs() {
    let mut world = World::made(manifest(&["a"]), &[("a", &[Move::Nothing, Move::Nothing])]);
    let ran = world.ran.len();
    world.run();
    assert_eq!(world.reasons(), [["no_change"], ["no_change"]]);
    assert_eq!(world.ran.len(), ran);
    assert_eq!(world.feature("a"), FeatureState::Stuck);
    assert_eq!(world.reason(), Some(PauseReason::Stuck));
    world.assert_sound();
}

/// Spec: [FLOW-35]
#[test]
fn case_12_what_passes_is_accepted_and_the_checked_tree_is_the_head() {
    let mut world = World::made(manifest(&["a"]), &[]);
    world.run();
    assert_eq!(world.state(), WorkflowState::Completed);
    let verdict = world.verdicts()[0];
    assert!(verdict.accepted);
    assert_eq!(verdict.tree, world.branch.tree);
    assert!(
        verdict
            .evidence
            .iter()
            .all(|evidence| evidence.tree == verdict.tree)
    );
    let ended = world.ended()[0];
    assert_eq!(ended.commit.as_ref(), Some(&world.branch));
    assert_eq!(ended.feature.state, FeatureState::Passing);
    assert_eq!(ended.usage.tokens, 100);
    world.assert_sound();
}

/// Spec: [FLOW-36]
#[test]
fn case_13_what_breaks_an_accepted_feature_is_a_regression_that_the_model_is_told() {
    let mut world = World::made(
        manifest(&["a", "b"]),
        &[("b", &[Move::Break("a"), Move::Right])],
    );
    world.run();
    assert_eq!(world.reasons()[1], ["regression", "test_lost"]);
    let regression = &world.verdicts()[1].reasons[0];
    assert_eq!(regression.check.as_deref(), Some("a.1"));
    let told = world.prompt("w/2/2");
    assert!(
        told.contains("a.1 on") && told.contains("passed before and not now: a"),
        "{told}"
    );
    let restored = world
        .effects
        .iter()
        .any(|effect| matches!(effect, WorkflowEffect::Restore { base, .. } if base.tree == "a"));
    assert!(restored);
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.branch.tree, "a b");
    world.assert_sound();
}

/// Spec: [FLOW-37]
#[test]
fn case_14_a_check_that_is_green_on_the_base_is_refused() {
    let mut odd = manifest(&["a"]);
    odd.features[0].checks.push(check("builds.x", true));
    odd.features[0].checks[1].exit = crate::workflow::manifest::Exit::Any;
    let world = World::made(odd, &[]);
    assert_eq!(world.reason(), Some(PauseReason::BaselineBroken));
    let (_, detail) = world.machine.ledger().paused().unwrap();
    assert!(detail.contains("green on the base"), "{detail}");
    assert!(world.prompts.is_empty());
}

/// Spec: [FLOW-37]
#[test]
fn a_check_of_every_candidate_that_fails_on_the_base_is_refused() {
    let mut odd = manifest(&["a"]);
    odd.checks.push(check("lint", false));
    let world = World::made(odd, &[]);
    let (_, detail) = world.machine.ledger().paused().unwrap();
    assert!(detail.contains("lint: fails on the base"), "{detail}");
}

/// Spec: [FLOW-38]
#[test]
fn case_20_a_check_that_fails_once_counts_if_it_passes_as_often_as_it_has_to() {
    let mut flaky = manifest(&["a"]);
    flaky.features[0].checks[0].flaky = 2;
    let mut world = World::made(flaky, &[]);
    world.flakes.insert("a.1".to_owned(), 1);
    world.run();
    assert_eq!(world.state(), WorkflowState::Completed);
    let tries: Vec<(CheckVerdict, bool)> = world
        .checks()
        .into_iter()
        .filter(|ended| ended.n == 1 && ended.check == "a.1")
        .map(|ended| (ended.verdict, ended.counts))
        .collect();
    assert_eq!(
        tries,
        [
            (CheckVerdict::Failed, false),
            (CheckVerdict::Passed, false),
            (CheckVerdict::Flaky, true),
        ]
    );
    let evidence = world.verdicts()[0].evidence.iter();
    assert!(
        evidence
            .clone()
            .any(|evidence| evidence.verdict == CheckVerdict::Flaky)
    );
    world.assert_sound();

    let mut world = World::made(manifest(&["a"]), &[]);
    world.flakes.insert("a.1".to_owned(), 1);
    world.run();
    assert_eq!(world.reasons()[0], ["check_failed"]);
}

/// Spec: [FLOW-39]
#[test]
fn case_21_a_changed_protected_file_rejects_and_twice_it_pauses_where_the_file_says_so() {
    let moves: &[(&str, &[Move])] = &[("a", &[Move::Tamper, Move::Tamper, Move::Right])];
    let mut world = World::made(manifest(&["a"]), moves);
    world.run();
    assert_eq!(world.reasons()[0], ["protected_changed"]);
    assert_eq!(world.verdicts()[0].reasons[0].detail, "tests/a.py");
    assert_eq!(world.state(), WorkflowState::Completed);
    let mut strict = manifest(&["a"]);
    strict.protect.on_change = OnChange::Pause;
    let mut world = World::made(strict, moves);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::Tampering));
    world.assert_sound();
}

/// Spec: [FLOW-40]
#[test]
fn a_regression_that_fails_on_the_base_too_is_not_the_models_fault() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.is_held = true;
    world.run();
    while world.ended().is_empty() {
        assert!(world.step());
    }
    world.rotten.insert("a.1".to_owned());
    world.go_on();
    assert_eq!(world.reason(), Some(PauseReason::BaselineBroken));
    assert_eq!(world.verdicts().len(), 1);
    assert_eq!(world.ended()[1].status, IterationStatus::Interrupted);
    assert_eq!(world.branch.tree, "a");
    world.rotten.clear();
    world.is_held = false;
    world.order(super::operators::resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-41]
#[test]
fn a_feature_without_a_check_is_accepted_by_a_person() {
    let mut manual = manifest(&["a", "b"]);
    manual.features[0].checks[0] = Check {
        command: None,
        ..check("a.1", true)
    };
    let mut world = World::made(manual, &[("a", &[Move::Right, Move::Wrong(1)])]);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::Gate));
    let gate = |approved| OperatorOrder::Gate {
        gate: "accept-1-1".to_owned(),
        approved,
        comment: Some("not yet".to_owned()),
    };
    world.order(gate(false));
    assert_eq!(world.reasons(), [["check_failed"]]);
    assert!(world.prompt("w/1/2").contains("not yet"));
    assert_eq!(world.reason(), Some(PauseReason::Gate));
    world.order(OperatorOrder::Gate {
        gate: "accept-1-2".to_owned(),
        approved: true,
        comment: None,
    });
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}
