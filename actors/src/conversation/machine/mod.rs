//! Every decision of a conversation: inputs go in, effects come out.
//!
//! Invariant: no actor, no IO, no clock. What lasts changes by records alone, which the ledger
//! adds up, here as after a crash. A run ends with exactly one `Effect::EndRun`, and the record
//! before it is its `idle` or `error` status.

mod approvals;
mod begin;
mod cancel;
mod command;
mod compacting;
mod compaction;
mod effect;
mod input;
mod jobs;
mod manual;
mod offered;
mod order;
mod plan;
mod projected;
mod proposals;
mod queues;
mod rename;
mod replies;
mod run;
mod settings;
mod spending;
mod summary;
mod tool_calls;
mod tools;
mod turns;
mod undo;

use std::sync::Arc;

use harness_protocol::Settings;
use serde_json::Value;

use crate::conversation::past::{History, Ledger};
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::{Activity, Record};
use crate::model::messages::ModelEvent;
use crate::model::{ModelError, ModelRequest, WebLimits};
use crate::tool::messages::ToolEvent;
use crate::tool::{Registry, ToolOutcome};
use compaction::Compaction;
use plan::RunPlan;
use projected::projected;
use run::{Run, RunStep};

pub use effect::{Effect, SummaryCall};
pub use input::Input;
pub(super) use offered::listed;
pub use order::{ConversationOrder, OrderResult};
pub use plan::{Defaults, Planner, Projection, SystemPromptBuilder, TurnInfo};
pub(super) use undo::Undone;

/// One conversation.
pub struct Machine {
    planner: Planner,
    ledger: Ledger,
    run: Option<Run>,
    compaction: Compaction,
    stopping: bool,
    /// The last call; the next one has the next number.
    last_call: CallId,
}

impl Machine {
    /// A conversation with that past. Its calls are numbered from `calls` on, so that an answer to
    /// a call of an earlier machine is known to be late.
    #[must_use]
    pub fn new(id: ConversationId, planner: Planner, ledger: Ledger, calls: u64) -> Self {
        Self {
            planner,
            ledger,
            run: None,
            compaction: Compaction::default(),
            stopping: false,
            last_call: CallId {
                conversation: id,
                number: calls,
            },
        }
    }

    /// The past, which the next request is made of.
    #[must_use]
    pub fn history(&self) -> &History {
        self.ledger.history()
    }

    /// The sum of the records.
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
        self.last_call.number
    }

    /// The tools that the run that is going can call now.
    #[must_use]
    pub fn tools(&self) -> Registry {
        let tools = self.run.as_ref().map(|run| run.plan.tools.now());
        tools.unwrap_or_default()
    }

    /// The plan of a run that begins now.
    fn plan(&self) -> RunPlan {
        let limits = self.web_limits(false);
        self.planner.plan(self.settings(), self.tool_list(), limits)
    }

    /// The limits of the tools for the web in the next request, which has ends of jobs or not.
    fn web_limits(&self, has_job_ends: bool) -> WebLimits {
        let totals = self.ledger.totals();
        WebLimits {
            has_budget: self.ledger.budget().is_some(),
            // The words for the end of a job have the command, which the model wrote.
            repeats_others: totals.compacted || totals.repeats_others || has_job_ends,
        }
    }

    /// The tools that the conversation is offered, in the API's format.
    pub(super) fn tool_list(&self) -> Arc<[Value]> {
        offered::list(&self.ledger, || self.planner.new_tools(self.settings()))
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
        // The API has counted the past, not what a projection makes of it.
        let counted = history.counted();
        let counted = counted.filter(|_| self.planner.projection.is_none());
        Some(pieces.map(|pieces| {
            let request = run.head.request(pieces, history.lacks_thinking());
            let request = request.with_counted(counted);
            request.with_fallbacks(history.fallbacks())
        }))
    }

    /// The settings in which it differs from the service.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.ledger.settings().unwrap_or(&self.planner.made_with)
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

    /// Takes an input. An answer to a call that is not waited for is late
    /// and changes nothing.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::CancelRequested(order) => self.cancel(order),
            Input::StopRequested => self.stop(),
            Input::Model(event) => self.model_answered(event),
            Input::Told { call_id, told } => self.dropped_told(&call_id, told),
            Input::Tool(ToolEvent::Output {
                call_id,
                offset,
                text,
            }) => self.tool_shows(&call_id, offset, text),
            Input::Tool(ToolEvent::Finished { call_id, outcome }) => {
                self.tool_finished(&call_id, outcome)
            }
            Input::Tool(ToolEvent::Planned {
                call_id,
                subject,
                folder_inode,
            }) => self.tool_planned(&call_id, *subject, folder_inode),
            Input::JobsEnded(ended) => self.jobs_ended(ended),
            Input::RulesChanged(inode) => self.rules_changed(inode),
            Input::ApprovalExpired(id) => self.approval_expired(id),
            Input::CallLost(call_id) => self.call_lost(&call_id),
        }
    }

    fn call_lost(&mut self, call_id: &CallId) -> Vec<Effect> {
        if self.waits_for_model(call_id) {
            let failed = ModelEvent::failed(call_id.clone(), ModelError::Unavailable);
            return self.model_answered(failed);
        }
        let outcome = ToolOutcome::failed(
            "the service did not take the call: too many wait at once, or its tools have ended",
        );
        self.tool_finished(call_id, outcome)
    }

    /// Whether that call of the model is under way.
    fn waits_for_model(&self, call_id: &CallId) -> bool {
        let asked = self.run.as_ref().and_then(|run| match &run.step {
            RunStep::Describe(call_id) | RunStep::Model(call_id) => Some(call_id),
            RunStep::Summarize | RunStep::Tools(_) => None,
        });
        [self.compaction.call(), asked].contains(&Some(call_id))
    }

    /// The run, if it waits for this call of the model.
    fn asking(&mut self, asked: &CallId) -> Option<&mut Run> {
        self.run
            .as_mut()
            .filter(|run| matches!(&run.step, RunStep::Model(call_id) if call_id == asked))
    }
}

#[cfg(test)]
mod tests;
