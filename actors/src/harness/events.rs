//! The events of a conversation as a stream.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use futures_util::Stream;
use harness_protocol::Event;

use super::follow::{ConversationFollower, FollowerPlace, Followers};
use crate::broadcast::messages::Publish;
use crate::event::event;
use crate::journal::{Journal, JournalPage, PageLimit, Position};
use crate::storage::{StorageError, StorageFuture};

/// Maximum number of events that wait for the reader of a stream. Further ones are read back from the journal.
pub(super) const MAX_WAITING: usize = 1024;
/// Maximum size of a page that is read back at once.
const PAGE: PageLimit = PageLimit {
    records: 64,
    bytes: 1024 * 1024,
};

/// The events of a conversation, from now on; see [`super::Harness::events`]. Ends with the conversation.
///
/// A slow reader delays no other one, and misses no lasting event: events that had no room are read back from the
/// journal. It may miss passing ones, which are the pieces of blocks that are not finished. Events that can no longer
/// be read back are reported by an [`Event::Gap`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct EventStream {
    waiting: Arc<WaitingEvents>,
    journal: Arc<dyn Journal>,
    /// The position after the last lasting event.
    at: Position,
    /// The end up to which records are read back, and the page that is being read.
    reading: Option<(Position, StorageFuture<Result<JournalPage, StorageError>>)>,
    /// The events that were read back.
    read: VecDeque<Event>,
    /// Events after this end were published since it was read back.
    read_to: Option<Position>,
    _place: FollowerPlace,
}

/// The events that wait for the reader.
#[derive(Default)]
struct WaitingEvents(Mutex<EventQueue>);

#[derive(Default)]
struct EventQueue {
    /// With the position of each that lasts.
    events: VecDeque<(Option<Position>, Event)>,
    /// True if some events had no room.
    lacks: bool,
    is_over: bool,
    reader: Option<Waker>,
}

/// The sending side of a stream. The stream ends when it is dropped.
struct EventSender(Arc<WaitingEvents>);

impl WaitingEvents {
    fn lock(&self) -> MutexGuard<'_, EventQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut EventQueue)) {
        let mut queue = self.lock();
        change(&mut queue);
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl ConversationFollower for EventSender {
    fn take(&self, shown: &Publish) {
        let (position, event) = match shown {
            Publish::Lasting { position, event } => (Some(*position), event),
            Publish::Passing(event) => (None, event),
            // The position of the next event tells the reader.
            Publish::Rewritten { .. } => return,
        };
        self.0.change(|queue| {
            // No event may overtake those that have to be read back.
            queue.lacks |= queue.events.len() >= MAX_WAITING;
            if !queue.lacks {
                queue.events.push_back((position, event.clone()));
            }
        });
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.0.change(|queue| queue.is_over = true);
    }
}

/// The result of a look at the queue.
enum NextEvent {
    Event(Option<Position>, Box<Event>),
    /// The rest is in the journal.
    Lack,
    Over,
    Nothing,
}

impl EventStream {
    pub(super) fn new(followers: &Followers, journal: Arc<dyn Journal>) -> Self {
        let waiting = Arc::<WaitingEvents>::default();
        let at = journal.end();
        let place = followers.add(Arc::new(EventSender(Arc::clone(&waiting))));
        Self {
            waiting,
            journal,
            at,
            reading: None,
            read: VecDeque::new(),
            read_to: None,
            _place: place,
        }
    }

    fn look(&self, reader: &Waker) -> NextEvent {
        let mut queue = self.waiting.lock();
        if let Some((position, event)) = queue.events.pop_front() {
            return NextEvent::Event(position, Box::new(event));
        }
        if std::mem::take(&mut queue.lacks) {
            return NextEvent::Lack;
        }
        if queue.is_over {
            return NextEvent::Over;
        }
        queue.reader = Some(reader.clone());
        NextEvent::Nothing
    }

    /// Begins to read back what had no room. All of that is in the journal: it was written before it was published.
    fn read_back(&mut self) {
        let end = self.journal.end();
        if end.epoch != self.at.epoch {
            // The journal was replaced, and events that were not delivered are not in the new one.
            self.skip_to(end);
        }
        self.read_to = Some(end);
        self.read_page(end);
    }

    fn read_page(&mut self, end: Position) {
        self.reading = (self.at.seq < end.seq).then(|| (end, self.journal.read(self.at.seq, PAGE)));
    }

    /// Takes what was read back up to that end.
    fn took(&mut self, end: Position, page: Result<JournalPage, StorageError>) {
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                log::warn!("events that a reader has missed cannot be read back: {error}");
                self.skip_to(end);
                return;
            }
        };
        let is_last = page.at_end || page.entries.is_empty();
        for entry in page.entries {
            let position = entry.position;
            if position.epoch != end.epoch {
                // It was replaced meanwhile.
                self.skip_to(end);
                return;
            }
            if position.seq > end.seq {
                break;
            }
            if position.seq > self.at.seq + 1 {
                self.gap(position.seq);
            }
            self.at = position;
            self.read.push_back(event(&entry.record, entry.at / 1000));
        }
        if !is_last {
            self.read_page(end);
        } else if self.at.seq < end.seq {
            self.skip_to(end);
        }
    }

    /// Continues after that position, and reports the gap.
    fn skip_to(&mut self, position: Position) {
        self.gap(position.seq + 1);
        self.at = position;
    }

    fn gap(&mut self, before: u64) {
        let after = self.at.seq;
        self.read.push_back(Event::Gap { after, before });
    }

    /// True if an event was read back before it was taken from the queue.
    fn was_read(&self, position: Position) -> bool {
        let read_to = self.read_to;
        read_to.is_some_and(|read| read.epoch == position.epoch && position.seq <= read.seq)
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.read.pop_front() {
                return Poll::Ready(Some(event));
            }
            if let Some((end, reading)) = &mut this.reading {
                let (end, page) = (*end, ready!(reading.as_mut().poll(cx)));
                this.reading = None;
                this.took(end, page);
                continue;
            }
            match this.look(cx.waker()) {
                NextEvent::Event(Some(position), _) if this.was_read(position) => {}
                NextEvent::Event(position, event) => {
                    this.at = position.unwrap_or(this.at);
                    return Poll::Ready(Some(*event));
                }
                NextEvent::Lack => this.read_back(),
                NextEvent::Over => return Poll::Ready(None),
                NextEvent::Nothing => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.lock().events.len();
        f.debug_struct("EventStream")
            .field("at", &self.at)
            .field("waiting", &waiting)
            .finish_non_exhaustive()
    }
}
