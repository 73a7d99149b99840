//! Random scripts with crashes, against what must always hold.

use super::world::{Move, World, manifest};
use super::*;
use crate::workflow::facts::Grants;
use crate::workflow::state::{PauseWhen, WorkflowState};

/// How many scripts are played.
const SCRIPTS: u64 = 300;

fn a_move(random: &mut fastrand::Rng) -> Move {
    match random.u8(..8) {
        0..=2 => Move::Right,
        3 => Move::Wrong(random.u32(..3)),
        4 => Move::Nothing,
        5 => [Move::Tamper, Move::TamperWith("tests/b.py")][random.usize(..2)].clone(),
        6 => Move::Break("a"),
        _ => [Move::Fails, Move::Blocked][random.usize(..2)].clone(),
    }
}

fn an_order(random: &mut fastrand::Rng) -> OperatorOrder {
    match random.u8(..9) {
        0 => OperatorOrder::Cancel,
        1 => OperatorOrder::Pause(PauseWhen::Now),
        2 => OperatorOrder::Pause(PauseWhen::Attempt),
        3 => OperatorOrder::Pause(PauseWhen::Iteration),
        4..=6 => OperatorOrder::Resume {
            grants: Grants {
                tokens: 1000,
                ..Grants::default()
            },
            retry_stuck: random.bool(),
        },
        7 => OperatorOrder::Verify,
        _ => OperatorOrder::Run {
            key: None,
            max_features: None,
            max_iterations: None,
        },
    }
}

fn world(seed: u64) -> World {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut moves = || -> Vec<Move> { (0..4).map(|_| a_move(&mut random)).collect() };
    let moves = [("a", moves()), ("b", moves()), ("c", moves())];
    let moves: Vec<(&str, &[Move])> = moves.iter().map(|(id, moves)| (*id, &moves[..])).collect();
    World::new(manifest(&["a", "b", "c"]), &moves)
}

/// Plays a script by itself, dying at one record if there is one.
fn play(seed: u64, dies_at: Option<usize>) -> World {
    let mut world = world(seed).dying_at(dies_at);
    world.begin();
    if world.state() == WorkflowState::Ready {
        world.run();
    }
    world.assert_sound();
    world
}

/// Spec: [FLOW-56]
#[test]
fn case_39_a_crash_at_a_random_record_of_a_random_script_changes_nothing() {
    for seed in 0..SCRIPTS {
        println!("seed {seed}");
        let whole = play(seed, None);
        let at = fastrand::Rng::with_seed(seed).usize(1..=whole.journal.len());
        let world = play(seed, Some(at));
        let features = |world: &World| {
            let known = world.machine.ledger().features().iter();
            known
                .map(|known| (known.id.clone(), known.state))
                .collect::<Vec<_>>()
        };
        assert_eq!(features(&world), features(&whole), "died at record {at}");
        assert_eq!(world.branch, whole.branch, "died at record {at}");
        assert_eq!(world.reasons(), whole.reasons(), "died at record {at}");
        assert_eq!(world.reason(), whole.reason(), "died at record {at}");
        assert_eq!(world.prompts, whole.prompts, "died at record {at}");
    }
}

/// Spec: [FLOW-59]
#[test]
fn random_orders_and_crashes_leave_what_must_always_hold() {
    for seed in 0..SCRIPTS {
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let dies_at: Vec<usize> = (0..4).map(|_| random.usize(1..120)).collect();
        let mut world = world(seed).dying_at(dies_at);
        world.begin();
        world.is_held = true;
        for _ in 0..40 {
            if random.u8(..4) == 0 {
                world.order(an_order(&mut random));
            }
            for _ in 0..random.usize(..6) {
                world.step();
            }
        }
        world.go_on();
        world.assert_sound();
        let ledger = world.machine.ledger();
        let head = ledger.head().map(|head| &head.head);
        assert_eq!(head, Some(&world.branch), "the branch is as on record");
        // What the service died of again and again waits for a person.
        let waits = world.reason() == Some(PauseReason::CrashLoop);
        let is_busy = ledger.step().is_some() && !waits;
        assert!(!is_busy, "{:?} has no end", ledger.step());
    }
}
