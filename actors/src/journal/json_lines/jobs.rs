//! The work of a journal, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::super::{
    AppendError, BlockPiece, Durability, Header, NewRecord, OpenError, Position, Replaced,
};
use super::journal::FileJournal;
use super::pool::lock;
use crate::storage::StorageError;

/// One thing to do.
pub(super) enum JournalOrder {
    /// See [`super::super::Journal::append`].
    Append {
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
        reply: oneshot::Sender<Result<Vec<Position>, AppendError>>,
    },
    /// See [`super::super::Journal::replace`].
    Replace {
        expected: u64,
        header: Box<Header>,
        entries: Vec<Bytes>,
        reply: oneshot::Sender<Result<Replaced, AppendError>>,
    },
    /// See [`super::super::Journal::keep`].
    Keep {
        handed: u64,
        pieces: Vec<BlockPiece>,
        reply: oneshot::Sender<Result<(), StorageError>>,
    },
    /// See [`super::super::Journal::forget`].
    Forget,
    /// See [`super::super::JournalStore::remove`].
    Remove {
        reply: oneshot::Sender<Result<String, OpenError>>,
    },
}

/// The orders of one journal.
#[derive(Default)]
pub(super) struct Orders {
    queue: VecDeque<JournalOrder>,
    /// True if a thread that may wait for the disk is doing them.
    is_away: bool,
}

/// Tells the result of an order. Called by a thread that has let go of the journal, so that who
/// drops the last handle after an answer has closed it.
pub(super) type JournalAnswer = Box<dyn FnOnce() + Send>;

/// Returns an answer that is sent later. A dropped receiver needs none.
pub(super) fn answer<T: Send + 'static>(reply: oneshot::Sender<T>, answer: T) -> JournalAnswer {
    Box::new(move || drop(reply.send(answer)))
}

impl FileJournal {
    /// Queues an order for the writer.
    pub(super) fn give(self: &Arc<Self>, order: JournalOrder) {
        let mut orders = lock(&self.orders);
        orders.queue.push_back(order);
        if !orders.is_away {
            let journal = Arc::clone(self);
            // What is written must be flushed, too, so that nothing is begun without the threads
            // for that.
            let is_taken =
                self.shared.slow.has_threads() && self.shared.writer.run(move || journal.next());
            if !is_taken {
                orders.queue.clear();
            }
        }
    }

    /// Does the next order on the writer's thread. What waits for the disk goes elsewhere, and
    /// takes the later orders with it; the writer never waits.
    fn next(self: Arc<Self>) {
        let mut orders = lock(&self.orders);
        if orders.is_away {
            return;
        }
        let is_quick = match orders.queue.front() {
            Some(JournalOrder::Append { .. }) => self.is_taken(),
            Some(JournalOrder::Keep { .. }) => lock(&self.kept).is_open(),
            Some(JournalOrder::Forget) => !self.may_keep(),
            Some(JournalOrder::Replace { .. } | JournalOrder::Remove { .. }) => false,
            None => return,
        };
        if !is_quick {
            let journal = Arc::clone(&self);
            orders.is_away = self.shared.slow.run(move || journal.catch_up());
            if !orders.is_away {
                orders.queue.clear();
            }
            return;
        }
        let order = orders.queue.pop_front();
        drop(orders);
        let answer = order.and_then(|order| self.obey(order));
        drop(self);
        answer.into_iter().for_each(|answer| answer());
    }

    /// Does all orders on a thread that may wait.
    fn catch_up(self: Arc<Self>) {
        let mut answer = None;
        loop {
            let mut orders = lock(&self.orders);
            let order = orders.queue.pop_front();
            orders.is_away = order.is_some();
            drop(orders);
            let Some(order) = order else { break };
            answer
                .take()
                .into_iter()
                .for_each(|answer: JournalAnswer| answer());
            answer = self.obey(order);
        }
        drop(self);
        answer.into_iter().for_each(|answer| answer());
    }

    /// Does an order; nothing is returned if the answer comes later.
    fn obey(self: &Arc<Self>, order: JournalOrder) -> Option<JournalAnswer> {
        match order {
            JournalOrder::Append {
                expected,
                records,
                durability,
                reply,
            } => self.append(expected, &records, durability, reply),
            JournalOrder::Replace {
                expected,
                header,
                entries,
                reply,
            } => Some(answer(reply, self.replace(expected, *header, &entries))),
            JournalOrder::Keep {
                handed,
                pieces,
                reply,
            } => Some(answer(reply, self.keep(handed, pieces))),
            JournalOrder::Forget => {
                if self.may_keep() {
                    self.forget_kept();
                }
                None
            }
            JournalOrder::Remove { reply } => Some(answer(reply, self.remove())),
        }
    }
}
