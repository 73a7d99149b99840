//! Applies one record to the sums.

use super::{
    AcceptedHead, Attempt, Bearings, Failure, FeatureNote, Ignored, Linked, MAX_GATES, MAX_IGNORED,
    MAX_PROGRESS, ManifestNote, OpenGate, OpenIteration, OpenPhase, OpenStep, OpenVerification,
    PauseWish, RestReason, Results, WorkflowLedger,
};
use crate::workflow::facts::{ProgressEntry, Spent, StepPlace};
use crate::workflow::record::{
    CheckEnded, GateAnswer, Intervention, IterationEnded, ManifestApplied, ProviderWaits, Purpose,
    StepEnded, VerdictNote, VerificationEnded, WorkflowRecord,
};
use crate::workflow::state::{
    FeatureState, IterationStatus, IterationStep, PauseReason, RunPhase, StepOutcome,
};

impl WorkflowLedger {
    /// Adds a record.
    #[expect(
        clippy::too_many_lines,
        reason = "one short arm for each kind of record; together they are the whole fold"
    )]
    pub fn apply(&mut self, record: &WorkflowRecord) {
        self.notices.apply(record);
        match record {
            WorkflowRecord::Created { workflow, .. } => self.workflow = Some(workflow.clone()),
            WorkflowRecord::ManifestApplied(applied) => self.apply_manifest(applied),
            WorkflowRecord::GateOpened { gate, asks } => {
                self.closed_gates.retain(|(name, _)| name != gate);
                self.gate = Some(OpenGate {
                    gate: gate.clone(),
                    asks: asks.clone(),
                });
            }
            WorkflowRecord::GateClosed { gate, answer } => self.close_gate(gate, answer),
            WorkflowRecord::PhaseStarted { phase, order } => {
                self.last_key.clone_from(&order.key);
                self.phase = Some(OpenPhase {
                    phase: *phase,
                    order: order.clone(),
                    iterations: 0,
                    last: None,
                });
            }
            WorkflowRecord::PhaseEnded {
                phase,
                error,
                progress,
                ..
            } => {
                self.phase = None;
                self.crashes = 0;
                if *phase == RunPhase::Initializer && error.is_none() {
                    self.is_initialized = true;
                }
                self.add_progress(progress.as_ref());
            }
            WorkflowRecord::IterationStarted {
                n, feature, base, ..
            } => {
                self.iterations = self.iterations.max(*n);
                self.starts.clear();
                self.final_green = None;
                self.iteration = Some(OpenIteration {
                    n: *n,
                    feature: feature.clone(),
                    base: base.clone(),
                    log: self.bearings.log.clone().unwrap_or_default(),
                    attempt: Attempt::new(1),
                    spent: Spent::default(),
                });
                self.note_feature(feature);
            }
            WorkflowRecord::StepStarted {
                n,
                attempt,
                step,
                tree,
                r#try,
                ..
            } => self.start_step(OpenStep {
                at: StepPlace {
                    n: *n,
                    attempt: *attempt,
                },
                step: step.clone(),
                tree: tree.clone(),
                number: *r#try,
            }),
            WorkflowRecord::StepEnded(ended) => self.end_step(ended),
            WorkflowRecord::ConversationLinked {
                n,
                attempt,
                conversation,
                run,
            } => {
                if let Some(attempt) = self.attempt_at(*n, *attempt) {
                    attempt.waits_until = None;
                    attempt.linked = Some(Linked {
                        conversation: conversation.clone(),
                        run: *run,
                    });
                }
            }
            WorkflowRecord::AttemptTimedOut { n, attempt } => {
                if let Some(attempt) = self.attempt_at(*n, *attempt) {
                    attempt.is_late = true;
                }
            }
            WorkflowRecord::ProviderWaits(waits) => self.wait(waits),
            WorkflowRecord::StartPlanned { at, .. } => self.next_start = Some(*at),
            WorkflowRecord::Candidate {
                n,
                attempt,
                candidate,
            } => {
                self.close_step(*n, *attempt, &IterationStep::Snapshot);
                let changes_protected = !candidate.protected.is_empty();
                if let Some(attempt) = self.attempt_at(*n, *attempt) {
                    let is_first = attempt.candidate.is_none();
                    attempt.candidate = Some(candidate.clone());
                    attempt.failed = None;
                    self.protected_changes += u32::from(changes_protected && is_first);
                }
            }
            WorkflowRecord::CheckEnded(ended) => self.end_check(ended),
            WorkflowRecord::Verdict(verdict) => self.judge(verdict),
            WorkflowRecord::IterationEnded(ended) => self.end_iteration(ended),
            WorkflowRecord::VerificationStarted {
                number,
                purpose,
                head,
            } => {
                self.verifications = self.verifications.max(*number);
                self.starts.clear();
                self.verification = Some(OpenVerification {
                    number: *number,
                    purpose: *purpose,
                    head: head.clone(),
                    results: Results::default(),
                });
            }
            WorkflowRecord::VerificationEnded(ended) => self.end_verification(ended),
            WorkflowRecord::PauseRequested {
                when,
                reason,
                detail,
                by,
            } => {
                if self.wish.as_ref().is_none_or(|wish| wish.when < *when) {
                    self.wish = Some(PauseWish {
                        when: *when,
                        reason: *reason,
                        detail: detail.clone(),
                        by: by.clone(),
                    });
                }
            }
            WorkflowRecord::Paused { reason, detail, .. } => {
                self.wish = None;
                self.rest = Some(RestReason::Paused {
                    reason: *reason,
                    detail: detail.clone(),
                });
            }
            WorkflowRecord::Resumed {
                grants,
                retry_stuck,
                ..
            } => {
                self.granted = self.granted.plus(*grants);
                self.resume(*retry_stuck);
            }
            WorkflowRecord::CancelRequested { .. } => self.is_cancelling = true,
            WorkflowRecord::Cancelled { .. } => self.rest_for_good(RestReason::Cancelled),
            WorkflowRecord::Completed { .. } => self.rest_for_good(RestReason::Completed),
            WorkflowRecord::Failed { detail } => {
                self.rest_for_good(RestReason::Failed(detail.clone()));
            }
            WorkflowRecord::Intervened { what, feature, .. } => self.intervene(*what, feature),
            WorkflowRecord::Restarted { .. } => self.count_crash(),
            // The notices go by the one; the other is for people.
            WorkflowRecord::Notified { .. } | WorkflowRecord::StartSkipped { .. } => {}
        }
    }

    fn apply_manifest(&mut self, applied: &ManifestApplied) {
        self.manifest = Some(ManifestNote {
            version: applied.version,
            hash: applied.hash.clone(),
            is_approved: applied.approved,
            sandbox: applied.sandbox,
            file: applied.file.clone(),
        });
        self.is_initialized = false;
        self.next_start = None;
        self.final_green = None;
        self.bearings = Bearings::default();
        let known = std::mem::take(&mut self.features);
        self.features = applied
            .features
            .iter()
            .map(|id| {
                let old = known.iter().find(|feature| feature.id == *id);
                let kept = old.filter(|_| !applied.changed.contains(id));
                kept.map_or_else(|| FeatureNote::new(id), Clone::clone)
            })
            .collect();
        for feature in &mut self.features {
            // Another check may accept what the old one rejected.
            feature.trees.clear();
        }
        let kept = self.head.take().map(|head| head.kept);
        self.head = Some(AcceptedHead {
            head: applied.base.clone(),
            kept: kept.unwrap_or_default(),
        });
        if self.rest == Some(RestReason::Completed) {
            self.rest = None;
        }
    }

    fn close_gate(&mut self, gate: &str, answer: &GateAnswer) {
        let is_open = self.gate.as_ref().is_some_and(|open| open.gate == gate);
        if !is_open {
            return;
        }
        self.gate = None;
        self.closed_gates
            .push_back((gate.to_owned(), answer.clone()));
        if self.closed_gates.len() > MAX_GATES {
            self.closed_gates.pop_front();
        }
        if let Some(iteration) = &mut self.iteration {
            iteration.attempt.gate = Some(answer.clone());
        } else if let Some(manifest) = &mut self.manifest {
            manifest.is_approved = answer.approved;
        }
    }

    fn add_progress(&mut self, progress: Option<&ProgressEntry>) {
        self.progress.extend(progress.cloned());
        while self.progress.len() > MAX_PROGRESS {
            self.progress.pop_front();
        }
    }

    /// The note of a feature; a new one for what the service itself makes one.
    fn note_feature(&mut self, id: &str) {
        if self.feature(id).is_none() {
            self.features.push(FeatureNote::new(id));
        }
    }

    fn attempt_at(&mut self, n: u32, number: u32) -> Option<&mut Attempt> {
        let iteration = self.iteration.as_mut().filter(|open| open.n == n)?;
        Some(&mut iteration.attempt).filter(|attempt| attempt.number == number)
    }

    fn start_step(&mut self, step: OpenStep) {
        if let Some(iteration) = &mut self.iteration
            && iteration.n == step.at.n
        {
            if step.step == IterationStep::Converse && step.at.attempt > iteration.attempt.number {
                iteration.attempt = Attempt::new(step.at.attempt);
            }
            let attempt = &mut iteration.attempt;
            // What is rolled back without a judgement is never judged.
            attempt.interrupted |= step.step == IterationStep::Restore && attempt.verdict.is_none();
        }
        let same = |start: &OpenStep| {
            start.at == step.at && start.step == step.step && start.tree == step.tree
        };
        self.starts.retain(|start| !same(start));
        self.starts.push(step.clone());
        self.step = Some(step);
    }

    fn spend(&mut self, n: u32, spent: Spent) {
        self.spent = self.spent.plus(spent);
        if let Some(iteration) = self.iteration.as_mut().filter(|open| open.n == n) {
            iteration.spent = iteration.spent.plus(spent);
        }
    }

    fn wait(&mut self, waits: &ProviderWaits) {
        self.spend(waits.n, waits.spent);
        if let Some(attempt) = self.attempt_at(waits.n, waits.attempt) {
            attempt.waits = attempt.waits.max(waits.number);
            attempt.waited_ms = attempt.waited_ms.saturating_add(waits.ms);
            attempt.waits_until = Some(waits.until);
            attempt.charged = attempt.charged.plus(waits.spent);
        }
    }

    fn end_step(&mut self, ended: &StepEnded) {
        self.close_step(ended.n, ended.attempt, &ended.step);
        self.spend(ended.n, ended.spent);
        let is_done = ended.outcome == StepOutcome::Done;
        if ended.attempt == 0 {
            match &ended.step {
                IterationStep::Prepare => self.bearings.log = is_done.then(|| ended.detail.clone()),
                IterationStep::Health if ended.outcome == StepOutcome::Interrupted => {}
                IterationStep::Health if is_done => self.bearings.health = Some(Ok(())),
                IterationStep::Health => self.bearings.health = Some(Err(ended.detail.clone())),
                IterationStep::Converse
                | IterationStep::Snapshot
                | IterationStep::Check(_)
                | IterationStep::Accept
                | IterationStep::Restore => {}
            }
            return;
        }
        let Some(attempt) = self.attempt_at(ended.n, ended.attempt) else {
            return;
        };
        attempt.failed = (!is_done).then(|| ended.step.clone());
        match ended.step {
            IterationStep::Converse => {
                attempt.waits_until = None;
                attempt.conversed = Some(ended.outcome);
                attempt.note.clone_from(&ended.detail);
                attempt.interrupted |= matches!(
                    ended.outcome,
                    StepOutcome::Failed | StepOutcome::Interrupted
                );
            }
            IterationStep::Accept => attempt.accepted = is_done,
            IterationStep::Restore => attempt.restored = is_done,
            IterationStep::Prepare
            | IterationStep::Health
            | IterationStep::Snapshot
            | IterationStep::Check(_) => {}
        }
    }

    fn close_step(&mut self, n: u32, attempt: u32, step: &IterationStep) {
        let at = StepPlace { n, attempt };
        self.step
            .take_if(|open| open.at == at && open.step == *step);
    }

    fn end_check(&mut self, ended: &CheckEnded) {
        self.close_step(
            ended.n,
            ended.attempt,
            &IterationStep::Check(ended.check.clone()),
        );
        self.spend(ended.n, Spent::time(ended.ms));
        let results = if ended.n == 0 {
            let open = self.verification.as_mut();
            open.filter(|open| open.number == ended.attempt)
                .map(|open| &mut open.results)
        } else {
            self.attempt_at(ended.n, ended.attempt)
                .map(|attempt| &mut attempt.results)
        };
        let is_taken = results.is_some_and(|results| results.add(ended));
        if !is_taken && self.ignored.len() < MAX_IGNORED {
            self.ignored.push(Ignored {
                at: StepPlace {
                    n: ended.n,
                    attempt: ended.attempt,
                },
                check: ended.check.clone(),
                tree: ended.tree.clone(),
                number: ended.r#try,
            });
        }
    }

    fn judge(&mut self, verdict: &VerdictNote) {
        let Some(attempt) = self.attempt_at(verdict.n, verdict.attempt) else {
            return;
        };
        if attempt.verdict.is_some() {
            return;
        }
        attempt.verdict = Some(verdict.clone());
        let failures = verdict.reasons.iter().map(|rejection| {
            let checks = attempt.results.counted().iter();
            let ran = |ended: &&CheckEnded| {
                Some(&ended.check) == rejection.check.as_ref() && ended.tree == verdict.tree
            };
            let tail = checks.clone().find(ran).map(|ended| ended.tail.clone());
            Failure {
                rejection: rejection.clone(),
                tail: tail.unwrap_or_default(),
            }
        });
        let failures = failures.collect();
        let note = attempt.note.clone();
        let feature = self.iteration.as_ref().map(|open| open.feature.clone());
        let note_of = self
            .features
            .iter_mut()
            .find(|known| Some(&known.id) == feature.as_ref());
        if let Some(feature) = note_of {
            feature.judged(verdict, failures, &note);
        }
    }

    fn end_iteration(&mut self, ended: &IterationEnded) {
        let Some(open) = self.iteration.take_if(|open| open.n == ended.n) else {
            return;
        };
        self.step = None;
        self.gate = None;
        self.bearings = Bearings::default();
        self.crashes = 0;
        let mut is_new = false;
        let changed = &ended.feature.feature;
        if let Some(feature) = self.features.iter_mut().find(|known| known.id == *changed) {
            is_new = ended.status == IterationStatus::Accepted && !feature.has_passed;
            feature.ended(ended);
        }
        if let Some(commit) = &ended.commit {
            let head = self.head.get_or_insert_with(|| AcceptedHead {
                head: commit.clone(),
                kept: std::collections::BTreeMap::new(),
            });
            head.head = commit.clone();
            self.commits = self.commits.saturating_add(1);
            let results = open.attempt.results.counted().iter();
            let of_head = results.filter(|check| check.tree == commit.tree);
            for check in of_head.filter(|check| !check.kept.is_empty()) {
                head.kept.insert(check.check.clone(), check.kept.clone());
            }
            self.protected_changes = 0;
        }
        let was_stopped = ended.status == IterationStatus::Interrupted
            && (self.wish.is_some() || self.is_cancelling);
        if is_new {
            self.since_progress = 0;
        } else if !was_stopped {
            self.since_progress += 1;
        }
        if let Some(phase) = &mut self.phase {
            phase.iterations += u32::from(ended.status != IterationStatus::Interrupted);
            phase.last = Some(ended.status);
        }
        self.add_progress(Some(&ended.progress));
    }

    fn end_verification(&mut self, ended: &VerificationEnded) {
        let Some(open) = self
            .verification
            .take_if(|open| open.number == ended.number)
        else {
            return;
        };
        self.step = None;
        for feature in &mut self.features {
            if ended.reopened.contains(&feature.id) {
                feature.retry();
            }
        }
        match open.purpose {
            Purpose::Baseline if ended.green => {
                let results = open.results.counted().iter();
                let bad = results.clone().filter(|check| !check.verdict.is_good());
                self.red = bad.map(|check| check.check.clone()).collect();
                for feature in &mut self.features {
                    if ended.holding.contains(&feature.id) {
                        feature.state = FeatureState::Passing;
                        feature.has_passed = true;
                    }
                }
                if let Some(head) = &mut self.head {
                    let kept = results.filter(|check| !check.kept.is_empty());
                    let kept = kept.map(|check| (check.check.clone(), check.kept.clone()));
                    head.kept = kept.collect();
                }
            }
            Purpose::Final => self.final_green = ended.green.then_some(open.head),
            Purpose::Baseline | Purpose::Operator => {}
        }
    }

    fn resume(&mut self, retry_stuck: bool) {
        let Some(RestReason::Paused { reason, .. }) = &self.rest else {
            return;
        };
        // The answer to a question is not a decision on the workflow.
        let is_answer = *reason == PauseReason::Ask;
        // Nor is it one when the window of the schedule opens.
        let is_person = !is_answer && *reason != PauseReason::OutsideSchedule;
        if is_person {
            self.since_progress = 0;
            self.protected_changes = 0;
            self.crashes = 0;
        }
        if !is_answer {
            self.bearings = Bearings::default();
            self.wish = None;
        }
        self.rest = None;
        for feature in &mut self.features {
            if retry_stuck && feature.state == FeatureState::Stuck {
                feature.retry();
            }
        }
    }

    fn rest_for_good(&mut self, rest: RestReason) {
        self.rest = Some(rest);
        self.phase = None;
        self.wish = None;
        self.gate = None;
        self.step = None;
        self.is_cancelling = false;
    }

    fn intervene(&mut self, what: Intervention, id: &str) {
        let Some(feature) = self.features.iter_mut().find(|known| known.id == id) else {
            return;
        };
        match what {
            Intervention::Retried | Intervention::Unskipped => feature.retry(),
            Intervention::Skipped => feature.state = FeatureState::Skipped,
        }
        if what == Intervention::Retried {
            self.since_progress = 0;
        }
    }

    fn count_crash(&mut self) {
        let iteration = self.iteration.as_ref();
        if iteration.is_some_and(|open| open.attempt.waits_until.is_some()) {
            return; // Nothing of it was at work.
        }
        self.crashes += 1;
        let converses = self
            .step
            .as_ref()
            .is_some_and(|open| open.step == IterationStep::Converse);
        if let Some(iteration) = self.iteration.as_mut().filter(|_| converses) {
            iteration.attempt.crashes += 1;
        }
    }
}
