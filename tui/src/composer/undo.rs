//! The edits of a draft, so that they can be undone.

use std::collections::VecDeque;

use super::draft::{Chip, Draft};

/// Steps beyond this are forgotten, the oldest first.
const MAX_STEPS: usize = 1000;
/// Text beyond this is forgotten, the oldest first.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A piece of the text replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoStep {
    /// The offset of the piece.
    pub(super) at: usize,
    /// The former content.
    pub(super) removed: String,
    /// The present content.
    pub(super) inserted: String,
    /// The offset of the caret before.
    pub(super) caret: usize,
    /// The pastes before, if they changed.
    pub(super) chips: Option<Vec<Chip>>,
    /// The number of the steps that are taken back with it at once. `None` if it is alone.
    pub(super) group: Option<u64>,
}

impl UndoStep {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }

    /// Takes in the step that came next, if both are one piece of typing or of erasing. Typing is
    /// split where a word or a line begins, so that one key never takes back a whole page.
    fn absorb(&mut self, next: &Self) -> bool {
        if self.chips.is_some() || next.chips.is_some() || self.group != next.group {
            return false;
        }
        let is_typing = self.removed.is_empty() && next.removed.is_empty();
        let is_erasing = self.inserted.is_empty() && next.inserted.is_empty();
        if is_typing && next.at == self.at + self.inserted.len() {
            if self.inserted.ends_with(char::is_whitespace)
                && !next.inserted.starts_with([' ', '\t'])
            {
                return false;
            }
            self.inserted.push_str(&next.inserted);
            true
        } else if is_erasing && next.at + next.removed.len() == self.at {
            self.removed.insert_str(0, &next.removed);
            self.at = next.at;
            true
        } else if is_erasing && next.at == self.at {
            self.removed.push_str(&next.removed);
            true
        } else {
            false
        }
    }
}

/// The steps that can be undone.
#[derive(Debug, Default)]
pub(super) struct UndoHistory {
    steps: VecDeque<UndoStep>,
    bytes: usize,
    is_open: bool,
    /// The group of the steps that are noted now.
    group: Option<u64>,
    /// Number of groups so far.
    groups: u64,
}

impl UndoHistory {
    /// Notes a step. If `may_join`, it becomes one with the last where nothing came in between.
    pub(super) fn note(&mut self, mut step: UndoStep, may_join: bool) {
        step.group = self.group;
        self.bytes += step.bytes();
        let is_joined = may_join
            && self.is_open
            && self.steps.back_mut().is_some_and(|last| last.absorb(&step));
        self.is_open = may_join;
        if !is_joined {
            self.steps.push_back(step);
        }
        while self.steps.len() > MAX_STEPS || (self.bytes > MAX_BYTES && self.steps.len() > 1) {
            let forgotten = self.steps.pop_front().map_or(0, |step| step.bytes());
            self.bytes -= forgotten;
        }
    }

    /// The next edit is not joined to the last one.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// The next steps are taken back at once.
    pub(super) fn begin_group(&mut self) {
        self.close();
        self.groups += 1;
        self.group = Some(self.groups);
    }

    /// The next steps are taken back one by one.
    pub(super) fn end_group(&mut self) {
        self.close();
        self.group = None;
    }

    /// Takes the last step back, with those of its group; false if there is none.
    pub(super) fn undo_group(&mut self, draft: &mut Draft) -> bool {
        let group = self.steps.back().and_then(|step| step.group);
        let is_undone = self.undo(draft);
        while group.is_some() && self.steps.back().is_some_and(|step| step.group == group) {
            self.undo(draft);
        }
        is_undone
    }

    /// Takes the last step back; false if there is none.
    pub(super) fn undo(&mut self, draft: &mut Draft) -> bool {
        let Some(step) = self.steps.pop_back() else {
            return false;
        };
        self.is_open = false;
        self.bytes -= step.bytes();
        let end = step.at + step.inserted.len();
        draft.text.replace_range(step.at..end, &step.removed);
        draft.caret = step.caret;
        if let Some(chips) = step.chips {
            draft.chips = chips;
        }
        true
    }
}
