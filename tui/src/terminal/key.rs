//! A person's input at the terminal, as the rest of the client hears of it.

use std::io;

/// Something that happened at the terminal.
#[derive(Debug)]
pub(crate) enum TerminalInput {
    /// A key was pressed, or repeats.
    Key(KeyPress),
    /// Text was pasted, as the terminal gave it: its line ends may be CR.
    Paste(String),
    /// The mouse was used.
    Mouse(Mouse),
    /// The terminal has another size.
    Resized {
        /// Its columns, at least 1.
        width: u16,
        /// Its rows, at least 1.
        height: u16,
    },
    /// The terminal's window got the focus, or lost it.
    Focused(bool),
    /// The terminal's background, as it answers when it is asked.
    Background {
        /// True if dark text can be read on it.
        is_light: bool,
    },
    /// The other end of the terminal closed. Nothing comes after this.
    Lost(io::Error),
}

/// A key with what was held down with it.
///
/// One key has one value, however a terminal writes it:
/// - With Control, a letter is a small one and `shift` tells the capital, so that the forms of Ctrl+Shift+C are one.
///   Without Control, a letter is unchanged and `shift` is false.
/// - Ctrl+/ and Ctrl+Shift+- are Ctrl+_, which is what most terminals make of them anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPress {
    /// The key.
    pub code: Key,
    /// True if Control was held.
    pub control: bool,
    /// True if Alt was held.
    pub alt: bool,
    /// True if Shift was held.
    pub shift: bool,
    /// True if more input was already waiting after it: perhaps a paste by a terminal that does not say so.
    pub is_burst: bool,
}

impl KeyPress {
    /// A key with nothing held.
    #[must_use]
    pub const fn plain(code: Key) -> Self {
        Self {
            code,
            control: false,
            alt: false,
            shift: false,
            is_burst: false,
        }
    }

    /// With Control held.
    #[must_use]
    pub const fn control(mut self) -> Self {
        self.control = true;
        self
    }

    /// With Alt held.
    #[must_use]
    pub const fn alt(mut self) -> Self {
        self.alt = true;
        self
    }

    /// With Shift held.
    #[must_use]
    pub const fn shift(mut self) -> Self {
        self.shift = true;
        self
    }

    /// The one value of this key.
    pub(super) fn normal(mut self) -> Self {
        let Key::Char(letter) = self.code else {
            return self;
        };
        if !self.control {
            if self.shift {
                self.code = Key::Char(upper(letter));
            }
            self.shift = false;
            return self;
        }
        match (letter, self.shift) {
            ('/', _) | ('-', true) => {
                self.code = Key::Char('_');
                self.shift = false;
            }
            // Shift was needed to reach these, and says nothing more.
            (_, true) if letter.is_ascii_punctuation() => self.shift = false,
            _ if letter.is_uppercase() => {
                self.code = Key::Char(lower(letter));
                self.shift = true;
            }
            _ => {}
        }
        self
    }
}

/// The capital, if there is exactly one.
fn upper(letter: char) -> char {
    let mut capitals = letter.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(capital), None) => capital,
        _ => letter,
    }
}

/// The small letter, if there is exactly one.
fn lower(letter: char) -> char {
    let mut small = letter.to_lowercase();
    match (small.next(), small.next()) {
        (Some(small), None) => small,
        _ => letter,
    }
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character. One grapheme may come as several.
    Char(char),
    /// Enter, also on the number pad.
    Enter,
    /// Tab; with Shift, the other way.
    Tab,
    /// Deletes backward.
    Backspace,
    /// Deletes forward.
    Delete,
    /// Escape.
    Escape,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page back.
    PageUp,
    /// A page on.
    PageDown,
    /// Insert.
    Insert,
    /// A function key, from 1.
    Function(u8),
}

/// The mouse's action, and its place in cells, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// The command's result.
    pub action: MouseAction,
    /// Cells from the left.
    pub column: u16,
    /// Cells from the top.
    pub row: u16,
}

/// The mouse's action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseAction {
    /// A button went down.
    Press(Button),
    /// It was moved with a button down.
    Drag(Button),
    /// A button went up.
    Release(Button),
    /// The wheel was turned by so many steps; down is positive. What came together is one turn.
    Wheel(i32),
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The left one.
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
}

/// Makes one of what came together: turns of the wheel add up, and of a drag only the end counts. The screen is drawn
/// once for all of them, so the steps would never be visible.
pub(super) fn coalesce(inputs: impl IntoIterator<Item = TerminalInput>) -> Vec<TerminalInput> {
    let mut merged: Vec<TerminalInput> = Vec::new();
    for input in inputs {
        if let TerminalInput::Mouse(next) = &input
            && let Some(TerminalInput::Mouse(last)) = merged.last_mut()
        {
            match (&mut last.action, next.action) {
                (MouseAction::Wheel(turned), MouseAction::Wheel(steps)) => {
                    let turned = turned.saturating_add(steps);
                    *last = Mouse {
                        action: MouseAction::Wheel(turned),
                        ..*next
                    };
                    continue;
                }
                (MouseAction::Drag(dragged), MouseAction::Drag(button)) if *dragged == button => {
                    *last = *next;
                    continue;
                }
                _ => {}
            }
        }
        merged.push(input);
    }
    merged.retain(
        |input| !matches!(input, TerminalInput::Mouse(mouse) if mouse.action == MouseAction::Wheel(0)),
    );
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mouse(action: MouseAction, row: u16) -> TerminalInput {
        TerminalInput::Mouse(Mouse {
            action,
            column: 1,
            row,
        })
    }

    /// Spec: [TERM-11]
    #[test]
    fn what_the_mouse_did_in_a_burst_is_one_thing() {
        use MouseAction::{Drag, Press, Release, Wheel};
        let key = || TerminalInput::Key(KeyPress::plain(Key::Up));
        let burst = [
            mouse(Wheel(1), 2),
            mouse(Wheel(1), 2),
            mouse(Wheel(-1), 3),
            key(),
            mouse(Wheel(1), 3),
            mouse(Wheel(-1), 3),
            mouse(Press(Button::Left), 4),
            mouse(Drag(Button::Left), 5),
            mouse(Drag(Button::Left), 6),
            mouse(Drag(Button::Right), 7),
            mouse(Release(Button::Right), 8),
        ];
        let merged = [
            mouse(Wheel(1), 3),
            key(),
            mouse(Press(Button::Left), 4),
            mouse(Drag(Button::Left), 6),
            mouse(Drag(Button::Right), 7),
            mouse(Release(Button::Right), 8),
        ];
        assert_eq!(format!("{:?}", coalesce(burst)), format!("{merged:?}"));
    }
}
