//! The next thing between iterations: gates, verifications, pauses, the choice of a feature, the end.

use std::sync::Arc;

use super::{NoticeText, WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Checkpoint, HEALTH_FEATURE, ProgressEntry, StepPlace};
use crate::workflow::ledger::FeatureNote;
use crate::workflow::manifest::{Feature, Manifest, RunMode};
use crate::workflow::record::{Purpose, WorkflowRecord};
use crate::workflow::select::choices;
use crate::workflow::state::{
    FeatureState, IterationStatus, IterationStep, PauseReason, RunErrorKind, RunPhase,
};

/// After how many iterations without a newly passing feature the workflow pauses.
const MAX_WITHOUT_PROGRESS: u32 = 5;

impl WorkflowMachine {
    /// Does what is next, with no step open. False if there is nothing to do.
    pub(super) fn go_on(&mut self, manifest: &Arc<Manifest>) -> bool {
        if self.ledger.iteration().is_some() {
            return self.go_on_attempt(manifest);
        }
        if self.ledger.verification().is_some() {
            self.go_on_verification(manifest);
            return true;
        }
        if self.ledger.is_cancelling() {
            self.note(WorkflowRecord::Cancelled {
                detail: "nothing runs, and the branch is at the last accepted commit".to_owned(),
            });
            return true;
        }
        if let Some(wish) = self.ledger.wish().cloned() {
            self.pause(wish.reason, wish.detail, wish.by);
            return true;
        }
        match self.ledger.phase().map(|phase| phase.phase) {
            Some(RunPhase::Initializer) => self.initialize(manifest),
            Some(RunPhase::TaskIteration) => self.go_on_run(manifest),
            None => return false,
        }
        true
    }

    fn initialize(&mut self, manifest: &Manifest) {
        let Some(applied) = self.ledger.manifest() else {
            return;
        };
        if manifest.gates.plan && !applied.is_approved {
            let gate = format!("plan-{}", applied.version);
            let asks = format!("approve the manifest {}", applied.hash);
            self.open_gate(gate, asks);
            return;
        }
        self.begin_verification(Purpose::Baseline);
    }

    pub(super) fn open_gate(&mut self, gate: String, asks: String) {
        self.note(WorkflowRecord::GateOpened {
            gate: gate.clone(),
            asks,
        });
        self.effects
            .push(WorkflowEffect::Notify(NoticeText::Gate(gate)));
    }

    /// The end of the initializer, with the first progress entry and checkpoint.
    pub(super) fn end_initializer(&mut self, manifest: &Manifest) {
        let Some(head) = self.ledger.head() else {
            return;
        };
        let features = manifest.features.len();
        let text = format!("initialized with {features} features");
        let checkpoint = Checkpoint {
            status: IterationStatus::Accepted,
            head: head.head.clone(),
            note: text.clone(),
        };
        self.note(WorkflowRecord::PhaseEnded {
            phase: RunPhase::Initializer,
            error: None,
            detail: text.clone(),
            progress: Some(ProgressEntry {
                n: 0,
                feature: None,
                text,
            }),
            checkpoint: Some(checkpoint),
        });
    }

    fn end_run(&mut self, error: Option<RunErrorKind>, detail: &str) {
        self.note(WorkflowRecord::PhaseEnded {
            phase: RunPhase::TaskIteration,
            error,
            detail: detail.to_owned(),
            progress: None,
            checkpoint: None,
        });
    }

    fn go_on_run(&mut self, manifest: &Arc<Manifest>) {
        let is_enough = self.all_required_pass(manifest);
        if is_enough && !self.has_open(manifest) {
            self.finish();
            return;
        }
        if self.ends_run(manifest) {
            return;
        }
        match self.limit(manifest) {
            // What is not required is tried as long as it may be, and hinders nothing.
            Some(_) if is_enough => self.finish(),
            Some((reason, detail)) => self.pause(reason, detail, None),
            None => self.take_bearings(manifest),
        }
    }

    /// True if there is a feature that may be tried.
    fn has_open(&self, manifest: &Manifest) -> bool {
        let choices = choices(manifest, &self.ledger);
        let mut states = choices.iter().map(|choice| choice.state);
        states.any(|state| state == FeatureState::Failing)
    }

    fn all_required_pass(&self, manifest: &Manifest) -> bool {
        let mut required = manifest
            .features
            .iter()
            .filter(|feature| feature.required)
            .peekable();
        required.peek().is_some() && required.all(|feature| self.ledger.passes(&feature.id))
    }

    /// Completes what is verified, and verifies what is not.
    fn finish(&mut self) {
        let head = self.ledger.head().map(|head| head.head.clone());
        match head.filter(|_| self.ledger.is_verified()) {
            Some(head) => {
                self.note(WorkflowRecord::Completed { head });
                self.effects
                    .push(WorkflowEffect::Notify(NoticeText::Completed));
            }
            None => self.begin_verification(Purpose::Final),
        }
    }

    /// Ends the run if its order or its policy requires that.
    fn ends_run(&mut self, manifest: &Manifest) -> bool {
        let Some(phase) = self.ledger.phase() else {
            return true;
        };
        let fail_fast = manifest.policy.fail_fast;
        let error = match phase.last {
            Some(IterationStatus::Failed) if fail_fast.chat => Some(RunErrorKind::Chat),
            Some(IterationStatus::Rejected) if fail_fast.validation => {
                Some(RunErrorKind::Validation)
            }
            Some(
                IterationStatus::Accepted
                | IterationStatus::Rejected
                | IterationStatus::Failed
                | IterationStatus::Interrupted,
            )
            | None => None,
        };
        let order = &phase.order;
        let features = match manifest.mode {
            RunMode::Strict => Some(1),
            RunMode::Bounded => order
                .max_features
                .or(Some(manifest.policy.max_features_per_run)),
            RunMode::Unlimited => order.max_features,
        };
        let limit = [features, order.max_iterations].into_iter().flatten().min();
        if error.is_some() {
            self.end_run(error, "the policy ends a run at its first failure");
        } else if limit.is_some_and(|limit| phase.iterations >= limit) {
            self.end_run(None, "it had as many iterations as it may have");
        } else {
            return false;
        }
        true
    }

    /// The limit that keeps it from another iteration, if one does.
    fn limit(&self, manifest: &Manifest) -> Option<(PauseReason, String)> {
        if let Some(outside) = self.outside(manifest) {
            return Some(outside);
        }
        if let Some(over) = self.over_budget(manifest, crate::workflow::facts::Spent::default()) {
            return Some(over);
        }
        let limit = self.limits_of(manifest).iterations;
        if let Some(limit) = limit.filter(|limit| self.ledger.iterations() >= *limit) {
            let detail = format!("{limit} iterations are used up; resume with more");
            return Some((PauseReason::Iterations, detail));
        }
        if self.ledger.since_progress() >= MAX_WITHOUT_PROGRESS {
            let detail = format!("{MAX_WITHOUT_PROGRESS} iterations brought no feature");
            return Some((PauseReason::NoProgress, detail));
        }
        if self.has_open(manifest) {
            return None;
        }
        let choices = choices(manifest, &self.ledger);
        let waits = choices
            .iter()
            .filter(|choice| choice.state != FeatureState::Passing);
        let ids: Vec<&str> = waits.map(|choice| choice.feature.id.as_str()).collect();
        let detail = format!("no feature may be tried; still open: {}", ids.join(", "));
        Some((PauseReason::Stuck, detail))
    }

    /// Looks at the workspace and the base, then begins the next iteration.
    fn take_bearings(&mut self, manifest: &Arc<Manifest>) {
        let at = StepPlace {
            n: self.ledger.iterations().saturating_add(1),
            attempt: 0,
        };
        let bearings = self.ledger.bearings();
        if bearings.log.is_none() {
            self.start(at, IterationStep::Prepare, None);
            return;
        }
        match bearings.health.clone() {
            None if !manifest.health.is_empty() => self.start(at, IterationStep::Health, None),
            Some(Err(detail)) => self.repair(manifest, at.n, detail),
            None | Some(Ok(())) => self.begin_iteration(manifest, at.n),
        }
    }

    fn repair(&mut self, manifest: &Manifest, n: u32, detail: String) {
        let known = self.ledger.feature(HEALTH_FEATURE);
        let is_stuck = known.is_some_and(|known| known.state == FeatureState::Stuck);
        if manifest.policy.fail_fast.health || is_stuck {
            self.pause(PauseReason::Health, detail, None);
            return;
        }
        self.note_iteration(
            n,
            HEALTH_FEATURE.to_owned(),
            "the base is not fit for work".to_owned(),
        );
    }

    fn begin_iteration(&mut self, manifest: &Arc<Manifest>, n: u32) {
        let choices = choices(manifest, &self.ledger);
        let chosen = self.selector.select(&choices);
        let detail = match &chosen {
            None => "the selector chose nothing while features are open".to_owned(),
            Some(chosen) => format!("the selector chose {:?}, which is not open", chosen.feature),
        };
        let is_open = |id: &str| {
            let open = choices
                .iter()
                .filter(|choice| choice.state == FeatureState::Failing);
            open.clone().any(|choice| choice.feature.id == id)
        };
        match chosen.filter(|chosen| is_open(&chosen.feature)) {
            Some(chosen) => self.note_iteration(n, chosen.feature, chosen.why),
            None => {
                self.end_run(Some(RunErrorKind::Validation), &detail);
                self.pause(PauseReason::Selector, detail, None);
            }
        }
    }

    fn note_iteration(&mut self, n: u32, feature: String, why: String) {
        let Some(head) = self.ledger.head() else {
            return;
        };
        let base = head.head.clone();
        self.note(WorkflowRecord::IterationStarted {
            n,
            feature,
            base,
            why,
        });
    }

    /// The features that a manifest has and an older one had otherwise.
    pub(super) fn changed_features(old: &Manifest, new: &Manifest) -> Vec<String> {
        let was = |id: &str| old.features.iter().find(|feature| feature.id == id);
        let is_other =
            |feature: &&Feature| was(&feature.id).is_some_and(|old| old.checks != feature.checks);
        new.features
            .iter()
            .filter(is_other)
            .map(|feature| feature.id.clone())
            .collect()
    }

    /// The state of an iteration's feature when that ends without being accepted.
    pub(super) fn state_after(feature: Option<&FeatureNote>, is_judged: bool) -> FeatureState {
        match feature {
            Some(known) if known.state != FeatureState::Failing => known.state,
            Some(known) if is_judged && known.stuck().is_some() => FeatureState::Stuck,
            Some(_) | None => FeatureState::Failing,
        }
    }
}
