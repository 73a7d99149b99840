//! Records that a client lacks, read from the journal for it: one page at a time, lent to it as
//! events.

use std::collections::VecDeque;
use std::sync::Arc;

use harness_protocol::Event;

use super::budget::{Loan, LoanPart, ReadBudget};
use super::frame::{EventView, Frame};
use super::messages::Closing;
use crate::event::event;
use crate::journal::{Epoch, Journal, JournalEntry, PageLimit};

/// Limit of one read of the journal, for each client that lacks records.
const PAGE: PageLimit = PageLimit {
    records: 128,
    bytes: 64 * 1024,
};

/// The reason for the end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEndReason {
    /// The broadcaster closed.
    Closed(Closing),
    /// The journal cannot be read.
    Unreadable(String),
    /// The conversation's actors have exited; a client that comes back gets new ones.
    Gone,
}

/// The records after `after` up to `end`.
pub(super) struct Lack {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) budget: ReadBudget,
    pub(super) view: EventView,
    /// The life of the journal that the client knows.
    pub(super) epoch: Option<Epoch>,
    pub(super) after: u64,
    pub(super) end: u64,
}

/// One page of it.
pub(super) struct LentPage {
    pub(super) loan: Loan,
    /// The last record that the page is about.
    pub(super) at: u64,
    /// True if no record is missing after it.
    pub(super) is_over: bool,
}

impl Lack {
    /// Reads the next page, when its turn has come.
    ///
    /// # Errors
    /// The reason why the client gets no further records.
    pub(super) async fn read(self) -> Result<LentPage, StreamEndReason> {
        let turn = self.budget.turn().await;
        let page = self.journal.read(self.after, PAGE).await;
        let page = page.map_err(|error| StreamEndReason::Unreadable(error.to_string()))?;
        // Numbers of another life say nothing: what seems to be missing may be there, and what
        // seems to follow does not.
        let is_other =
            |entry: &JournalEntry| self.epoch.is_some_and(|it| it != entry.position.epoch);
        let is_replaced = self
            .epoch
            .is_some_and(|epoch| epoch != self.journal.end().epoch);
        if is_replaced || page.entries.iter().any(is_other) {
            return Err(StreamEndReason::Closed(Closing::Replaced));
        }
        let mut parts = VecDeque::new();
        let mut at = self.after;
        let mut is_over = page.at_end;
        for entry in page.entries {
            let seq = entry.position.seq;
            // Records after the end may be written, but were not published yet.
            if seq > self.end {
                is_over = true;
                break;
            }
            if seq != at + 1 {
                parts.push_back(self.gap(at, seq));
            }
            at = seq;
            parts.extend(self.part_of(&entry));
        }
        if at >= self.end || is_over {
            // What cannot be read at the end is not waited for.
            if at < self.end {
                parts.push_back(self.gap(at, self.end + 1));
            }
            at = at.max(self.end);
            is_over = true;
        }
        let loan = self.budget.lend(parts).await;
        drop(turn);
        Ok(LentPage { loan, at, is_over })
    }

    fn part_of(&self, entry: &JournalEntry) -> Option<LoanPart> {
        let frame = Frame::lasting(entry.position, &event(&entry.record, entry.at / 1000));
        let bytes = frame.bytes(self.view)?.clone();
        Some(LoanPart {
            upto: entry.position.seq,
            bytes,
        })
    }

    /// Nothing is skipped silently.
    fn gap(&self, after: u64, before: u64) -> LoanPart {
        let (first, last) = (after + 1, before - 1);
        let bytes = match self.view {
            EventView::Plain => format!(": records {first} to {last} cannot be read\n\n").into(),
            EventView::Full => {
                let gap = Frame::passing(&Event::Gap { after, before });
                gap.bytes(EventView::Full).cloned().unwrap_or_default()
            }
        };
        LoanPart { upto: last, bytes }
    }
}

/// An event that a client received in part, so that the stream can continue with exactly the rest.
pub(super) struct Begun {
    upto: u64,
    /// Size of the event, in bytes.
    length: usize,
    /// Their checksum.
    sum: u32,
    /// Number of bytes that the client received.
    pub(super) sent: usize,
}

impl Begun {
    /// Notes that a piece of an event is handed out. `before` is the rest of the event before that, with the piece.
    pub(super) fn note(begun: &mut Option<Self>, piece: &LoanPart, before: &[u8]) {
        let sent = piece.bytes.len();
        match begun {
            Some(begun) => begun.sent += sent,
            None => {
                *begun = Some(Self {
                    upto: piece.upto,
                    length: before.len(),
                    sum: crc32fast::hash(before),
                    sent,
                });
            }
        }
    }

    /// True if the part is the whole event.
    pub(super) fn is_of(&self, part: &LoanPart) -> bool {
        let is_its = self.upto == part.upto && self.length == part.bytes.len();
        is_its && self.sum == crc32fast::hash(&part.bytes)
    }
}

#[cfg(test)]
#[path = "lack_tests.rs"]
mod tests;
