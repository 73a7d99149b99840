//! The queue between the broadcaster and one client.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

/// How many events may wait for one client.
pub const MAX_QUEUED_EVENTS: usize = 1024;
/// How many bytes may wait for one client behind the event that it is to take next, which may be
/// of any size. The bytes are shared between clients.
pub const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

/// Both ends of a queue.
pub(super) fn pair() -> (Subscriber, Subscription) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let shared = Arc::new(Shared::default());
    let subscriber = Subscriber {
        sender,
        shared: Arc::clone(&shared),
        waiting: VecDeque::new(),
        first: 0,
        bytes: 0,
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
    sender: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
    /// The sizes of the events that wait, as far as it is known here.
    waiting: VecDeque<usize>,
    /// The number of the first of them, counted from the client's attaching.
    first: usize,
    /// The sum of their sizes.
    bytes: usize,
}

impl Subscriber {
    /// Queues one encoded event. False if the client is gone, or lags and is to be let go.
    pub(super) fn send(&mut self, frame: &Bytes) -> bool {
        let taken = self.shared.taken.load(Ordering::Acquire);
        while self.first < taken {
            self.bytes -= self.waiting.pop_front().unwrap_or_default();
            self.first += 1;
        }
        let next = self.waiting.front().copied().unwrap_or(frame.len());
        let behind_next = self.bytes + frame.len() - next;
        if behind_next > MAX_QUEUED_BYTES {
            self.shared.lagged.store(true, Ordering::Release);
            return false;
        }
        match self.sender.try_send(frame.clone()) {
            Ok(()) => {
                self.waiting.push_back(frame.len());
                self.bytes += frame.len();
                true
            }
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.shared.lagged.store(true, Ordering::Release);
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
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
    receiver: mpsc::Receiver<Bytes>,
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
