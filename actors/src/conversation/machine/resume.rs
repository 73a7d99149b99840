//! Runs without a new prompt.

use harness_protocol::Queue;

use super::Machine;
use super::order::{Order, Taken};
use crate::conversation::messages::{ContinueRun, Resumption, SubmitError};
use crate::ids::RunId;
use crate::journal::{Activity, Record};

impl Order for ContinueRun {
    type Answer = RunId;
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(Some(0))
    }

    /// Starts a run that goes on from the past as it is. If the last word is the model's, what
    /// waits is said first: steering, else follow-ups.
    fn apply(self, machine: &mut Machine) -> Taken<Self> {
        let Self { resumption, by } = self;
        machine.check_idle()?;
        let leaves_out = resumption == Resumption::Retry && machine.ledger.may_retry();
        let has_replied = !leaves_out && machine.ledger.ends_with_reply();
        if has_replied && !machine.waits(Queue::Steer) && !machine.waits(Queue::FollowUp) {
            let is_empty = machine.ledger.history().is_empty();
            return Err(if is_empty {
                SubmitError::Empty
            } else {
                SubmitError::Replied
            });
        }
        let (run, mut effects) = machine.begin()?;
        effects.push(machine.note(Record::RunStarted {
            run,
            by: by.clone(),
        }));
        if leaves_out {
            effects.push(machine.note(Record::ReplyLeftOut { by }));
        }
        let steering = machine.drain(Queue::Steer);
        if has_replied && steering.is_empty() {
            effects.extend(machine.drain(Queue::FollowUp));
        }
        effects.extend(steering);
        effects.push(machine.status(Activity::Thinking, ""));
        effects.extend(machine.ask());
        Ok((run, effects))
    }
}
