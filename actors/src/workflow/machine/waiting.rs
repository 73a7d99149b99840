//! Waits for a provider that does not answer. The step stays open meanwhile, and the run continues after the wait.

use super::{RunEnd, WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Spent, StepPlace};
use crate::workflow::record::{ProviderWaits, WorkflowRecord};
use crate::workflow::state::{IterationStep, PauseReason, StepOutcome};

impl WorkflowMachine {
    /// The provider did not answer, for as long as the conversation tried: waits, or pauses when all patience is
    /// used up.
    pub(super) fn provider_down(&mut self, at: StepPlace, ended: &RunEnd, detail: String) {
        if !self.is_open(at, &IterationStep::Converse) {
            return;
        }
        let attempt = self.ledger.iteration().map(|open| &open.attempt);
        let (waits, waited_ms) = attempt.map_or((0, 0), |own| (own.waits, own.waited_ms));
        let ms = self.patience.next_ms(waits, waited_ms);
        let is_told = self.ledger.wish().is_some() || self.ledger.stops_now() || self.is_stopping;
        let Some(ms) = ms.filter(|_| !is_told && !self.is_late()) else {
            let waited = match waited_ms / 1000 {
                0 => detail,
                s => format!("{detail}; it was waited for {s} s"),
            };
            self.wish_now(PauseReason::ProviderDown, waited);
            self.run_ended(at, ended);
            return;
        };
        self.end_asking();
        let charged = attempt_charged(self);
        self.note(WorkflowRecord::ProviderWaits(ProviderWaits {
            n: at.n,
            attempt: at.attempt,
            number: waits.saturating_add(1),
            ms,
            until: self.now.saturating_add(ms),
            detail,
            spent: ended.spent.minus(charged),
        }));
        self.is_waiting = true;
        if let Some(manifest) = self.manifest.clone()
            && let Some((reason, detail)) = self.over_budget(&manifest, Spent::default())
        {
            self.wish_now(reason, detail);
        }
    }

    /// Ends the wait when its time is over: the run continues from the place where it failed.
    pub(super) fn end_wait(&mut self) {
        let is_over = self.wait_ends().is_some_and(|until| until <= self.now);
        let Some(at) = self.ledger.step().map(|open| open.at).filter(|_| is_over) else {
            return;
        };
        self.is_waiting = false;
        let conversation = self.conversation(at.n);
        self.tell(WorkflowEffect::ContinueRun { at, conversation });
    }

    /// Ends the wait because something else is wanted; the attempt is interrupted, which costs nothing.
    pub(super) fn break_wait(&mut self) {
        let is_told = self.ledger.wish().is_some() || self.ledger.is_cancelling();
        let Some(at) = self.ledger.step().map(|open| open.at) else {
            return;
        };
        if !self.is_waiting || !is_told {
            return;
        }
        self.is_waiting = false;
        self.end_step(
            at,
            IterationStep::Converse,
            StepOutcome::Interrupted,
            "",
            Spent::default(),
        );
    }

    /// The end of the wait, if there is one.
    pub(super) fn wait_ends(&self) -> Option<u64> {
        let attempt = self.ledger.iteration().map(|open| &open.attempt);
        attempt.filter(|_| self.is_waiting)?.waits_until
    }

    /// The money that could still be spent when the open attempt's conversation started, in millionths of a US dollar.
    /// `None` if there is no limit.
    #[must_use]
    pub fn rest_without_attempt_micro_usd(&self) -> Option<u64> {
        let charged = attempt_charged(self).cost_micro_usd;
        Some(self.rest_micro_usd()?.saturating_add(charged))
    }
}

/// The part of the usage of the attempt's conversation that is on record already.
pub(super) fn attempt_charged(machine: &WorkflowMachine) -> Spent {
    let iteration = machine.ledger.iteration();
    iteration
        .map(|open| open.attempt.charged)
        .unwrap_or_default()
}
