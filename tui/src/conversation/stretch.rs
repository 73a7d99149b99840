//! Stretches of the record that come at once, and what of them cannot be read.
//!
//! Invariant: between two parts, and before the first one when nothing older can be had, every missing record is
//! covered by a remark.

use harness_protocol::{ConversationSnapshot, Event, HistoryPage};

use super::entries::{NewPart, sum};
use super::fold::StretchFold;
use super::part::PartId;
use super::pending::Pending;
use super::position::StreamPosition;
use super::remarks;

impl StretchFold {
    /// Takes the parts of a snapshot. Returns the first record that is accounted for then.
    pub(super) fn snapshot(
        &mut self,
        snapshot: &ConversationSnapshot,
        pending: &mut Pending,
    ) -> u64 {
        let history = &snapshot.history;
        for past in &history.events {
            if let Event::User { key: Some(key), .. } = &past.event {
                pending.remove(key);
            }
        }
        let last = history.events.last().map_or(0, |past| past.seq);
        let position = StreamPosition::parse(&snapshot.position);
        let last = position.map_or(last, |position| position.seq.max(last));
        self.stretch(history, last.saturating_add(1), pending)
    }

    /// Takes the records of a stretch that come before record `end`. Returns the first record that is accounted for
    /// then: earlier ones are on an older page.
    pub(super) fn stretch(&mut self, history: &HistoryPage, end: u64, pending: &Pending) -> u64 {
        let mut first = history.before.map_or(1, |_| end);
        let mut reached = history.before.is_none().then_some(0);
        for past in history.events.iter().filter(|past| past.seq < end) {
            if let Some(reached) = reached {
                self.missing(reached, past.seq);
            }
            self.take(Some(past.seq), &past.event, pending);
            reached = Some(past.seq);
            first = first.min(past.seq);
        }
        // Records missing at the beginning of a stretch are reported with those at the end of the one before it, in one
        // remark.
        if let Some(reached) = reached {
            self.missing(reached, end);
        }
        first
    }

    /// Adds a remark that the records between two cannot be read, if there are any between them. The remark takes the
    /// place of the first of them, so that it is known again when it comes again.
    pub(super) fn missing(&mut self, after: u64, before: u64) -> Option<PartId> {
        let seq = after.saturating_add(1);
        let new = NewPart {
            seq: Some(seq),
            at: None,
            kind: remarks::gap(after, before),
            made: sum(&("gap", after, before)),
        };
        (seq < before).then(|| self.live.push_before(new, &mut self.entries))
    }
}

/// The last run that a snapshot names.
pub(super) fn last_run(snapshot: &ConversationSnapshot) -> Option<u64> {
    let events = snapshot.history.events.iter();
    let runs = events.filter_map(|past| run_of(&past.event));
    runs.chain(snapshot.summary.run_id).max()
}

/// The run that an event names.
fn run_of(event: &Event) -> Option<u64> {
    match event {
        Event::User { run_id, .. } => *run_id,
        Event::RunStarted { run_id, .. }
        | Event::TurnStarted { run_id, .. }
        | Event::TurnEnded { run_id, .. }
        | Event::RunEnded { run_id, .. } => Some(*run_id),
        _ => None,
    }
}

#[cfg(test)]
#[path = "stretch_tests.rs"]
mod tests;
