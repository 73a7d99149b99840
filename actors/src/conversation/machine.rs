//! Every decision of a conversation: what was told goes in, what is to be done comes out.
//!
//! Invariant: no actor, no IO, no clock. A run ends with exactly one `Effect::EndRun`, and the
//! publication before it is its `idle` or `error` status.

use std::collections::VecDeque;

use harness_protocol::State;

use super::effect::{Effect, shown, status};
use super::history::History;
use super::input::Input;
use super::publication::Publication;
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::Unanswered;
use crate::messages::{ModelEvent, RunOutcome, SubmitError, ToolEvent};
use crate::model::{ModelError, ModelFailure};
use crate::reply::{Block, BlockKind, ReplyEnd, StopReason};
use crate::tool::{ToolCall, ToolOutcome};

/// How often one run sends a paused reply back.
const MAX_PAUSES: u32 = 8;

/// The bounds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many model requests one run may make.
    pub max_turns: u32,
}

/// One conversation.
#[derive(Debug)]
pub struct Machine {
    id: ConversationId,
    limits: Limits,
    history: History,
    run: Option<Run>,
    stopping: bool,
    runs: u64,
    calls: u64,
}

/// A run that is going.
#[derive(Debug)]
struct Run {
    id: RunId,
    turns: u32,
    pauses: u32,
    /// The finished blocks of the reply that is under way, by their place in it.
    reply: Vec<(u64, Block)>,
    step: Step,
    ending: Option<Ending>,
}

/// What a run waits for.
#[derive(Debug)]
enum Step {
    Model(CallId),
    Tool {
        call_id: CallId,
        running: ToolCall,
        rest: VecDeque<ToolCall>,
    },
}

/// Why a run is to end as soon as what it waits for has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Cancelled,
    Stopped,
}

impl Machine {
    /// A new conversation.
    #[must_use]
    pub fn new(id: ConversationId, limits: Limits) -> Self {
        Self {
            id,
            limits,
            history: History::default(),
            run: None,
            stopping: false,
            runs: 0,
            calls: 0,
        }
    }

    /// The past, which the next request is made of.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The run that is going.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id)
    }

    /// Starts a run.
    ///
    /// # Errors
    /// Refused prompts change nothing and publish nothing.
    pub fn submit(&mut self, content: String) -> Result<(RunId, Vec<Effect>), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if self.run.is_some() {
            return Err(SubmitError::Busy);
        }
        if content.trim().is_empty() {
            return Err(SubmitError::Blank);
        }
        self.history.push_prompt(&content);
        self.runs += 1;
        let id = RunId(self.runs);
        let call_id = self.next_call();
        self.run = Some(Run {
            id,
            turns: 1,
            pauses: 0,
            reply: Vec::new(),
            step: Step::Model(call_id.clone()),
            ending: None,
        });
        let effects = vec![
            Effect::Publish(Publication::User(content)),
            status(State::Thinking, ""),
            Effect::CallModel(call_id),
        ];
        Ok((id, effects))
    }

    /// Takes what the conversation is told. An answer to a call that is not waited for is late
    /// and changes nothing.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::CancelRequested => self.end_early(Ending::Cancelled),
            Input::StopRequested => {
                self.stopping = true;
                self.end_early(Ending::Stopped)
            }
            Input::Model(event) => self.model_answered(event),
            Input::Tool(ToolEvent::Finished { call_id, outcome }) => {
                self.tool_finished(&call_id, &outcome)
            }
            Input::CallLost(call_id) => self.call_lost(&call_id),
        }
    }

    fn end_early(&mut self, ending: Ending) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        // A stop outranks a cancel; a second cancel changes nothing.
        let is_first = run.ending.is_none();
        if is_first || ending == Ending::Stopped {
            run.ending = Some(ending);
        }
        if !is_first {
            return vec![];
        }
        match &run.step {
            Step::Model(call_id) => vec![Effect::CancelModel(call_id.clone())],
            Step::Tool { call_id, .. } => vec![Effect::CancelTool(call_id.clone())],
        }
    }

    fn model_answered(&mut self, event: ModelEvent) -> Vec<Effect> {
        match event {
            ModelEvent::Retrying {
                call_id,
                retry,
                max_retries,
                delay,
                error,
            } => self.remark(
                &call_id,
                &format!(
                    "retrying in {:.1} s ({retry} of {max_retries}): {error}",
                    delay.as_secs_f64()
                ),
            ),
            ModelEvent::ModelReplaced { call_id, from, to } => self.remark(
                &call_id,
                &format!("the model {from} is not served any more; using {to}"),
            ),
            ModelEvent::BlockFinished {
                call_id,
                index,
                block,
            } => self.block_finished(&call_id, index, block),
            ModelEvent::Finished { call_id, end } => self.reply_finished(&call_id, &end),
            ModelEvent::Failed {
                call_id,
                failure,
                partial,
            } => self.model_failed(&call_id, failure, partial),
        }
    }

    /// Says what the model's call is up to.
    fn remark(&mut self, call_id: &CallId, remark: &str) -> Vec<Effect> {
        match self.asking(call_id) {
            Some(run) if run.ending.is_none() => vec![status(State::Thinking, remark)],
            Some(_) | None => vec![],
        }
    }

    fn block_finished(&mut self, call_id: &CallId, index: u64, mut block: Block) -> Vec<Effect> {
        if self.asking(call_id).is_none() {
            return vec![];
        }
        if let BlockKind::ToolCall { id, .. } = block.kind() {
            let unique = self.history.unique_id(id);
            if unique != id {
                block.set_id(unique);
            }
        }
        let effects = shown(&block, false);
        if let Some(run) = self.asking(call_id) {
            run.reply.push((index, block));
        }
        effects
    }

    fn reply_finished(&mut self, call_id: &CallId, end: &ReplyEnd) -> Vec<Effect> {
        let Some(run) = self.asking(call_id) else {
            return vec![];
        };
        let blocks = take_reply(run);
        let calls = tool_calls(&blocks);
        if run.ending.is_some() {
            self.history.push_reply(blocks, Unanswered::Cancelled);
            return self.end_as_asked();
        }
        match &end.stop_reason {
            StopReason::MaxTokens if !calls.is_empty() => {
                let mut effects = self.refuse_cut_calls(blocks, &calls);
                effects.extend(self.next_turn());
                effects
            }
            StopReason::ContextWindowExceeded => {
                let mut effects = self.refuse_cut_calls(blocks, &calls);
                let remark = "stopped: the model's context window is full";
                effects.extend(self.end(remark));
                effects
            }
            StopReason::MaxTokens => {
                self.history.push_reply(blocks, Unanswered::Interrupted);
                self.end("stopped: the reply reached max_tokens")
            }
            StopReason::Refusal => {
                self.history.push_reply(blocks, Unanswered::Refused);
                self.end(&refusal(end))
            }
            StopReason::PauseTurn if calls.is_empty() => {
                self.history.push_paused(blocks);
                self.after_pause()
            }
            StopReason::Other(reason) => {
                self.history.push_reply(blocks, Unanswered::Interrupted);
                self.end(&format!("stopped: {reason}"))
            }
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn => {
                self.history.push_reply(blocks, Unanswered::Interrupted);
                self.run_tools(calls.into())
            }
        }
    }

    /// Answers the calls of a reply that the output limit cut: their inputs may be incomplete.
    fn refuse_cut_calls(&mut self, blocks: Vec<Block>, calls: &[ToolCall]) -> Vec<Effect> {
        self.history.push_reply(blocks, Unanswered::Interrupted);
        let outcome = ToolOutcome::failed(
            "not executed: the reply was cut at the output limit, so the call may be incomplete; \
             make it again, shorter",
        );
        let refuse = |call: &ToolCall| {
            let answer = self.tool_answered(call, &outcome);
            [answer, status(State::Thinking, "")]
        };
        calls.iter().flat_map(refuse).collect()
    }

    fn after_pause(&mut self) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.pauses += 1;
        if run.pauses > MAX_PAUSES {
            return self.end(&format!("stopped: the reply was paused {MAX_PAUSES} times"));
        }
        self.next_turn()
    }

    /// Runs the first of the calls, or ends the run when there is none.
    fn run_tools(&mut self, mut calls: VecDeque<ToolCall>) -> Vec<Effect> {
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

    fn tool_finished(&mut self, finished: &CallId, outcome: &ToolOutcome) -> Vec<Effect> {
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
        if ending.is_some() {
            self.history.leave_unanswered(Unanswered::Cancelled);
            effects.extend(self.end_as_asked());
            return effects;
        }
        effects.push(status(State::Thinking, ""));
        if outcome.is_error {
            self.history.leave_unanswered(Unanswered::EarlierToolFailed);
        }
        effects.extend(if outcome.is_error || rest.is_empty() {
            self.next_turn()
        } else {
            self.run_tools(rest)
        });
        effects
    }

    /// Records and shows the result of a call.
    fn tool_answered(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Effect {
        let ToolOutcome { result, is_error } = outcome;
        self.history.push_result(&call.id, result, *is_error);
        Effect::Publish(Publication::ToolResult {
            id: call.id.clone(),
            result: result.clone(),
            is_error: *is_error,
        })
    }

    fn next_turn(&mut self) -> Vec<Effect> {
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
        vec![Effect::CallModel(call_id)]
    }

    fn model_failed(
        &mut self,
        call_id: &CallId,
        failure: ModelFailure,
        partial: Vec<(u64, Block)>,
    ) -> Vec<Effect> {
        let Some(run) = self.asking(call_id) else {
            return vec![];
        };
        let mut effects = Vec::new();
        for (_, block) in &partial {
            effects.extend(shown(block, true));
        }
        run.reply.extend(partial);
        let ending = run.ending;
        let blocks = take_reply(run);
        if blocks.is_empty() && failure.error.is_refused_request() {
            self.history.leave_out_refused();
        }
        let unanswered = match ending {
            Some(_) => Unanswered::Cancelled,
            None => Unanswered::Interrupted,
        };
        self.history.push_reply(blocks, unanswered);
        effects.extend(match ending {
            Some(_) => self.end_as_asked(),
            None => self.fail(failure),
        });
        effects
    }

    fn call_lost(&mut self, call_id: &CallId) -> Vec<Effect> {
        if self.asking(call_id).is_some() {
            let failure = ModelFailure {
                error: ModelError::Unavailable,
                interrupted: false,
            };
            return self.model_failed(call_id, failure, Vec::new());
        }
        let outcome = ToolOutcome::failed("the tools' actor does not take the call");
        self.tool_finished(call_id, &outcome)
    }

    /// The run, if it waits for this call of the model.
    fn asking(&mut self, asked: &CallId) -> Option<&mut Run> {
        self.run
            .as_mut()
            .filter(|run| matches!(&run.step, Step::Model(call_id) if call_id == asked))
    }

    fn end_as_asked(&mut self) -> Vec<Effect> {
        match self.run.as_ref().and_then(|run| run.ending) {
            Some(Ending::Cancelled) => {
                self.end_with(State::Idle, "cancelled", RunOutcome::Cancelled)
            }
            Some(Ending::Stopped) => {
                let message = "interrupted: the service was stopped";
                self.end_with(State::Error, message, RunOutcome::Cancelled)
            }
            None => vec![],
        }
    }

    fn end(&mut self, remark: &str) -> Vec<Effect> {
        let remark = remark.to_owned();
        self.end_with(State::Idle, &remark.clone(), RunOutcome::Ended { remark })
    }

    fn fail(&mut self, failure: ModelFailure) -> Vec<Effect> {
        self.end_with(
            State::Error,
            &failure.to_string(),
            RunOutcome::Failed(failure),
        )
    }

    fn end_with(&mut self, state: State, message: &str, outcome: RunOutcome) -> Vec<Effect> {
        let Some(run) = self.run.take() else {
            return vec![];
        };
        vec![status(state, message), Effect::EndRun(run.id, outcome)]
    }

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId {
            conversation: self.id.clone(),
            number: self.calls,
        }
    }
}

/// The finished blocks in their order.
fn take_reply(run: &mut Run) -> Vec<Block> {
    let mut blocks = std::mem::take(&mut run.reply);
    blocks.sort_by_key(|(index, _)| *index);
    blocks.into_iter().map(|(_, block)| block).collect()
}

fn tool_calls(blocks: &[Block]) -> Vec<ToolCall> {
    let call = |block: &Block| {
        let BlockKind::ToolCall { id, name, input } = block.kind() else {
            return None;
        };
        Some(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.clone(),
        })
    };
    blocks.iter().filter_map(call).collect()
}

/// Says that the API declined, with the category and explanation that it gave.
fn refusal(end: &ReplyEnd) -> String {
    let detail = |key: &str| {
        end.stop_details
            .get(key)
            .and_then(serde_json::Value::as_str)
    };
    let mut text = "refusal: the model declined to answer".to_owned();
    for part in ["category", "explanation"].into_iter().filter_map(detail) {
        text = format!("{text}; {part}");
    }
    text
}

#[cfg(test)]
#[path = "machine_testing.rs"]
mod testing;

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "machine_end_tests.rs"]
mod end_tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
