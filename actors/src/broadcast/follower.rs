//! One client's way through a conversation: first what it lacks, from the journal, then what
//! happens, from the broadcaster, and the journal again whenever it lags.
//!
//! Invariant: a client gets each record after its start exactly once and in order, and none of another life of the
//! journal: when the journal is replaced, the stream ends.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::time::Sleep;

use super::budget::{Lent, ReadBudget};
use super::frame::EventView;
use super::lack::{Begun, Lack, LentPage, StreamEndReason};
use super::messages::{Closing, Join, Joined};
use super::presence::{Attendance, FollowGuard};
use super::subscription::{BroadcastSubscription, Delivery};
use crate::journal::{Epoch, Journal, Position};

/// Maximum size of one piece of a journal's bytes that is handed out. The server copies a piece into the buffer of the
/// connection, so this bounds what a client that does not read costs there.
pub const PIECE: usize = 16 * 1024;

/// Time that a client which knows more than the broadcaster waits for it, each time.
const PUBLISHING: Duration = Duration::from_millis(20);

/// The place where a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowerStart {
    /// With what happens from now on.
    Live,
    /// After that record of that life of the journal.
    Behind(Position),
}

/// An item that a client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// An encoded event.
    Frame(Bytes),
    /// It is live from here on. Told once, when the client began live.
    Live(Position),
    /// The stream is over.
    Ended(StreamEndReason),
}

/// The source of a client's events.
#[derive(Clone)]
pub struct FollowerSource {
    /// The journal, for records that it lacks.
    pub journal: Arc<dyn Journal>,
    /// The broadcaster, for events from now on.
    pub broadcast: Recipient<Join>,
    /// The clients that are attached.
    pub attendance: Attendance,
    /// The bound on bytes that are held for clients.
    pub budget: ReadBudget,
}

/// Follows a conversation for one client. Ends after [`Followed::Ended`].
pub struct Follower {
    journal: Arc<dyn Journal>,
    broadcast: Recipient<Join>,
    budget: ReadBudget,
    view: EventView,
    name: Option<String>,
    /// The last record that the client got, once that is known.
    at: Option<u64>,
    /// The life of the journal that it is one of, once that is known.
    epoch: Option<Epoch>,
    /// The event that the client got a part of.
    begun: Option<Begun>,
    ready: VecDeque<Followed>,
    step: FollowerStep,
    _following: FollowGuard,
}

/// The event that the client waits for.
enum FollowerStep {
    Joining(Pin<Box<dyn Future<Output = Result<Joined, MailboxError>>>>),
    Reading {
        reading: Pin<Box<dyn Future<Output = Result<LentPage, StreamEndReason>>>>,
        end: u64,
    },
    /// It gets what was read up to record `at`, and reads on or joins.
    Taking {
        page: LentPage,
        end: u64,
    },
    /// For the broadcaster to say what the client has.
    Waiting(Pin<Box<Sleep>>),
    Live(BroadcastSubscription),
    Ended,
}

impl Follower {
    /// A client that begins there. The conversation is not let go while it follows.
    #[must_use]
    pub fn new(
        source: FollowerSource,
        view: EventView,
        name: Option<String>,
        start: FollowerStart,
    ) -> Self {
        let FollowerSource {
            journal,
            broadcast,
            attendance,
            budget,
        } = source;
        let (at, epoch) = match start {
            FollowerStart::Live => (None, None),
            FollowerStart::Behind(position) => (Some(position.seq), Some(position.epoch)),
        };
        let mut follower = Self {
            journal,
            broadcast,
            budget,
            view,
            name,
            at,
            epoch,
            begun: None,
            ready: VecDeque::new(),
            step: FollowerStep::Ended,
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
        self.step = FollowerStep::Joining(Box::pin(self.broadcast.send(join)));
    }

    fn read(&mut self, after: u64, end: u64) {
        let lack = Lack {
            journal: Arc::clone(&self.journal),
            budget: self.budget.clone(),
            view: self.view,
            epoch: self.epoch,
            after,
            end,
        };
        let reading = Box::pin(lack.read());
        self.step = FollowerStep::Reading { reading, end };
    }

    fn end(&mut self, end: StreamEndReason) {
        // After half an event no other frame may follow.
        if self.begun.is_none() {
            self.ready.push_back(Followed::Ended(end));
        }
        self.step = FollowerStep::Ended;
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
                self.step = FollowerStep::Live(subscription);
            }
            Ok(Joined::Behind { end }) if self.at.is_some_and(|at| at > end) => self.wait(),
            Ok(Joined::Behind { end }) => self.read(self.at.unwrap_or(end), end),
            // The broadcaster hears that the journal was replaced a little later.
            Ok(Joined::Elsewhere) if !self.is_replaced() => self.wait(),
            Ok(Joined::Elsewhere) => self.end(StreamEndReason::Closed(Closing::Replaced)),
            Ok(Joined::Closed(closing)) => self.end(StreamEndReason::Closed(closing)),
            Err(_) => self.end(StreamEndReason::Gone),
        }
    }

    fn wait(&mut self) {
        self.step = FollowerStep::Waiting(Box::pin(tokio::time::sleep(PUBLISHING)));
    }

    /// True if the journal is no longer the one that the client has seen.
    fn is_replaced(&self) -> bool {
        self.epoch
            .is_some_and(|epoch| epoch != self.journal.end().epoch)
    }

    fn took(&mut self, page: Result<LentPage, StreamEndReason>, end: u64) {
        let mut page = match page {
            Ok(page) => page,
            Err(reason) => return self.end(reason),
        };
        if let Some(begun) = &self.begun {
            // It continues where it was cut. Anything else would not be the event that was begun.
            match page.loan.next() {
                Some(part) if begun.is_of(&part) => page.loan.skip(begun.sent),
                Some(_) | None => {
                    self.step = FollowerStep::Ended;
                    return;
                }
            }
        }
        self.step = FollowerStep::Taking { page, end };
    }

    /// Hands out what was read.
    fn lent(&mut self, lent: Lent, page_at: u64, is_over: bool, end: u64) {
        match lent {
            Lent::Piece(part, before) => {
                Begun::note(&mut self.begun, &part, &before);
                self.ready.push_back(Followed::Frame(part.bytes));
            }
            Lent::Part(part) => {
                self.at = Some(part.upto);
                self.begun = None;
                self.ready.push_back(Followed::Frame(part.bytes));
            }
            // It is read once more from the client's position on, now that the client reads again.
            Lent::TakenBack => self.read(self.at.unwrap_or_default(), end),
            Lent::Over => {
                self.at = Some(page_at);
                if is_over {
                    self.join();
                } else {
                    self.read(page_at, end);
                }
            }
        }
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

impl Follower {
    /// As the stream, but that what was read from the journal comes in pieces of at most
    /// [`PIECE`] bytes. A client that does not take them for long costs nothing while others need
    /// the room.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Followed>> {
        self.poll_at_most(PIECE, cx)
    }

    /// True if the last piece is not the end of its event, so that nothing else may be sent.
    #[must_use]
    pub fn is_within_event(&self) -> bool {
        self.begun.is_some()
    }

    fn poll_at_most(&mut self, most: usize, cx: &mut Context<'_>) -> Poll<Option<Followed>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(Some(next));
            }
            match &mut self.step {
                FollowerStep::Joining(joining) => {
                    let joined = ready!(joining.as_mut().poll(cx));
                    self.joined(joined);
                }
                FollowerStep::Reading { reading, end } => {
                    let end = *end;
                    let page = ready!(reading.as_mut().poll(cx));
                    self.took(page, end);
                }
                FollowerStep::Taking { page, end } => {
                    let lent = page.loan.take(most);
                    let (page_at, is_over, end) = (page.at, page.is_over, *end);
                    self.lent(lent, page_at, is_over, end);
                }
                FollowerStep::Waiting(waiting) => {
                    ready!(waiting.as_mut().poll(cx));
                    self.join();
                }
                FollowerStep::Live(subscription) => {
                    let delivery = ready!(subscription.poll_next_unpin(cx));
                    self.delivered(delivery);
                }
                FollowerStep::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for Follower {
    type Item = Followed;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Followed>> {
        self.poll_at_most(usize::MAX, cx)
    }
}

#[cfg(test)]
#[path = "follower_tests.rs"]
pub(super) mod tests;
