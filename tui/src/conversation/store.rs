//! The open conversation: snapshots, events and pages go in, parts and a status come out.
//!
//! Invariant: no IO and no clock. What the parts are depends on the records alone, however often
//! and wherever the stream of events broke.

use std::time::Duration;

use harness_protocol::{ActivityState, Approval, ConversationSnapshot, Event, Queue};

use super::asked::AskedApproval;
use super::fold::StretchFold;
use super::live::GrowingKind;
use super::part::{Part, PartId, PartKind};
use super::pending::Pending;
use super::position::StreamPosition;
use super::remarks;
use super::status::ConversationStatus;
use super::stretch::last_run;
use super::waiting::{WaitingMessage, WaitingQueues};

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventApplied {
    /// Something must be shown again.
    Changed,
    /// There is nothing new to show.
    Unchanged,
    /// It is known already.
    Duplicate,
    /// Something before it was missed: a new snapshot is needed.
    Missed,
}

impl From<bool> for EventApplied {
    fn from(is_changed: bool) -> Self {
        if is_changed {
            Self::Changed
        } else {
            Self::Unchanged
        }
    }
}

/// The open conversation.
#[derive(Debug)]
pub(crate) struct ConversationStore {
    pub(super) fold: StretchFold,
    pub(super) pending: Pending,
    status: ConversationStatus,
    waiting: WaitingQueues,
    asked: AskedApproval,
    /// The position after the last record that was taken.
    last: Option<StreamPosition>,
    /// The first record that is loaded, or known to be unreadable.
    pub(super) first: u64,
    /// The cursor for older pages. `None` if there are none.
    pub(super) older: Option<u64>,
    /// The remark on what is damaged.
    damage: Option<PartId>,
}

impl ConversationStore {
    /// An empty conversation. `client_key` begins the keys of this client's prompts.
    pub(crate) fn new(client_key: String) -> Self {
        Self {
            fold: StretchFold::default(),
            pending: Pending::new(client_key),
            status: ConversationStatus::new(),
            waiting: WaitingQueues::default(),
            asked: AskedApproval::default(),
            last: None,
            first: 1,
            older: None,
            damage: None,
        }
    }

    /// The state of the conversation.
    pub(crate) fn status(&self) -> &ConversationStatus {
        &self.status
    }

    /// The kind of block that the reply grows in; none while none does.
    pub(crate) fn growing(&self) -> Option<GrowingKind> {
        self.fold.live.growing()
    }

    /// The queued messages, in the order in which they are sent.
    pub(crate) fn waiting(&self) -> &[WaitingMessage] {
        self.waiting.items()
    }

    /// The approvals that wait for an operator's answer.
    pub(crate) fn approval(&self) -> Option<&Approval> {
        self.asked.open()
    }

    /// Number of parts, with the prompts that are not on record yet.
    pub(crate) fn len(&self) -> usize {
        self.fold.entries.len() + self.pending.len()
    }

    /// True if the conversation has no parts.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part at a place, counted from the top.
    pub(crate) fn at(&self, index: usize) -> Option<&Part> {
        let recorded = self.fold.entries.len();
        match index.checked_sub(recorded) {
            Some(index) => self.pending.at(index),
            None => self.fold.entries.at(index),
        }
    }

    /// The part of that id.
    pub(crate) fn part(&self, id: PartId) -> Option<&Part> {
        self.at(self.index(id)).filter(|part| part.id == id)
    }

    /// The place of a part; if it was removed, of the one that follows.
    pub(crate) fn index(&self, id: PartId) -> usize {
        self.fold.entries.before(id) + self.pending.before(id)
    }

    /// All parts from top to bottom.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = &Part> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// The last part that is on record or grows.
    pub(crate) fn last_id(&self) -> Option<PartId> {
        let last = self.fold.entries.len().checked_sub(1)?;
        self.fold.entries.at(last).map(|part| part.id)
    }

    /// The author of the active run, or of the last one that is loaded.
    pub(crate) fn run_author(&self) -> Option<&super::Author> {
        self.parts().rev().find_map(|part| match &part.kind {
            PartKind::User {
                by,
                is_queued: false,
                ..
            } => Some(by),
            _ => None,
        })
    }

    /// True if the prompt of that key is on its way.
    pub(crate) fn is_pending(&self, key: &str) -> bool {
        self.pending.has(key)
    }

    /// The last record that is known; 0 before the first.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.seq)
    }

    /// True if there are older pages.
    pub(crate) fn has_older(&self) -> bool {
        self.older.is_some()
    }

    /// The cursor for the next older page.
    pub(crate) fn oldest_seq(&self) -> Option<u64> {
        self.older
    }

    /// A prompt is on its way to the service.
    pub(crate) fn submit(&mut self, key: String, content: String, files: Vec<String>) -> bool {
        self.pending.submit(key, content, files)
    }

    /// The service took the prompt of that key.
    pub(crate) fn accepted(&mut self, key: &str, run_id: u64) {
        self.pending.accepted(key, run_id);
    }

    /// The service let the message of that key wait.
    pub(crate) fn queued(
        &mut self,
        key: &str,
        item: u64,
        queue: Queue,
        content: String,
        files: usize,
    ) {
        self.pending.remove(key);
        self.waiting.accepted(item, queue, content, files);
    }

    /// The prompt of that key was refused; whether it was shown.
    pub(crate) fn refuse(&mut self, key: &str) -> bool {
        self.pending.refuse(key)
    }

    /// Begins with a snapshot, or continues from one. Parts of records that are known keep their ids; unfinished blocks
    /// are removed, prompts that are not on record stay. `now` is the caller's time, from which durations count.
    pub(crate) fn restore(&mut self, snapshot: &ConversationSnapshot, now: Duration) {
        if let Some(said) = self.damage.take() {
            self.fold.entries.remove(said);
        }
        let position = StreamPosition::parse(&snapshot.position);
        if self.status.conversation != snapshot.summary.id {
            if !self.status.conversation.is_empty() {
                self.pending.clear();
            }
            self.fold = StretchFold::over(self.fold.entries.emptied());
            self.status = ConversationStatus::new();
            self.waiting.clear();
            self.last = None;
            self.older = None;
        }
        let epoch = |position: &Option<StreamPosition>| position.as_ref().map(|known| known.epoch);
        let is_same_life = epoch(&self.last).is_some() && epoch(&self.last) == epoch(&position);
        let events = &snapshot.history.events;
        let from = events.first().map_or(u64::MAX, |first| first.seq);
        self.fold.live.clear(&mut self.fold.entries);
        let taken = self.fold.entries.take_from(from);
        self.fold.calls.rebuild(from, &mut self.fold.entries);
        let first = self.fold.snapshot(snapshot, &mut self.pending);
        if is_same_life && self.fold.entries.recognised > 0 {
            if self.older.is_some_and(|older| from < older) {
                (self.first, self.older) = (first, snapshot.history.before);
            }
        } else {
            self.fold = StretchFold::over(self.fold.entries.emptied());
            self.fold.entries.expect(&taken);
            self.first = self.fold.snapshot(snapshot, &mut self.pending);
            self.older = snapshot.history.before;
        }
        self.fold.entries.settle(taken);
        let known = self.last.take().filter(|_| is_same_life);
        let known = known.map_or(0, |last| last.seq);
        for past in events.iter().filter(|past| past.seq > known) {
            self.status.take(&past.event, now);
        }
        self.last = position;
        let damage = snapshot.damage.as_ref().map(remarks::damage);
        self.damage = damage.map(|said| self.fold.remark(said));
        self.status.restore(snapshot, now);
        self.waiting.restore(&snapshot.queue, &mut self.pending);
        self.asked.restore(snapshot);
        let is_running = self.status.is_busy();
        self.fold
            .calls
            .set_running(is_running, &mut self.fold.entries);
        self.pending.reached(last_run(snapshot));
    }

    /// Takes an event. `position` is the one that it came under.
    pub(crate) fn apply(
        &mut self,
        event: &Event,
        position: Option<&str>,
        now: Duration,
    ) -> EventApplied {
        match event {
            Event::Delta {
                index,
                kind,
                offset,
                text,
            } => {
                let StretchFold { live, entries, .. } = &mut self.fold;
                live.piece((*index, *kind), *offset, text, entries).into()
            }
            Event::ToolOutput { id, offset, text } => {
                let StretchFold { calls, entries, .. } = &mut self.fold;
                calls.shows(id, *offset, text, entries).into()
            }
            Event::Discarded {} => self.fold.live.clear(&mut self.fold.entries).into(),
            Event::Presence { .. } => self.status.take(event, now).into(),
            Event::Attached { position, .. } => self.attached(event, position, now),
            Event::Reset { snapshot, .. } => {
                self.restore(snapshot, now);
                EventApplied::Changed
            }
            Event::Gap { after, before } => self.gap(*after, *before),
            event => self.lasting(event, position, now),
        }
    }

    fn lasting(&mut self, event: &Event, position: Option<&str>, now: Duration) -> EventApplied {
        let Some(position) = position else {
            // A status may pass. All else without a position is from a newer service.
            return if matches!(event, Event::Status { .. }) {
                self.take_lasting(None, event, now);
                EventApplied::Changed
            } else {
                self.status.unknown += 1;
                EventApplied::Unchanged
            };
        };
        let (Some(position), Some(last)) = (StreamPosition::parse(position), &self.last) else {
            return EventApplied::Missed;
        };
        if position.epoch != last.epoch || position.seq > last.seq + 1 {
            return EventApplied::Missed;
        }
        if position.seq <= last.seq {
            return EventApplied::Duplicate;
        }
        let is_changed = self.take_lasting(Some(position.seq), event, now);
        self.last = Some(position);
        is_changed.into()
    }

    fn take_lasting(&mut self, seq: Option<u64>, event: &Event, now: Duration) -> bool {
        if let Event::User { key: Some(key), .. } = event {
            self.pending.remove(key);
        }
        let has_part = self.fold.take(seq, event, &self.pending);
        let has_status = self.status.take(event, now);
        let has_queue = self.waiting.take(event, &mut self.pending);
        let has_asked = self.asked.take(event);
        has_part || has_status || has_queue || has_asked
    }

    /// Everything up to a position was sent.
    fn attached(&mut self, event: &Event, position: &str, now: Duration) -> EventApplied {
        let is_there = match (StreamPosition::parse(position), &self.last) {
            (Some(position), Some(last)) => {
                position.epoch == last.epoch && position.seq <= last.seq
            }
            _ => false,
        };
        if !is_there {
            return EventApplied::Missed;
        }
        if let Event::Attached {
            state: ActivityState::Idle | ActivityState::Error,
            ..
        } = event
        {
            self.fold.live.clear(&mut self.fold.entries);
        }
        self.status.take(event, now);
        let is_running = self.status.is_busy();
        self.fold
            .calls
            .set_running(is_running, &mut self.fold.entries);
        EventApplied::Changed
    }

    /// The records between two cannot be read.
    fn gap(&mut self, after: u64, before: u64) -> EventApplied {
        let Some(last) = &mut self.last else {
            return EventApplied::Missed;
        };
        if after > last.seq {
            return EventApplied::Missed;
        }
        if before <= last.seq + 1 {
            return EventApplied::Duplicate;
        }
        let first = last.seq;
        last.seq = before - 1;
        self.fold.missing(first, before);
        EventApplied::Changed
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
