//! Ending early: an operator cancels, or the service stops.

use super::Machine;
use super::effect::Effect;
use super::input::Input;
use super::order::{ConversationOrder, OrderResult};
use super::run::{RunEnding, RunStep};
use crate::conversation::messages::{CancelRun, SubmitError, WithdrawMessages};

impl ConversationOrder for CancelRun {
    /// Whether something is to stop.
    type Answer = bool;
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(None)
    }

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let stops = match (machine.run(), self.run) {
            (Some(going), Some(meant)) => going == meant,
            (Some(_), None) => true,
            (None, meant) => meant.is_none() && machine.is_compacting(),
        };
        Ok((stops, machine.handle(Input::CancelRequested(self))))
    }
}

impl Machine {
    pub(super) fn cancel(&mut self, order: CancelRun) -> Vec<Effect> {
        let mut effects = Vec::new();
        if order.clear_queue {
            let by = order.by.clone();
            effects.extend(self.withdraw(WithdrawMessages { item: None, by }).1);
        }
        // What waits is not to be said even if the run that is meant has ended.
        if order.run.is_some() && order.run != self.run() {
            return effects;
        }
        if let Some(run) = self.run.as_mut().filter(|run| run.ending.is_none()) {
            run.cancelled_by = order.by;
        }
        effects.extend(self.cancel_compaction());
        effects.extend(self.end_early(RunEnding::Cancelled));
        effects
    }

    pub(super) fn stop(&mut self) -> Vec<Effect> {
        self.stopping = true;
        let mut effects = Vec::from_iter(self.cancel_compaction());
        // What waits for an operator's answer waits on when the service is back.
        if !self.waits_for_approval() {
            effects.extend(self.end_early(RunEnding::Stopped));
        }
        effects
    }

    fn end_early(&mut self, ending: RunEnding) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        // A stop outranks a cancel; a second cancel changes nothing.
        let is_first = run.ending.is_none();
        if is_first || ending == RunEnding::Stopped {
            run.ending = Some(ending);
        }
        if !is_first {
            return vec![];
        }
        if let RunStep::Tools(tools) = &run.step
            && tools.held().is_some()
        {
            let by = run.cancelled_by.clone();
            return self.withdraw_approval(by);
        }
        match &run.step {
            RunStep::Describe(call_id) | RunStep::Model(call_id) => {
                vec![Effect::CancelModel(call_id.clone())]
            }
            RunStep::Summarize => {
                let call = self.compaction.cancel();
                call.into_iter().map(Effect::CancelModel).collect()
            }
            RunStep::Tools(tools) => tools.running().cloned().map(Effect::CancelTool).collect(),
        }
    }
}
