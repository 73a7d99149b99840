//! Runs without a new prompt.

use harness_protocol::Queue;

use super::Machine;
use super::effect::Effect;
use crate::conversation::messages::{Resumption, SubmitError};
use crate::ids::RunId;
use crate::journal::{Activity, Record};

impl Machine {
    /// Starts a run that goes on from the past as it is. If the last word is the model's, what
    /// waits is said first: steering, else follow-ups.
    ///
    /// # Errors
    /// Refused orders change nothing and show nothing.
    pub fn resume(
        &mut self,
        resumption: Resumption,
        by: Option<String>,
    ) -> Result<(RunId, Vec<Effect>), SubmitError> {
        self.check_idle()?;
        let leaves_out = resumption == Resumption::Retry && self.ledger.may_retry();
        let has_replied = !leaves_out && self.ledger.ends_with_reply();
        if has_replied && !self.waits(Queue::Steer) && !self.waits(Queue::FollowUp) {
            let is_empty = self.ledger.history().is_empty();
            return Err(if is_empty {
                SubmitError::Empty
            } else {
                SubmitError::Replied
            });
        }
        let (run, mut effects) = self.begin()?;
        effects.push(self.note(Record::RunStarted {
            run,
            by: by.clone(),
        }));
        if leaves_out {
            effects.push(self.note(Record::ReplyLeftOut { by }));
        }
        let steering = self.drain(Queue::Steer);
        if has_replied && steering.is_empty() {
            effects.extend(self.drain(Queue::FollowUp));
        }
        effects.extend(steering);
        effects.push(self.status(Activity::Thinking, ""));
        effects.extend(self.ask());
        Ok((run, effects))
    }
}
