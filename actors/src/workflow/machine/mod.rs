//! Every decision of a workflow: inputs go in, effects come out.
//!
//! Invariant: no actor, no IO, no clock. The next step follows from the ledger alone, so a machine that comes back
//! after a crash decides as the one that died. At most one step is open at a time.

mod attempt;
mod checks;
mod effect;
mod ends;
mod input;
mod limits;
mod next;
mod order;
mod patience;
mod restart;
mod scheduled;
mod start;
mod waiting;

use std::sync::Arc;

use harness_protocol::WorkflowLimits;

use super::facts::Spent;
use super::ledger::WorkflowLedger;
use super::manifest::Manifest;
use super::record::WorkflowRecord;
use super::select::{FeatureSelector, FirstPendingFeatureSelector};
use super::state::{IterationStep, PauseReason};

pub use effect::{CheckCall, IterationPrompt, NoticeText, OrderOutcome, Refused, WorkflowEffect};
pub use input::{
    FoundRun, NewManifest, OperatorOrder, RecoveryFindings, RunEnd, RunStatus, StepRefusal,
    WorkflowInput,
};
pub use patience::ProviderPatience;

/// One workflow.
pub struct WorkflowMachine {
    ledger: WorkflowLedger,
    manifest: Option<Arc<Manifest>>,
    selector: Arc<dyn FeatureSelector>,
    /// True if the open step was begun, or continued, in this life.
    is_running: bool,
    /// True if the workflow received an order to stop.
    is_stopping: bool,
    /// Limit of its waits for a provider that does not answer.
    patience: ProviderPatience,
    /// True if the open step waits for the provider, in this life.
    is_waiting: bool,
    /// The time that the driver set last, in milliseconds since the Unix epoch.
    now: u64,
    /// The findings of the last restart about the open attempt.
    found: FoundRun,
    /// The askers who wait until nothing runs.
    waiters: Vec<u64>,
    /// The effects of the input that is handled.
    effects: Vec<WorkflowEffect>,
}

impl WorkflowMachine {
    /// A workflow with that past, which does nothing by itself. The manifest is the version that counts.
    #[must_use]
    pub fn new(ledger: WorkflowLedger, manifest: Option<Arc<Manifest>>) -> Self {
        Self {
            ledger,
            manifest,
            selector: Arc::new(FirstPendingFeatureSelector),
            is_running: false,
            is_stopping: false,
            patience: ProviderPatience::default(),
            is_waiting: false,
            now: 0,
            found: FoundRun::NotSent,
            waiters: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// The same with another way to choose features.
    #[must_use]
    pub fn with_selector(mut self, selector: Arc<dyn FeatureSelector>) -> Self {
        self.selector = selector;
        self
    }

    /// The same with another patience for the provider.
    #[must_use]
    pub fn with_patience(mut self, patience: ProviderPatience) -> Self {
        self.patience = patience;
        self
    }

    /// A workflow that is loaded again, with its first effects.
    #[must_use]
    pub fn resume(
        ledger: WorkflowLedger,
        manifest: Option<Arc<Manifest>>,
        found: RecoveryFindings,
    ) -> (Self, Vec<WorkflowEffect>) {
        let mut machine = Self::new(ledger, manifest);
        let effects = machine.restarted(found);
        (machine, effects)
    }

    /// Continues after the service came back. The caller calls it once, on the machine that it made for the workflow.
    pub fn restarted(&mut self, found: RecoveryFindings) -> Vec<WorkflowEffect> {
        self.restart(found);
        self.advance();
        std::mem::take(&mut self.effects)
    }

    /// The sums of the records.
    #[must_use]
    pub fn ledger(&self) -> &WorkflowLedger {
        &self.ledger
    }

    /// The manifest that counts.
    #[must_use]
    pub fn manifest(&self) -> Option<&Arc<Manifest>> {
        self.manifest.as_ref()
    }

    /// Handles an input. The end of a step that is not open is late and changes nothing.
    pub fn handle(&mut self, input: WorkflowInput) -> Vec<WorkflowEffect> {
        match input {
            WorkflowInput::Order { asker, by, order } => self.take_order(asker, by, order),
            WorkflowInput::PrepareEnded { at, ended, ms } => self.prepare_ended(at, ended, ms),
            WorkflowInput::HealthEnded { at, runs } => self.health_ended(at, &runs),
            WorkflowInput::ConversationLinked {
                at,
                conversation,
                run,
            } => self.linked(at, conversation, run),
            WorkflowInput::RunEnded { at, ended } => self.run_ended(at, &ended),
            WorkflowInput::SnapshotEnded { at, ended } => self.snapshot_ended(at, ended),
            WorkflowInput::CheckEnded {
                at,
                check,
                tree,
                number,
                run,
            } => self.check_ended(at, &check, &tree, number, &run),
            WorkflowInput::AcceptEnded { at, ended } => {
                self.git_ended(at, IterationStep::Accept, ended);
            }
            WorkflowInput::RestoreEnded { at, ended } => {
                self.git_ended(at, IterationStep::Restore, ended);
            }
            WorkflowInput::ProviderDown { at, ended, detail } => {
                self.provider_down(at, &ended, detail);
            }
            WorkflowInput::Time { has_room } => self.time(has_room),
            WorkflowInput::StepRefused { at, step, refusal } => {
                self.not_carried_out(at, step, refusal);
            }
            WorkflowInput::Trouble { reason, detail } => self.wish_now(reason, detail),
            WorkflowInput::BudgetTick {
                at,
                spent,
                attempt_ms,
            } => self.tick(at, spent, attempt_ms),
            WorkflowInput::ConversationAsks { at, asks } => self.asks(at, asks),
            WorkflowInput::Notified { number, failed } => {
                self.note(WorkflowRecord::Notified { number, failed });
            }
        }
        self.advance();
        std::mem::take(&mut self.effects)
    }

    /// Does all that can be done until something has to be waited for.
    fn advance(&mut self) {
        self.break_wait();
        while self.ledger.is_active() && self.ledger.step().is_none() {
            let Some(manifest) = self.manifest.clone() else {
                break;
            };
            if !self.go_on(&manifest) {
                break;
            }
        }
        if self.ledger.stops_now() || self.is_late() {
            self.stop_step();
        }
        let is_busy = self.is_running && self.ledger.step().is_some();
        if !is_busy && !self.ledger.is_cancelling() {
            let state = self.ledger.state();
            for asker in std::mem::take(&mut self.waiters) {
                let answer = OrderOutcome::Done(state);
                self.effects.push(WorkflowEffect::Answer { asker, answer });
            }
        }
    }

    /// Adds a record to the ledger, and tells to write it down.
    fn note(&mut self, record: WorkflowRecord) {
        self.ledger.apply(&record);
        self.effects.push(WorkflowEffect::Record(record));
    }

    fn pause(&mut self, reason: PauseReason, detail: impl Into<String>, by: Option<String>) {
        self.note(WorkflowRecord::Paused {
            reason,
            detail: detail.into(),
            by,
        });
        self.effects
            .push(WorkflowEffect::Notify(NoticeText::Paused(reason)));
    }

    /// True if the running conversation takes too long.
    fn is_late(&self) -> bool {
        let converses = self
            .ledger
            .step()
            .is_some_and(|open| open.step == IterationStep::Converse);
        converses
            && self
                .ledger
                .iteration()
                .is_some_and(|open| open.attempt.is_late)
    }

    /// Tells the step that is under way to stop, once. What git does is let to end.
    fn stop_step(&mut self) {
        let Some(open) = self.ledger.step() else {
            return;
        };
        if !self.is_running || self.is_stopping {
            return;
        }
        let (at, step) = (open.at, open.step.clone());
        self.is_stopping = true;
        match step {
            IterationStep::Converse => {
                let conversation = self.conversation(at.n);
                self.effects
                    .push(WorkflowEffect::CancelRun { at, conversation });
            }
            IterationStep::Prepare | IterationStep::Health | IterationStep::Check(_) => {
                self.effects.push(WorkflowEffect::KillStep { at });
            }
            IterationStep::Snapshot | IterationStep::Accept | IterationStep::Restore => {}
        }
    }

    /// The id of an iteration's conversation.
    fn conversation(&self, n: u32) -> String {
        format!("wf-{}-{n}", self.ledger.workflow().unwrap_or_default())
    }

    /// The limits of its usage, with what resumes have granted; none is known before there is a manifest.
    #[must_use]
    pub fn limits(&self) -> WorkflowLimits {
        let manifest = self.manifest.as_deref();
        manifest.map(|own| self.limits_of(own)).unwrap_or_default()
    }

    fn limits_of(&self, manifest: &Manifest) -> WorkflowLimits {
        limits::granted_limits(manifest, self.ledger.granted())
    }

    /// The money that may still be spent, in millionths of a US dollar. `None` if there is no limit.
    #[must_use]
    pub fn rest_micro_usd(&self) -> Option<u64> {
        let limit = self.limits().cost_micro_usd?;
        Some(limit.saturating_sub(self.ledger.spent().cost_micro_usd))
    }

    /// The budget that is used up, if the running work used so much besides.
    fn over_budget(&self, manifest: &Manifest, more: Spent) -> Option<(PauseReason, String)> {
        let spent = self.ledger.spent().plus(more);
        let limits = self.limits_of(manifest);
        [
            (
                PauseReason::BudgetTokens,
                spent.tokens,
                limits.tokens,
                "tokens",
            ),
            (
                PauseReason::BudgetCost,
                spent.cost_micro_usd,
                limits.cost_micro_usd,
                "millionths of a dollar",
            ),
            (
                PauseReason::BudgetTime,
                spent.active_ms,
                limits.active_ms,
                "milliseconds of work",
            ),
        ]
        .into_iter()
        .find_map(|(reason, used, limit, unit)| {
            let limit = limit.filter(|limit| used >= *limit)?;
            Some((
                reason,
                format!("{used} of {limit} {unit} are used up; resume with more"),
            ))
        })
    }
}

#[cfg(test)]
mod tests;
