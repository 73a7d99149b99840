//! How runs begin: with a prompt, or without a new one.

use std::sync::Arc;

use harness_protocol::Queue;
use serde_json::Value;

use super::Machine;
use super::compaction::Compaction;
use super::effect::Effect;
use super::order::{ConversationOrder, OrderResult};
use super::plan::RunPlan;
use super::run::Run;
use crate::conversation::messages::{ContinueRun, Resumption, SubmitError, SubmitPrompt};
use crate::conversation::past::KeyedState;
use crate::ids::RunId;
use crate::journal::{Activity, Record};

impl ConversationOrder for SubmitPrompt {
    type Answer = RunId;
    type Refusal = SubmitError;

    fn brings(&self, machine: &Machine) -> Result<Option<usize>, SubmitError> {
        machine.message_brings(None, &self.content, self.key.as_deref())
    }

    /// Starts a run, after ending what a service left open when it died. A prompt that was taken
    /// before is answered with the run that it started then.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let key = self.key.as_deref();
        if let Some(keyed) = key.and_then(|key| machine.ledger.keyed(key)) {
            return match keyed.named {
                KeyedState::Run(run) if keyed.is_of(&self.content, &self.attachments) => {
                    Ok((run, vec![]))
                }
                KeyedState::Run(_) | KeyedState::Item(_) => Err(SubmitError::KeyReused),
            };
        }
        machine.check_prompt(&self.content)?;
        let schema = self.schema.map(|schema| schema.json().clone());
        let (run, mut effects) = machine.begin(schema.clone())?;
        effects.push(machine.note(Record::RunStarted {
            run,
            by: None,
            rules: self.rules,
            spending_limit_micro_usd: self.spending_limit_micro_usd,
            schema: schema.map(Box::new),
        }));
        effects.push(machine.note(Record::Prompt {
            run,
            content: self.content,
            key: self.key,
            by: self.by,
            queue: None,
            item: None,
            attachments: self.attachments,
        }));
        effects.extend(machine.drain(Queue::Steer));
        effects.push(machine.status(Activity::Thinking, ""));
        effects.extend(machine.ask());
        Ok((run, effects))
    }
}

impl ConversationOrder for ContinueRun {
    type Answer = RunId;
    type Refusal = SubmitError;

    /// Starts a run that continues from the unchanged past. If the last word is the model's, what
    /// waits is said first: steering, else follow-ups. A reply of which there is only what a crash
    /// cut is asked for anew if nothing waits.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self {
            resumption,
            by,
            rules,
            spending_limit_micro_usd,
        } = self;
        machine.check_idle()?;
        let waits = machine.waits(Queue::Steer) || machine.waits(Queue::FollowUp);
        let is_cut_short = machine.ledger.is_cut_short() && !waits;
        let is_retry = resumption == Resumption::Retry;
        let leaves_out = is_cut_short || (is_retry && machine.ledger.may_retry());
        let has_replied = !leaves_out && machine.ledger.ends_with_reply();
        if has_replied && !waits {
            let is_empty = machine.ledger.history().is_empty();
            return Err(if is_empty {
                SubmitError::Empty
            } else {
                SubmitError::Replied
            });
        }
        let (run, mut effects) = machine.begin(None)?;
        effects.push(machine.note(Record::RunStarted {
            run,
            by: by.clone(),
            rules,
            spending_limit_micro_usd,
            schema: None,
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

impl Machine {
    /// Whether a run may begin.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_idle(&self) -> Result<(), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if self.run.is_some() || self.is_compacting() {
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
        let mut effects: Vec<Effect> = closing.map(|record| self.note(record)).collect();
        effects.extend(self.end_lost_jobs());
        effects
    }

    /// Plans a run, whose replies are to fit the schema if there is one.
    ///
    /// # Errors
    /// When its requests cannot be made.
    pub(super) fn begin(
        &mut self,
        schema: Option<Value>,
    ) -> Result<(RunId, Vec<Effect>), SubmitError> {
        let plan = RunPlan {
            schema: schema.map(Arc::new),
            ..self.plan()
        };
        let head = self.planner.head(&plan, self.ledger.history());
        let head = head.map_err(SubmitError::Prompt)?;
        let effects = self.close();
        let id = RunId(self.ledger.totals().runs + 1);
        self.compaction = Compaction::default();
        self.run = Some(Run::new(id, plan, head));
        Ok((id, effects))
    }
}
