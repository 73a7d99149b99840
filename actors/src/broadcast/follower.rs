//! One client's way through a conversation: first what it lacks, from the journal, then what
//! happens, from the broadcaster, and the journal again whenever it lags.
//!
//! Invariant: of the records behind its start a client gets each one exactly once and in order, and
//! none of another life of the journal: when the journal is replaced, the stream ends.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use harness_protocol::Event;
use tokio::time::Sleep;

use super::attendance::{Attendance, Following};
use super::frame::{Frame, View};
use super::subscription::{Delivery, Subscription};
use crate::conversation::event;
use crate::journal::{Entry, Epoch, Journal, Page, PageLimit, Position, StorageError};
use crate::messages::{Closing, Join, Joined};

/// How much is read from the journal at once, for each client that lacks something.
const PAGE: PageLimit = PageLimit {
    records: 128,
    bytes: 64 * 1024,
};

/// How long a client that knows more than the broadcaster waits for it, each time.
const PUBLISHING: Duration = Duration::from_millis(20);

/// Where a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what happens from now on.
    Live,
    /// Behind that record of that life of the journal.
    Behind(Position),
}

/// What a client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// An encoded event.
    Frame(Bytes),
    /// It is live from here on. Told once, when the client began live.
    Live(Position),
    /// The stream is over.
    Ended(End),
}

/// Why a stream is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The broadcaster closed.
    Closed(Closing),
    /// The journal cannot be read.
    Unreadable(String),
    /// The conversation's actors are gone; a client that comes back gets new ones.
    Gone,
}

/// Follows a conversation for one client. Ends after [`Followed::Ended`].
pub struct Follower {
    journal: Arc<dyn Journal>,
    broadcast: Recipient<Join>,
    view: View,
    name: Option<String>,
    /// The last record that the client got, once that is known.
    at: Option<u64>,
    /// The life of the journal that it is one of, once that is known.
    epoch: Option<Epoch>,
    ready: VecDeque<Followed>,
    step: Step,
    _following: Following,
}

/// What the client waits for.
enum Step {
    Joining(Pin<Box<dyn Future<Output = Result<Joined, MailboxError>>>>),
    Reading {
        page: Pin<Box<dyn Future<Output = Result<Page, StorageError>> + Send>>,
        /// The record up to which it is read.
        end: u64,
    },
    /// The broadcaster is about to show what the client has.
    Waiting(Pin<Box<Sleep>>),
    Live(Subscription),
    Ended,
}

impl Follower {
    /// A client that begins there. The conversation is not let go while it follows.
    #[must_use]
    pub fn new(
        journal: Arc<dyn Journal>,
        broadcast: Recipient<Join>,
        attendance: &Attendance,
        view: View,
        name: Option<String>,
        start: Start,
    ) -> Self {
        let (at, epoch) = match start {
            Start::Live => (None, None),
            Start::Behind(position) => (Some(position.seq), Some(position.epoch)),
        };
        let mut follower = Self {
            journal,
            broadcast,
            view,
            name,
            at,
            epoch,
            ready: VecDeque::new(),
            step: Step::Ended,
            _following: attendance.follow(),
        };
        follower.join();
        follower
    }

    fn join(&mut self) {
        let join = Join {
            after: self.at,
            epoch: self.epoch,
            view: self.view,
            name: self.name.clone(),
        };
        self.step = Step::Joining(Box::pin(self.broadcast.send(join)));
    }

    fn read(&mut self, after: u64, end: u64) {
        let page = self.journal.read(after, PAGE);
        self.step = Step::Reading { page, end };
    }

    fn end(&mut self, end: End) {
        self.ready.push_back(Followed::Ended(end));
        self.step = Step::Ended;
    }

    fn joined(&mut self, joined: Result<Joined, MailboxError>) {
        match joined {
            Ok(Joined::Live {
                subscription,
                position,
            }) => {
                if self.at.is_none() {
                    self.ready.push_back(Followed::Live(position));
                    self.at = Some(position.seq);
                    self.epoch = Some(position.epoch);
                }
                self.step = Step::Live(subscription);
            }
            Ok(Joined::Behind { end }) if self.at.is_some_and(|at| at > end) => self.wait(),
            Ok(Joined::Behind { end }) => self.read(self.at.unwrap_or(end), end),
            // The broadcaster hears that the journal was replaced a little later.
            Ok(Joined::Elsewhere) if !self.is_replaced() => self.wait(),
            Ok(Joined::Elsewhere) => self.end(End::Closed(Closing::Replaced)),
            Ok(Joined::Closed(closing)) => self.end(End::Closed(closing)),
            Err(_) => self.end(End::Gone),
        }
    }

    fn wait(&mut self) {
        self.step = Step::Waiting(Box::pin(tokio::time::sleep(PUBLISHING)));
    }

    /// Whether the journal is not the one any more that the client has seen.
    fn is_replaced(&self) -> bool {
        self.epoch
            .is_some_and(|epoch| epoch != self.journal.end().epoch)
    }

    fn took(&mut self, page: Result<Page, StorageError>, end: u64) {
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.end(End::Unreadable(error.to_string())),
        };
        // Numbers of another life say nothing: what seems to be missing may be there, and what
        // seems to follow does not.
        let is_other = |entry: &Entry| self.epoch.is_some_and(|it| it != entry.position.epoch);
        if self.is_replaced() || page.entries.iter().any(is_other) {
            return self.end(End::Closed(Closing::Replaced));
        }
        let mut at = self.at.unwrap_or_default();
        let mut is_over = page.at_end;
        for entry in &page.entries {
            let seq = entry.position.seq;
            // What is behind the end may be written, but was not shown yet.
            if seq > end {
                is_over = true;
                break;
            }
            if seq != at + 1 {
                self.show_gap(at, seq);
            }
            at = seq;
            self.ready.extend(self.frame_of(entry));
        }
        self.at = Some(at);
        if at < end && !is_over {
            self.read(at, end);
        } else {
            // What cannot be read at the end is not waited for.
            if at < end {
                self.show_gap(at, end + 1);
            }
            self.at = Some(at.max(end));
            self.join();
        }
    }

    fn frame_of(&self, entry: &Entry) -> Option<Followed> {
        let frame = Frame::lasting(entry.position, &event(&entry.record, entry.at / 1000));
        frame.bytes(self.view).cloned().map(Followed::Frame)
    }

    /// Nothing is skipped silently.
    fn show_gap(&mut self, after: u64, before: u64) {
        let bytes = match self.view {
            View::Plain => format!(
                ": records {} to {} cannot be read\n\n",
                after + 1,
                before - 1
            ),
            View::Full => {
                let gap = Frame::passing(&Event::Gap { after, before });
                self.ready
                    .extend(gap.bytes(View::Full).cloned().map(Followed::Frame));
                return;
            }
        };
        self.ready.push_back(Followed::Frame(bytes.into()));
    }

    fn delivered(&mut self, delivery: Option<Delivery>) {
        match delivery {
            Some(Delivery { seq, bytes }) => {
                self.at = seq.or(self.at);
                self.ready.push_back(Followed::Frame(bytes));
            }
            // It lagged, or the broadcaster closed; joining again tells.
            None => self.join(),
        }
    }
}

impl Stream for Follower {
    type Item = Followed;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Followed>> {
        let this = &mut *self;
        loop {
            if let Some(next) = this.ready.pop_front() {
                return Poll::Ready(Some(next));
            }
            match &mut this.step {
                Step::Joining(joining) => {
                    let joined = ready!(joining.as_mut().poll(cx));
                    this.joined(joined);
                }
                Step::Reading { page, end } => {
                    let end = *end;
                    let page = ready!(page.as_mut().poll(cx));
                    this.took(page, end);
                }
                Step::Waiting(waiting) => {
                    ready!(waiting.as_mut().poll(cx));
                    this.join();
                }
                Step::Live(subscription) => {
                    let delivery = ready!(subscription.poll_next_unpin(cx));
                    this.delivered(delivery);
                }
                Step::Ended => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
