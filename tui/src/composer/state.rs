//! The composer: what is being written, and what can be done with it as a whole.

use std::ops::Range;

use super::clean::clean;
use super::draft::{Chip, ChipFile, Draft};
use super::mention::{self, Mention};
use super::place;
#[cfg(test)]
use super::rows::CaretPlace;
use super::rows::{InputWindow, WrappedText};
use super::undo::{UndoHistory, UndoStep};
use super::walk::Walk;
use crate::link::PromptFile;

/// Maximum height of the input in rows, however long the text.
pub(crate) const MAX_ROWS: u16 = 10;

/// An editor for prompts. It knows no screen: the code that draws it passes the width.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    pub(super) draft: Draft,
    pub(super) undo: UndoHistory,
    /// The piece that was deleted last, for [`super::ComposerEdit::Yank`].
    pub(super) killed: String,
    /// The column that Up and Down try to keep.
    pub(super) goal: Option<u16>,
    /// The end of the last typed character. A grapheme may arrive in pieces: while its first pieces join the text after
    /// them, the caret must be elsewhere.
    pub(super) typed_to: Option<usize>,
    /// The place in the history, if the composer does not show the draft.
    pub(super) walk: Option<Walk>,
    /// The beginning of the text was pasted.
    is_begun_by_paste: bool,
}

impl Composer {
    /// True if the composer has neither text nor paste.
    pub(crate) fn is_empty(&self) -> bool {
        self.draft.is_empty()
    }

    /// The text of the editor, without the pastes.
    pub(crate) fn text(&self) -> &str {
        &self.draft.text
    }

    /// The pastes above the text.
    pub(crate) fn chips(&self) -> &[Chip] {
        &self.draft.chips
    }

    /// True if a paste is above the text.
    pub(crate) fn has_pastes(&self) -> bool {
        self.draft.chips.iter().any(|chip| chip.file.is_none())
    }

    /// The chips that go along now.
    pub(crate) fn live_chips(&self) -> impl Iterator<Item = &Chip> {
        self.draft.live_chips()
    }

    /// True if the draft has a file that goes along.
    pub(crate) fn has_files(&self) -> bool {
        self.live_chips().any(|chip| chip.file.is_some())
    }

    /// Lets a file go along; whether it did not before.
    pub(crate) fn attach(&mut self, file: PromptFile) -> bool {
        let is_known = self.draft.files().contains(&file);
        if !is_known {
            let mut chips = self.draft.chips.clone();
            chips.push(Chip::of_file(ChipFile {
                file,
                is_mention: false,
            }));
            self.set_chips(chips);
        }
        !is_known
    }

    /// The name of a file that is being written where the caret is.
    pub(crate) fn open_mention(&self) -> Option<Mention> {
        mention::open(&self.draft.text, self.draft.caret)
    }

    /// Writes the name of a file in the place of what is written of it, and lets it go along.
    pub(crate) fn complete_mention(&mut self, mention: Mention, path: &str) {
        let mut chips = self.draft.chips.clone();
        chips.push(Chip::of_file(ChipFile {
            file: PromptFile::Below(path.to_owned()),
            is_mention: true,
        }));
        let words = format!("{} ", mention::token(path));
        self.apply(mention.range, &words, Some(chips), false);
    }

    /// True if the beginning of the text was typed, or came from the history.
    pub(crate) fn begins_typed(&self) -> bool {
        !self.is_begun_by_paste
    }

    /// The text that would be sent now; empty if there is nothing to send.
    pub(crate) fn order(&self) -> String {
        self.draft.order()
    }

    /// Takes in what was typed.
    pub(crate) fn insert(&mut self, typed: &str) {
        let typed = clean(typed);
        if typed.is_empty() {
            return;
        }
        let at = self.typed_to.unwrap_or(self.draft.caret);
        self.replace(at..at, &typed, true);
        self.typed_to = Some(at + typed.len());
    }

    /// Takes in what was pasted: into the text, or beside it if it is large.
    pub(crate) fn paste(&mut self, pasted: &str) {
        let pasted = clean(pasted);
        let at = self.typed_to.take().unwrap_or(self.draft.caret);
        if let Some(chip) = Chip::from_text(&pasted) {
            let mut chips = self.draft.chips.clone();
            chips.push(chip);
            self.set_chips(chips);
        } else if !pasted.is_empty() {
            self.replace(at..at, &pasted, false);
            self.is_begun_by_paste |= at == 0;
        }
    }

    /// Throws a paste away; false if there is none of that number, counted from 0.
    pub(crate) fn remove_chip(&mut self, number: usize) -> bool {
        self.without_chip(number).is_some_and(|(_, chips)| {
            self.set_chips(chips);
            true
        })
    }

    /// Puts a paste into the text, where the caret is; false if there is none of that number.
    pub(crate) fn open_chip(&mut self, number: usize) -> bool {
        let Some((chip, chips)) = self.without_chip(number) else {
            return false;
        };
        let caret = self.draft.caret;
        self.apply(caret..caret, &chip.text, Some(chips), false);
        true
    }

    fn without_chip(&self, number: usize) -> Option<(Chip, Vec<Chip>)> {
        let chip = self.draft.chips.get(number)?.clone();
        let mut chips = self.draft.chips.clone();
        chips.remove(number);
        Some((chip, chips))
    }

    /// Takes everything out, to be sent.
    pub(crate) fn take(&mut self) -> Draft {
        self.walk = None;
        self.set(Draft::default())
    }

    /// Brings back a draft that could not be sent, before the text that was written meanwhile.
    pub(crate) fn restore(&mut self, draft: Draft) {
        // A prompt of the past that was only looked at gives way to what was written before.
        self.leave_untouched_entry();
        let mut whole = self.draft.clone();
        whole.prepend(draft);
        self.set(whole);
    }

    /// As [`Self::restore`], of what was sent and is not to be said after all.
    pub(crate) fn bring_back(&mut self, content: &str) {
        let content = clean(content);
        self.restore(match Chip::from_text(&content) {
            Some(chip) => Draft {
                chips: vec![chip],
                ..Draft::default()
            },
            None => Draft::from_text(&content),
        });
    }

    /// The text for the history now. `None` if it came from there unchanged.
    pub(crate) fn draft_entry(&self) -> Option<String> {
        let entry = self.draft.entry();
        Some(entry).filter(|entry| !self.is_pristine() && !entry.trim().is_empty())
    }

    /// Puts another text in the place of the one that is there.
    pub(crate) fn write_anew(&mut self, text: &str) {
        let all = 0..self.draft.text.len();
        self.replace(all, &clean(text), false);
    }

    /// True if Enter means a new line, since a backslash is before the caret.
    pub(crate) fn ends_with_backslash_before_caret(&self) -> bool {
        self.draft.text[..self.draft.caret].ends_with('\\')
    }

    /// Puts a line break in the place of the backslash before the caret.
    pub(crate) fn replace_backslash_by_newline(&mut self) {
        if self.ends_with_backslash_before_caret() {
            let caret = self.draft.caret;
            self.replace(caret - 1..caret, "\n", false);
        }
    }

    /// The rows of the text in an input of this width, as ranges of bytes; at least one.
    #[cfg(test)]
    pub(crate) fn rows(&self, width: u16) -> Vec<Range<usize>> {
        WrappedText::wrap(&self.draft.text, width).ranges
    }

    /// The place of the caret in [`Self::rows`].
    #[cfg(test)]
    pub(crate) fn caret(&self, width: u16) -> CaretPlace {
        WrappedText::wrap(&self.draft.text, width).place(self.draft.caret)
    }

    /// The rows that are shown where there is room for so many; at least one.
    pub(crate) fn window(&self, width: u16, max_rows: u16) -> InputWindow {
        WrappedText::wrap(&self.draft.text, width).window(self.draft.caret, max_rows)
    }

    /// Replaces a piece of the text and puts the caret after it.
    pub(super) fn replace(&mut self, range: Range<usize>, by: &str, is_stroke: bool) {
        self.apply(range, by, None, is_stroke);
    }

    /// Replaces the pastes.
    fn set_chips(&mut self, chips: Vec<Chip>) {
        let caret = self.draft.caret;
        self.apply(caret..caret, "", Some(chips), false);
    }

    /// Does and notes one step. A stroke is one key of many that are undone together.
    pub(super) fn apply(
        &mut self,
        range: Range<usize>,
        by: &str,
        chips: Option<Vec<Chip>>,
        is_stroke: bool,
    ) {
        let draft = &mut self.draft;
        let step = UndoStep {
            at: range.start,
            removed: draft.text[range.clone()].to_owned(),
            inserted: by.to_owned(),
            caret: draft.caret,
            chips: chips.map(|chips| std::mem::replace(&mut draft.chips, chips)),
            group: None,
        };
        let end = range.start + by.len();
        draft.text.replace_range(range, by);
        draft.caret = place::at_or_after(&draft.text, end);
        self.undo.note(step, is_stroke);
        self.is_begun_by_paste &= !self.draft.text.is_empty();
        self.touched();
    }

    /// Shows another draft as if it had just been begun.
    pub(super) fn set(&mut self, draft: Draft) -> Draft {
        self.undo = UndoHistory::default();
        self.is_begun_by_paste = false;
        self.goal = None;
        self.typed_to = None;
        std::mem::replace(&mut self.draft, draft)
    }

    /// Notes that something was changed, or the caret moved: the column that was aimed at and the grapheme that was
    /// being typed no longer matter, and a recalled prompt is being edited.
    pub(super) fn touched(&mut self) {
        self.goal = None;
        self.typed_to = None;
        if let Some(walk) = &mut self.walk {
            walk.is_pristine = false;
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
