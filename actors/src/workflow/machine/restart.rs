//! A workflow that comes back, and the step that was open.

use super::{FoundRun, RecoveryFindings, RunStatus, WorkflowEffect, WorkflowMachine};
use crate::workflow::facts::{Grants, Spent, StepPlace};
use crate::workflow::ledger::OpenStep;
use crate::workflow::record::{StepEnded, WorkflowRecord};
use crate::workflow::state::{IterationStep, PauseReason, StepOutcome};

/// After how many crashes in one iteration the workflow pauses.
const MAX_CRASHES: u32 = 3;
/// After how many in one attempt's conversation that is not gone on with.
const MAX_IN_CONVERSATION: u32 = 2;

impl WorkflowMachine {
    pub(super) fn restart(&mut self, found: RecoveryFindings) {
        self.found = found.conversation;
        if self.ledger.step().is_some() {
            // The question went with the service; the conversation asks it again.
            self.end_asking();
        }
        if !self.ledger.is_active() {
            return;
        }
        let open = self.ledger.step();
        let found_open = open.map_or("nothing".to_owned(), |open| open.step.to_string());
        self.note(WorkflowRecord::Restarted { found: found_open });
        if self.ledger.is_cancelling() {
            self.reissue();
            return;
        }
        if let Some(stays) = found.stays {
            self.pause(stays.reason, stays.detail, None);
            return;
        }
        if self.ledger.crashes() >= MAX_CRASHES {
            let detail = format!("the service died {MAX_CRASHES} times in one iteration");
            self.pause(PauseReason::CrashLoop, detail, None);
            return;
        }
        self.reissue();
    }

    /// Continues the step that an earlier life left open.
    pub(super) fn reissue(&mut self) {
        let Some(open) = self.ledger.step().cloned() else {
            return;
        };
        if self.is_running {
            return;
        }
        match &open.step {
            IterationStep::Prepare | IterationStep::Health | IterationStep::Check(_) => {
                self.run_again(&open);
            }
            IterationStep::Converse => self.converse_again(open.at),
            IterationStep::Snapshot | IterationStep::Accept | IterationStep::Restore => {
                self.issue();
            }
        }
    }

    fn run_again(&mut self, open: &OpenStep) {
        if self.ledger.stops_now() {
            self.interrupted(open.at, open.step.clone());
        } else {
            self.start(open.at, open.step.clone(), open.tree.as_deref());
        }
    }

    fn converse_again(&mut self, at: StepPlace) {
        let iteration = self.ledger.iteration();
        let waits = iteration.is_some_and(|open| open.attempt.waits_until.is_some());
        match std::mem::take(&mut self.found) {
            FoundRun::Ended(ended) if waits && ended.status == RunStatus::Failed => {
                self.is_running = true;
                self.is_stopping = false;
                self.is_waiting = true;
                self.break_wait();
            }
            FoundRun::Ended(ended) if ended.status != RunStatus::Failed => {
                self.run_ended(at, &ended);
            }
            FoundRun::NotSent if self.ledger.stops_now() => {
                self.interrupted(at, IterationStep::Converse);
            }
            FoundRun::NotSent => self.issue(),
            // Why it failed is not on record, and may be the provider: it is tried once more.
            FoundRun::Open | FoundRun::Ended(_) => {
                self.is_running = true;
                self.is_stopping = false;
                let crashes = self.ledger.iteration().map(|open| open.attempt.crashes);
                let conversation = self.conversation(at.n);
                if crashes.is_some_and(|crashes| crashes >= MAX_IN_CONVERSATION) {
                    self.stop_step();
                } else if !self.ledger.stops_now() && !self.is_late() {
                    self.tell(WorkflowEffect::ContinueRun { at, conversation });
                }
            }
        }
    }

    fn interrupted(&mut self, at: StepPlace, step: IterationStep) {
        self.note(WorkflowRecord::StepEnded(StepEnded {
            n: at.n,
            attempt: at.attempt,
            step,
            outcome: StepOutcome::Interrupted,
            detail: String::new(),
            spent: Spent::default(),
        }));
    }

    /// Notes that a person resumes, and continues the open step.
    pub(super) fn go_on_resumed(&mut self, grants: Grants, retry_stuck: bool, by: Option<String>) {
        self.note(WorkflowRecord::Resumed {
            grants,
            retry_stuck,
            by,
        });
        self.reissue();
    }
}
