//! How turns begin and end, and how runs end.

use std::sync::Arc;

use harness_protocol::{CompactionReason, ContextWindow, Queue, words};

use super::Machine;
use super::compaction::{CompactionVerdict, NextRequest};
use super::effect::Effect;
use super::run::{Run, RunEnding, RunStep};
use super::summary::describe;
use crate::conversation::messages::RunOutcome;
use crate::ids::CallId;
use crate::journal::{Activity, Outcome, Record, Unanswered};
use crate::model::{ModelError, ModelFailure, ModelInfo};

impl Machine {
    /// Ends a turn. The model is asked again if it `is_awaited`, or if an operator has something to
    /// say; follow-ups are said when nothing else continues the run. Where the setting `wake` says so, the
    /// model is also asked again for the ends of jobs that no request has had.
    pub(super) fn turn_done(&mut self, is_awaited: bool) -> Vec<Effect> {
        let Some(run) = &self.run else {
            return vec![];
        };
        let (asked, max_turns) = (run.asked, run.plan.settings.max_turns);
        let is_steered = self.waits(Queue::Steer);
        if is_awaited && !is_steered && asked >= max_turns {
            return self.end(&words::reached_max_turns(max_turns));
        }
        let has_ends = !self.ledger.due_job_ends().is_empty();
        let wakes = run.plan.settings.wake && has_ends && asked < max_turns;
        if !is_awaited && !is_steered && !self.waits(Queue::FollowUp) && !wakes {
            return self.end("");
        }
        let mut effects = self.end_turn(Outcome::Completed);
        // What is said before the API has given the result of its own tool costs that result; beyond
        // the maximum, only a message lets the run go on.
        let waits_for_server = self.ledger.history().awaits_server_results() && asked < max_turns;
        if !waits_for_server {
            effects.extend(self.drain(Queue::Steer));
        }
        if !is_awaited && !is_steered {
            effects.extend(self.drain(Queue::FollowUp));
        }
        effects.extend(self.next_turn());
        effects
    }

    /// Ends a turn that the next one continues.
    pub(super) fn ask_again(&mut self) -> Vec<Effect> {
        let Some(run) = &self.run else {
            return vec![];
        };
        let max_turns = run.plan.settings.max_turns;
        if run.asked >= max_turns {
            return self.end(&words::reached_max_turns(max_turns));
        }
        let mut effects = self.end_turn(Outcome::Completed);
        effects.extend(self.next_turn());
        effects
    }

    /// Makes the head of the next turn, and asks.
    fn next_turn(&mut self) -> Vec<Effect> {
        if self.planner.builds_each_turn()
            && let Some(run) = &mut self.run
        {
            match self.planner.head(&run.plan, self.ledger.history()) {
                Ok(head) => run.head = head,
                Err(reason) => return self.fail(ModelError::Prompt { reason }.into()),
            }
        }
        self.ask()
    }

    /// Asks the model, unless something is to be done before: a look at what it can take, or a
    /// summary of what is too long for it.
    pub(super) fn ask(&mut self) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        match self
            .compaction
            .look(&NextRequest::for_run(run, &self.ledger))
        {
            CompactionVerdict::Fits => self.start_turn(),
            CompactionVerdict::Describe => {
                let call_id = self.last_call.next();
                run.step = RunStep::Describe(call_id.clone());
                vec![describe(call_id, &run.plan)]
            }
            CompactionVerdict::Summarize(cut, dropped) => {
                self.compact_run(CompactionReason::Threshold, (cut, dropped))
            }
            CompactionVerdict::TooLong { tokens, window } => self.fail_too_long(tokens, window),
        }
    }

    /// The window of the run's model, and where a summary begins, if they are known.
    pub(super) fn context_window(&self) -> Option<ContextWindow> {
        let next = NextRequest::for_run(self.run.as_ref()?, &self.ledger);
        self.compaction.context_window(&next)
    }

    /// The model's abilities, if the API describes them.
    pub(super) fn described(
        &mut self,
        described: &CallId,
        info: Option<Arc<ModelInfo>>,
    ) -> Vec<Effect> {
        if let Some(effects) = self.order_described(described, info.as_deref()) {
            return effects;
        }
        let Some(run) = &mut self.run else {
            return vec![];
        };
        if !matches!(&run.step, RunStep::Describe(call_id) if call_id == described) {
            return vec![];
        }
        self.compaction.described(info);
        if run.ending.is_some() {
            return self.end_as_asked();
        }
        let mut effects = self.drain_late();
        effects.extend(self.ask());
        effects
    }

    /// The request does not fit, and no summary helps: what is new in it is left out from now on,
    /// or no later request would fit either.
    fn fail_too_long(&mut self, tokens: u64, window: u64) -> Vec<Effect> {
        let failure = ModelFailure::from(ModelError::TooLong { tokens, window });
        let mut effects = vec![self.note(Record::ReplyFailed {
            error: failure.to_string(),
            unanswered: Unanswered::Interrupted,
            refused: true,
            overflow: false,
        })];
        effects.extend(self.fail(failure));
        effects
    }

    /// Sends the request.
    pub(super) fn start_turn(&mut self) -> Vec<Effect> {
        let is_first = self.ledger.tools().is_none();
        let history = self.ledger.history();
        let goes_on = history.is_paused() || history.awaits_server_results();
        let Some(run) = &self.run else {
            return vec![];
        };
        // A reply that was paused, or that awaits the result of a tool of the API's own, is continued first, and with
        // the same tools, unless another run began since.
        let is_due = run.turns == 0 || !goes_on;
        let jobs = match is_due {
            true => self.ledger.due_job_ends(),
            false => Vec::new(),
        };
        if is_due && let Err(reason) = self.limit_web(!jobs.is_empty()) {
            return self.fail(ModelError::Prompt { reason }.into());
        }
        let call_id = self.last_call.next();
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.turns += 1;
        run.asked += 1;
        run.is_steered = false;
        run.has_remark = false;
        run.step = RunStep::Model(call_id.clone());
        let started = Record::TurnStarted {
            run: run.id,
            turn: run.turns,
            head: Some(run.head.fingerprint().to_owned()),
            tools: is_first.then(|| run.plan.tools.list().to_vec()),
            jobs,
        };
        vec![self.note(started), Effect::CallModel(call_id)]
    }

    /// Puts the tools for the web under the limits of the next request.
    fn limit_web(&mut self, has_job_ends: bool) -> Result<(), String> {
        let limits = self.web_limits(has_job_ends);
        if let Some(run) = &mut self.run
            && self.planner.limit_web(&mut run.plan, limits)
        {
            run.head = self.planner.head(&run.plan, self.ledger.history())?;
        }
        Ok(())
    }

    pub(super) fn end_as_asked(&mut self) -> Vec<Effect> {
        match self.run.as_ref().and_then(|run| run.ending) {
            Some(RunEnding::Cancelled) => {
                let ending = (Activity::Idle, Outcome::Cancelled);
                self.end_with(ending, "cancelled", RunOutcome::Cancelled)
            }
            Some(RunEnding::Stopped) => {
                let ending = (Activity::Error, Outcome::Interrupted);
                let message = "interrupted: the service was stopped";
                self.end_with(ending, message, RunOutcome::Cancelled)
            }
            None => vec![],
        }
    }

    pub(super) fn end(&mut self, remark: &str) -> Vec<Effect> {
        let ending = (Activity::Idle, Outcome::Completed);
        let remark = remark.to_owned();
        self.end_with(ending, &remark.clone(), RunOutcome::Ended { remark })
    }

    pub(super) fn fail(&mut self, failure: ModelFailure) -> Vec<Effect> {
        let ending = (Activity::Error, Outcome::Error);
        let message = failure.to_string();
        self.end_with(ending, &message, RunOutcome::Failed(failure))
    }

    pub(super) fn end_with(
        &mut self,
        (activity, ended): (Activity, Outcome),
        message: &str,
        outcome: RunOutcome,
    ) -> Vec<Effect> {
        let Some(Run {
            id: run,
            cancelled_by,
            ..
        }) = self.run.take()
        else {
            return vec![];
        };
        let mut effects = self.end_turn(ended);
        effects.extend(self.end_lost_jobs());
        effects.push(self.note(Record::RunEnded {
            run,
            outcome: ended,
            message: message.to_owned(),
            totals: self.ledger.totals().clone(),
            run_usage: self.ledger.run_usage(),
            // It is known when the record is written.
            duration_ms: None,
            // A stop may have outranked the cancel.
            by: cancelled_by.filter(|_| ended == Outcome::Cancelled),
        }));
        effects.push(self.status(activity, message));
        effects.push(Effect::EndRun(run, outcome));
        effects
    }

    /// Ends the turn that is under way, if any.
    pub(super) fn end_turn(&mut self, outcome: Outcome) -> Vec<Effect> {
        let (Some(run), Some(turn)) = (self.ledger.run(), self.ledger.turn()) else {
            return vec![];
        };
        vec![self.note(Record::TurnEnded { run, turn, outcome })]
    }
}
