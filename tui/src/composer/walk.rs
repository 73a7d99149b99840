//! The way from the draft through the prompts of the past, and back.

use std::collections::BTreeMap;

use super::clean::clean;
use super::draft::Draft;
use super::state::Composer;
use crate::prompt_history::PromptHistory;

/// The place of the composer while it shows a prompt of the past.
#[derive(Debug)]
pub(super) struct Walk {
    /// The history at the first step: prompts that other clients add meanwhile move nothing.
    history: PromptHistory,
    /// Index of the shown entry.
    at: usize,
    /// True if the entry was not changed since it was recalled.
    pub(super) is_pristine: bool,
    /// The draft before.
    draft: Draft,
    /// Entries that were changed and left, for when one comes back to them.
    changed: BTreeMap<usize, Draft>,
}

impl Walk {
    /// An entry in its first form. `None` if this is the place of the draft.
    fn entry(&self, at: usize) -> Option<Draft> {
        let entry = self.history.entries().get(at)?;
        Some(Draft::from_text(&clean(entry)))
    }
}

impl Composer {
    /// Shows the prompt before the one that is shown; false if there is none.
    pub(crate) fn older(&mut self, history: &PromptHistory) -> bool {
        let newest = history.entries().len();
        let at = self.walk.as_ref().map_or(newest, |walk| walk.at);
        let Some(at) = at.checked_sub(1) else {
            return false;
        };
        match self.walk.take() {
            Some(walk) => self.step(walk, at),
            None => {
                let walk = Walk {
                    history: history.clone(),
                    at: newest,
                    is_pristine: true,
                    draft: self.draft.clone(),
                    changed: BTreeMap::new(),
                };
                self.step(walk, at);
            }
        }
        true
    }

    /// Shows the next newer prompt, or the draft after the newest. False if this is the draft.
    pub(crate) fn newer(&mut self) -> bool {
        let Some(walk) = self.walk.take() else {
            return false;
        };
        if walk.at + 1 < walk.history.entries().len() {
            let at = walk.at + 1;
            self.step(walk, at);
        } else {
            self.set(walk.draft);
        }
        true
    }

    /// Continues a walk, to another entry.
    fn step(&mut self, mut walk: Walk, at: usize) {
        let shown = walk.changed.remove(&at);
        let shown = shown.or_else(|| walk.entry(at)).unwrap_or_default();
        let left = self.set(shown);
        let is_changed = walk
            .entry(walk.at)
            .is_some_and(|entry| (&entry.text, &entry.chips) != (&left.text, &left.chips));
        if is_changed && !left.is_empty() {
            walk.changed.insert(walk.at, left);
        }
        walk.at = at;
        walk.is_pristine = true;
        self.walk = Some(walk);
    }

    /// True if the shown text was recalled and not changed.
    pub(super) fn is_pristine(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.is_pristine)
    }

    /// Goes back to the draft, if what is shown was recalled and nothing done to it.
    pub(super) fn leave_untouched_entry(&mut self) {
        if let Some(walk) = self.walk.take_if(|walk| walk.is_pristine) {
            self.set(walk.draft);
        }
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
