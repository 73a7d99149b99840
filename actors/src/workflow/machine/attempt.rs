//! The next step in an iteration: converse, snapshot, judge, then accept or roll back.

use super::{WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Checkpoint, FeatureChange, Head, ProgressEntry, Spent, StepPlace};
use crate::workflow::ledger::OpenIteration;
use crate::workflow::manifest::{Manifest, OnChange};
use crate::workflow::record::{IterationEnded, VerdictNote, WorkflowRecord};
use crate::workflow::state::{
    FeatureState, IterationStatus, IterationStep, PauseReason, PauseWhen, RejectReason, StepOutcome,
};
use crate::workflow::verdict::{Case, NextStep, needs_person, plan};

impl WorkflowMachine {
    /// Does what is next. False if a person has to answer first.
    pub(super) fn go_on_attempt(&mut self, manifest: &Manifest) -> bool {
        let Some(iteration) = self.ledger.iteration().cloned() else {
            return false;
        };
        let attempt = &iteration.attempt;
        let at = iteration.place();
        let is_cancelling = self.ledger.is_cancelling();
        // What fails while all is to end is not tried again.
        let gave_up = |step: IterationStep| is_cancelling && attempt.failed == Some(step);
        let is_taken = attempt
            .verdict
            .as_ref()
            .is_some_and(|verdict| verdict.accepted);
        if is_taken && attempt.accepted {
            self.end_iteration(manifest, &iteration, IterationStatus::Accepted);
            return true;
        }
        let gave_up_accept =
            gave_up(IterationStep::Accept) || gave_up(IterationStep::Restore) || attempt.restored;
        if is_taken && !gave_up_accept {
            self.start(at, IterationStep::Accept, None);
            return true;
        }
        if attempt.conversed.is_none() {
            self.converse_or_end(manifest, &iteration);
            return true;
        }
        let has_no_snapshot = attempt.candidate.is_none() && !attempt.restored;
        if has_no_snapshot && !gave_up(IterationStep::Snapshot) && !gave_up(IterationStep::Restore)
        {
            self.start(at, IterationStep::Snapshot, None);
            return true;
        }
        let is_open = attempt.verdict.is_none() && !attempt.interrupted;
        if is_open && !self.ledger.stops_now() {
            return self.judge(manifest, &iteration);
        }
        if !attempt.restored && !gave_up(IterationStep::Restore) {
            self.start(at, IterationStep::Restore, None);
            return true;
        }
        match &attempt.verdict {
            Some(verdict) if !verdict.accepted => {
                self.after_rejection(manifest, &iteration, verdict);
            }
            Some(_) | None => {
                let has_failed = attempt.conversed == Some(StepOutcome::Failed);
                let status = if has_failed && !self.ledger.stops_now() {
                    IterationStatus::Failed
                } else {
                    IterationStatus::Interrupted
                };
                self.end_iteration(manifest, &iteration, status);
            }
        }
        true
    }

    /// Begins the first attempt, unless it is to stop before.
    fn converse_or_end(&mut self, manifest: &Manifest, iteration: &OpenIteration) {
        if self.ledger.stops_now() {
            self.end_iteration(manifest, iteration, IterationStatus::Interrupted);
        } else {
            self.start(iteration.place(), IterationStep::Converse, None);
        }
    }

    /// Runs the next check, asks a person, or judges.
    fn judge(&mut self, manifest: &Manifest, iteration: &OpenIteration) -> bool {
        let attempt = &iteration.attempt;
        let Some(candidate) = &attempt.candidate else {
            return false;
        };
        let feature = self.ledger.feature(&iteration.feature);
        let plan = plan(manifest, &iteration.feature, |id| self.ledger.passes(id));
        let is_repair = iteration.feature == crate::workflow::facts::HEALTH_FEATURE;
        let mut red = self.ledger.red().clone();
        if is_repair {
            // They failed just now; that is why it is worked on.
            red.extend(manifest.health.iter().map(|check| check.id.clone()));
        }
        let case = Case {
            n: iteration.n,
            base: &iteration.base,
            attempt,
            candidate,
            plan: &plan,
            red: &red,
            is_seen: feature.is_some_and(|known| known.trees.contains(&candidate.head.tree)),
            needs_person: needs_person(manifest, &iteration.feature),
        };
        let at = iteration.place();
        match case.next() {
            NextStep::Run(check) => {
                let step = IterationStep::Check(check.id.clone());
                self.start(at, step, Some(&candidate.head.tree));
            }
            NextStep::RunOnBase(check) => {
                let step = IterationStep::Check(check.id.clone());
                self.start(at, step, Some(&iteration.base.tree));
            }
            NextStep::AskPerson if self.ledger.gate().is_some() => return false,
            NextStep::AskPerson => self.ask_to_accept(at, iteration),
            NextStep::BaselineBroken(checks) => {
                let detail = format!("these checks fail on the base, too: {}", checks.join(", "));
                self.wish_now(PauseReason::BaselineBroken, detail);
            }
            NextStep::Judged(verdict) => self.note(WorkflowRecord::Verdict(verdict)),
        }
        true
    }

    fn ask_to_accept(&mut self, at: StepPlace, iteration: &OpenIteration) {
        let gate = format!("accept-{}-{}", at.n, at.attempt);
        let asks = format!("accept what was done for {:?}", iteration.feature);
        self.open_gate(gate, asks);
    }

    /// Tries again in the same conversation, pauses, or ends the iteration.
    fn after_rejection(
        &mut self,
        manifest: &Manifest,
        iteration: &OpenIteration,
        verdict: &VerdictNote,
    ) {
        if self.ledger.is_cancelling() {
            self.end_iteration(manifest, iteration, IterationStatus::Interrupted);
            return;
        }
        let tampered = |reason: RejectReason| reason == RejectReason::ProtectedChanged;
        let tampered = verdict
            .reasons
            .iter()
            .any(|rejection| tampered(rejection.reason));
        let is_repeated = self.ledger.protected_changes() >= 2;
        if tampered && is_repeated && manifest.protect.on_change == OnChange::Pause {
            let files = verdict
                .reasons
                .first()
                .map_or("", |rejection| &rejection.detail);
            let detail = format!("protected files were changed again: {files}");
            self.pause(PauseReason::Tampering, detail, None);
            return;
        }
        let policy = &manifest.policy;
        let feature = self.ledger.feature(&iteration.feature);
        let is_out = feature
            .is_some_and(|known| known.stuck().is_some() || known.state == FeatureState::Skipped);
        let is_last = is_last_attempt(manifest, iteration);
        if is_out || is_last || policy.fail_fast.validation {
            self.end_iteration(manifest, iteration, IterationStatus::Rejected);
            return;
        }
        if let Some(wish) = self.ledger.wish().cloned()
            && wish.when >= PauseWhen::Attempt
        {
            self.pause(wish.reason, wish.detail, wish.by);
            return;
        }
        if let Some((reason, detail)) = self.over_budget(manifest, Spent::default()) {
            self.pause(reason, detail, None);
            return;
        }
        let next = StepPlace {
            n: iteration.n,
            attempt: iteration.attempt.number.saturating_add(1),
        };
        self.start(next, IterationStep::Converse, None);
    }

    fn end_iteration(
        &mut self,
        manifest: &Manifest,
        iteration: &OpenIteration,
        status: IterationStatus,
    ) {
        let attempt = &iteration.attempt;
        let is_accepted = status == IterationStatus::Accepted;
        let candidate = attempt
            .candidate
            .as_ref()
            .map(|candidate| candidate.head.clone());
        let commit = candidate.filter(|_| is_accepted);
        let feature = self.ledger.feature(&iteration.feature);
        let is_judged = status == IterationStatus::Rejected;
        let state = if is_accepted {
            FeatureState::Passing
        } else {
            Self::state_after(feature, is_judged)
        };
        let head = self.ledger.head().map(|head| head.head.clone());
        let head: Head = commit
            .clone()
            .or(head)
            .unwrap_or_else(|| iteration.base.clone());
        let summary = summary(iteration, status);
        self.note(WorkflowRecord::IterationEnded(Box::new(IterationEnded {
            n: iteration.n,
            status,
            note: attempt.note.clone(),
            commit,
            usage: iteration.spent,
            feature: FeatureChange {
                feature: iteration.feature.clone(),
                state,
            },
            exhausted: is_judged && is_last_attempt(manifest, iteration),
            progress: ProgressEntry {
                n: iteration.n,
                feature: Some(iteration.feature.clone()),
                text: format!("{summary}. {}", attempt.note).trim_end().to_owned(),
            },
            checkpoint: Checkpoint {
                status,
                head,
                note: summary,
            },
        })));
    }

    /// Notes that what is under way is to stop at once, unless nothing is, or it is known.
    pub(super) fn wish_now(&mut self, reason: PauseReason, detail: String) {
        let is_paused = |(paused, _)| !matches!(paused, PauseReason::Ask | PauseReason::Gate);
        let is_resting = self.ledger.is_at_rest() || self.ledger.paused().is_some_and(is_paused);
        if is_resting || self.ledger.stops_now() {
            return;
        }
        self.note(WorkflowRecord::PauseRequested {
            when: PauseWhen::Now,
            reason,
            detail,
            by: None,
        });
    }

    /// Pauses since a step was refused. A cancel continues without the step.
    pub(super) fn refused(&mut self, refusal: super::StepRefusal) {
        if !self.ledger.is_cancelling() {
            self.pause(refusal.reason, refusal.detail, None);
        }
    }

    /// Adds an effect other than a record.
    pub(super) fn tell(&mut self, effect: WorkflowEffect) {
        self.effects.push(effect);
    }
}

/// True if no attempt may follow in the same iteration.
fn is_last_attempt(manifest: &Manifest, iteration: &OpenIteration) -> bool {
    let policy = &manifest.policy;
    let most = policy
        .max_turns_per_run
        .min(policy.retry_budget.saturating_add(1));
    iteration.attempt.number >= most
}

/// The outcome of an iteration, in words.
fn summary(iteration: &OpenIteration, status: IterationStatus) -> String {
    let verdict = iteration.attempt.verdict.as_ref();
    match status {
        IterationStatus::Accepted => "accepted".to_owned(),
        IterationStatus::Rejected => {
            let reasons = verdict.map_or(&[][..], |verdict| &verdict.reasons).iter();
            let words: Vec<&str> = reasons.map(|rejection| rejection.reason.word()).collect();
            format!("rejected: {}", words.join(", "))
        }
        IterationStatus::Failed => "the conversation failed".to_owned(),
        IterationStatus::Interrupted => "interrupted".to_owned(),
    }
}
