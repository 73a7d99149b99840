//! Every decision of a conversation: what was told goes in, what is to be done comes out.
//!
//! Invariant: no actor, no IO, no clock. What lasts changes by records alone, which the ledger
//! adds up, here as after a crash. A run ends with exactly one `Effect::EndRun`, and the record
//! before it is its `idle` or `error` status.

mod compaction;
mod effect;
mod input;
mod manual;
mod offered;
mod plan;
mod projected;
mod queues;
mod replies;
mod resume;
mod run;
mod settings;
mod summary;
mod tool_calls;
mod tools;
mod turns;

use std::sync::Arc;

use harness_protocol::{Attachment, Queue, Settings};
use serde_json::Value;

use crate::conversation::messages::SubmitError;
use crate::conversation::past::{History, Ledger, Named};
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::{Activity, Record};
use crate::model::messages::ModelEvent;
use crate::model::{ModelError, ModelFailure, ModelRequest};
use crate::tool::messages::ToolEvent;
use crate::tool::{Registry, ToolOutcome};
use projected::projected;
use run::{Ending, Run, Step};
use summary::{Manual, Summarizing};

pub use effect::{Effect, SummaryCall};
pub use input::Input;
pub(super) use offered::listed;
pub use plan::{Defaults, Planner, Projection, SystemPromptBuilder, TurnInfo};
pub use queues::Message;
pub use summary::CompactOrder;

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// What to ask; must not be blank.
    pub content: String,
    /// A prompt with a key that was used before is not run again.
    pub key: Option<String>,
    /// Who sent it.
    pub by: Option<String>,
    /// What goes with it.
    pub attachments: Vec<Attachment>,
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
pub struct Machine {
    id: ConversationId,
    planner: Planner,
    ledger: Ledger,
    run: Option<Run>,
    /// The summary that is being written, for the run or for an operator.
    summarizing: Option<Summarizing>,
    /// The compaction that an operator asked for.
    manual: Option<Manual>,
    stopping: bool,
    calls: u64,
}

impl Machine {
    /// A conversation with that past. Its calls are numbered from `calls` on, so that an answer to
    /// a call of an earlier machine is known to be late.
    #[must_use]
    pub fn new(id: ConversationId, planner: Planner, ledger: Ledger, calls: u64) -> Self {
        Self {
            id,
            planner,
            ledger,
            run: None,
            summarizing: None,
            manual: None,
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

    /// The tools that the run that is going can call now.
    #[must_use]
    pub fn tools(&self) -> Registry {
        let tools = self.run.as_ref().map(|run| run.plan.tools.now());
        tools.unwrap_or_default()
    }

    /// The tools that the conversation is offered, in the API's format.
    pub(super) fn tool_list(&self) -> Arc<[Value]> {
        offered::list(&self.ledger, &self.planner.tools)
    }

    /// The request of the run that is going; or why the projection makes none.
    #[must_use]
    pub fn request(&self) -> Option<Result<ModelRequest, String>> {
        let run = self.run.as_ref()?;
        let history = self.ledger.history();
        let pieces = match &self.planner.projection {
            None => Ok(history.pieces(run.plan.caching)),
            Some(projection) => projected(&**projection, history),
        };
        Some(pieces.map(|pieces| run.head.request(pieces, history.lacks_thinking())))
    }

    /// What differs from the service's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.ledger.settings().unwrap_or(&self.planner.made_with)
    }

    /// Whether a run may begin.
    ///
    /// # Errors
    /// Why not.
    fn check_idle(&self) -> Result<(), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        if self.run.is_some() || self.manual.is_some() {
            return Err(SubmitError::Busy);
        }
        Ok(())
    }

    /// Whether a prompt would start a run.
    fn check_prompt(&self, content: &str) -> Result<(), SubmitError> {
        self.check_idle()?;
        if content.trim().is_empty() {
            return Err(SubmitError::Blank);
        }
        Ok(())
    }

    /// Starts a run, after ending what a service left open when it died.
    ///
    /// # Errors
    /// Refused prompts change nothing and show nothing.
    pub fn submit(&mut self, prompt: Prompt) -> Result<Submitted, SubmitError> {
        let Prompt {
            content,
            key,
            by,
            attachments,
        } = prompt;
        if let Some(keyed) = key.as_ref().and_then(|key| self.ledger.keyed(key)) {
            return match keyed.named {
                Named::Run(run) if keyed.is_of(&content, &attachments) => {
                    Ok(Submitted::Repeated(run))
                }
                Named::Run(_) | Named::Item(_) => Err(SubmitError::KeyReused),
            };
        }
        self.check_prompt(&content)?;
        let (run, mut effects) = self.begin()?;
        effects.push(self.note(Record::RunStarted { run, by: None }));
        effects.push(self.note(Record::Prompt {
            run,
            content,
            key,
            by,
            queue: None,
            item: None,
            attachments,
        }));
        effects.extend(self.drain(Queue::Steer));
        effects.push(self.status(Activity::Thinking, ""));
        effects.extend(self.ask());
        Ok(Submitted::Started(run, effects))
    }

    /// Ends what a service left open when it died.
    fn close(&mut self) -> Vec<Effect> {
        let closing = self.ledger.closing().into_iter();
        closing.map(|record| self.note(record)).collect()
    }

    /// Plans a run.
    ///
    /// # Errors
    /// When its requests cannot be made.
    fn begin(&mut self) -> Result<(RunId, Vec<Effect>), SubmitError> {
        let plan = self.planner.plan(self.settings(), self.tool_list());
        let head = self.planner.head(&plan, self.ledger.history());
        let head = head.map_err(SubmitError::Prompt)?;
        let effects = self.close();
        let id = RunId(self.ledger.totals().runs + 1);
        self.run = Some(Run {
            id,
            plan,
            head,
            turns: 0,
            asked: 0,
            pauses: 0,
            step: Step::Summarize,
            ending: None,
            cancelled_by: None,
            is_described: false,
            info: None,
            attempts: 0,
            failures: 0,
            overflowed: false,
            is_steered: false,
        });
        Ok((id, effects))
    }

    /// Gives the conversation another title.
    pub fn rename(&mut self, title: String, by: Option<String>) -> Vec<Effect> {
        vec![self.note(Record::Renamed { title, by })]
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
            Input::CancelRequested { by, clear_queue } => self.cancel(by, clear_queue),
            Input::StopRequested => {
                self.stopping = true;
                let mut effects = self.cancel_compaction();
                effects.extend(self.end_early(Ending::Stopped));
                effects
            }
            Input::Model(event) => self.model_answered(event),
            Input::Tool(ToolEvent::Finished { call_id, outcome }) => {
                self.tool_finished(&call_id, outcome)
            }
            Input::CallLost(call_id) => self.call_lost(&call_id),
        }
    }

    fn cancel(&mut self, by: Option<String>, clear_queue: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        if clear_queue {
            effects.extend(self.withdraw(None, by.clone()).1);
        }
        if let Some(run) = self.run.as_mut().filter(|run| run.ending.is_none()) {
            run.cancelled_by = by;
        }
        effects.extend(self.cancel_compaction());
        effects.extend(self.end_early(Ending::Cancelled));
        effects
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
            Step::Describe(call_id) | Step::Model(call_id) => {
                vec![Effect::CancelModel(call_id.clone())]
            }
            Step::Summarize => {
                let summarizing = self.summarizing.as_mut().map(|summarizing| {
                    summarizing.cancelled = true;
                    Effect::CancelModel(summarizing.call_id.clone())
                });
                summarizing.into_iter().collect()
            }
            Step::Tools(tools) => tools.running().map(Effect::CancelTool).collect(),
        }
    }

    fn call_lost(&mut self, call_id: &CallId) -> Vec<Effect> {
        if self.waits_for_model(call_id) {
            let failure = ModelFailure {
                error: ModelError::Unavailable,
                interrupted: false,
            };
            return self.model_answered(ModelEvent::Failed {
                call_id: call_id.clone(),
                failure,
                partial: Vec::new(),
            });
        }
        let outcome = ToolOutcome::failed("the tools' actor does not take the call");
        self.tool_finished(call_id, outcome)
    }

    /// Whether that call of the model is under way.
    fn waits_for_model(&self, call_id: &CallId) -> bool {
        let summarizing = self.summarizing.as_ref().map(|summing| &summing.call_id);
        let manual = self.manual.as_ref().and_then(Manual::describing);
        let asked = self.run.as_ref().and_then(|run| match &run.step {
            Step::Describe(call_id) | Step::Model(call_id) => Some(call_id),
            Step::Summarize | Step::Tools(_) => None,
        });
        [summarizing, manual, asked].contains(&Some(call_id))
    }

    /// The run, if it waits for this call of the model.
    fn asking(&mut self, asked: &CallId) -> Option<&mut Run> {
        self.run
            .as_mut()
            .filter(|run| matches!(&run.step, Step::Model(call_id) if call_id == asked))
    }

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId {
            conversation: self.id.clone(),
            number: self.calls,
        }
    }
}

#[cfg(test)]
mod tests;
