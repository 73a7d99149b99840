//! The changes that a command made at protected places: an operator keeps each, or it stays taken back.

use harness_protocol::Subject;

use super::Machine;
use super::effect::Effect;
use super::run::RunStep;
use super::tools::PendingCalls;
use crate::approval::Decision;
use crate::conversation::past::{ReturnedCall, decision};
use crate::ids::CallId;
use crate::journal::Record;
use crate::tool::{ToolCall, ToolOutcome};

impl Machine {
    /// Takes the outcome of a tool, or of a change of its command that an operator decided about.
    pub(super) fn tool_finished(&mut self, finished: &CallId, outcome: ToolOutcome) -> Vec<Effect> {
        let Some(call) = self.tools_now().and_then(|tools| tools.pending(finished)) else {
            return vec![];
        };
        let call = call.clone();
        if self.ledger.returned(&call.id).is_some() {
            return self.proposal_decided(finished, &call, &outcome);
        }
        if outcome.proposals.is_empty() {
            return self.call_finished(finished, outcome);
        }
        let mut effects = Vec::from_iter(self.files_changed(&call, &outcome));
        effects.push(
            self.note(Record::ToolReturned {
                call: call.id.clone(),
                result: outcome.result,
                is_error: outcome.is_error,
                proposals: outcome.proposals,
                folder: outcome.folder,
                duration_ms: outcome
                    .took
                    .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            }),
        );
        effects.extend(self.ask_about_next(finished, &call));
        effects
    }

    /// Asks about the next change of a call whose tool has returned; the call has its result if there is none.
    fn ask_about_next(&mut self, call_id: &CallId, call: &ToolCall) -> Vec<Effect> {
        self.hold(call_id);
        let Some(returned) = self.ledger.returned(&call.id) else {
            return vec![];
        };
        let Some(change) = returned.first_open().cloned() else {
            let outcome = returned.outcome();
            return self.call_finished(call_id, outcome);
        };
        if self.run.as_ref().is_some_and(|run| run.ending.is_some()) {
            let cancelled = ToolOutcome::failed("cancelled by user");
            return self.proposal_decided(call_id, call, &cancelled);
        }
        let subject = Subject::Change(change);
        match self.decide(&call.name, &subject) {
            Decision::Refuse(reason) => {
                self.proposal_decided(call_id, call, &ToolOutcome::failed(&reason))
            }
            Decision::Allow => self.begin_effect(subject),
            Decision::Ask { because, .. } => self.ask_operators(call, subject, because, None),
        }
    }

    /// Records the decision about the first change that waits.
    fn proposal_decided(
        &mut self,
        call_id: &CallId,
        call: &ToolCall,
        outcome: &ToolOutcome,
    ) -> Vec<Effect> {
        let returned = self.ledger.returned(&call.id);
        let Some(change) = returned.and_then(ReturnedCall::first_open).cloned() else {
            return vec![];
        };
        let mut effects = Vec::from_iter(self.files_changed(call, outcome));
        let decision = decision(&change, outcome);
        effects.push(self.note(Record::ProposalDecided {
            call: call.id.clone(),
            path: change.path,
            decision,
        }));
        effects.extend(self.ask_about_next(call_id, call));
        effects
    }

    /// Records the files that a call changed, if there are any.
    pub(super) fn files_changed(
        &mut self,
        call: &ToolCall,
        outcome: &ToolOutcome,
    ) -> Option<Effect> {
        let has_changed = !outcome.changes.is_empty() || outcome.changes_note.is_some();
        has_changed.then(|| {
            self.note(Record::FilesChanged {
                call: call.id.clone(),
                changes: outcome.changes.clone(),
                note: outcome.changes_note.clone(),
            })
        })
    }

    /// The effect that does what an operator allowed.
    pub(super) fn allowed_effect(
        &self,
        call_id: CallId,
        call: ToolCall,
        subject: Subject,
        digest: String,
    ) -> Effect {
        match (self.ledger.returned(&call.id), subject) {
            (Some(_), Subject::Change(change)) => {
                Effect::KeepChange(call_id, call, Box::new(change))
            }
            (Some(_) | None, _) => Effect::RunTool(call_id, call, Some(digest)),
        }
    }

    fn tools_now(&self) -> Option<&PendingCalls> {
        match &self.run.as_ref()?.step {
            RunStep::Tools(tools) => Some(tools),
            RunStep::Describe(_) | RunStep::Summarize | RunStep::Model(_) => None,
        }
    }
}
