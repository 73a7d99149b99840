//! Flushes a journal's file for all who wait for it.

use std::sync::{Arc, MutexGuard};

use tokio::sync::oneshot;

use super::super::{AppendError, Position};
use super::ends::End;
use super::journal::FileJournal;
use super::pool::lock;

/// The appends that wait for a flush.
#[derive(Default)]
pub(super) struct Waiting {
    appends: Vec<Waiter>,
    /// How many appends ever waited; numbers them.
    count: u64,
    /// Whether a thread is flushing.
    is_flushing: bool,
}

struct Waiter {
    number: u64,
    end: End,
    positions: Vec<Position>,
    reply: oneshot::Sender<Result<Vec<Position>, AppendError>>,
}

impl Waiting {
    /// Tells all of them why their records are not there.
    pub(super) fn dismiss(&mut self, error: &AppendError) {
        for waiter in self.appends.drain(..) {
            // Who does not wait any more is not told.
            drop(waiter.reply.send(Err(error.clone())));
        }
    }
}

impl FileJournal {
    /// Answers when what was written up to there is durable. Flushes at once; while a flush is
    /// under way, those who come gather for the next one.
    pub(super) fn wait(
        self: &Arc<Self>,
        end: End,
        positions: Vec<Position>,
        reply: oneshot::Sender<Result<Vec<Position>, AppendError>>,
    ) {
        let mut waiting = lock(&self.waiting);
        waiting.count += 1;
        let number = waiting.count;
        waiting.appends.push(Waiter {
            number,
            end,
            positions,
            reply,
        });
        if !waiting.is_flushing {
            waiting.is_flushing = true;
            let journal = Arc::clone(self);
            self.shared.slow.run(move || journal.flush());
        }
    }

    /// Flushes until nobody waits.
    fn flush(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            if waiting.appends.is_empty() {
                waiting.is_flushing = false;
                return;
            }
            let upto = waiting.count;
            drop(waiting);
            let Some(file) = self.shown().file else {
                continue;
            };
            match file.sync() {
                Ok(()) => self.release(lock(&self.waiting), upto),
                Err(error) => {
                    let mut writing = lock(&self.writing);
                    let reason = self.failed("flush", &error).to_string();
                    drop(self.halt(&mut writing, reason));
                }
            }
        }
    }

    /// Answers those who waited for a flush that is done.
    fn release(&self, mut waiting: MutexGuard<'_, Waiting>, upto: u64) {
        let (done, later) = std::mem::take(&mut waiting.appends)
            .into_iter()
            .partition(|waiter| waiter.number <= upto);
        waiting.appends = later;
        for waiter in done {
            self.show(waiter.end);
            // Who does not wait any more is not told.
            drop(waiter.reply.send(Ok(waiter.positions)));
        }
    }

    /// Flushes here and now, and answers everyone who waits.
    pub(super) fn flush_now(&self) -> std::io::Result<()> {
        if let Some(file) = self.shown().file {
            file.sync()?;
        }
        self.release(lock(&self.waiting), u64::MAX);
        Ok(())
    }
}
