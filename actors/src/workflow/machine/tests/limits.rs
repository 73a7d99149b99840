//! The limits that end work which does not come to an end.

use super::operators::resume;
use super::world::{Move, World, manifest, run_end};
use super::*;
use crate::workflow::facts::{Grants, StepPlace};
use crate::workflow::state::{FeatureState, IterationStatus, WorkflowState};

const FIRST: StepPlace = StepPlace { n: 1, attempt: 1 };

/// A world whose first conversation hangs.
fn hanging(manifest: Manifest) -> World {
    let mut world = World::made(manifest, &[("a", &[Move::Hangs])]);
    world.run();
    assert!(world.machine.ledger().step().is_some());
    world
}

fn tick(tokens: u64, attempt_ms: u64) -> WorkflowInput {
    WorkflowInput::BudgetTick {
        at: FIRST,
        spent: Spent {
            tokens,
            ..Spent::default()
        },
        attempt_ms,
    }
}

fn cancels(world: &World) -> usize {
    let cancels = world
        .effects
        .iter()
        .filter(|effect| matches!(effect, WorkflowEffect::CancelRun { .. }));
    cancels.count()
}

/// Spec: [FLOW-42]
#[test]
fn case_26_a_budget_that_is_used_up_cancels_the_run_and_a_resume_with_more_goes_on() {
    let mut world = hanging(manifest(&["a", "b"]));
    world.tell(tick(9_000, 1));
    assert_eq!(cancels(&world), 0);
    world.is_held = true;
    world.tell(tick(10_000, 1));
    world.tell(tick(10_001, 1));
    world.go_on();
    world.is_held = false;
    assert_eq!(cancels(&world), 1);
    assert_eq!(world.reason(), Some(PauseReason::BudgetTokens));
    assert_eq!(world.ended()[0].status, IterationStatus::Interrupted);
    assert!(world.verdicts().is_empty());
    assert!(world.worktree.is_empty());
    let spent = world.machine.ledger().spent().tokens;
    world.order(OperatorOrder::Resume {
        grants: Grants {
            tokens: 500,
            ..Grants::default()
        },
        retry_stuck: false,
    });
    assert_eq!(world.ended()[1].feature.feature, "a");
    assert!(world.machine.ledger().spent().tokens > spent);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-42]
#[test]
fn case_26_money_and_time_pause_as_tokens_do_and_a_grant_goes_on_with_the_same_feature() {
    let dear = |manifest: &mut Manifest| manifest.budget.cost_usd = Some(0.5);
    let slow = |manifest: &mut Manifest| manifest.budget.active_s = Some(60);
    let cents = Spent {
        cost_micro_usd: 500_000,
        ..Spent::default()
    };
    let minute = Spent::time(60_000);
    type Case = (fn(&mut Manifest), Spent, PauseReason, &'static str, Grants);
    let cases: [Case; 2] = [
        (
            dear,
            cents,
            PauseReason::BudgetCost,
            "500000 of 500000 millionths of a dollar",
            Grants {
                cost_micro_usd: 400_000,
                ..Grants::default()
            },
        ),
        (
            slow,
            minute,
            PauseReason::BudgetTime,
            "of 60000 milliseconds of work",
            Grants {
                active_ms: 30_000,
                ..Grants::default()
            },
        ),
    ];
    for (bound, spent, reason, said, grants) in cases {
        let mut few = manifest(&["a", "b"]);
        bound(&mut few);
        let mut world = hanging(few);
        world.is_held = true;
        world.tell(WorkflowInput::BudgetTick {
            at: FIRST,
            spent,
            attempt_ms: 1,
        });
        // What was under way ends a little above.
        let mut ended = run_end(RunStatus::Cancelled, "");
        ended.spent = spent.plus(ended.spent);
        while world.step_of() != Some(IterationStep::Snapshot) {
            assert!(world.step_with(&ended));
        }
        world.is_held = false;
        world.go_on();
        assert_eq!(world.reason(), Some(reason));
        let detail = world.machine.ledger().paused().unwrap().1;
        assert!(detail.contains(said), "{detail}");
        assert_eq!(cancels(&world), 1);
        assert_eq!(world.ended()[0].status, IterationStatus::Interrupted);
        assert!(world.verdicts().is_empty());
        let used = world.machine.ledger().spent();
        // Without a grant it is where it was.
        world.order(resume());
        assert_eq!(world.reason(), Some(reason));
        world.order(OperatorOrder::Resume {
            grants,
            retry_stuck: false,
        });
        assert_eq!(world.ended()[1].feature.feature, "a");
        assert_eq!(world.state(), WorkflowState::Completed);
        let now = world.machine.ledger().spent();
        assert!(now.cost_micro_usd > used.cost_micro_usd && now.active_ms > used.active_ms);
        world.assert_sound();
    }
}

/// Spec: [FLOW-43]
#[test]
fn case_28_three_failures_that_look_the_same_make_a_feature_stuck_and_the_next_is_taken() {
    let moves = [Move::Wrong(1), Move::Wrong(22), Move::Wrong(333)];
    let mut world = World::made(manifest(&["a", "b"]), &[("a", &moves)]);
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Stuck);
    assert_eq!(world.feature("b"), FeatureState::Passing);
    assert_eq!(world.reason(), Some(PauseReason::Stuck));
    world.order(OperatorOrder::Resume {
        grants: Grants::default(),
        retry_stuck: true,
    });
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-44]
#[test]
fn case_29_a_tree_that_was_rejected_is_known_again_and_nothing_runs() {
    let moves = [Move::Wrong(1), Move::Wrong(2), Move::Wrong(1), Move::Right];
    let mut manifest = manifest(&["a"]);
    manifest.policy.retry_budget = 5;
    manifest.policy.max_turns_per_run = 5;
    manifest.features[0].checks[0].must_match = Some("on \"a".to_owned());
    let mut world = World::made(manifest, &[("a", &moves)]);
    world.run();
    assert_eq!(
        world.reasons(),
        [
            vec!["check_failed"],
            vec!["check_failed"],
            vec!["seen_before"],
            vec![]
        ]
    );
    let on_first = world
        .ran
        .iter()
        .filter(|(check, tree)| check == "a.1" && tree == "wrong-1");
    assert_eq!(on_first.count(), 1);
    world.assert_sound();
}

/// Spec: [FLOW-45]
#[test]
fn case_30_trouble_of_the_provider_pauses_and_costs_no_attempt() {
    let mut world = hanging(manifest(&["a"]));
    world.tell(WorkflowInput::Trouble {
        reason: PauseReason::ProviderAuth,
        detail: "401".to_owned(),
    });
    assert_eq!(world.reason(), Some(PauseReason::ProviderAuth));
    assert_eq!(cancels(&world), 1);
    assert!(world.verdicts().is_empty());
    assert_eq!(world.machine.ledger().feature("a").unwrap().attempts, 0);
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-46]
#[test]
fn case_31_a_conversation_that_takes_too_long_is_cancelled_and_rejected() {
    let mut world = hanging(manifest(&["a"]));
    world.tell(tick(1, 60_000));
    assert_eq!(cancels(&world), 1);
    assert_eq!(world.reasons(), [vec!["attempt_timed_out"], vec![]]);
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.branch.tree, "a");
    world.assert_sound();
}

/// Spec: [FLOW-47]
#[test]
fn blocked_twice_in_a_row_makes_a_feature_stuck_and_never_accepts_it() {
    let moves = [Move::Blocked, Move::Blocked];
    let mut world = World::made(manifest(&["a"]), &[("a", &moves)]);
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Stuck);
    assert_eq!(world.machine.ledger().feature("a").unwrap().blocked, 2);
}

/// Spec: [FLOW-48]
#[test]
fn iterations_without_a_new_feature_pause_and_a_resume_counts_anew() {
    let moves: Vec<Move> = (0..9).map(|_| Move::Fails).collect();
    let mut world = World::made(manifest(&["a"]), &[("a", &moves)]);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::NoProgress));
    assert_eq!(world.ended().len(), 5);
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.ended().len(), 10);
}

/// Spec: [FLOW-48]
#[test]
fn iterations_have_a_limit_that_a_resume_raises() {
    let mut few = manifest(&["a", "b"]);
    few.policy.max_iterations = Some(1);
    let mut world = World::made(few, &[]);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::Iterations));
    world.order(resume());
    assert_eq!(world.reason(), Some(PauseReason::Iterations));
    world.order(OperatorOrder::Resume {
        grants: Grants {
            iterations: 1,
            ..Grants::default()
        },
        retry_stuck: false,
    });
    assert_eq!(world.state(), WorkflowState::Completed);
}

/// Spec: [FLOW-49]
#[test]
fn retries_end_an_iteration_and_the_next_begins_afresh() {
    let moves = [Move::Wrong(1), Move::Tamper, Move::Right];
    let mut few = manifest(&["a"]);
    few.policy.retry_budget = 1;
    let mut world = World::made(few, &[("a", &moves)]);
    world.run();
    let keys: Vec<&str> = world.prompts.keys().map(String::as_str).collect();
    assert_eq!(keys, ["w/1/1", "w/1/2", "w/2/1"]);
    assert!(
        world
            .prompt("w/2/1")
            .contains("Why the last attempt at this feature was rejected")
    );
    assert_eq!(world.machine.ledger().feature("a").unwrap().exhausted, 0);
    world.assert_sound();
}

/// Spec: [FLOW-49]
#[test]
fn a_policy_that_fails_fast_ends_the_run_at_the_first_rejection_or_failure() {
    let mut fast = manifest(&["a"]);
    fast.policy.fail_fast.validation = true;
    fast.policy.fail_fast.chat = true;
    for wrong in [Move::Wrong(1), Move::Fails] {
        let mut world = World::made(fast.clone(), &[("a", &[wrong])]);
        world.run();
        assert_eq!(world.state(), WorkflowState::Ready);
        assert_eq!(world.prompts.len(), 1);
        world.run();
        assert_eq!(world.state(), WorkflowState::Completed);
    }
}

/// Spec: [FLOW-45]
#[test]
fn a_late_end_of_a_run_changes_nothing() {
    let mut world = World::made(manifest(&["a"]), &[]);
    world.run();
    let records = world.journal.len();
    world.tell(WorkflowInput::RunEnded {
        at: FIRST,
        ended: run_end(RunStatus::Completed, "late"),
    });
    assert_eq!(world.journal.len(), records);
}

/// Spec: [FLOW-146]
#[test]
fn three_changes_of_other_protected_files_make_no_feature_stuck() {
    let moves = ["tests/a.py", "tests/b.py", "tests/c.py"].map(Move::TamperWith);
    let with_right = [&moves[..], &[Move::Right]].concat();
    let mut long = manifest(&["a"]);
    long.policy.retry_budget = 9;
    long.policy.max_turns_per_run = 9;
    let mut world = World::made(long.clone(), &[("a", &with_right)]);
    world.run();
    assert_eq!(world.reasons()[2], ["protected_changed"]);
    assert_eq!(world.state(), WorkflowState::Completed);

    let same = [&moves[..1], &moves[..1], &moves[..1]].concat();
    long.policy.retry_budget = 2;
    let mut world = World::made(long, &[("a", &same)]);
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Stuck);
    world.assert_sound();
}
