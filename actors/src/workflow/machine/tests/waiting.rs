//! Waiting for a provider that does not answer.

use super::operators::resume;
use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::state::{FeatureState, IterationStatus, PauseWhen, WorkflowState};

const MINUTE: u64 = 60_000;

fn waits(world: &World) -> Vec<u64> {
    let records = world.journal.iter();
    let mut told = Vec::new();
    for record in records {
        if let WorkflowRecord::ProviderWaits(waits) = record {
            told.push(waits.ms);
        }
    }
    told
}

/// A world whose provider is down so many times at first.
fn down(times: u32) -> World {
    let mut world = World::made(manifest(&["a"]), &[("a", &[Move::Down(times)])]);
    world.run();
    world
}

/// Spec: [FLOW-45] [FLOW-220]
#[test]
fn case_30_a_provider_that_is_down_is_waited_for_longer_each_time_and_the_run_goes_on() {
    let mut world = down(3);
    for minutes in [1, 2, 4] {
        assert_eq!(world.state(), WorkflowState::Running);
        let prompts = world.prompts.len();
        assert_eq!(world.sleep(), minutes * MINUTE);
        assert_eq!(world.prompts.len(), prompts);
    }
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(waits(&world), [MINUTE, 2 * MINUTE, 4 * MINUTE]);
    // One attempt, one prompt, and what the runs used up is counted once.
    assert_eq!(world.prompts.len(), 1);
    assert_eq!(world.ended().len(), 1);
    assert_eq!(world.ended()[0].usage.tokens, 400);
    let checks: u64 = world.checks().iter().map(|check| check.ms).sum();
    let spent = world.machine.ledger().spent();
    assert_eq!((spent.tokens, spent.cost_micro_usd), (400, 40));
    assert!(
        (4000 + checks..4100).contains(&spent.active_ms),
        "{spent:?}"
    );
    world.assert_sound();
}

/// Spec: [FLOW-220]
#[test]
fn case_30_a_provider_that_stays_down_for_six_hours_pauses_and_costs_no_attempt() {
    let mut world = down(1000);
    let mut slept = 0;
    while world.state() == WorkflowState::Running {
        slept += world.sleep();
    }
    assert_eq!(slept, 6 * 60 * MINUTE);
    assert_eq!(world.reason(), Some(PauseReason::ProviderDown));
    assert_eq!(
        world.machine.ledger().paused().unwrap().1,
        "overloaded (529); it was waited for 21600 s"
    );
    assert_eq!(world.ended()[0].status, IterationStatus::Interrupted);
    assert_eq!(world.machine.ledger().feature("a").unwrap().attempts, 0);
    assert_eq!(world.machine.alarm(), None);
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Completed);
    world.assert_sound();
}

/// Spec: [FLOW-220]
#[test]
fn case_30_without_patience_it_pauses_at_once() {
    let mut world = World::made(manifest(&["a"]), &[("a", &[Move::Down(1)])]);
    let machine = std::mem::replace(
        &mut world.machine,
        WorkflowMachine::new(WorkflowLedger::default(), None),
    );
    world.machine = machine.with_patience(ProviderPatience::of_ms(0));
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::ProviderDown));
    assert_eq!(waits(&world), [0; 0]);
    world.assert_sound();
}

/// Spec: [FLOW-50] [FLOW-51] [FLOW-220]
#[test]
fn case_30_a_wait_is_paused_and_cancelled_at_once() {
    for when in [PauseWhen::Now, PauseWhen::Attempt, PauseWhen::Iteration] {
        let mut world = down(1);
        world.order(OperatorOrder::Pause(when));
        assert_eq!(world.reason(), Some(PauseReason::Operator));
        assert_eq!(world.machine.alarm(), None);
        assert!(world.verdicts().is_empty() && world.worktree.is_empty());
        world.order(resume());
        assert_eq!(world.state(), WorkflowState::Completed);
        world.assert_sound();
    }
    let mut world = down(1);
    let done = OrderOutcome::Done(WorkflowState::Cancelled);
    assert_eq!(world.order(OperatorOrder::Cancel), Some(done));
    assert_eq!(world.machine.alarm(), None);
    let sent = |effect: &WorkflowEffect| matches!(effect, WorkflowEffect::ContinueRun { .. });
    assert!(!world.effects.iter().any(sent));
    world.assert_sound();
}

/// Spec: [FLOW-42] [FLOW-220]
#[test]
fn what_a_failed_run_used_up_counts_before_the_wait() {
    let mut few = manifest(&["a"]);
    few.budget.tokens = Some(100);
    let mut world = World::made(few, &[("a", &[Move::Down(1)])]);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::BudgetTokens));
    assert_eq!(world.machine.ledger().spent().tokens, 100);
    world.assert_sound();
}

/// Spec: [FLOW-56] [FLOW-220]
#[test]
fn case_39_a_crash_at_any_record_of_a_wait_changes_nothing_and_is_no_crash_loop() {
    let play = |dies_at: Vec<usize>| {
        let mut world = World::new(manifest(&["a"]), &[("a", &[Move::Down(2)])]).dying_at(dies_at);
        world.begin();
        if world.state() == WorkflowState::Ready {
            world.run();
        }
        while world.state() == WorkflowState::Running && world.machine.alarm().is_some() {
            world.sleep();
        }
        world.assert_sound();
        world
    };
    let whole = play(vec![]);
    assert_eq!(whole.state(), WorkflowState::Completed);
    for at in 1..=whole.journal.len() {
        let world = play(vec![at]);
        assert_eq!(
            world.state(),
            WorkflowState::Completed,
            "died at record {at}"
        );
        assert_eq!(world.feature("a"), FeatureState::Passing);
        assert_eq!(world.prompts.len(), 1, "died at record {at}");
        assert_eq!(world.verdicts().len(), 1, "died at record {at}");
    }
    // The service is started again and again while it waits.
    let mut world = down(1);
    for _ in 0..5 {
        world.die();
    }
    assert_eq!(world.reason(), None);
    world.sleep();
    assert_eq!(world.state(), WorkflowState::Completed);
}
