//! Runs with a new prompt, and how every run begins.

use harness_protocol::Queue;

use super::Machine;
use super::effect::Effect;
use super::order::{Order, Taken};
use super::run::{Run, Step};
use crate::conversation::messages::{SubmitError, SubmitPrompt};
use crate::conversation::past::Named;
use crate::ids::RunId;
use crate::journal::{Activity, Record};

impl Order for SubmitPrompt {
    type Answer = RunId;
    type Refusal = SubmitError;

    fn brings(&self, machine: &Machine) -> Result<Option<usize>, SubmitError> {
        machine.message_brings(None, &self.content, self.key.as_deref())
    }

    /// Starts a run, after ending what a service left open when it died. A prompt that was taken
    /// before is answered with the run that it started then.
    fn apply(self, machine: &mut Machine) -> Taken<Self> {
        let Self {
            content,
            key,
            by,
            attachments,
        } = self;
        if let Some(keyed) = key.as_ref().and_then(|key| machine.ledger.keyed(key)) {
            return match keyed.named {
                Named::Run(run) if keyed.is_of(&content, &attachments) => Ok((run, vec![])),
                Named::Run(_) | Named::Item(_) => Err(SubmitError::KeyReused),
            };
        }
        machine.check_prompt(&content)?;
        let (run, mut effects) = machine.begin()?;
        effects.push(machine.note(Record::RunStarted { run, by: None }));
        effects.push(machine.note(Record::Prompt {
            run,
            content,
            key,
            by,
            queue: None,
            item: None,
            attachments,
        }));
        effects.extend(machine.drain(Queue::Steer));
        effects.push(machine.status(Activity::Thinking, ""));
        effects.extend(machine.ask());
        Ok((run, effects))
    }
}

impl Machine {
    /// Whether a run may begin.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_idle(&self) -> Result<(), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if self.run.is_some() || self.manual.is_some() {
            return Err(SubmitError::Busy);
        }
        Ok(())
    }

    /// Whether a prompt would start a run.
    pub(super) fn check_prompt(&self, content: &str) -> Result<(), SubmitError> {
        self.check_idle()?;
        if content.trim().is_empty() {
            return Err(SubmitError::Blank);
        }
        Ok(())
    }

    /// Ends what a service left open when it died.
    pub(super) fn close(&mut self) -> Vec<Effect> {
        let closing = self.ledger.closing().into_iter();
        closing.map(|record| self.note(record)).collect()
    }

    /// Plans a run.
    ///
    /// # Errors
    /// When its requests cannot be made.
    pub(super) fn begin(&mut self) -> Result<(RunId, Vec<Effect>), SubmitError> {
        let plan = self.planner.plan(self.settings(), self.tool_list());
        let head = self.planner.head(&plan, self.ledger.history());
        let head = head.map_err(SubmitError::Prompt)?;
        let effects = self.close();
        let id = RunId(self.ledger.totals().runs + 1);
        self.run = Some(Run {
            id,
            plan,
            head,
            turns: 0,
            asked: 0,
            pauses: 0,
            step: Step::Summarize,
            ending: None,
            cancelled_by: None,
            is_described: false,
            info: None,
            attempts: 0,
            failures: 0,
            overflowed: false,
            is_steered: false,
        });
        Ok((id, effects))
    }
}
