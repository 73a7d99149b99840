//! The effects of commands of vi on the draft.

use std::ops::Range;

use super::command::{InsertPlace, ParsedKeys, ViCommand, ViMotion, ViOperator, parse};
use super::keys::{LastChange, ViKeys, ViMode, ViRegister};
use super::motion::{MotionReach, first_of_line, last_of_line, target};
use crate::composer::edits::{ComposerEdit, ComposerOutcome};
use crate::composer::rows::WrappedText;
use crate::composer::{Composer, place};

/// Maximum number of bytes that are put in at once.
const MAX_PUT: usize = 1 << 20;

impl Composer {
    /// The piece that is selected in visual mode: from the anchor to the caret, with both.
    pub(crate) fn vi_selection(&self, vi: &ViKeys) -> Option<Range<usize>> {
        let ViMode::Visual(anchor) = vi.mode else {
            return None;
        };
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let anchor = text.floor_char_boundary(anchor);
        let (start, last) = (anchor.min(caret), anchor.max(caret));
        Some(start..place::after(text, last).unwrap_or(text.len()))
    }

    /// Leaves insert mode: the caret goes back to the last character that was inserted.
    pub(super) fn vi_leave_insert(&mut self) {
        let (text, caret) = (&self.draft.text, self.draft.caret);
        if caret > place::line_start(text, caret) {
            self.draft.caret = place::before(text, caret).unwrap_or(0);
        }
        self.undo.end_group();
        self.vi_settle();
    }

    /// Puts the caret on a character, if the line has any. A prompt of the past that is looked at stays one.
    pub(crate) fn vi_settle(&mut self) {
        let last = last_of_line(&self.draft.text, self.draft.caret);
        self.draft.caret = self.draft.caret.min(last);
        self.typed_to = None;
        self.undo.close();
    }

    /// One row up or down. Beyond the first and the last row a prompt of the past is wanted.
    pub(crate) fn vi_row(&mut self, is_down: bool, width: u16) -> ComposerOutcome {
        let rows = WrappedText::wrap(&self.draft.text, width);
        let row = rows.place(self.draft.caret).row;
        match is_down {
            true if rows.offset(row + 1, 0).is_none() => ComposerOutcome::AtBottom,
            true => self.edit(ComposerEdit::Down, width),
            false if row == 0 => ComposerOutcome::AtTop,
            false => self.edit(ComposerEdit::Up, width),
        }
    }

    fn vi_go(&mut self, place: usize) {
        if place != self.draft.caret {
            self.undo.close();
            self.draft.caret = place;
            self.touched();
        }
    }

    /// Does something with what is selected, if the key says so; `false` if it does not.
    pub(super) fn vi_visual_key(&mut self, vi: &mut ViKeys, anchor: usize, key: char) -> bool {
        let operator = match key {
            'd' | 'x' => ViOperator::Delete,
            'c' | 's' => ViOperator::Change,
            'y' => ViOperator::Copy,
            'v' => {
                vi.mode = ViMode::Normal;
                return true;
            }
            'o' => {
                vi.mode = ViMode::Visual(self.draft.caret);
                self.vi_go(self.draft.text.floor_char_boundary(anchor));
                return true;
            }
            _ => return false,
        };
        if let Some(range) = self.vi_selection(vi) {
            vi.mode = ViMode::Normal;
            // What was selected is gone: there is nothing that `.` could repeat.
            vi.last_change = LastChange::default();
            self.undo.begin_group();
            self.vi_operate(vi, operator, range, false);
            self.vi_rest(vi);
        }
        true
    }

    /// Makes the last change once more.
    pub(super) fn vi_repeat(&mut self, vi: &mut ViKeys) {
        let change = vi.last_change.clone();
        let ParsedKeys::Whole(command) = parse(&change.keys) else {
            return;
        };
        let command = vi.with_search(command);
        self.vi_apply(vi, command);
        if vi.mode == ViMode::Insert {
            let caret = self.draft.caret;
            if !change.inserted.is_empty() {
                self.replace(caret..caret, &change.inserted, false);
            }
            vi.mode = ViMode::Normal;
            self.vi_leave_insert();
        }
        vi.last_change = change;
    }

    /// Carries a command out; whether it is a change, which can be repeated.
    pub(super) fn vi_apply(&mut self, vi: &mut ViKeys, command: ViCommand) -> bool {
        if !matches!(command, ViCommand::Undo(_)) {
            self.undo.begin_group();
        }
        let is_change = match command {
            ViCommand::Move(motion, count) => {
                let found = target(&self.draft.text, self.draft.caret, motion, count);
                if let Some((place, _)) = found {
                    self.vi_go(place);
                }
                false
            }
            ViCommand::Operate(operator, motion, count) => {
                let range = self.vi_range(operator, motion, count);
                let may_be_empty = !matches!(
                    motion,
                    ViMotion::Find(_) | ViMotion::FindAgain { .. } | ViMotion::Up | ViMotion::Down
                );
                let is_done = match range {
                    Some((range, has_lines)) => {
                        self.vi_operate(vi, operator, range, has_lines);
                        true
                    }
                    None if operator == ViOperator::Change && may_be_empty => {
                        vi.begin_to_insert();
                        true
                    }
                    None => false,
                };
                is_done && operator != ViOperator::Copy
            }
            ViCommand::OperateLines(operator, count) => {
                let text = &self.draft.text;
                let last = self.vi_lines_below(count - 1);
                let range = place::line_start(text, self.draft.caret)..place::line_end(text, last);
                self.vi_operate(vi, operator, range, true);
                operator != ViOperator::Copy
            }
            ViCommand::Insert(at) => {
                self.vi_insert_at(at);
                vi.begin_to_insert();
                true
            }
            ViCommand::Replace(character, count) => self.vi_replace(character, count),
            ViCommand::Put { is_before, count } => {
                let register = vi.register.clone();
                self.vi_put(&register, is_before, count)
            }
            ViCommand::Join(count) => self.vi_join(count.max(2) - 1),
            ViCommand::SwapCase(count) => self.vi_swap_case(count),
            ViCommand::Undo(count) => {
                for _ in 0..count {
                    self.undo_group();
                }
                false
            }
            ViCommand::Visual => {
                vi.mode = ViMode::Visual(self.draft.caret);
                false
            }
            ViCommand::Repeat(_) => false,
        };
        self.vi_rest(vi);
        is_change
    }

    /// Ends a command, unless text is inserted in it.
    fn vi_rest(&mut self, vi: &ViKeys) {
        if vi.mode != ViMode::Insert {
            self.undo.end_group();
            self.vi_settle();
        }
    }

    /// A place in the line so many lines below, or in the last one.
    fn vi_lines_below(&self, count: usize) -> usize {
        let text = &self.draft.text;
        let mut at = self.draft.caret;
        for _ in 0..count {
            let next = place::line_end(text, at) + 1;
            if next > text.len() {
                break;
            }
            at = next;
        }
        at
    }

    /// The piece that an operator takes on the way of a motion, and whether it is whole lines.
    fn vi_range(
        &self,
        operator: ViOperator,
        motion: ViMotion,
        count: Option<usize>,
    ) -> Option<(Range<usize>, bool)> {
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let is_blank = text[caret..].chars().next().is_none_or(char::is_whitespace);
        // A word is changed without the blanks behind it.
        let motion = match motion {
            ViMotion::Word { is_big } if operator == ViOperator::Change && !is_blank => {
                let end = word_end_from(text, caret, is_big, count.unwrap_or(1));
                return Some((caret..end, false));
            }
            motion => motion,
        };
        let found = target(text, caret, motion, count);
        // On the last character a word ends with it.
        let is_last = matches!(motion, ViMotion::WordEnd { .. }) && caret < text.len();
        let (place, reach) = match found {
            None if is_last => return Some((caret..text.len(), false)),
            found => found?,
        };
        let (start, mut end) = (caret.min(place), caret.max(place));
        match reach {
            MotionReach::Exclusive => {
                // The last word of a line ends with it.
                let words = text[start..end].trim_end().len();
                if matches!(motion, ViMotion::Word { .. })
                    && let Some(found) = text[start + words..end].find('\n')
                {
                    end = start + words + found;
                } else if text[start..end].ends_with('\n') {
                    // What ends at the beginning of a line ends at the line before.
                    end -= 1;
                }
                (start < end).then_some((start..end, false))
            }
            MotionReach::Inclusive => {
                end = place::after(text, end).unwrap_or(text.len());
                Some((start..end, false))
            }
            MotionReach::Lines => {
                let lines = place::line_start(text, start)..place::line_end(text, end);
                Some((lines, true))
            }
        }
    }

    /// Deletes, changes or copies a piece. Of lines it is without the last line break.
    fn vi_operate(
        &mut self,
        vi: &mut ViKeys,
        operator: ViOperator,
        range: Range<usize>,
        has_lines: bool,
    ) {
        let text = self.draft.text[range.clone()].to_owned();
        vi.register = ViRegister { text, has_lines };
        match operator {
            ViOperator::Copy => {
                let is_above = range.start < place::line_start(&self.draft.text, self.draft.caret);
                if !has_lines || is_above {
                    self.vi_go(range.start);
                }
            }
            ViOperator::Change => {
                if !range.is_empty() {
                    self.replace(range, "", false);
                }
                vi.begin_to_insert();
            }
            ViOperator::Delete if has_lines => {
                // With the line break behind them; of the last lines, with the one before.
                let (start, end) = if range.end < self.draft.text.len() {
                    (range.start, range.end + 1)
                } else {
                    (range.start.saturating_sub(1), range.end)
                };
                self.replace(start..end, "", false);
                let line = range.start.min(self.draft.text.len());
                self.vi_go(first_of_line(&self.draft.text, line));
            }
            ViOperator::Delete => self.replace(range, "", false),
        }
    }

    fn vi_insert_at(&mut self, at: InsertPlace) {
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let (start, end) = (place::line_start(text, caret), place::line_end(text, caret));
        match at {
            InsertPlace::Caret => {}
            InsertPlace::AfterCaret if caret < end => {
                self.vi_go(place::after(text, caret).unwrap_or(end));
            }
            InsertPlace::AfterCaret => {}
            InsertPlace::FirstOfLine => self.vi_go(first_of_line(text, caret)),
            InsertPlace::EndOfLine => self.vi_go(end),
            InsertPlace::LineBelow => self.replace(end..end, "\n", false),
            InsertPlace::LineAbove => {
                self.replace(start..start, "\n", false);
                self.vi_go(start);
            }
        }
    }

    /// Puts a character in the place of some; `false` if the line has fewer.
    fn vi_replace(&mut self, character: char, count: usize) -> bool {
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let end = place::line_end(text, caret);
        let there: Vec<_> = place::graphemes(&text[caret..end]).take(count).collect();
        if there.len() < count {
            return false;
        }
        let length: usize = there.iter().map(|(_, grapheme, _)| grapheme.len()).sum();
        let by: String = std::iter::repeat_n(character, count).collect();
        self.replace(caret..caret + length, &by, false);
        let caret = self.draft.caret;
        self.vi_go(place::before(&self.draft.text, caret).unwrap_or(0));
        true
    }

    /// Puts in what was deleted or copied; `false` if that is nothing, or too much.
    fn vi_put(&mut self, register: &ViRegister, is_before: bool, count: usize) -> bool {
        let is_nothing = register.text.is_empty() && !register.has_lines;
        if is_nothing || (register.text.len() + 1).saturating_mul(count) > MAX_PUT {
            return false;
        }
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let (start, end) = (place::line_start(text, caret), place::line_end(text, caret));
        if register.has_lines {
            let line = format!("{}\n", register.text);
            let lines = line.repeat(count);
            let lines = lines.strip_suffix('\n').unwrap_or(&lines);
            if is_before {
                self.replace(start..start, &format!("{lines}\n"), false);
                self.vi_go(first_of_line(&self.draft.text, start));
            } else {
                self.replace(end..end, &format!("\n{lines}"), false);
                self.vi_go(first_of_line(&self.draft.text, end + 1));
            }
            return true;
        }
        let at = if is_before || caret == end {
            caret
        } else {
            place::after(text, caret).unwrap_or(end)
        };
        self.replace(at..at, &register.text.repeat(count), false);
        let caret = self.draft.caret;
        self.vi_go(place::before(&self.draft.text, caret).unwrap_or(0));
        true
    }

    /// Joins the next lines to this one, with a blank between them; `false` if there is none.
    fn vi_join(&mut self, count: usize) -> bool {
        let mut has_joined = false;
        for _ in 0..count {
            let text = &self.draft.text;
            let end = place::line_end(text, self.draft.caret);
            if end == text.len() {
                break;
            }
            let next = first_of_line(text, end + 1);
            let is_bare = text[..end].ends_with([' ', '\t', '\n']) || end == 0;
            let by = if is_bare || next == place::line_end(text, next) {
                ""
            } else {
                " "
            };
            self.replace(end..next, by, false);
            self.vi_go(end.min(self.draft.text.len()));
            has_joined = true;
        }
        has_joined
    }

    fn vi_swap_case(&mut self, count: usize) -> bool {
        let (text, caret) = (&self.draft.text, self.draft.caret);
        let end = place::line_end(text, caret);
        let there = place::graphemes(&text[caret..end]).take(count);
        let length: usize = there.map(|(_, grapheme, _)| grapheme.len()).sum();
        if length == 0 {
            return false;
        }
        let swapped: String = text[caret..caret + length]
            .chars()
            .flat_map(|character| {
                if character.is_uppercase() {
                    character.to_lowercase().collect::<Vec<_>>()
                } else {
                    character.to_uppercase().collect()
                }
            })
            .collect();
        self.replace(caret..caret + length, &swapped, false);
        true
    }
}

/// The place behind the last character of this word, or of a later one.
fn word_end_from(text: &str, caret: usize, is_big: bool, count: usize) -> usize {
    // A word of one character ends where the caret is.
    let motion = ViMotion::WordEnd { is_big };
    let here = place::after(text, caret).unwrap_or(text.len());
    let is_last_of_word = {
        let same = |at: usize| super::motion::same_word(text, caret, at, is_big);
        here >= text.len() || !same(here)
    };
    let steps = if is_last_of_word { count - 1 } else { count };
    let last = if steps == 0 {
        caret
    } else {
        target(text, caret, motion, Some(steps)).map_or(caret, |(place, _)| place)
    };
    place::after(text, last).unwrap_or(text.len())
}
