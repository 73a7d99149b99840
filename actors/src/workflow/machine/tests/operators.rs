//! Operators' orders, and when they are carried out.

use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::facts::{Grants, StepPlace};
use crate::workflow::record::GateAnswer;
use crate::workflow::state::{FeatureState, IterationStatus, PauseWhen, WorkflowState};

pub(super) fn resume() -> OperatorOrder {
    OperatorOrder::Resume {
        grants: Grants::default(),
        retry_stuck: false,
    }
}

fn started(world: &World, step: &IterationStep) -> bool {
    world
        .machine
        .ledger()
        .step()
        .is_some_and(|open| open.step == *step)
}

/// A world that is held when that step of the first feature is open.
fn held_at(step: &IterationStep) -> World {
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
        IterationStep::Prepare,
        IterationStep::Health,
        IterationStep::Converse,
        IterationStep::Snapshot,
        IterationStep::Check("suite".to_owned()),
        IterationStep::Accept,
    ] {
        let mut world = held_at(&step);
        world.order(OperatorOrder::Cancel);
        world.go_on();
        assert_eq!(world.state(), WorkflowState::Cancelled, "{step}");
        let done = OrderOutcome::Done(WorkflowState::Cancelled);
        assert_eq!(world.answers.last().unwrap().1, done, "{step}");
        let tree = if step == IterationStep::Accept {
            "a"
        } else {
            ""
        };
        assert_eq!(world.branch.tree, tree, "{step}");
        assert_eq!(
            world.branch.tree,
            world.machine.ledger().head().unwrap().head.tree
        );
        world.order(OperatorOrder::Cancel);
        world.go_on();
        assert!(matches!(
            world.answers.last().unwrap().1,
            OrderOutcome::Refused {
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
    let mut world = held_at(&IterationStep::Check("suite".to_owned()));
    world.order(OperatorOrder::Cancel);
    world.go_on();
    let at = StepPlace { n: 1, attempt: 1 };
    assert!(world.effects.contains(&WorkflowEffect::KillStep { at }));
    let mut world = held_at(&IterationStep::Converse);
    world.order(OperatorOrder::Cancel);
    world.go_on();
    let conversation = "wf-w-1".to_owned();
    assert!(
        world
            .effects
            .contains(&WorkflowEffect::CancelRun { at, conversation })
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
        let mut world = held_at(&IterationStep::Converse);
        world.order(OperatorOrder::Pause(when));
        world.go_on();
        assert_eq!(world.reason(), Some(PauseReason::Operator));
        assert_eq!(world.branch.tree, tree);
        assert_eq!(world.ended().len(), 1);
        assert_eq!(world.ended()[0].status, status);
        let done = OrderOutcome::Done(WorkflowState::Paused);
        assert_eq!(world.answers.last().unwrap().1, done);
        world.is_held = false;
        assert!(matches!(world.run(), Some(OrderOutcome::Refused { .. })));
        assert_eq!(world.order(resume()), Some(OrderOutcome::Taken));
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
    while !started(&world, &IterationStep::Converse) {
        assert!(world.step());
    }
    world.order(OperatorOrder::Pause(PauseWhen::Attempt));
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
    assert_eq!(world.notices, [NoticeText::Gate("plan-1".to_owned())]);
    let gate = |approved| OperatorOrder::Gate {
        gate: "plan-1".to_owned(),
        approved,
        comment: None,
    };
    assert_eq!(world.order(gate(true)), Some(OrderOutcome::Taken));
    let first = GateAnswer {
        approved: true,
        comment: None,
        by: Some("ada".to_owned()),
    };
    assert_eq!(
        world.order(gate(false)),
        Some(OrderOutcome::AnsweredBefore(first))
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
        world.order(OperatorOrder::Gate {
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
    let mut world = held_at(&IterationStep::Converse);
    let at = StepPlace { n: 1, attempt: 1 };
    let effects = world.machine.handle(WorkflowInput::ConversationAsks {
        at,
        asks: Some("run `make`?".to_owned()),
    });
    assert!(effects.contains(&WorkflowEffect::Notify(NoticeText::Paused(
        PauseReason::Ask
    ))));
    assert_eq!(world.reason(), Some(PauseReason::Ask));
    let effects = world
        .machine
        .handle(WorkflowInput::ConversationAsks { at, asks: None });
    assert_eq!(effects.len(), 1);
    assert_eq!(world.state(), WorkflowState::Running);
}

/// Spec: [FLOW-54]
#[test]
fn case_36_a_branch_that_moved_pauses_and_a_cancel_then_rolls_back() {
    let mut world = held_at(&IterationStep::Accept);
    let pending = world.branch.clone();
    assert_eq!(pending.tree, "a");
    let at = StepPlace { n: 1, attempt: 1 };
    let effects = world.machine.handle(WorkflowInput::AcceptEnded {
        at,
        ended: Err(StepRefusal {
            reason: PauseReason::WorkspaceChanged,
            detail: "the branch has moved".to_owned(),
        }),
    });
    assert_eq!(world.reason(), Some(PauseReason::WorkspaceChanged));
    assert!(!effects.is_empty());
    let effects = world.machine.handle(WorkflowInput::Order {
        asker: 9,
        by: None,
        order: OperatorOrder::Cancel,
    });
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, WorkflowEffect::Restore { .. }))
    );
    world
        .machine
        .handle(WorkflowInput::RestoreEnded { at, ended: Ok(()) });
    assert_eq!(world.state(), WorkflowState::Cancelled);
}

/// Spec: [FLOW-55]
#[test]
fn a_person_skips_a_feature_and_opens_it_again() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.order(OperatorOrder::Skip("a".to_owned()));
    world.run();
    assert_eq!(world.feature("a"), FeatureState::Skipped);
    assert_eq!(world.reason(), Some(PauseReason::Stuck));
    world.order(OperatorOrder::Unskip("a".to_owned()));
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    assert!(matches!(
        world.order(OperatorOrder::Retry("z".to_owned())),
        Some(OrderOutcome::Refused {
            kind: Refused::InvalidRequest,
            ..
        })
    ));
}

/// Spec: [FLOW-31]
#[test]
fn a_person_has_the_head_verified_between_runs() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.order(OperatorOrder::Skip("b".to_owned()));
    world.run();
    world.order(OperatorOrder::Pause(PauseWhen::Iteration));
    assert!(matches!(
        world.order(OperatorOrder::Verify),
        Some(OrderOutcome::Refused { .. })
    ));
    let mut world = World::made(manifest(&["a"]), &[]);
    assert_eq!(
        world.order(OperatorOrder::Verify),
        Some(OrderOutcome::Taken)
    );
    assert_eq!(world.state(), WorkflowState::Ready);
    assert!(world.prompts.is_empty());
}
