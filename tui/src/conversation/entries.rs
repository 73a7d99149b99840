//! The parts in their order, found by id.
//!
//! Ids grow from top to bottom. Parts that come are given greater ids than any before, older pages
//! get lesser ones, and an id is not given twice; where a part was removed its id is left out. So a
//! part is found by halving, and no event costs more because there are many parts.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::part::{Part, PartId, PartKind};

/// A part with what is known of it beside what is shown.
#[derive(Debug, Clone)]
pub(super) struct PartEntry {
    pub(super) part: Part,
    /// The sum of the event that the part began with, in full.
    pub(super) made: u64,
    /// The sum of a call's whole outcome; 0 without one.
    pub(super) outcome: u64,
    /// The record of a call's outcome.
    pub(super) closed_at: Option<u64>,
}

/// A part that is to come again, and the id that it had.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownPart {
    seq: u64,
    made: u64,
    id: PartId,
}

/// A new part.
#[derive(Debug)]
pub(super) struct NewPart {
    pub(super) seq: Option<u64>,
    pub(super) at: Option<u64>,
    pub(super) kind: PartKind,
    pub(super) made: u64,
}

/// The parts from top to bottom.
#[derive(Debug, Default)]
pub(super) struct PartEntries {
    entries: VecDeque<PartEntry>,
    /// The id of the next part.
    next: i64,
    /// Parts that get their old ids when they come again.
    known: VecDeque<KnownPart>,
    /// The revision that new parts begin with.
    revision: u32,
    /// Number of known entries that came again.
    pub(super) recognised: usize,
}

impl PartEntries {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn at(&self, index: usize) -> Option<&Part> {
        self.entries.get(index).map(|entry| &entry.part)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &PartEntry> {
        self.entries.iter()
    }

    /// Number of parts before that id.
    pub(super) fn before(&self, id: PartId) -> usize {
        self.entries.partition_point(|entry| entry.part.id < id)
    }

    pub(super) fn get(&self, id: PartId) -> Option<&PartEntry> {
        let entry = self.entries.get(self.before(id))?;
        (entry.part.id == id).then_some(entry)
    }

    /// Changes a part; its revision grows if it is another one then.
    pub(super) fn change(&mut self, id: PartId, change: impl FnOnce(&mut PartEntry)) {
        let index = self.before(id);
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        if entry.part.id == id {
            change(entry);
            entry.part.revision = entry.part.revision.wrapping_add(1);
        }
    }

    /// Adds a part at the end.
    pub(super) fn push(&mut self, new: NewPart) -> PartId {
        let id = self.recognise(&new).unwrap_or(PartId(self.next));
        self.next = self.next.max(id.0 + 1);
        self.entries.push_back(PartEntry {
            part: Part {
                id,
                revision: self.revision,
                seq: new.seq,
                at: new.at,
                kind: new.kind,
            },
            made: new.made,
            outcome: 0,
            closed_at: None,
        });
        id
    }

    pub(super) fn remove(&mut self, id: PartId) -> Option<PartEntry> {
        let index = self.before(id);
        self.entries
            .get(index)
            .filter(|entry| entry.part.id == id)?;
        self.entries.remove(index)
    }

    /// Puts a part that was removed at the end, under a new id.
    pub(super) fn push_again(&mut self, mut entry: PartEntry) -> PartId {
        let id = PartId(self.next);
        self.next += 1;
        entry.part.id = id;
        self.entries.push_back(entry);
        id
    }

    /// Takes off all parts from the first one on that a record from `seq` on made. They get their
    /// ids again when the same records come.
    pub(super) fn take_from(&mut self, seq: u64) -> VecDeque<PartEntry> {
        let is_from = |entry: &PartEntry| entry.part.seq.is_some_and(|own| own >= seq);
        let first = self.entries.iter().position(is_from);
        let taken = self.entries.split_off(first.unwrap_or(self.entries.len()));
        self.expect(&taken);
        taken
    }

    /// Parts that come again get the ids that they had.
    pub(super) fn expect(&mut self, taken: &VecDeque<PartEntry>) {
        self.recognised = 0;
        self.known = taken
            .iter()
            .filter_map(|entry| {
                Some(KnownPart {
                    seq: entry.part.seq?,
                    made: entry.made,
                    id: entry.part.id,
                })
            })
            .collect();
    }

    /// No parts, with ids that follow on those that were given. Older pages may get ids that were
    /// given before, so that their revisions differ.
    pub(super) fn emptied(&self) -> Self {
        Self {
            next: self.next,
            revision: self.revision.wrapping_add(1 << 16),
            ..Self::default()
        }
    }

    /// Keeps entries that were taken off and came again unchanged, so that they need not be laid out again.
    pub(super) fn settle(&mut self, taken: VecDeque<PartEntry>) {
        self.known.clear();
        for old in taken {
            let index = self.before(old.part.id);
            let Some(new) = self.entries.get_mut(index) else {
                return;
            };
            if new.part.id != old.part.id {
                continue;
            }
            let is_same = new.made == old.made && new.outcome == old.outcome;
            if new.part.kind == old.part.kind || (is_same && new.outcome != 0) {
                *new = old;
            } else {
                new.part.revision = old.part.revision.wrapping_add(1);
            }
        }
    }

    /// Puts older parts first. Returns the change of the others' ids.
    pub(super) fn prepend(&mut self, older: Self) -> i64 {
        let first = self
            .entries
            .front()
            .map_or(self.next, |first| first.part.id.0);
        let end = older.entries.back().map_or(0, |last| last.part.id.0 + 1);
        let shift = first - end;
        for mut entry in older.entries.into_iter().rev() {
            entry.part.id.0 += shift;
            entry.part.revision = entry.part.revision.wrapping_add(self.revision);
            self.entries.push_front(entry);
        }
        shift
    }

    /// The id that the part had before. After the first part with another id, no id is kept.
    fn recognise(&mut self, new: &NewPart) -> Option<PartId> {
        let seq = new.seq?;
        while self.known.front().is_some_and(|known| known.seq < seq) {
            self.known.pop_front();
        }
        let known = self.known.pop_front()?;
        if (known.seq, known.made) == (seq, new.made) {
            self.recognised += 1;
            return Some(known.id);
        }
        self.known.clear();
        None
    }
}

/// A sum that is the same for the same values.
pub(super) fn sum(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
