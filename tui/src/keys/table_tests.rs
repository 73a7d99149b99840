//! No key does two things, and every key of the plan does what it should.

use super::*;

/// Spec: [TUI-20]
#[test]
fn no_key_does_two_things_in_one_place() {
    let mut bound: Vec<(String, Place)> = Vec::new();
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
    use Place::{Empty, Selecting, Writing};
    for (chord, place, expected) in [
        (key(Key::Enter), Writing, Action::Submit),
        (Chord::control(Key::Enter), Writing, Action::Newline),
        (control('j'), Writing, Action::Newline),
        (alt(Key::Enter), Writing, Action::Newline),
        (control('c'), Empty, Action::Interrupt),
        (control('c'), Writing, Action::Interrupt),
        (control('c'), Selecting, Action::Copy),
        (key(Key::Up), Empty, Action::Up),
        (key(Key::Down), Writing, Action::Down),
        (key(Key::PageUp), Writing, Action::PageUp),
        (key(Key::PageDown), Empty, Action::PageDown),
        (control('u'), Writing, Action::Clear),
        (
            Chord::control_shift(Key::Char('c')),
            Selecting,
            Action::Copy,
        ),
        (key(Key::Char('?')), Empty, Action::Help),
        (key(Key::Function(1)), Empty, Action::Help),
        (key(Key::Function(1)), Writing, Action::Help),
        (key(Key::Escape), Selecting, Action::Deselect),
    ] {
        assert_eq!(action(chord, place), Some(expected), "{chord} {place:?}");
    }
    assert_eq!(action(key(Key::Char('?')), Writing), None);
}
