//! What a journal is to do, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::super::{AppendError, Durability, Header, NewRecord, OpenError, Position};
use super::journal::FileJournal;
use super::pool::lock;

/// One thing to do.
pub(super) enum Order {
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
        header: Header,
        entries: Vec<Bytes>,
        reply: oneshot::Sender<Result<Position, AppendError>>,
    },
    /// See [`super::super::JournalStore::remove`].
    Remove {
        reply: oneshot::Sender<Result<String, OpenError>>,
    },
}

/// The orders of one journal.
#[derive(Default)]
pub(super) struct Orders {
    queue: VecDeque<Order>,
    /// Whether a thread that may wait for the disk is doing them.
    is_away: bool,
}

impl FileJournal {
    /// Queues an order for the writer.
    pub(super) fn give(self: &Arc<Self>, order: Order) {
        lock(&self.orders).queue.push_back(order);
        let journal = Arc::clone(self);
        self.shared.writer.run(move || journal.next());
    }

    /// Does the next order on the writer's thread. What waits for the disk goes elsewhere, and
    /// takes the later orders with it; the writer never waits.
    fn next(self: Arc<Self>) {
        let mut orders = lock(&self.orders);
        if orders.is_away {
            return;
        }
        let is_quick = match orders.queue.front() {
            Some(Order::Append { .. }) => self.is_taken(),
            Some(Order::Replace { .. } | Order::Remove { .. }) => false,
            None => return,
        };
        if !is_quick {
            orders.is_away = true;
            drop(orders);
            let journal = Arc::clone(&self);
            self.shared.slow.run(move || journal.catch_up());
            return;
        }
        let order = orders.queue.pop_front();
        drop(orders);
        order.into_iter().for_each(|order| self.obey(order));
    }

    /// Does all orders on a thread that may wait.
    fn catch_up(self: Arc<Self>) {
        loop {
            let mut orders = lock(&self.orders);
            let Some(order) = orders.queue.pop_front() else {
                orders.is_away = false;
                return;
            };
            drop(orders);
            self.obey(order);
        }
    }

    /// Does an order. Who does not wait for the answer any more does not get one.
    fn obey(self: &Arc<Self>, order: Order) {
        match order {
            Order::Append {
                expected,
                records,
                durability,
                reply,
            } => self.append(expected, &records, durability, reply),
            Order::Replace {
                expected,
                header,
                entries,
                reply,
            } => drop(reply.send(self.replace(expected, header, &entries))),
            Order::Remove { reply } => drop(reply.send(self.remove())),
        }
    }
}
