//! Every decision of a conversation: what was told goes in, what is to be done comes out.
//!
//! Invariant: no actor, no IO, no clock. What lasts changes by records alone, which the ledger
//! adds up, here as after a crash. A run ends with exactly one `Effect::EndRun`, and the record
//! before it is its `idle` or `error` status.

use std::collections::VecDeque;

use super::effect::{Effect, Passing};
use super::history::History;
use super::input::Input;
use super::ledger::Ledger;
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::{Activity, Outcome, Record, Unanswered};
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

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// What to ask; must not be blank.
    pub content: String,
    /// A prompt with a key that was used before is not run again.
    pub key: Option<String>,
    /// Who sent it.
    pub by: Option<String>,
}

/// What became of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// It started a run.
    Started(RunId, Vec<Effect>),
    /// It was accepted before, and started that run then.
    Repeated(RunId),
}

/// One conversation.
#[derive(Debug)]
pub struct Machine {
    id: ConversationId,
    limits: Limits,
    ledger: Ledger,
    run: Option<Run>,
    stopping: bool,
    calls: u64,
}

/// What of a run is not in the ledger.
#[derive(Debug)]
struct Run {
    id: RunId,
    turns: u32,
    pauses: u32,
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
    /// A conversation with that past. Its calls are numbered from `calls` on, so that an answer to
    /// a call of an earlier machine is known to be late.
    #[must_use]
    pub fn new(id: ConversationId, limits: Limits, ledger: Ledger, calls: u64) -> Self {
        Self {
            id,
            limits,
            ledger,
            run: None,
            stopping: false,
            calls,
        }
    }

    /// The past, which the next request is made of.
    #[must_use]
    pub fn history(&self) -> &History {
        self.ledger.history()
    }

    /// What the records add up to.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The run that is going.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id)
    }

    /// The number of the last call.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Starts a run, after ending what a service left open when it died.
    ///
    /// # Errors
    /// Refused prompts change nothing and show nothing.
    pub fn submit(&mut self, prompt: Prompt) -> Result<Submitted, SubmitError> {
        let Prompt { content, key, by } = prompt;
        if let Some(keyed) = key.as_ref().and_then(|key| self.ledger.keyed(key)) {
            return if keyed.is_of(&content) {
                Ok(Submitted::Repeated(keyed.run))
            } else {
                Err(SubmitError::KeyReused)
            };
        }
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if self.run.is_some() {
            return Err(SubmitError::Busy);
        }
        if content.trim().is_empty() {
            return Err(SubmitError::Blank);
        }
        let closing = self.ledger.closing().into_iter();
        let mut effects: Vec<Effect> = closing.map(|record| self.note(record)).collect();
        let id = RunId(self.ledger.totals().runs + 1);
        let call_id = self.next_call();
        self.run = Some(Run {
            id,
            turns: 1,
            pauses: 0,
            step: Step::Model(call_id.clone()),
            ending: None,
        });
        effects.push(self.note(Record::RunStarted { run: id }));
        effects.push(self.note(Record::Prompt {
            run: id,
            content,
            key,
            by,
        }));
        effects.push(self.status(Activity::Thinking, ""));
        effects.push(self.note(Record::TurnStarted { run: id, turn: 1 }));
        effects.push(Effect::CallModel(call_id));
        Ok(Submitted::Started(id, effects))
    }

    /// Gives the conversation another title.
    pub fn rename(&mut self, title: String) -> Vec<Effect> {
        vec![self.note(Record::Renamed { title })]
    }

    /// Adds a record to the ledger, and tells to write it down.
    fn note(&mut self, record: Record) -> Effect {
        self.ledger.apply(&record);
        Effect::Record(record)
    }

    fn status(&mut self, activity: Activity, message: &str) -> Effect {
        self.note(Record::Status {
            activity,
            message: message.to_owned(),
        })
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
            } => {
                let mut effects = self.remark(
                    &call_id,
                    &format!(
                        "retrying in {:.1} s ({retry} of {max_retries}): {error}",
                        delay.as_secs_f64()
                    ),
                );
                if !effects.is_empty() {
                    effects.insert(0, Effect::Show(Passing::Discarded));
                }
                effects
            }
            ModelEvent::Delta {
                call_id,
                index,
                kind,
                offset,
                text,
            } => match self.asking(&call_id) {
                Some(run) if run.ending.is_none() => vec![Effect::Show(Passing::Delta {
                    index,
                    kind,
                    offset,
                    text,
                })],
                Some(_) | None => vec![],
            },
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
            Some(run) if run.ending.is_none() => vec![self.status(Activity::Thinking, remark)],
            Some(_) | None => vec![],
        }
    }

    fn block_finished(&mut self, call_id: &CallId, index: u64, mut block: Block) -> Vec<Effect> {
        if self.asking(call_id).is_none() {
            return vec![];
        }
        if let BlockKind::ToolCall { id, .. } = block.kind() {
            let unique = self.ledger.unique_id(id);
            if unique != id {
                block.set_id(unique);
            }
        }
        self.show_block(index, block, false)
    }

    /// Records a block; a call is announced before.
    fn show_block(&mut self, index: u64, block: Block, partial: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let BlockKind::ToolCall { name, .. } = block.kind() {
            effects.push(self.status(Activity::RunningTool, name));
        }
        effects.push(self.note(Record::Block {
            index,
            block,
            partial,
        }));
        effects
    }

    fn reply_finished(&mut self, call_id: &CallId, end: &ReplyEnd) -> Vec<Effect> {
        let Some(run) = self.asking(call_id) else {
            return vec![];
        };
        let ending = run.ending;
        let calls = self.ledger.calls();
        let reason = &end.stop_reason;
        let paused = *reason == StopReason::PauseTurn && calls.is_empty() && ending.is_none();
        let unanswered = match (ending, reason) {
            (Some(_), _) => Unanswered::Cancelled,
            (None, StopReason::Refusal) => Unanswered::Refused,
            (None, _) => Unanswered::Interrupted,
        };
        let mut effects = vec![self.note(Record::ReplyEnded {
            id: end.id.clone(),
            model: end.model.clone(),
            stop_reason: reason.to_string(),
            usage: end.usage.json().clone(),
            paused,
            unanswered,
        })];
        effects.extend(match reason {
            _ if ending.is_some() => self.end_as_asked(),
            StopReason::MaxTokens if !calls.is_empty() => {
                let mut effects = self.refuse_cut_calls(&calls);
                effects.extend(self.next_turn());
                effects
            }
            StopReason::ContextWindowExceeded => {
                let mut effects = self.refuse_cut_calls(&calls);
                effects.extend(self.end("stopped: the model's context window is full"));
                effects
            }
            StopReason::MaxTokens => self.end("stopped: the reply reached max_tokens"),
            StopReason::Refusal => self.end(&refusal(end)),
            StopReason::PauseTurn if paused => self.after_pause(),
            StopReason::Other(reason) => self.end(&format!("stopped: {reason}")),
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn => self.run_tools(calls.into()),
        });
        effects
    }

    /// Says that the calls get no results.
    fn skip_calls(&mut self, calls: &[ToolCall], reason: Unanswered) -> Option<Effect> {
        (!calls.is_empty()).then(|| self.note(Record::CallsSkipped { reason }))
    }

    /// Answers the calls of a reply that the output limit cut: their inputs may be incomplete.
    fn refuse_cut_calls(&mut self, calls: &[ToolCall]) -> Vec<Effect> {
        let outcome = ToolOutcome::failed(
            "not executed: the reply was cut at the output limit, so the call may be incomplete; \
             make it again, shorter",
        );
        let refuse = |call: &ToolCall| {
            let answer = self.tool_answered(call, &outcome);
            [answer, self.status(Activity::Thinking, "")]
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
    fn tool_answered(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Effect {
        self.note(Record::ToolResult {
            id: call.id.clone(),
            result: outcome.result.clone(),
            is_error: outcome.is_error,
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
        let (run, turn) = (run.id, run.turns);
        let ended = self.end_turn(run, Outcome::Completed);
        let mut effects: Vec<Effect> = ended.into_iter().collect();
        effects.push(self.note(Record::TurnStarted { run, turn }));
        effects.push(Effect::CallModel(call_id));
        effects
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
        let ending = run.ending;
        let mut effects = Vec::new();
        for (index, block) in partial {
            effects.extend(self.show_block(index, block, true));
        }
        let unanswered = match ending {
            Some(_) => Unanswered::Cancelled,
            None => Unanswered::Interrupted,
        };
        let refused = !self.ledger.has_block() && failure.error.is_refused_request();
        effects.push(self.note(Record::ReplyFailed {
            error: failure.to_string(),
            unanswered,
            refused,
        }));
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

    fn end(&mut self, remark: &str) -> Vec<Effect> {
        let ending = (Activity::Idle, Outcome::Completed);
        let remark = remark.to_owned();
        self.end_with(ending, &remark.clone(), RunOutcome::Ended { remark })
    }

    fn fail(&mut self, failure: ModelFailure) -> Vec<Effect> {
        let ending = (Activity::Error, Outcome::Error);
        let message = failure.to_string();
        self.end_with(ending, &message, RunOutcome::Failed(failure))
    }

    fn end_with(
        &mut self,
        (activity, ended): (Activity, Outcome),
        message: &str,
        outcome: RunOutcome,
    ) -> Vec<Effect> {
        let Some(Run { id: run, .. }) = self.run.take() else {
            return vec![];
        };
        let mut effects: Vec<Effect> = self.end_turn(run, ended).into_iter().collect();
        effects.push(self.note(Record::RunEnded {
            run,
            outcome: ended,
            message: message.to_owned(),
            totals: self.ledger.totals().clone(),
        }));
        effects.push(self.status(activity, message));
        effects.push(Effect::EndRun(run, outcome));
        effects
    }

    /// Ends the turn that is under way.
    fn end_turn(&mut self, run: RunId, outcome: Outcome) -> Option<Effect> {
        let turn = self.ledger.turn()?;
        Some(self.note(Record::TurnEnded { run, turn, outcome }))
    }

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId {
            conversation: self.id.clone(),
            number: self.calls,
        }
    }
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
#[path = "machine_record_tests.rs"]
mod record_tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
