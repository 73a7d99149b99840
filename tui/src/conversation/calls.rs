//! The state of open calls, and results whose calls are on an older page.

use std::collections::{HashMap, VecDeque};

use super::entries::{PartEntries, sum};
use super::part::{CallOutcome, PartId, PartKind, ShownResult};
use super::remarks::NO_RESULT;

/// A result with the sum of what was received.
#[derive(Debug, Clone)]
pub(super) struct ResultSum {
    pub(super) result: ShownResult,
    pub(super) sum: u64,
}

/// The calls of what is loaded.
#[derive(Debug, Default)]
pub(super) struct Calls {
    ids: HashMap<String, PartId>,
    /// Those that nothing came of yet, in their order: they run one by one.
    open: VecDeque<PartId>,
    /// True if a run is active, so that the first of them runs.
    is_running: bool,
    /// The outcomes of calls that were made before the first event that is loaded.
    earlier: Earlier,
}

#[derive(Debug, Default)]
struct Earlier {
    results: HashMap<String, ResultSum>,
    skipped: Option<(String, u64)>,
    /// True if their turn is over: a call without a result gets none any longer.
    is_over: bool,
}

impl Calls {
    /// The call of that name.
    pub(super) fn id(&self, call_id: &str) -> Option<PartId> {
        self.ids.get(call_id).copied()
    }

    /// A call was made; what it is doing.
    pub(super) fn made(&mut self, call_id: String, id: PartId, entries: &mut PartEntries) {
        self.ids.insert(call_id, id);
        self.open.push_back(id);
        self.is_running = true;
        self.mark(entries);
    }

    /// A call shows something before it returns; whether that is new.
    pub(super) fn shows(
        &self,
        call_id: &str,
        offset: u64,
        text: &str,
        entries: &mut PartEntries,
    ) -> bool {
        let Some(id) = self.id(call_id).filter(|id| self.open.contains(id)) else {
            return false; // It is over, or not loaded; its result says all.
        };
        let mut is_new = false;
        entries.change(id, |entry| {
            if let PartKind::Tool(tool) = &mut entry.part.kind {
                let output = tool.output.get_or_insert_default();
                is_new = output.grow(offset, text);
            }
        });
        is_new
    }

    /// A call returned.
    pub(super) fn returned(&mut self, call_id: &str, told: ResultSum, entries: &mut PartEntries) {
        let Some(id) = self.id(call_id) else {
            self.earlier.results.insert(call_id.to_owned(), told);
            return;
        };
        self.open.retain(|open| *open != id);
        end(id, told, entries);
        self.mark(entries);
    }

    /// The calls that nothing came of get nothing.
    pub(super) fn skipped(&mut self, reason: &str, seq: u64, entries: &mut PartEntries) {
        if !self.earlier.is_over && self.earlier.skipped.is_none() {
            self.earlier.skipped = Some((reason.to_owned(), seq));
        }
        while let Some(id) = self.open.pop_front() {
            skip(id, reason, seq, entries);
        }
    }

    /// A turn is over, and with it its calls.
    pub(super) fn over(&mut self, seq: u64, entries: &mut PartEntries) {
        self.skipped(NO_RESULT, seq, entries);
        self.earlier.is_over = true;
    }

    /// Notes that a run is active, or is not.
    pub(super) fn set_running(&mut self, is_running: bool, entries: &mut PartEntries) {
        self.is_running = is_running;
        self.mark(entries);
    }

    /// Finds the calls again after parts were taken off; what a record from `seq` on said of them
    /// is void.
    pub(super) fn rebuild(&mut self, seq: u64, entries: &mut PartEntries) {
        self.ids.clear();
        self.open.clear();
        for entry in entries.iter() {
            if let PartKind::Tool(tool) = &entry.part.kind {
                self.ids.insert(tool.call_id.clone(), entry.part.id);
                if entry.closed_at.is_none_or(|closed| closed >= seq) {
                    self.open.push_back(entry.part.id);
                }
            }
        }
        for id in &self.open {
            entries.change(*id, |entry| {
                entry.closed_at = None;
                entry.outcome = 0;
                set(&mut entry.part.kind, CallOutcome::Waiting);
            });
        }
        self.mark(entries);
    }

    /// Takes in the calls of the page before, whose ids changed by `shift`. Its parts are in
    /// `entries` already.
    pub(super) fn prepend(&mut self, page: Self, shift: i64, entries: &mut PartEntries) {
        let moved = |id: PartId| PartId(id.0 + shift);
        for (call_id, id) in page.ids {
            self.ids.entry(call_id).or_insert(moved(id));
        }
        for id in page.open.into_iter().rev().map(moved) {
            self.join(id, entries);
        }
        self.earlier.results.extend(page.earlier.results);
        if page.earlier.is_over {
            self.earlier.skipped = page.earlier.skipped;
        } else {
            self.earlier.skipped = page.earlier.skipped.or(self.earlier.skipped.take());
        }
        self.earlier.is_over |= page.earlier.is_over;
        self.mark(entries);
    }

    /// Gives a call of an older page what was loaded of its fate before it.
    fn join(&mut self, id: PartId, entries: &mut PartEntries) {
        let call_id = match entries.get(id).map(|entry| &entry.part.kind) {
            Some(PartKind::Tool(tool)) => tool.call_id.clone(),
            _ => return,
        };
        if let Some(told) = self.earlier.results.remove(&call_id) {
            end(id, told, entries);
        } else if let Some((reason, seq)) = &self.earlier.skipped {
            skip(id, reason, *seq, entries);
        } else {
            self.open.push_front(id);
        }
    }

    /// The first call that nothing came of runs, the others wait for it.
    fn mark(&self, entries: &mut PartEntries) {
        for (place, id) in self.open.iter().enumerate() {
            let outcome = if place == 0 && self.is_running {
                CallOutcome::Running
            } else {
                CallOutcome::Waiting
            };
            let is_so =
                |kind: &PartKind| matches!(kind, PartKind::Tool(tool) if tool.outcome == outcome);
            if !entries
                .get(*id)
                .is_some_and(|entry| is_so(&entry.part.kind))
            {
                entries.change(*id, |entry| set(&mut entry.part.kind, outcome));
            }
        }
    }
}

fn end(id: PartId, told: ResultSum, entries: &mut PartEntries) {
    entries.change(id, |entry| {
        entry.outcome = told.sum;
        entry.closed_at = Some(told.result.seq);
        set(&mut entry.part.kind, CallOutcome::Ended(told.result));
    });
}

fn skip(id: PartId, reason: &str, seq: u64, entries: &mut PartEntries) {
    entries.change(id, |entry| {
        entry.outcome = sum(&reason);
        entry.closed_at = Some(seq);
        let reason = reason.to_owned();
        set(&mut entry.part.kind, CallOutcome::Skipped { reason });
    });
}

fn set(kind: &mut PartKind, outcome: CallOutcome) {
    if let PartKind::Tool(tool) = kind {
        if matches!(outcome, CallOutcome::Ended(_) | CallOutcome::Skipped { .. }) {
            tool.output = None;
        }
        tool.outcome = outcome;
    }
}
