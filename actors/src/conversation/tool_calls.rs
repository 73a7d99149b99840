//! The tool calls of a reply: one after the other, until one fails.

use std::collections::VecDeque;

use super::effect::Effect;
use super::machine::{Machine, Step};
use crate::ids::CallId;
use crate::journal::{Activity, Record, Unanswered};
use crate::tool::{ToolCall, ToolOutcome};

impl Machine {
    /// Runs the first of the calls, or ends the run when there is none.
    pub(super) fn run_tools(&mut self, mut calls: VecDeque<ToolCall>) -> Vec<Effect> {
        let Some(running) = calls.pop_front() else {
            return self.end("");
        };
        let call_id = self.next_call();
        if let Some(run) = &mut self.run {
            run.step = Step::Tool {
                call_id: call_id.clone(),
                running: running.clone(),
                rest: calls,
            };
        }
        vec![Effect::RunTool(call_id, running)]
    }

    pub(super) fn tool_finished(
        &mut self,
        finished: &CallId,
        outcome: &ToolOutcome,
    ) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        let ending = run.ending;
        let (running, rest) = match &mut run.step {
            Step::Tool {
                call_id,
                running,
                rest,
            } if call_id == finished => (running.clone(), std::mem::take(rest)),
            Step::Tool { .. } | Step::Model(_) => return vec![],
        };
        let mut effects = vec![self.tool_answered(&running, outcome)];
        let rest = Vec::from(rest);
        if ending.is_some() {
            effects.extend(self.skip_calls(&rest, Unanswered::Cancelled));
            effects.extend(self.end_as_asked());
            return effects;
        }
        effects.push(self.status(Activity::Thinking, ""));
        if outcome.is_error {
            effects.extend(self.skip_calls(&rest, Unanswered::EarlierToolFailed));
        }
        effects.extend(if outcome.is_error || rest.is_empty() {
            self.next_turn()
        } else {
            self.run_tools(rest.into())
        });
        effects
    }

    /// Records the result of a call.
    pub(super) fn tool_answered(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Effect {
        self.note(Record::ToolResult {
            id: call.id.clone(),
            result: outcome.result.clone(),
            is_error: outcome.is_error,
        })
    }

    /// Says that the calls get no results.
    pub(super) fn skip_calls(&mut self, calls: &[ToolCall], reason: Unanswered) -> Option<Effect> {
        (!calls.is_empty()).then(|| self.note(Record::CallsSkipped { reason }))
    }
}
