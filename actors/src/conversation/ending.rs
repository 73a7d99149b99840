//! How turns and runs end.

use super::effect::Effect;
use super::machine::{Ending, Machine, Run, Step};
use crate::ids::RunId;
use crate::journal::{Activity, Outcome, Record};
use crate::messages::RunOutcome;
use crate::model::ModelFailure;

impl Machine {
    pub(super) fn next_turn(&mut self) -> Vec<Effect> {
        let call_id = self.next_call();
        let max_turns = self.limits.max_turns;
        let Some(run) = &mut self.run else {
            return vec![];
        };
        if run.turns >= max_turns {
            return self.end(&format!("stopped: reached max_turns ({max_turns})"));
        }
        run.turns += 1;
        run.step = Step::Model(call_id.clone());
        let (run, turn) = (run.id, run.turns);
        let ended = self.end_turn(run, Outcome::Completed);
        let mut effects: Vec<Effect> = ended.into_iter().collect();
        effects.push(self.note(Record::TurnStarted { run, turn }));
        effects.push(Effect::CallModel(call_id));
        effects
    }

    pub(super) fn end_as_asked(&mut self) -> Vec<Effect> {
        match self.run.as_ref().and_then(|run| run.ending) {
            Some(Ending::Cancelled) => {
                let ending = (Activity::Idle, Outcome::Cancelled);
                self.end_with(ending, "cancelled", RunOutcome::Cancelled)
            }
            Some(Ending::Stopped) => {
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
        let mut effects: Vec<Effect> = self.end_turn(run, ended).into_iter().collect();
        effects.push(self.note(Record::RunEnded {
            run,
            outcome: ended,
            message: message.to_owned(),
            totals: self.ledger.totals().clone(),
            // A stop may have outranked the cancel.
            by: cancelled_by.filter(|_| ended == Outcome::Cancelled),
        }));
        effects.push(self.status(activity, message));
        effects.push(Effect::EndRun(run, outcome));
        effects
    }

    /// Ends the turn that is under way.
    pub(super) fn end_turn(&mut self, run: RunId, outcome: Outcome) -> Option<Effect> {
        let turn = self.ledger.turn()?;
        Some(self.note(Record::TurnEnded { run, turn, outcome }))
    }
}
