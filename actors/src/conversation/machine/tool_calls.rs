//! The tool calls of a reply: one after the other, until one fails.

use std::collections::VecDeque;

use harness_protocol::ToolExecution;

use super::Machine;
use super::effect::Effect;
use super::run::Step;
use super::tools::{Begun, Tools};
use crate::ids::CallId;
use crate::journal::{Activity, Record, Unanswered};
use crate::tool::{ToolCall, ToolOutcome};

impl Machine {
    /// Runs the calls, or ends the turn when there is none: the first, or all at once.
    pub(super) fn run_tools(&mut self, calls: VecDeque<ToolCall>) -> Vec<Effect> {
        if calls.is_empty() {
            return self.turn_done(false);
        }
        let Some(run) = &self.run else {
            return vec![];
        };
        let tools = run.plan.tools.now();
        let runs_alone = |call: &ToolCall| tools.runs_alone(&call.name);
        let at_once = match run.plan.settings.tool_execution {
            ToolExecution::Parallel if !calls.iter().any(runs_alone) => calls.len(),
            ToolExecution::Parallel
            | ToolExecution::Sequential
            | ToolExecution::SequentialFailFast => 1,
        };
        self.begin_calls(calls, at_once)
    }

    fn begin_calls(&mut self, mut rest: VecDeque<ToolCall>, at_once: usize) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut begun = VecDeque::new();
        for call in rest.drain(..at_once.min(rest.len())) {
            let call_id = self.next_call();
            effects.push(Effect::RunTool(call_id.clone(), call.clone()));
            begun.push_back(Begun {
                call_id,
                call,
                outcome: None,
            });
        }
        if let Some(run) = &mut self.run {
            run.step = Step::Tools(Tools { begun, rest });
        }
        effects
    }

    pub(super) fn tool_finished(&mut self, finished: &CallId, outcome: ToolOutcome) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        let is_ending = run.ending.is_some();
        let stops_at_error = run.plan.settings.tool_execution == ToolExecution::SequentialFailFast;
        let Step::Tools(tools) = &mut run.step else {
            return vec![];
        };
        if !tools.finish(finished, outcome) {
            return vec![];
        }
        let mut results = Vec::new();
        while let Some(result) = tools.next_result() {
            results.push(result);
        }
        let is_done = tools.begun.is_empty();
        let rest = if is_done {
            std::mem::take(&mut tools.rest)
        } else {
            VecDeque::new()
        };
        let has_failed = results.iter().any(|(_, outcome)| outcome.is_error);
        let mut effects: Vec<Effect> = results
            .iter()
            .map(|(call, outcome)| self.tool_answered(call, outcome))
            .collect();
        if !is_done {
            return effects;
        }
        let rest = Vec::from(rest);
        if is_ending {
            effects.extend(self.skip_calls(&rest, Unanswered::Cancelled));
            effects.extend(self.end_as_asked());
            return effects;
        }
        effects.push(self.status(Activity::Thinking, ""));
        let stops = has_failed && stops_at_error;
        if stops {
            effects.extend(self.skip_calls(&rest, Unanswered::EarlierToolFailed));
        }
        effects.extend(if stops || rest.is_empty() {
            self.turn_done(true)
        } else {
            self.begin_calls(rest.into(), 1)
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
