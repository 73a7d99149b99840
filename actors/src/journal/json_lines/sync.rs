//! Flushes a journal's file for all who wait for it.

use std::io;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::{AppendError, Position};
use super::ends::JournalEnd;
use super::jobs::{JournalAnswer, answer};
use super::journal::FileJournal;
use super::pool::lock;

/// The appends that wait for a flush.
#[derive(Default)]
pub(super) struct WaitingAppends {
    appends: Vec<Waiter>,
    /// Number of all appends that ever waited; numbers them.
    count: u64,
    /// True while a thread flushes.
    is_flushing: bool,
}

struct Waiter {
    number: u64,
    end: JournalEnd,
    positions: Vec<Position>,
    reply: oneshot::Sender<Result<Vec<Position>, AppendError>>,
}

impl WaitingAppends {
    /// Tells all of them why their records are not there.
    pub(super) fn dismiss(&mut self, error: &AppendError) {
        for waiter in self.appends.drain(..) {
            // The receiver may be gone; nothing to do then.
            drop(waiter.reply.send(Err(error.clone())));
        }
    }
}

impl FileJournal {
    /// Answers when what was written up to there is durable. Flushes at once; while a flush is
    /// under way, those who come gather for the next one.
    pub(super) fn wait(
        self: &Arc<Self>,
        end: JournalEnd,
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
            let journal = Arc::clone(self);
            waiting.is_flushing = self.shared.slow.run(move || journal.flush());
            if !waiting.is_flushing {
                waiting.appends.clear();
            }
        }
    }

    /// True if an append waits for a flush.
    pub(super) fn has_waiting(&self) -> bool {
        !lock(&self.waiting).appends.is_empty()
    }

    /// Flushes until no append waits.
    fn flush(self: Arc<Self>) {
        let mut answers: Vec<JournalAnswer> = Vec::new();
        loop {
            let mut waiting = lock(&self.waiting);
            waiting.is_flushing = !waiting.appends.is_empty();
            if !waiting.is_flushing {
                break;
            }
            let upto = waiting.count;
            drop(waiting);
            answers.drain(..).for_each(|answer| answer());
            let flushed = match self.published().file {
                Some(file) => file.sync(),
                None => Ok(()),
            };
            match flushed {
                Ok(()) => answers = self.release(upto),
                Err(error) => {
                    let mut writing = lock(&self.writing);
                    let reason = self.failed("flush", &error).to_string();
                    drop(self.halt(&mut writing, reason));
                }
            }
        }
        drop(self);
        answers.drain(..).for_each(|answer| answer());
    }

    /// Lets those go who waited for a flush that is done.
    fn release(&self, upto: u64) -> Vec<JournalAnswer> {
        let mut waiting = lock(&self.waiting);
        let is_done = |waiter: &mut Waiter| waiter.number <= upto;
        let done = waiting.appends.extract_if(.., is_done);
        done.map(|waiter| {
            self.show(waiter.end);
            answer(waiter.reply, Ok(waiter.positions))
        })
        .collect()
    }

    /// Flushes here and now, and answers everyone who waits.
    pub(super) fn flush_now(&self) -> io::Result<()> {
        if let Some(file) = self.published().file {
            file.sync()?;
        }
        self.release(u64::MAX)
            .into_iter()
            .for_each(|answer| answer());
        Ok(())
    }
}
