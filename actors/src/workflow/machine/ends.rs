//! The consequences of the end of a step.

use super::start::find;
use super::waiting::attempt_charged;
use super::{NoticeText, RunEnd, RunStatus, StepRefusal, WorkflowEffect, WorkflowMachine};
use crate::ids::RunId;
use crate::workflow::facts::{Candidate, CommandRun, MAX_TAIL, Spent, StepPlace, TestNames, tail};
use crate::workflow::judge::judge;
use crate::workflow::ledger::BLOCKED;
use crate::workflow::record::{StepEnded, WorkflowRecord};
use crate::workflow::state::{IterationStep, PauseReason, PauseWhen, StepOutcome};

impl WorkflowMachine {
    /// True if that step is open.
    pub(super) fn is_open(&self, at: StepPlace, step: &IterationStep) -> bool {
        let open = self.ledger.step();
        open.is_some_and(|open| open.at == at && open.step == *step)
    }

    pub(super) fn end_step(
        &mut self,
        at: StepPlace,
        step: IterationStep,
        outcome: StepOutcome,
        detail: &str,
        spent: Spent,
    ) {
        self.note(WorkflowRecord::StepEnded(StepEnded {
            n: at.n,
            attempt: at.attempt,
            step,
            outcome,
            detail: detail.to_owned(),
            spent,
        }));
    }

    pub(super) fn prepare_ended(
        &mut self,
        at: StepPlace,
        ended: Result<String, StepRefusal>,
        ms: u64,
    ) {
        if !self.is_open(at, &IterationStep::Prepare) {
            return;
        }
        let spent = Spent::time(ms);
        if self.ledger.stops_now() {
            self.end_step(
                at,
                IterationStep::Prepare,
                StepOutcome::Interrupted,
                "",
                spent,
            );
            return;
        }
        match ended {
            Ok(log) => self.end_step(
                at,
                IterationStep::Prepare,
                StepOutcome::Done,
                tail(&log),
                spent,
            ),
            Err(refusal) => {
                self.end_step(
                    at,
                    IterationStep::Prepare,
                    StepOutcome::Failed,
                    &refusal.detail,
                    spent,
                );
                self.refused(refusal);
            }
        }
    }

    pub(super) fn health_ended(&mut self, at: StepPlace, runs: &[CommandRun]) {
        let (true, Some(manifest)) = (
            self.is_open(at, &IterationStep::Health),
            self.manifest.clone(),
        ) else {
            return;
        };
        let spent = Spent::time(runs.iter().map(|run| run.ms).sum());
        if self.ledger.stops_now() {
            self.end_step(
                at,
                IterationStep::Health,
                StepOutcome::Interrupted,
                "",
                spent,
            );
            return;
        }
        let checks = manifest
            .health
            .iter()
            .filter_map(|check| find(&manifest, &check.id));
        let judged = checks
            .zip(runs)
            .map(|(check, run)| (check, run, judge(check, run, &TestNames::new())));
        let bad = judged.filter(|(_, _, judgement)| !judgement.verdict.is_good());
        let bad: Vec<String> = bad
            .map(|(check, run, judgement)| {
                format!("{}: {}\n{}", check.id, judgement.why, tail(&run.output))
            })
            .collect();
        let is_short = runs.len() < manifest.health.len();
        let (outcome, detail) = if is_short {
            (
                StepOutcome::Failed,
                "not every health check could be run".to_owned(),
            )
        } else if bad.is_empty() {
            (StepOutcome::Done, String::new())
        } else {
            (StepOutcome::Failed, bad.join("\n"))
        };
        self.end_step(at, IterationStep::Health, outcome, tail(&detail), spent);
    }

    pub(super) fn linked(&mut self, at: StepPlace, conversation: String, run: RunId) {
        if self.is_open(at, &IterationStep::Converse) {
            self.note(WorkflowRecord::ConversationLinked {
                n: at.n,
                attempt: at.attempt,
                conversation,
                run,
            });
        }
    }

    pub(super) fn run_ended(&mut self, at: StepPlace, ended: &RunEnd) {
        if !self.is_open(at, &IterationStep::Converse) {
            return;
        }
        self.end_asking();
        let charged = attempt_charged(self);
        let is_late = self.is_late();
        let was_told = self.ledger.stops_now() || (self.is_stopping && !is_late);
        let outcome = if was_told {
            StepOutcome::Interrupted
        } else if is_late {
            StepOutcome::TimedOut
        } else {
            match ended.status {
                RunStatus::Completed => StepOutcome::Done,
                RunStatus::Failed => StepOutcome::Failed,
                RunStatus::Cancelled => {
                    let detail = "a client cancelled the run in its conversation".to_owned();
                    self.wish_now(PauseReason::Operator, detail);
                    StepOutcome::Interrupted
                }
            }
        };
        self.end_step(
            at,
            IterationStep::Converse,
            outcome,
            note(&ended.last_text),
            ended.spent.minus(charged),
        );
    }

    pub(super) fn snapshot_ended(&mut self, at: StepPlace, ended: Result<Candidate, StepRefusal>) {
        if !self.is_open(at, &IterationStep::Snapshot) {
            return;
        }
        match ended {
            Ok(candidate) => self.note(WorkflowRecord::Candidate {
                n: at.n,
                attempt: at.attempt,
                candidate,
            }),
            Err(refusal) => self.step_refused(at, IterationStep::Snapshot, refusal),
        }
    }

    pub(super) fn git_ended(
        &mut self,
        at: StepPlace,
        step: IterationStep,
        ended: Result<(), StepRefusal>,
    ) {
        if !self.is_open(at, &step) {
            return;
        }
        match ended {
            Ok(()) => self.end_step(at, step, StepOutcome::Done, "", Spent::default()),
            Err(refusal) => self.step_refused(at, step, refusal),
        }
    }

    /// Ends a step that could not be carried out, and pauses. It is repeated after a resume.
    pub(super) fn not_carried_out(
        &mut self,
        at: StepPlace,
        step: IterationStep,
        refusal: StepRefusal,
    ) {
        if !self.is_open(at, &step) {
            return;
        }
        let outcome = StepOutcome::Interrupted;
        self.end_step(at, step, outcome, &refusal.detail, Spent::default());
        self.refused(refusal);
    }

    fn step_refused(&mut self, at: StepPlace, step: IterationStep, refusal: StepRefusal) {
        self.end_step(
            at,
            step,
            StepOutcome::Failed,
            &refusal.detail,
            Spent::default(),
        );
        self.refused(refusal);
    }

    pub(super) fn tick(&mut self, at: StepPlace, spent: Spent, attempt_ms: u64) {
        let (true, Some(manifest)) = (
            self.is_open(at, &IterationStep::Converse),
            self.manifest.clone(),
        ) else {
            return;
        };
        if self.is_stopping {
            return;
        }
        if let Some((reason, detail)) = self.over_budget(&manifest, spent) {
            self.wish_now(reason, detail);
            return;
        }
        if attempt_ms >= manifest.budget.attempt_s.saturating_mul(1000) {
            self.note(WorkflowRecord::AttemptTimedOut {
                n: at.n,
                attempt: at.attempt,
            });
        }
    }

    pub(super) fn asks(&mut self, at: StepPlace, asks: Option<String>) {
        if !self.is_open(at, &IterationStep::Converse) {
            return;
        }
        match asks {
            Some(asks) if self.ledger.paused().is_none() => {
                self.note(WorkflowRecord::Paused {
                    reason: PauseReason::Ask,
                    detail: asks,
                    by: None,
                });
                self.tell(WorkflowEffect::Notify(NoticeText::Paused(PauseReason::Ask)));
            }
            Some(_) => {}
            None => self.end_asking(),
        }
    }

    /// Continues after a question that was withdrawn.
    pub(super) fn end_asking(&mut self) {
        let reason = self.ledger.paused().map(|(reason, _)| reason);
        if reason == Some(PauseReason::Ask) {
            self.note(WorkflowRecord::Resumed {
                grants: crate::workflow::facts::Grants::default(),
                retry_stuck: false,
                by: None,
            });
        }
    }

    /// Notes that a person wants a pause.
    pub(super) fn wish(&mut self, when: PauseWhen, by: Option<String>) {
        self.note(WorkflowRecord::PauseRequested {
            when,
            reason: PauseReason::Operator,
            detail: "a person wanted it".to_owned(),
            by,
        });
    }
}

/// The part of a model's last text that is kept: its end, or the beginning of a claim that it is blocked.
fn note(text: &str) -> &str {
    let text = text.trim();
    if !text.starts_with(BLOCKED) {
        return tail(text);
    }
    let mut to = text.len().min(MAX_TAIL);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    text.get(..to).unwrap_or_default()
}
