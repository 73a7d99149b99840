//! How a workflow that comes back goes on, by the step that it left open.

use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::state::{FeatureState, IterationStatus, PauseWhen, WorkflowState};

const MAX: usize = 400;

/// The facts that are the same with and without a crash.
#[derive(Debug, PartialEq)]
struct Outcome {
    state: WorkflowState,
    reason: Option<PauseReason>,
    features: Vec<(String, FeatureState)>,
    branch: String,
    worktree: Vec<String>,
    prompts: Vec<String>,
    verdicts: Vec<(u32, u32, String, Vec<&'static str>)>,
}

fn outcome(world: &World) -> Outcome {
    let ledger = world.machine.ledger();
    let features = ledger.features().iter();
    let verdicts = world.verdicts().into_iter().zip(world.reasons());
    Outcome {
        state: world.state(),
        reason: world.reason(),
        features: features
            .map(|known| (known.id.clone(), known.state))
            .collect(),
        branch: world.branch.tree.clone(),
        worktree: world.worktree.iter().cloned().collect(),
        prompts: world.prompts.keys().cloned().collect(),
        verdicts: verdicts
            .map(|(note, reasons)| (note.n, note.attempt, note.tree.clone(), reasons))
            .collect(),
    }
}

/// Plays a script to its end, dying when the journal has so many records.
fn play(moves: &[(&str, &[Move])], dies_at: Option<usize>) -> World {
    let manifest = manifest(&["a", "b", "c"]);
    let mut world = World::new(manifest, moves).dying_at(dies_at);
    world.begin();
    if world.state() == WorkflowState::Ready {
        world.run();
    }
    world.assert_sound();
    world
}

/// Dies at each record in turn.
fn dies_everywhere(moves: &[(&str, &[Move])]) {
    let whole = play(moves, None);
    let wanted = outcome(&whole);
    assert!(whole.journal.len() < MAX);
    for at in 1..=whole.journal.len() {
        let world = play(moves, Some(at));
        assert_eq!(world.lives, 2);
        assert_eq!(outcome(&world), wanted, "died at record {at}");
    }
}

/// Spec: [FLOW-56]
#[test]
fn case_39_a_crash_at_any_record_of_an_accepted_change_changes_nothing() {
    dies_everywhere(&[]);
}

/// Spec: [FLOW-56]
#[test]
fn case_39_a_crash_at_any_record_of_rejected_changes_changes_nothing() {
    dies_everywhere(&[
        ("a", &[Move::Wrong(1), Move::Tamper, Move::Right]),
        ("b", &[Move::Break("a"), Move::Nothing, Move::Right]),
        (
            "c",
            &[Move::Fails, Move::Wrong(2), Move::Wrong(3), Move::Wrong(4)],
        ),
    ]);
}

/// Spec: [FLOW-56]
#[test]
fn case_39_a_crash_at_any_record_of_a_cancel_ends_as_without_it() {
    for step in [
        IterationStep::Converse,
        IterationStep::Check("suite".to_owned()),
        IterationStep::Accept,
    ] {
        let cancelled = |dies_at: Option<usize>| {
            let mut world = World::new(manifest(&["a"]), &[]);
            world.begin();
            world.is_held = true;
            world.run();
            while world
                .machine
                .ledger()
                .step()
                .is_none_or(|open| open.step != step)
            {
                assert!(world.step());
            }
            let records = world.journal.len();
            let mut world = world.dying_at(dies_at.map(|more| records + more));
            world.order(OperatorOrder::Cancel);
            world.go_on();
            assert_eq!(world.state(), WorkflowState::Cancelled);
            world.assert_sound();
            (world.journal.len() - records, world.branch, world.worktree)
        };
        let (records, branch, worktree) = cancelled(None);
        for more in 1..=records {
            let (_, other, tree) = cancelled(Some(more));
            assert_eq!((&other, &tree), (&branch, &worktree), "{step} {more}");
        }
    }
}

/// A world that hangs in its first conversation.
fn hanging() -> World {
    let mut world = World::made(manifest(&["a"]), &[("a", &[Move::Hangs])]);
    world.run();
    world
}

/// Spec: [FLOW-57]
#[test]
fn an_open_run_is_gone_on_with_once_and_then_given_up() {
    let mut world = hanging();
    world.die();
    assert!(matches!(
        world.effects.last(),
        Some(WorkflowEffect::ContinueRun { .. })
    ));
    assert_eq!(world.prompts.len(), 1);
    world.die();
    world.go_on();
    assert_eq!(world.ended()[0].status, IterationStatus::Interrupted);
    assert!(world.verdicts()[0].accepted);
    assert_eq!(world.machine.ledger().feature("a").unwrap().attempts, 1);
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-58]
#[test]
fn three_crashes_in_one_iteration_pause_and_a_resume_goes_on() {
    let mut world = World::made(manifest(&["a"]), &[]);
    world.is_held = true;
    world.run();
    while world
        .machine
        .ledger()
        .step()
        .is_none_or(|open| open.step != IterationStep::Snapshot)
    {
        assert!(world.step());
    }
    for _ in 0..3 {
        world.die();
    }
    world.go_on();
    assert_eq!(world.reason(), Some(PauseReason::CrashLoop));
    world.is_held = false;
    world.order(super::operators::resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-58]
#[test]
fn a_paused_workflow_stays_paused_and_one_that_may_not_go_on_pauses() {
    let mut world = World::made(manifest(&["a", "b"]), &[]);
    world.is_held = true;
    world.run();
    while world
        .machine
        .ledger()
        .step()
        .is_none_or(|open| open.step != IterationStep::Converse)
    {
        assert!(world.step());
    }
    let ledger = world.machine.ledger().clone();
    let stays = RecoveryFindings {
        conversation: FoundRun::Open,
        stays: Some(StepRefusal {
            reason: PauseReason::Operator,
            detail: "the sandbox holds less than what was approved".to_owned(),
        }),
    };
    let manifest = Some(Arc::clone(&world.manifest));
    let (machine, effects) = WorkflowMachine::resume(ledger, manifest, stays);
    assert_eq!(machine.ledger().state(), WorkflowState::Paused);
    let acts = |effect: &WorkflowEffect| {
        !matches!(
            effect,
            WorkflowEffect::Record(_) | WorkflowEffect::Notify(_)
        )
    };
    assert!(!effects.iter().any(acts));
    world.order(OperatorOrder::Pause(PauseWhen::Iteration));
    world.go_on();
    assert_eq!(world.state(), WorkflowState::Paused);
    let records = world.journal.len();
    world.die();
    assert_eq!(world.journal.len(), records);
}
