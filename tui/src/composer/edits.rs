//! The edits that a key can make to a text.

use super::place;
use super::rows::WrappedText;
use super::state::Composer;

/// One edit. The key for it is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ComposerEdit {
    /// One grapheme to the left.
    Left,
    /// One grapheme to the right.
    Right,
    /// To the beginning of the word, or of the one before.
    WordLeft,
    /// To the end of the word, or of the next.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// Deletes the grapheme before the caret.
    Backspace,
    /// Deletes the grapheme after the caret.
    Delete,
    /// Deletes back to the beginning of the word.
    DeleteWordLeft,
    /// Deletes to the end of the word.
    DeleteWordRight,
    /// Deletes to the end of the line, or the line break if the caret is there.
    KillToEnd,
    /// Puts in what was last deleted as a piece.
    Yank,
    /// Takes the last change back.
    Undo,
    /// Begins a new line.
    Newline,
    /// Deletes all there is, pastes too.
    Clear,
}

/// The outcome of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComposerOutcome {
    /// There was nothing to do.
    Nothing,
    /// The caret moved.
    Moved,
    /// The text or the pastes changed.
    Changed,
    /// Up, and there is nothing above: an older prompt is wanted.
    AtTop,
    /// Down, and there is nothing below: a newer prompt is wanted.
    AtBottom,
}

impl Composer {
    /// Does it. Only Up and Down need the width of the input.
    pub(crate) fn edit(&mut self, edit: ComposerEdit, width: u16) -> ComposerOutcome {
        if edit != ComposerEdit::Newline {
            self.typed_to = None;
        }
        if edit != ComposerEdit::Newline {
            // After any other edit, the next typed text begins a new grapheme.
            self.typed_to = None;
        }
        let text = &self.draft.text;
        let caret = self.draft.caret;
        match edit {
            ComposerEdit::Left => self.move_to(place::before(text, caret).unwrap_or(caret)),
            ComposerEdit::Right => self.move_to(place::after(text, caret).unwrap_or(caret)),
            ComposerEdit::WordLeft => self.move_to(place::word_before(text, caret)),
            ComposerEdit::WordRight => self.move_to(place::word_after(text, caret)),
            ComposerEdit::LineStart => self.move_to(place::line_start(text, caret)),
            ComposerEdit::LineEnd => self.move_to(place::line_end(text, caret)),
            ComposerEdit::Up => self.up(width),
            ComposerEdit::Down => self.down(width),
            ComposerEdit::Backspace => self.erase(place::before(text, caret).unwrap_or(caret)),
            ComposerEdit::Delete => self.erase(place::after(text, caret).unwrap_or(caret)),
            ComposerEdit::DeleteWordLeft => self.kill(place::word_before(text, caret)),
            ComposerEdit::DeleteWordRight => self.kill(place::word_after(text, caret)),
            ComposerEdit::KillToEnd => self.kill_to_end(),
            ComposerEdit::Yank => self.yank(),
            ComposerEdit::Undo => self.take_back(),
            ComposerEdit::Newline => {
                self.insert("\n");
                ComposerOutcome::Changed
            }
            ComposerEdit::Clear => self.clear(),
        }
    }

    fn move_to(&mut self, place: usize) -> ComposerOutcome {
        self.undo.close();
        self.goal = None;
        if place == self.draft.caret {
            return ComposerOutcome::Nothing;
        }
        self.draft.caret = place;
        self.touched();
        ComposerOutcome::Moved
    }

    /// From the first row first to the beginning, so that a key too many does not exchange the text for another. A
    /// recalled and unchanged prompt can be replaced without loss.
    fn up(&mut self, width: u16) -> ComposerOutcome {
        if self.is_pristine() || self.draft.caret == 0 {
            return ComposerOutcome::AtTop;
        }
        let rows = WrappedText::wrap(&self.draft.text, width);
        let place = rows.place(self.draft.caret);
        let goal = self.goal.unwrap_or(place.column);
        let above = place.row.checked_sub(1);
        let Some(offset) = above.and_then(|above| rows.offset(above, goal)) else {
            return self.move_to(0);
        };
        let edited = self.move_to(offset);
        self.goal = Some(goal);
        edited
    }

    /// As [`Self::up`], with the last row and the end.
    fn down(&mut self, width: u16) -> ComposerOutcome {
        let end = self.draft.text.len();
        if self.is_pristine() || self.draft.caret == end {
            return ComposerOutcome::AtBottom;
        }
        let rows = WrappedText::wrap(&self.draft.text, width);
        let place = rows.place(self.draft.caret);
        let goal = self.goal.unwrap_or(place.column);
        let Some(offset) = rows.offset(place.row + 1, goal) else {
            return self.move_to(end);
        };
        let edited = self.move_to(offset);
        self.goal = Some(goal);
        edited
    }

    /// Deletes between the caret and another place.
    fn erase(&mut self, place: usize) -> ComposerOutcome {
        let caret = self.draft.caret;
        if place == caret {
            return ComposerOutcome::Nothing;
        }
        self.replace(place.min(caret)..place.max(caret), "", true);
        ComposerOutcome::Changed
    }

    /// As [`Self::erase`], and keeps what is deleted.
    fn kill(&mut self, place: usize) -> ComposerOutcome {
        let caret = self.draft.caret;
        if place == caret {
            return ComposerOutcome::Nothing;
        }
        let range = place.min(caret)..place.max(caret);
        self.draft.text[range.clone()].clone_into(&mut self.killed);
        self.replace(range, "", false);
        ComposerOutcome::Changed
    }

    fn kill_to_end(&mut self) -> ComposerOutcome {
        let text = &self.draft.text;
        let caret = self.draft.caret;
        let end = place::line_end(text, caret);
        self.kill(if end == caret {
            place::after(text, caret).unwrap_or(caret)
        } else {
            end
        })
    }

    fn yank(&mut self) -> ComposerOutcome {
        if self.killed.is_empty() {
            return ComposerOutcome::Nothing;
        }
        let killed = self.killed.clone();
        let caret = self.draft.caret;
        self.replace(caret..caret, &killed, false);
        ComposerOutcome::Changed
    }

    fn take_back(&mut self) -> ComposerOutcome {
        if !self.undo.undo(&mut self.draft) {
            return ComposerOutcome::Nothing;
        }
        self.touched();
        ComposerOutcome::Changed
    }

    /// Takes back all that was done since a command of vi began.
    pub(super) fn undo_group(&mut self) {
        if self.undo.undo_group(&mut self.draft) {
            self.touched();
        }
    }

    fn clear(&mut self) -> ComposerOutcome {
        if self.is_empty() {
            return ComposerOutcome::Nothing;
        }
        if !self.draft.text.is_empty() {
            self.killed.clone_from(&self.draft.text);
        }
        let had_chips = !self.draft.chips.is_empty();
        let end = self.draft.text.len();
        self.apply(0..end, "", had_chips.then(Vec::new), false);
        ComposerOutcome::Changed
    }
}

#[cfg(test)]
#[path = "edits_tests.rs"]
mod tests;
