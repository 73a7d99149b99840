//! Messages that wait to be said: steering for the next model request, follow-ups for the end of
//! the run.
//!
//! Invariant: a message is on record as waiting, said or withdrawn at any time, and the record that
//! says it takes it off the queue. So a crash loses none and says none twice.

use harness_protocol::{Queue, QueueItem, QueueMode};

use super::Machine;
use super::effect::Effect;
use super::order::{ConversationOrder, OrderResult};
use crate::conversation::messages::{QueueMessage, SubmitError, WithdrawMessages, WouldTake};
use crate::conversation::past::KeyedState;
use crate::ids::{ItemId, RunId};
use crate::journal::Record;

/// How many messages may wait in a conversation.
const MAX_QUEUED: usize = 100;
/// How many bytes of text may wait in a conversation: the end of every run repeats what waits.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

impl ConversationOrder for QueueMessage {
    type Answer = ItemId;
    type Refusal = SubmitError;

    fn brings(&self, machine: &Machine) -> Result<Option<usize>, SubmitError> {
        machine.message_brings(Some(self.queue), &self.content, self.key.as_deref())
    }

    /// Queues a message. While no run is going it waits for the next one.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let key = self.key.as_deref();
        if let Some(keyed) = key.and_then(|key| machine.ledger.keyed(key)) {
            return match keyed.named {
                KeyedState::Item(item) if keyed.is_of(&self.content, &self.attachments) => {
                    Ok((item, vec![]))
                }
                KeyedState::Item(_) | KeyedState::Run(_) => Err(SubmitError::KeyReused),
            };
        }
        machine.check_queue(&self.content)?;
        let item = ItemId(machine.ledger.totals().items + 1);
        let queued = machine.note(Record::Queued {
            item,
            queue: self.queue,
            content: self.content,
            attachments: self.attachments,
            key: self.key,
            by: self.by,
        });
        Ok((item, vec![queued]))
    }
}

impl ConversationOrder for WouldTake {
    type Answer = ();
    type Refusal = SubmitError;

    fn brings(&self, machine: &Machine) -> Result<Option<usize>, SubmitError> {
        machine.message_brings(self.queue, &self.content, self.key.as_deref())
    }

    fn apply(self, _: &mut Machine) -> OrderResult<Self> {
        Ok(((), vec![]))
    }
}

impl ConversationOrder for WithdrawMessages {
    /// Which ones waited.
    type Answer = Vec<ItemId>;
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(None)
    }

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        Ok(machine.withdraw(self))
    }
}

impl Machine {
    /// How much a message brings that is to wait, or to start a run. One that was taken before
    /// needs no room.
    ///
    /// # Errors
    /// The reason why it would be refused, by what is known without its files.
    pub(super) fn message_brings(
        &self,
        queue: Option<Queue>,
        content: &str,
        key: Option<&str>,
    ) -> Result<Option<usize>, SubmitError> {
        if key.is_some_and(|key| self.ledger.keyed(key).is_some()) {
            return Ok(None);
        }
        match queue {
            Some(_) => self.check_queue(content)?,
            None => self.check_prompt(content)?,
        }
        Ok(Some(content.len()))
    }

    fn check_queue(&self, content: &str) -> Result<(), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if content.trim().is_empty() {
            return Err(SubmitError::Blank);
        }
        let totals = self.ledger.totals();
        if totals.queue.len() >= MAX_QUEUED {
            return Err(SubmitError::QueueFull { max: MAX_QUEUED });
        }
        let waiting: usize = totals.queue.iter().map(|item| item.content.len()).sum();
        if waiting.saturating_add(content.len()) > MAX_QUEUED_BYTES {
            return Err(SubmitError::QueueTooLarge {
                max_bytes: MAX_QUEUED_BYTES,
            });
        }
        Ok(())
    }

    /// Withdraws a message, or all; tells which ones waited.
    pub(super) fn withdraw(&mut self, order: WithdrawMessages) -> (Vec<ItemId>, Vec<Effect>) {
        let WithdrawMessages { item, by } = order;
        let queue = self.ledger.totals().queue.iter();
        let waiting = queue.map(|waiting| ItemId(waiting.item));
        let is_meant = |waiting: &ItemId| item.is_none_or(|item| item == *waiting);
        let items: Vec<ItemId> = waiting.filter(is_meant).collect();
        if items.is_empty() {
            return (items, vec![]);
        }
        let withdrawn = self.note(Record::Withdrawn {
            items: items.clone(),
            by,
        });
        (items, vec![withdrawn])
    }

    /// Says what waits in a queue, as much at once as the mode has it. Each time something is said
    /// the run may make all its model requests again.
    pub(super) fn drain(&mut self, queue: Queue) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        let mode = match queue {
            Queue::Steer => run.plan.settings.steering_mode,
            Queue::FollowUp => run.plan.settings.follow_up_mode,
        };
        let at_once = match mode {
            QueueMode::OneAtATime => 1,
            QueueMode::All => usize::MAX,
        };
        let waiting = self.ledger.totals().queue.iter();
        let meant = waiting.filter(|item| item.queue == queue).take(at_once);
        let said: Vec<QueueItem> = meant.cloned().collect();
        if !said.is_empty() {
            run.asked = 0;
            run.is_steered |= queue == Queue::Steer;
        }
        let run = run.id;
        said.into_iter().map(|item| self.say(run, item)).collect()
    }

    /// Says the steering that came while something was done before the request, such as a summary.
    /// A reply that was paused, or that awaits the result of a tool of the API's own, continues
    /// first.
    pub(super) fn drain_late(&mut self) -> Vec<Effect> {
        let awaits = self.ledger.history().awaits_server_results();
        let is_due = self.run.as_ref().is_some_and(|run| {
            let has_room = !run.is_steered || run.plan.settings.steering_mode == QueueMode::All;
            has_room && run.pauses == 0 && run.ending.is_none() && !awaits
        });
        if is_due {
            self.drain(Queue::Steer)
        } else {
            vec![]
        }
    }

    fn say(&mut self, run: RunId, item: QueueItem) -> Effect {
        self.note(Record::Prompt {
            run,
            content: item.content,
            key: item.key,
            by: item.by,
            queue: Some(item.queue),
            item: Some(ItemId(item.item)),
            attachments: item.attachments,
        })
    }

    /// Whether anything waits in a queue.
    pub(super) fn waits(&self, queue: Queue) -> bool {
        let mut waiting = self.ledger.totals().queue.iter();
        waiting.any(|item| item.queue == queue)
    }
}
