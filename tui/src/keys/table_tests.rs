//! No key does two things, and every key of the plan does what it should.

use super::*;

/// Spec: [TUI-20]
#[test]
fn no_key_does_two_things_in_one_place() {
    let mut bound: Vec<(String, KeyPlace)> = Vec::new();
    for binding in BINDINGS {
        for chord in binding.chords {
            for place in binding.places {
                let pair = (chord.to_string(), *place);
                assert!(!bound.contains(&pair), "{pair:?} is bound twice");
                bound.push(pair);
            }
        }
    }
}

/// Spec: [TUI-11] [TUI-12] [TUI-13] [TUI-14] [TUI-15] [TUI-16] [TUI-17] [TUI-18] [TUI-19]
#[test]
fn every_key_of_the_plan_is_bound() {
    use KeyPlace::{Empty, Selecting, Writing};
    for (chord, place, expected) in [
        (key(Key::Enter), Writing, KeyAction::Submit),
        (Chord::control(Key::Enter), Writing, KeyAction::Newline),
        (control('j'), Writing, KeyAction::Newline),
        (alt(Key::Enter), Writing, KeyAction::Newline),
        (control('c'), Empty, KeyAction::Interrupt),
        (control('c'), Writing, KeyAction::Interrupt),
        (control('c'), Selecting, KeyAction::Copy),
        (key(Key::Up), Empty, KeyAction::Up),
        (key(Key::Down), Writing, KeyAction::Down),
        (key(Key::PageUp), Writing, KeyAction::PageUp),
        (key(Key::PageDown), Empty, KeyAction::PageDown),
        (control('u'), Writing, KeyAction::Clear),
        (
            Chord::control_shift(Key::Char('c')),
            Selecting,
            KeyAction::Copy,
        ),
        (key(Key::Char('?')), Empty, KeyAction::Help),
        (key(Key::Function(1)), Empty, KeyAction::Help),
        (key(Key::Function(1)), Writing, KeyAction::Help),
        (key(Key::Escape), Selecting, KeyAction::Deselect),
    ] {
        assert_eq!(action(chord, place), Some(expected), "{chord} {place:?}");
    }
    assert_eq!(action(key(Key::Char('?')), Writing), None);
}
