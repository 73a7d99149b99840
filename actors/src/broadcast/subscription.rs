//! The queue between the broadcaster and one client.
//!
//! A client that lags is taken off the queue, without loss: what it lacks then is read from the
//! journal for it, at its own pace.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

use super::frame::{EventView, Frame};
use super::presence::{AttachedGuard, Attendance};

/// The bound on bytes that wait for one client behind the event that it is to take next, which may
/// be of any size. The bytes are shared between clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Maximum number of events.
    pub events: usize,
    /// Maximum size, in bytes.
    pub bytes: usize,
}

/// The bound on bytes that wait for a client before it is taken off the queue.
pub const BOUND: Bound = Bound {
    events: 2048,
    bytes: 1024 * 1024,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes and empties a queue that has no reader any longer.
fn forsake(queue: &Mutex<mpsc::UnboundedReceiver<Delivery>>) {
    let mut queue = lock(queue);
    queue.close();
    while queue.try_recv().is_ok() {}
}

/// Both ends of a queue.
pub(super) fn pair(
    view: EventView,
    name: Option<Arc<str>>,
    attendance: &Attendance,
) -> (Subscriber, BroadcastSubscription) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let queue = Arc::new(Mutex::new(receiver));
    let taken = Arc::new(AtomicUsize::new(0));
    let subscriber = Subscriber {
        view,
        name,
        sender,
        queue: Arc::clone(&queue),
        taken: Arc::clone(&taken),
        waiting: VecDeque::new(),
        first: 0,
        bytes: 0,
    };
    let subscription = BroadcastSubscription {
        queue,
        taken,
        _attending: attendance.enter(),
    };
    (subscriber, subscription)
}

/// The broadcaster's end.
#[derive(Debug)]
pub(super) struct Subscriber {
    view: EventView,
    name: Option<Arc<str>>,
    sender: mpsc::UnboundedSender<Delivery>,
    /// The client's end, of use only to empty it.
    queue: Arc<Mutex<mpsc::UnboundedReceiver<Delivery>>>,
    /// Number of events that the client has taken.
    taken: Arc<AtomicUsize>,
    /// The sizes of the waiting events that are known here, in bytes.
    waiting: VecDeque<u32>,
    /// The number of the first of them, counted from the client's attaching.
    first: usize,
    /// The sum of their sizes.
    bytes: usize,
}

/// One event on its way to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The record of the event. `None` for passing events.
    pub seq: Option<u64>,
    /// The bytes to send.
    pub bytes: Bytes,
}

impl Subscriber {
    /// Queues an event. Returns false if the client has left, or lags and must be detached.
    pub(super) fn send(&mut self, frame: &Frame) -> bool {
        let Some(bytes) = frame.bytes(self.view) else {
            return self.is_attached();
        };
        self.look();
        let size = bytes.len();
        let next = self.waiting.front().map_or(size, |next| *next as usize);
        let lags = self.waiting.len() > BOUND.events || self.bytes + size - next > BOUND.bytes;
        if lags {
            // It may not take anything for a long time.
            forsake(&self.queue);
            return false;
        }
        self.queue(frame.seq, bytes)
    }

    /// Queues an event that belongs to the client's attaching, whatever waits.
    pub(super) fn greet(&mut self, frame: &Frame) {
        if let Some(bytes) = frame.bytes(self.view) {
            self.queue(frame.seq, bytes);
        }
    }

    fn queue(&mut self, seq: Option<u64>, bytes: &Bytes) -> bool {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.waiting.push_back(size);
        self.bytes += size as usize;
        let bytes = bytes.clone();
        self.sender.send(Delivery { seq, bytes }).is_ok()
    }

    /// Notes what the client has taken since.
    fn look(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        while self.first < taken {
            self.bytes -= self.waiting.pop_front().unwrap_or_default() as usize;
            self.first += 1;
        }
    }

    pub(super) fn is_attached(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }
}

/// A client's end: the encoded events from the moment of attaching on. It ends when the client lagged or the
/// broadcaster was closed.
#[derive(Debug)]
pub struct BroadcastSubscription {
    /// Held for moments only.
    queue: Arc<Mutex<mpsc::UnboundedReceiver<Delivery>>>,
    taken: Arc<AtomicUsize>,
    _attending: AttachedGuard,
}

impl Drop for BroadcastSubscription {
    /// The broadcaster's end has the queue, too.
    fn drop(&mut self) {
        forsake(&self.queue);
    }
}

impl Stream for BroadcastSubscription {
    type Item = Delivery;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let next = lock(&self.queue).poll_recv(cx);
        if let Poll::Ready(Some(_)) = &next {
            self.taken.fetch_add(1, Ordering::Release);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, StreamExt as _};
    use harness_protocol::{ActivityState, Event};

    use super::*;

    /// Spec: [HTTP-78]
    #[test]
    fn nothing_is_held_for_a_client_that_was_taken_off_or_has_left() {
        let frame = Frame::passing(&Event::Status {
            state: ActivityState::Idle,
            message: "x".repeat(100_000),
            timestamp: 0,
        });
        let attendance = Attendance::default();
        let (mut subscriber, mut subscription) = pair(EventView::Full, None, &attendance);
        let mut sent = 0;
        while subscriber.send(&frame) {
            sent += 1;
            assert_eq!(lock(&subscription.queue).len(), sent);
        }
        assert!((10..20).contains(&sent), "{sent}");
        assert_eq!(lock(&subscription.queue).len(), 0);
        assert_eq!(subscription.next().now_or_never(), Some(None));
        let (mut subscriber, subscription) = pair(EventView::Full, None, &attendance);
        assert!(subscriber.send(&frame));
        drop(subscription);
        assert_eq!(lock(&subscriber.queue).len(), 0);
        assert!(!subscriber.is_attached() && !subscriber.send(&frame));
    }
}
