//! Every decision of a conversation: what was told goes in, what is to be done comes out.
//!
//! Invariant: no actor, no IO, no clock. What lasts changes by records alone, which the ledger
//! adds up, here as after a crash. A run ends with exactly one `Effect::EndRun`, and the record
//! before it is its `idle` or `error` status.

use std::collections::VecDeque;

use super::effect::Effect;
use super::history::History;
use super::input::Input;
use super::ledger::Ledger;
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::{Activity, Record};
use crate::messages::{SubmitError, ToolEvent};
use crate::model::{ModelError, ModelFailure};
use crate::tool::{ToolCall, ToolOutcome};

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
    pub(super) id: ConversationId,
    pub(super) limits: Limits,
    pub(super) ledger: Ledger,
    pub(super) run: Option<Run>,
    stopping: bool,
    calls: u64,
}

/// What of a run is not in the ledger.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) turns: u32,
    pub(super) pauses: u32,
    pub(super) step: Step,
    pub(super) ending: Option<Ending>,
    /// Who cancelled it first.
    pub(super) cancelled_by: Option<String>,
}

/// What a run waits for.
#[derive(Debug)]
pub(super) enum Step {
    Model(CallId),
    Tool {
        call_id: CallId,
        running: ToolCall,
        rest: VecDeque<ToolCall>,
    },
}

/// Why a run is to end as soon as what it waits for has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
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
            cancelled_by: None,
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
    pub fn rename(&mut self, title: String, by: Option<String>) -> Vec<Effect> {
        vec![self.note(Record::Renamed { title, by })]
    }

    /// Adds a record to the ledger, and tells to write it down.
    pub(super) fn note(&mut self, record: Record) -> Effect {
        self.ledger.apply(&record);
        Effect::Record(record)
    }

    pub(super) fn status(&mut self, activity: Activity, message: &str) -> Effect {
        self.note(Record::Status {
            activity,
            message: message.to_owned(),
        })
    }

    /// Takes what the conversation is told. An answer to a call that is not waited for is late
    /// and changes nothing.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::CancelRequested { by } => self.cancel(by),
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

    fn cancel(&mut self, by: Option<String>) -> Vec<Effect> {
        if let Some(run) = self.run.as_mut().filter(|run| run.ending.is_none()) {
            run.cancelled_by = by;
        }
        self.end_early(Ending::Cancelled)
    }

    pub(super) fn end_early(&mut self, ending: Ending) -> Vec<Effect> {
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

    pub(super) fn call_lost(&mut self, call_id: &CallId) -> Vec<Effect> {
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
    pub(super) fn asking(&mut self, asked: &CallId) -> Option<&mut Run> {
        self.run
            .as_mut()
            .filter(|run| matches!(&run.step, Step::Model(call_id) if call_id == asked))
    }

    pub(super) fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId {
            conversation: self.id.clone(),
            number: self.calls,
        }
    }
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
