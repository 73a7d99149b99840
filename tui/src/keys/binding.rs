//! A row of the table of keys.

use super::{Chord, KeyAction, KeyPlace};
use crate::terminal::Key;

/// Some keys that do the same somewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding {
    /// Any of these.
    pub(crate) chords: &'static [Chord],
    /// In any of these places.
    pub(crate) places: &'static [KeyPlace],
    /// Their actions.
    pub(crate) action: KeyAction,
    /// Their words in the help.
    pub(crate) help: &'static str,
}

/// A key alone.
pub(super) const fn key(key: Key) -> Chord {
    Chord::plain(key)
}

/// A letter with Control.
pub(super) const fn control(character: char) -> Chord {
    Chord::control(Key::Char(character))
}

/// A key with Alt.
pub(super) const fn alt(key: Key) -> Chord {
    Chord::alt(key)
}
