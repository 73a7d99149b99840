//! The steps of summaries: within a run, and by an operator's order.
//!
//! Invariant: where the past is summarized by itself, what does not fit the window is not sent: the
//! run fails and says so.

use harness_protocol::CompactionReason;

use super::Machine;
use super::compaction::{NextRequest, Progress};
use super::effect::Effect;
use super::manual::Manual;
use super::order::{ConversationOrder, OrderResult};
use super::run::RunStep;
use super::summary::{Summarizing, describe, object};
use crate::compaction::{CompactionCut, DroppedPiece};
use crate::conversation::messages::{CompactConversation, CompactError, Compacted, SubmitError};
use crate::conversation::past::Dropped;
use crate::ids::CallId;
use crate::journal::{Activity, Outcome, Record};
use crate::model::messages::ModelEvent;
use crate::model::{ModelError, ModelInfo};

impl ConversationOrder for CompactConversation {
    type Answer = ();
    type Refusal = SubmitError;

    /// Summarizes for good: looks at what the model can take first. The order ends with one
    /// `Effect::EndCompaction` or `Effect::Rewrite`.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        machine.check_idle()?;
        if machine.ledger.history().is_empty() && machine.ledger.run().is_none() {
            let nothing = Effect::EndCompaction(Ok(Compacted::default()));
            return Ok(((), vec![nothing]));
        }
        let mut effects = machine.close();
        let plan = machine.plan();
        let call_id = machine.last_call.next();
        effects.push(describe(call_id.clone(), &plan));
        machine.compaction.manual = Some(Manual::new(self, plan, call_id));
        Ok(((), effects))
    }
}

impl Machine {
    /// Whether the past is being summarized for good.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        self.compaction.manual.is_some()
    }

    /// Ends an operator's order to summarize; nothing if there is none or it is too late.
    pub(super) fn cancel_compaction(&mut self) -> Option<Effect> {
        let call = self.is_compacting().then(|| self.compaction.cancel());
        call.flatten().map(Effect::CancelModel)
    }

    /// The operator's order, if it waits for this answer.
    pub(super) fn order_described(
        &mut self,
        described: &CallId,
        info: Option<&ModelInfo>,
    ) -> Option<Vec<Effect>> {
        let manual = self.compaction.manual.as_mut()?;
        manual.call_id.take_if(|call_id| call_id == described)?;
        if manual.cancelled {
            let cancelled = Err(CompactError::Cancelled);
            return Some(vec![self.compaction.end_order(cancelled)]);
        }
        let history = self.ledger.history();
        Some(
            match manual.look(info, &self.planner, history, &mut self.last_call) {
                Ok((summarizing, dropped)) => self.compacting(summarizing, dropped),
                // What was summarized already stays summarized for good.
                Err(tokens) if self.ledger.totals().compacted => {
                    vec![self.rewriting(tokens, tokens)]
                }
                Err(tokens) => vec![self.compaction.end_order(Ok(Compacted {
                    tokens_before: tokens,
                    tokens_after: tokens,
                    ..Compacted::default()
                }))],
            },
        )
    }

    /// Puts the summary in place of the past for good.
    fn rewriting(&self, tokens_before: u64, tokens_after: u64) -> Effect {
        let by = self.compaction.asked_by();
        let compacted = Compacted {
            compacted: true,
            tokens_before,
            tokens_after,
            archive: None,
        };
        Effect::Rewrite { compacted, by }
    }

    /// Begins a summary.
    fn compacting(&mut self, summarizing: Summarizing, dropped: Dropped) -> Vec<Effect> {
        let started = self.note(Record::CompactionStarted {
            reason: summarizing.reason,
            tokens: summarizing.cut.tokens_before,
            by: self.compaction.asked_by(),
        });
        let status = self.status(Activity::Thinking, "compacting");
        vec![started, status, self.compaction.begin(summarizing, dropped)]
    }

    /// The API says that the request is too long. Tells what is done about it; nothing if nothing
    /// can be done.
    pub(super) fn cut_for_overflow(&mut self) -> Option<(CompactionCut, Dropped)> {
        let next = NextRequest::for_run(self.run.as_ref()?, &self.ledger);
        self.compaction.cut_for_overflow(&next)
    }

    /// Ends the turn that was too long, and summarizes.
    pub(super) fn compact_overflow(&mut self, cut: (CompactionCut, Dropped)) -> Vec<Effect> {
        let mut effects = self.end_turn(Outcome::Error);
        effects.extend(self.compact_run(CompactionReason::Overflow, cut));
        effects
    }

    /// Begins a summary within a run.
    pub(super) fn compact_run(
        &mut self,
        reason: CompactionReason,
        (cut, dropped): (CompactionCut, Dropped),
    ) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        run.step = RunStep::Summarize;
        let next = NextRequest::for_run(run, &self.ledger);
        let call_id = self.last_call.next();
        let summarizing = self.compaction.attempt(reason, cut, &next, call_id);
        self.compacting(summarizing, dropped)
    }

    /// Takes what is to be summarized.
    pub(super) fn dropped_told(
        &mut self,
        call_id: &CallId,
        told: (DroppedPiece, Option<Dropped>),
    ) -> Vec<Effect> {
        let progress = self.compaction.take_piece(call_id, told);
        self.summary_progressed(progress)
    }

    /// Takes what the model says of a summary.
    pub(super) fn summary_answered(&mut self, event: ModelEvent) -> Vec<Effect> {
        let history = self.ledger.history();
        let progress = self
            .compaction
            .answered(event, history, &mut self.last_call);
        self.summary_progressed(progress)
    }

    fn summary_progressed(&mut self, progress: Progress) -> Vec<Effect> {
        match progress {
            Progress::Waits => vec![],
            Progress::Remark(remark) => vec![self.status(Activity::Thinking, &remark)],
            Progress::Asks(effect) => vec![effect],
            Progress::Written { ended, summary } => self.summary_written(&ended, summary),
            Progress::Failed { ended, error } => self.compaction_failed(&error, &ended),
        }
    }

    fn summary_written(&mut self, written: &Summarizing, summary: String) -> Vec<Effect> {
        let before = written.cut.tokens_before;
        let mut record = Record::Compacted {
            reason: written.reason,
            summary,
            kept: written.cut.kept,
            tokens_before: before,
            tokens_after: 0,
            model: written.model.id.to_string(),
            usage: object(&written.usage),
        };
        self.ledger.apply(&record);
        let head = match &self.run {
            Some(run) => run.head.tokens(),
            None => self
                .compaction
                .manual
                .as_ref()
                .map_or(0, |manual| manual.head_tokens),
        };
        let after = self.ledger.history().estimate(head);
        if let Record::Compacted { tokens_after, .. } = &mut record {
            *tokens_after = after;
        }
        let mut effects = vec![Effect::Record(record)];
        effects.extend(self.summary_recorded(&written.model.id, &written.usage));
        if self.run.is_some() {
            effects.extend(self.drain_late());
            effects.push(self.status(Activity::Thinking, ""));
            effects.extend(self.ask());
        } else {
            effects.push(self.status(Activity::Idle, ""));
            effects.push(self.rewriting(before, after));
        }
        effects
    }

    /// Continues without a summary: with all of the past if it fits.
    fn compaction_failed(&mut self, error: &str, failed: &Summarizing) -> Vec<Effect> {
        let mut effects = vec![self.note(Record::CompactionFailed {
            error: error.to_owned(),
            model: failed.model.id.to_string(),
            usage: object(&failed.usage),
            by: self.compaction.asked_by(),
        })];
        effects.extend(self.summary_recorded(&failed.model.id, &failed.usage));
        let Some(run) = &self.run else {
            effects.push(self.status(Activity::Idle, ""));
            let error = CompactError::Summary(error.to_owned());
            effects.push(self.compaction.end_order(Err(error)));
            return effects;
        };
        if run.ending.is_some() {
            effects.extend(self.end_as_asked());
            return effects;
        }
        let next = NextRequest::for_run(run, &self.ledger);
        if !self.compaction.goes_without(failed.reason, &next) {
            let reason = error.to_owned();
            effects.extend(self.fail(ModelError::Compaction { reason }.into()));
            return effects;
        }
        effects.push(self.status(Activity::Thinking, ""));
        effects.extend(self.start_turn());
        effects
    }
}
