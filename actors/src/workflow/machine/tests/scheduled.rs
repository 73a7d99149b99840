//! The time of day in a workflow: starts, windows, and crashes between.

use super::operators::resume;
use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::manifest::RunMode;
use crate::workflow::schedule::{DayTime, DayWindow, Schedule};
use crate::workflow::state::{FeatureState, PauseWhen, WorkflowState};

const HOUR: u64 = 60 * 60 * 1000;

fn at(text: &str) -> DayTime {
    DayTime::try_from(text.to_owned()).unwrap()
}

/// Two features, one a run, by that schedule.
fn scheduled(schedule: Schedule) -> Manifest {
    let mut manifest = manifest(&["a", "b"]);
    manifest.mode = RunMode::Strict;
    manifest.schedule = Some(schedule);
    manifest
}

fn every(s: u64) -> Schedule {
    Schedule {
        every_s: Some(s),
        at: vec![],
        window: None,
    }
}

fn in_window(text: &str) -> Schedule {
    Schedule {
        every_s: None,
        at: vec![],
        window: Some(DayWindow::try_from(text.to_owned()).unwrap()),
    }
}

/// A world that was made and that nobody has started, at that time.
fn made(manifest: Manifest, now: u64, moves: &[(&str, &[Move])]) -> World {
    let mut world = World::new(manifest, moves);
    world.now = now;
    world.machine.it_is(now);
    world.order(world.create());
    world
}

fn skipped(world: &World) -> Vec<&str> {
    let records = world.journal.iter();
    let mut skipped = Vec::new();
    for record in records {
        if let WorkflowRecord::StartSkipped { why, .. } = record {
            skipped.push(why.as_str());
        }
    }
    skipped
}

/// Spec: [FLOW-222]
#[test]
fn a_schedule_starts_the_initializer_and_the_work_and_then_run_after_run() {
    let mut world = made(scheduled(every(3600)), 5, &[]);
    // It plans first.
    world.sleep();
    assert_eq!(world.state(), WorkflowState::Draft);
    assert_eq!(world.sleep(), HOUR);
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.sleep(), 0);
    assert_eq!(world.feature("a"), FeatureState::Passing);
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.sleep(), HOUR);
    assert_eq!(world.feature("b"), FeatureState::Passing);
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.machine.alarm(), None);
    assert_eq!(skipped(&world), [""; 0]);
    world.assert_sound();
}

/// Spec: [FLOW-222]
#[test]
fn a_missed_start_runs_once_when_the_service_is_back() {
    let daily = Schedule {
        every_s: None,
        at: vec![at("03:00")],
        window: None,
    };
    let mut world = made(scheduled(daily), HOUR, &[]);
    world.sleep();
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    assert_eq!(world.machine.ledger().next_start(), Some(3 * HOUR));
    // It is away for three days.
    world.die();
    world.now = 75 * HOUR;
    world.sleep();
    assert_eq!(world.feature("a"), FeatureState::Passing);
    assert_eq!(world.feature("b"), FeatureState::Failing);
    assert_eq!(world.machine.ledger().next_start(), Some(99 * HOUR));
    world.assert_sound();
}

/// Spec: [FLOW-222]
#[test]
fn a_start_that_comes_while_it_works_or_is_paused_or_without_room_is_skipped_on_record() {
    let mut world = made(scheduled(every(3600)), 0, &[("a", &[Move::Hangs])]);
    world.run();
    world.sleep();
    world.run();
    assert_eq!(world.state(), WorkflowState::Running);
    assert_eq!(world.sleep(), HOUR);
    assert_eq!(skipped(&world), ["it is still at work"]);
    world.order(OperatorOrder::Pause(PauseWhen::Now));
    world.sleep();
    assert_eq!(skipped(&world)[1], "it is paused");
    world.order(resume());
    assert_eq!(world.state(), WorkflowState::Ready);
    world.now = world.machine.alarm().unwrap();
    world.machine.it_is(world.now);
    world.tell(WorkflowInput::Time { has_room: false });
    assert_eq!(skipped(&world)[2], "as many workflows work as may at once");
    assert_eq!(world.state(), WorkflowState::Ready);
    world.assert_sound();
}

/// Spec: [FLOW-52] [FLOW-222]
#[test]
fn nothing_starts_that_nobody_approved() {
    let mut asks = scheduled(every(3600));
    asks.gates.plan = true;
    let mut world = made(asks, 0, &[]);
    assert_eq!(world.machine.alarm(), None);
    world.run();
    assert_eq!(world.state(), WorkflowState::WaitingForApproval);
    assert_eq!(world.machine.alarm(), None);
    world.order(OperatorOrder::Gate {
        gate: "plan-1".to_owned(),
        approved: true,
        comment: None,
    });
    assert_eq!(world.machine.alarm(), Some(0));
}

/// Spec: [FLOW-222]
#[test]
fn a_crash_at_any_record_of_a_scheduled_start_starts_it_once() {
    let play = |dies_at: Option<usize>| {
        let mut world = World::new(scheduled(every(3600)), &[]).dying_at(dies_at);
        world.now = 5;
        world.machine.it_is(5);
        while world.machine.ledger().manifest().is_none() {
            world.order(world.create());
        }
        while world.now < 3 * HOUR {
            world.machine.it_is(world.now);
            if world.machine.alarm().is_none() {
                break;
            }
            world.sleep();
        }
        world.assert_sound();
        world
    };
    let whole = play(None);
    assert_eq!(whole.state(), WorkflowState::Completed);
    for at in 1..=whole.journal.len() {
        let world = play(Some(at));
        assert_eq!(world.prompts, whole.prompts, "died at record {at}");
        assert_eq!(skipped(&world), [""; 0], "died at record {at}");
    }
}

/// Spec: [FLOW-223]
#[test]
fn outside_of_its_window_it_pauses_and_goes_on_by_itself_when_the_next_one_opens() {
    let mut both = scheduled(in_window("22:00-06:00"));
    both.mode = RunMode::Unlimited;
    let mut world = made(both, 5 * HOUR, &[("a", &[Move::Hangs])]);
    world.run();
    world.run();
    assert_eq!(world.state(), WorkflowState::Running);
    // The window closes: the attempt that is under way goes on to its end.
    assert_eq!(world.sleep(), HOUR);
    assert_eq!(world.state(), WorkflowState::Running);
    world.worktree.insert("a".to_owned());
    world.tell(WorkflowInput::RunEnded {
        at: crate::workflow::facts::StepPlace { n: 1, attempt: 1 },
        ended: super::world::run_end(RunStatus::Completed, "done"),
    });
    assert_eq!(world.feature("a"), FeatureState::Passing);
    assert_eq!(world.reason(), Some(PauseReason::OutsideSchedule));
    let crashed = world.lives;
    world.die();
    assert_eq!(world.lives, crashed + 1);
    world.machine.it_is(world.now);
    let refused = world.order(resume());
    let Some(OrderOutcome::Refused { message, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(message.contains("goes on by itself at 22:00"), "{message}");
    assert_eq!(world.sleep(), 16 * HOUR);
    assert_eq!(world.state(), WorkflowState::Completed);
    assert_eq!(world.feature("b"), FeatureState::Passing);
    world.assert_sound();
}

/// Spec: [FLOW-223]
#[test]
fn a_run_that_is_ordered_outside_of_the_window_waits_for_it_and_resets_no_counter() {
    let mut world = made(
        scheduled(in_window("10:00-12:00")),
        5 * HOUR,
        &[("a", &[Move::Fails])],
    );
    world.run();
    assert_eq!(world.state(), WorkflowState::Ready);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::OutsideSchedule));
    assert_eq!(world.prompts.len(), 0);
    assert_eq!(world.sleep(), 5 * HOUR);
    assert_eq!(world.machine.ledger().since_progress(), 1);
    world.now = 13 * HOUR;
    world.machine.it_is(world.now);
    world.run();
    assert_eq!(world.reason(), Some(PauseReason::OutsideSchedule));
    world.sleep();
    assert_eq!(world.feature("a"), FeatureState::Passing);
    world.assert_sound();
}
