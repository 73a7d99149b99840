//! A key with what is held down beside it, as a table and a help name it.

use std::fmt;

use crate::terminal::{Key, KeyPress};

/// A key with what is held down beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chord(KeyPress);

impl Chord {
    /// The key alone.
    pub(crate) const fn plain(key: Key) -> Self {
        Self(KeyPress::plain(key))
    }

    /// With Ctrl.
    pub(crate) const fn control(key: Key) -> Self {
        Self(KeyPress::plain(key).control())
    }

    /// With Alt.
    pub(crate) const fn alt(key: Key) -> Self {
        Self(KeyPress::plain(key).alt())
    }

    /// With Shift.
    pub(crate) const fn shift(key: Key) -> Self {
        Self(KeyPress::plain(key).shift())
    }

    /// With Ctrl and Shift.
    pub(crate) const fn control_shift(key: Key) -> Self {
        Self(KeyPress::plain(key).control().shift())
    }
}

impl From<&KeyPress> for Chord {
    fn from(press: &KeyPress) -> Self {
        Self(KeyPress {
            is_burst: false,
            ..*press
        })
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let press = &self.0;
        for (is_held, name) in [
            (press.control, "Ctrl+"),
            (press.alt, "Alt+"),
            (press.shift, "Shift+"),
        ] {
            if is_held {
                f.write_str(name)?;
            }
        }
        match press.code {
            Key::Char(' ') => f.write_str("Space"),
            Key::Char(c) if press.control || press.alt => write!(f, "{}", c.to_ascii_uppercase()),
            Key::Char(c) => write!(f, "{c}"),
            Key::Function(number) => write!(f, "F{number}"),
            Key::Escape => f.write_str("Esc"),
            Key::PageUp => f.write_str("PgUp"),
            Key::PageDown => f.write_str("PgDn"),
            key => write!(f, "{key:?}"),
        }
    }
}
