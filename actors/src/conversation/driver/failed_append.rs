//! The journal did not take a record: a fact that is not in it never was.

use actix::prelude::*;

use super::actor::{ConversationActor, ResidentState};
use super::outbox::{AppendId, OutboxStep};
use crate::conversation::machine::{Effect, Input, Machine};
use crate::conversation::messages::{CompactError, RunOutcome, SubmitError};
use crate::event::Passing;
use crate::ids::RunId;
use crate::journal::AppendError;

impl ConversationActor {
    /// Forgets everything from the append on that failed: the journal takes no more for now.
    pub(super) fn fail(&mut self, append: AppendId, error: &AppendError, ctx: &mut Context<Self>) {
        let reason = error.to_string();
        log::error!("conversation {}: {reason}", self.id);
        let outcome = RunOutcome::NotKept(reason.clone());
        match std::mem::replace(&mut self.state, ResidentState::Dormant) {
            ResidentState::Alive(machine) => self.drop_machine(*machine, &outcome, ctx),
            state @ (ResidentState::Dormant | ResidentState::Reviving(_)) => self.state = state,
        }
        let mut held_orders = false;
        for step in self.outbox.cut(append) {
            match step {
                OutboxStep::Answer(answer) => {
                    answer(self, Err(SubmitError::NotKept(reason.clone())));
                }
                OutboxStep::Do(Effect::EndRun(run, _)) => self.last = Some((run, outcome.clone())),
                OutboxStep::Do(effect) => held_orders |= matches!(effect, Effect::Rewrite { .. }),
                OutboxStep::Written { .. } | OutboxStep::Kept { .. } => {}
            }
        }
        let lost = CompactError::Order(SubmitError::NotKept(reason.clone()));
        self.end_compaction(&Err(lost));
        let outbox = &self.outbox;
        let is_dropped = |(run, _): &mut (RunId, _)| !outbox.ends(*run);
        for (_, waiter) in self.waiting.extract_if(.., is_dropped) {
            drop(waiter.send(outcome.clone()));
        }
        self.outbox
            .push(OutboxStep::Do(Effect::Show(Passing::Discarded)));
        self.outbox
            .push(OutboxStep::Do(Effect::Show(Passing::Failed(reason))));
        self.proceed(ctx);
        if held_orders {
            self.take_held_orders(ctx);
        }
    }

    /// Cancels the calls of a machine that was dropped.
    pub(super) fn drop_machine(
        &mut self,
        mut machine: Machine,
        outcome: &RunOutcome,
        ctx: &mut Context<Self>,
    ) {
        self.calls = machine.calls();
        self.last = machine
            .run()
            .map(|run| (run, outcome.clone()))
            .or(self.last.take());
        for effect in machine.handle(Input::StopRequested) {
            if let Effect::CancelModel(_) | Effect::CancelTool(_) = effect {
                self.perform(effect, ctx);
            }
        }
    }
}
