//! The queue between the broadcaster and one client.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

/// How many events may wait for one client.
pub const MAX_QUEUED_EVENTS: usize = 1024;
/// How many bytes may wait for one client; a single event may be larger if nothing else waits.
/// The bytes are shared between clients.
pub const MAX_QUEUED_BYTES: usize = 1024 * 1024;

/// Both ends of a queue.
pub(super) fn pair() -> (Subscriber, Subscription) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let shared = Arc::new(Shared::default());
    let subscriber = Subscriber {
        sender,
        shared: Arc::clone(&shared),
    };
    (subscriber, Subscription { receiver, shared })
}

#[derive(Debug, Default)]
struct Shared {
    queued_bytes: AtomicUsize,
    lagged: AtomicBool,
}

/// The broadcaster's end.
#[derive(Debug)]
pub(super) struct Subscriber {
    sender: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
}

impl Subscriber {
    /// Queues one encoded event. False if the client is gone, or lags and is to be let go.
    pub(super) fn send(&self, frame: &Bytes) -> bool {
        let queued = self.shared.queued_bytes.load(Ordering::Relaxed);
        let fits = queued == 0 || queued + frame.len() <= MAX_QUEUED_BYTES;
        // Counted first: the client's end takes off what it received.
        self.shared
            .queued_bytes
            .fetch_add(frame.len(), Ordering::Relaxed);
        match self.sender.try_send(frame.clone()) {
            Ok(()) if fits => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => {
                self.shared.lagged.store(true, Ordering::Relaxed);
                false
            }
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
        self.shared.lagged.load(Ordering::Relaxed)
    }
}

impl Stream for Subscription {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = self.receiver.poll_recv(cx);
        if let Poll::Ready(Some(frame)) = &next {
            self.shared
                .queued_bytes
                .fetch_sub(frame.len(), Ordering::Relaxed);
        }
        next
    }
}
