//! The tool calls of a reply: one after the other, until one fails.

use harness_protocol::ToolExecution;

use super::Machine;
use super::effect::Effect;
use super::run::{Run, RunStep};
use super::tools::PendingCalls;
use crate::event::Passing;
use crate::ids::CallId;
use crate::journal::{Activity, Record, Unanswered};
use crate::tool::{ToolCall, ToolOutcome};

impl Machine {
    /// Runs the calls, or ends the turn when there is none: the first, or all at once.
    pub(super) fn run_tools(&mut self, calls: Vec<ToolCall>) -> Vec<Effect> {
        if calls.is_empty() {
            return self.turn_done(false);
        }
        let Some(run) = &mut self.run else {
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
        let mut tools = PendingCalls::new(calls);
        let begun = tools.begin(at_once, &mut self.last_call);
        run.step = RunStep::Tools(tools);
        begun
    }

    /// The call has its result.
    pub(super) fn call_finished(&mut self, finished: &CallId, outcome: ToolOutcome) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        let RunStep::Tools(tools) = &mut run.step else {
            return vec![];
        };
        let Some(results) = tools.finish(finished, outcome) else {
            return vec![];
        };
        let (is_over, is_done) = (tools.running().next().is_none(), tools.is_empty());
        let has_failed = results.iter().any(|(_, outcome)| outcome.is_error);
        let execution = run.plan.settings.tool_execution;
        let stops = has_failed && execution == ToolExecution::SequentialFailFast;
        let is_ending = run.ending.is_some();
        let mut effects = Vec::new();
        for (call, outcome) in &results {
            effects.extend(self.files_changed(call, outcome));
            if let Some(job) = &outcome.job {
                effects.push(self.note(Record::JobStarted {
                    job: job.job,
                    call: call.id.clone(),
                    command: job.command.clone(),
                }));
            }
            effects.push(self.tool_answered(call, outcome));
        }
        if !is_over {
            return effects;
        }
        if is_ending {
            let skipped = (!is_done).then(|| self.skip_calls(Unanswered::Cancelled));
            effects.extend(skipped);
            effects.extend(self.end_as_asked());
            return effects;
        }
        effects.push(self.status(Activity::Thinking, ""));
        if stops && !is_done {
            effects.push(self.skip_calls(Unanswered::EarlierToolFailed));
        }
        effects.extend(if stops || is_done {
            self.turn_done(true)
        } else {
            self.begin_next()
        });
        effects
    }

    fn begin_next(&mut self) -> Vec<Effect> {
        match &mut self.run {
            Some(Run {
                step: RunStep::Tools(tools),
                ..
            }) => tools.begin(1, &mut self.last_call),
            Some(_) | None => vec![],
        }
    }

    /// Shows what a running call has written.
    pub(super) fn tool_shows(&self, call_id: &CallId, offset: u64, text: String) -> Vec<Effect> {
        let Some(Run {
            step: RunStep::Tools(tools),
            ..
        }) = &self.run
        else {
            return vec![];
        };
        let call = tools.runs(call_id);
        let shown = call.map(|call| Passing::ToolOutput {
            id: call.id.clone(),
            offset,
            text,
        });
        shown.map(Effect::Show).into_iter().collect()
    }

    /// Records the result of a call.
    pub(super) fn tool_answered(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Effect {
        self.note(Record::ToolResult {
            id: call.id.clone(),
            result: outcome.result.clone(),
            is_error: outcome.is_error,
            seen: outcome.seen.clone(),
            folder: outcome.folder.clone(),
            duration_ms: outcome
                .took
                .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            extent: outcome.extent.as_deref().copied(),
        })
    }

    /// Says that the other calls get no results.
    fn skip_calls(&mut self, reason: Unanswered) -> Effect {
        self.note(Record::CallsSkipped { reason })
    }
}
