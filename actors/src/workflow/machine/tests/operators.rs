//! Operators' orders, and when they are carried out.

use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::facts::{Grants, Place};
use crate::workflow::record::GateAnswer;
use crate::workflow::state::{FeatureState, IterationStatus, PauseWhen, WorkflowState};

pub(super) fn resume() -> Order {
    Order::Resume {
        grants: Grants::default(),
        retry_stuck: false,
    }
}

fn started(world: &World, step: &Step) -> bool {
    world
        .machine
        .ledger()
        .step()
        .is_some_and(|open| open.step == *step)
}

/// A world that is held when that step of the first feature is open.
fn held_at(step: &Step) -> World {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.is_held = true;
    world.run();
    while !started(&world, step) {
        assert!(world.step(), "{step} never begins");
    }
    world
}

/// Spec: [FLOW-50]
#[test]
fn case_32_a_cancel_is_answered_when_nothing_runs_and_the_branch_is_known() {
    for step in [
        Step::Prepare,
        Step::Health,
        Step::Converse,
        Step::Snapshot,
        Step::Check("suite".to_owned()),
        Step::Accept,
    ] {
        let mut world = held_at(&step);
        world.order(Order::Cancel);
        world.go_on();
        assert_eq!(world.state(), WorkflowState::Cancelled, "{step}");
        let done = Answer::Done(WorkflowState::Cancelled);
        assert_eq!(world.answers.last().unwrap().1, done, "{step}");
        let tree = if step == Step::Accept { "a" } else { "" };
        assert_eq!(world.branch.tree, tree, "{step}");
        assert_eq!(
            world.branch.tree,
            world.machine.ledger().head().unwrap().head.tree
        );
        world.order(Order::Cancel);
        world.go_on();
        assert!(matches!(
            world.answers.last().unwrap().1,
            Answer::Refused {
                kind: Refused::Conflict,
                ..
            }
        ));
        world.assert_sound();
    }
}

/// Spec: [FLOW-50]
#[test]
fn a_cancel_kills_the_check_that_runs_and_cancels_the_run() {
    let mut world = held_at(&Step::Check("suite".to_owned()));
    world.order(Order::Cancel);
    world.go_on();
    let at = Place { n: 1, attempt: 1 };
    assert!(world.effects.contains(&Effect::KillStep { at }));
    let mut world = held_at(&Step::Converse);
    world.order(Order::Cancel);
    world.go_on();
    let conversation = "wf-w-1".to_owned();
    assert!(
        world
            .effects
            .contains(&Effect::CancelRun { at, conversation })
    );
    assert!(world.worktree.is_empty());
}

/// Spec: [FLOW-51]
#[test]
fn case_33_a_pause_comes_when_it_is_wanted() {
    for (when, tree, status) in [
        (PauseWhen::Iteration, "a", IterationStatus::Accepted),
        (PauseWhen::Attempt, "a", IterationStatus::Accepted),
        (PauseWhen::Now, "", IterationStatus::Interrupted),
    ] {
        let mut world = held_at(&Step::Converse);
        world.order(Order::Pause(when));
        world.go_on();
        assert_eq!(world.reason(), Some(PauseReason::Operator));
        assert_eq!(world.branch.tree, tree);
        assert_eq!(world.ended().len(), 1);
        assert_eq!(world.ended()[0].status, status);
        let done = Answer::Done(WorkflowState::Paused);
        assert_eq!(world.answers.last().unwrap().1, done);
        world.is_held = false;
        assert!(matches!(world.run(), Some(Answer::Refused { .. })));
        assert_eq!(world.order(resume()), Some(Answer::Taken));
        assert_eq!(world.state(), WorkflowState::Completed);
        assert_eq!(world.branch.tree, "a b");
        world.assert_sound();
    }
}

/// Spec: [FLOW-51]
#[test]
fn a_pause_after_the_attempt_leaves_the_iteration_open() {
    let mut world = World::made(manifest(&["a"]), &[("a", &[Move::Wrong(1)])]);
    world.is_held = true;
    world.run();
    while !started(&world, &Step::Converse) {
        assert!(world.step());
    }
    world.order(Order::Pause(PauseWhen::Attempt));
    world.go_on();
    world.is_held = false;
    assert_eq!(world.reason(), Some(PauseReason::Operator));
    assert!(world.machine.ledger().iteration().is_some());
    world.order(resume());
    assert!(world.prompts.contains_key("w/1/2"));
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-52]
#[test]
fn case_34_the_first_answer_of_a_gate_counts() {
    let mut asks = manifest(&["a"]);
    asks.gates.plan = true;
    let mut world = World::new(asks, &[]);
    world.order(world.create());
    world.run();
    assert_eq!(world.state(), WorkflowState::WaitingForApproval);
    assert!(world.ran.is_empty());
    assert_eq!(world.notices, [Notice::Gate("plan-1".to_owned())]);
    let gate = |approved| Order::Gate {
        gate: "plan-1".to_owned(),
        approved,
        comment: None,
    };
    assert_eq!(world.order(gate(true)), Some(Answer::Taken));
    let first = GateAnswer {
        approved: true,
        comment: None,
        by: Some("ada".to_owned()),
    };
    assert_eq!(
        world.order(gate(false)),
        Some(Answer::AnsweredBefore(first))
    );
    assert_eq!(world.state(), WorkflowState::Ready);
}

/// Spec: [FLOW-52]
#[test]
fn a_plan_that_is_not_approved_runs_nothing_and_is_asked_again_by_the_next_run() {
    let mut asks = manifest(&["a"]);
    asks.gates.plan = true;
    let mut world = World::new(asks, &[]);
    world.order(world.create());
    for _ in 0..2 {
        world.run();
        assert_eq!(world.state(), WorkflowState::WaitingForApproval);
        world.order(Order::Gate {
            gate: "plan-1".to_owned(),
            approved: false,
            comment: None,
        });
        assert_eq!(world.state(), WorkflowState::Draft);
    }
    assert!(world.ran.is_empty());
}

/// Spec: [FLOW-53]
#[test]
fn a_question_of_a_tool_pauses_and_its_answer_goes_on() {
    let mut world = held_at(&Step::Converse);
    let at = Place { n: 1, attempt: 1 };
    let effects = world.machine.handle(Input::ConversationAsks {
        at,
        asks: Some("run `make`?".to_owned()),
    });
    assert!(effects.contains(&Effect::Notify(Notice::Paused(PauseReason::Ask))));
    assert_eq!(world.reason(), Some(PauseReason::Ask));
    let effects = world
        .machine
        .handle(Input::ConversationAsks { at, asks: None });
    assert_eq!(effects.len(), 1);
    assert_eq!(world.state(), WorkflowState::Running);
}

/// Spec: [FLOW-54]
#[test]
fn case_36_a_branch_that_moved_pauses_and_a_cancel_then_rolls_back() {
    let mut world = held_at(&Step::Accept);
    let pending = world.branch.clone();
    assert_eq!(pending.tree, "a");
    let at = Place { n: 1, attempt: 1 };
    let effects = world.machine.handle(Input::AcceptEnded {
        at,
        ended: Err(Refusal {
            reason: PauseReason::WorkspaceChanged,
            detail: "the branch has moved".to_owned(),
        }),
    });
    assert_eq!(world.reason(), Some(PauseReason::WorkspaceChanged));
    assert!(!effects.is_empty());
    let effects = world.machine.handle(Input::Order {
        asker: 9,
        by: None,
        order: Order::Cancel,
    });
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Restore { .. }))
    );
    world
        .machine
        .handle(Input::RestoreEnded { at, ended: Ok(()) });
    assert_eq!(world.state(), WorkflowState::Cancelled);
}

/// Spec: [FLOW-55]
#[test]
fn a_person_skips_a_feature_and_opens_it_again() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.order(Order::Skip("a".to_owned()));
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Skipped);
    assert_eq!(world.reason(), Some(PauseReason::Stuck));
    world.order(Order::Unskip("a".to_owned()));
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    assert!(matches!(
        world.order(Order::Retry("z".to_owned())),
        Some(Answer::Refused {
            kind: Refused::InvalidRequest,
            ..
        })
    ));
}

/// Spec: [FLOW-31]
#[test]
fn a_person_has_the_head_verified_between_runs() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.order(Order::Skip("b".to_owned()));
    world.run();
    world.order(Order::Pause(PauseWhen::Iteration));
    assert!(matches!(
        world.order(Order::Verify),
        Some(Answer::Refused { .. })
    ));
    let mut world = World::made(manifest(&["a"]), &[]);
    assert_eq!(world.order(Order::Verify), Some(Answer::Taken));
    assert_eq!(world.state(), WorkflowState::Ready);
    assert!(world.prompts.is_empty());
}
