//! The queue between the broadcaster and one client.
//!
//! A reply can arrive faster than any client reads, so being behind is no fault; not reading is.
//! A client is let go when much waits for it and it has taken nothing for a while, or when so
//! much waits that no reader could be alive.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What may wait for one client behind the event that it is to take next, which may be of any
/// size. The bytes are shared between clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// How many events.
    pub events: usize,
    /// How many bytes.
    pub bytes: usize,
}

/// What may wait for a client that has taken nothing for [`STALLED_AFTER`].
pub const STALLED_BOUND: Bound = Bound {
    events: 1024,
    bytes: 4 * 1024 * 1024,
};
/// What may wait for any client.
pub const BOUND: Bound = Bound {
    events: 128 * 1024,
    bytes: 64 * 1024 * 1024,
};
/// How long a client may take nothing before the smaller bound holds.
pub const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Both ends of a queue.
pub(super) fn pair() -> (Subscriber, Subscription) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    let subscriber = Subscriber {
        sender,
        shared: Arc::clone(&shared),
        waiting: VecDeque::new(),
        first: 0,
        bytes: 0,
        took_at: Instant::now(),
    };
    (subscriber, Subscription { receiver, shared })
}

#[derive(Debug, Default)]
struct Shared {
    /// How many events the client has taken.
    taken: AtomicUsize,
    lagged: AtomicBool,
}

/// The broadcaster's end.
#[derive(Debug)]
pub(super) struct Subscriber {
    sender: mpsc::UnboundedSender<Bytes>,
    shared: Arc<Shared>,
    /// The sizes of the events that wait, as far as it is known here.
    waiting: VecDeque<usize>,
    /// The number of the first of them, counted from the client's attaching.
    first: usize,
    /// The sum of their sizes.
    bytes: usize,
    /// When the client was last seen to have taken an event, or to have none to take.
    took_at: Instant,
}

impl Subscriber {
    /// Queues one encoded event. False if the client is gone, or lags and is to be let go.
    pub(super) fn send(&mut self, frame: &Bytes, now: Instant) -> bool {
        self.look(now);
        let next = self.waiting.front().copied().unwrap_or(frame.len());
        let behind = Bound {
            events: self.waiting.len(),
            bytes: self.bytes + frame.len() - next,
        };
        let bound = if now - self.took_at > STALLED_AFTER {
            STALLED_BOUND
        } else {
            BOUND
        };
        if behind.events > bound.events || behind.bytes > bound.bytes {
            self.shared.lagged.store(true, Ordering::Release);
            return false;
        }
        self.waiting.push_back(frame.len());
        self.bytes += frame.len();
        self.sender.send(frame.clone()).is_ok()
    }

    /// Notes what the client has taken since.
    fn look(&mut self, now: Instant) {
        let taken = self.shared.taken.load(Ordering::Acquire);
        if self.waiting.is_empty() || self.first < taken {
            self.took_at = now;
        }
        while self.first < taken {
            self.bytes -= self.waiting.pop_front().unwrap_or_default();
            self.first += 1;
        }
    }

    pub(super) fn is_attached(&self) -> bool {
        !self.sender.is_closed()
    }
}

/// A client's end: the encoded events from the moment of attaching on. It ends when the client
/// lagged or the service stops.
#[derive(Debug)]
pub struct Subscription {
    receiver: mpsc::UnboundedReceiver<Bytes>,
    shared: Arc<Shared>,
}

impl Subscription {
    /// Whether the client was let go because more waited for it than may.
    #[must_use]
    pub fn has_lagged(&self) -> bool {
        self.shared.lagged.load(Ordering::Acquire)
    }
}

impl Stream for Subscription {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = self.receiver.poll_recv(cx);
        if let Poll::Ready(Some(_)) = &next {
            self.shared.taken.fetch_add(1, Ordering::Release);
        }
        next
    }
}
