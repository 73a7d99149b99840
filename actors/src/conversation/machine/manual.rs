//! Compaction for good, by an operator's order.

use harness_protocol::CompactionReason;

use super::Machine;
use super::effect::Effect;
use super::order::{Order, Taken};
use super::summary::{
    DEFAULT_WINDOW, MIN_SUMMARY, Manual, Room, describe, fitting, readable, summary_tokens, window,
};
use crate::compaction::Goal;
use crate::conversation::messages::{CompactConversation, CompactError, Compacted, SubmitError};
use crate::ids::CallId;
use crate::journal::{Activity, Record};
use crate::model::ModelInfo;

impl Order for CompactConversation {
    type Answer = ();
    type Refusal = SubmitError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(Some(0))
    }

    /// Summarizes for good: looks at what the model can take first. The order ends with one
    /// `Effect::EndCompaction` or `Effect::Rewrite`.
    fn apply(self, machine: &mut Machine) -> Taken<Self> {
        machine.check_idle()?;
        if machine.ledger.history().is_empty() && machine.ledger.run().is_none() {
            let nothing = Effect::EndCompaction(Ok(Compacted::default()));
            return Ok(((), vec![nothing]));
        }
        let mut effects = machine.close();
        let plan = machine
            .planner
            .plan(machine.settings(), machine.tool_list());
        let call_id = machine.last_call.next();
        effects.push(describe(call_id.clone(), &plan));
        machine.manual = Some(Manual {
            call_id: Some(call_id),
            order: self,
            plan,
            head_tokens: 0,
            cancelled: false,
        });
        Ok(((), effects))
    }
}

impl Machine {
    /// The order to summarize for good, if it waits for this answer.
    pub(super) fn compact_described(
        &mut self,
        described: &CallId,
        info: Option<&ModelInfo>,
    ) -> Option<Vec<Effect>> {
        let manual = self.manual.as_mut()?;
        manual.call_id.take_if(|call_id| call_id == described)?;
        if manual.cancelled {
            self.manual = None;
            return Some(vec![Effect::EndCompaction(Err(CompactError::Cancelled))]);
        }
        let Manual { order, plan, .. } = manual;
        let (order, plan) = (order.clone(), plan.clone());
        let history = self.ledger.history();
        let head = self.planner.head(&plan, history);
        let head_tokens = head.map_or(0, |head| head.tokens());
        manual.head_tokens = head_tokens;
        let tokens = history.estimate(head_tokens);
        let window = window(&plan, info);
        let mut settings =
            window.map_or(plan.compaction, |window| fitting(plan.compaction, window));
        let is_due =
            window.is_some_and(|window| tokens > window.saturating_sub(settings.reserve_tokens));
        let mut summary = summary_tokens(settings, info, tokens, window);
        if order.force {
            settings.keep_tokens = settings.keep_tokens.min(tokens / 4);
            summary = summary.min(tokens / 4).max(MIN_SUMMARY);
        }
        let mut goal = Goal {
            window: readable(&plan, window.unwrap_or(DEFAULT_WINDOW)),
            settings,
            head_tokens,
            summary_tokens: summary,
        };
        let tools = plan.tools.now();
        let instructions = order.instructions.as_deref();
        let plan_cut = |goal: &Goal| history.plan_cut(goal, instructions, &tools);
        let is_wanted = is_due || order.force;
        let mut cut = is_wanted.then(|| plan_cut(&goal)).flatten();
        // Whoever insists gets less kept, if nothing else helps.
        while order.force && cut.is_none() && goal.settings.keep_tokens > 0 {
            goal.settings.keep_tokens /= 2;
            cut = plan_cut(&goal);
        }
        let nothing = Compacted {
            compacted: false,
            tokens_before: tokens,
            tokens_after: tokens,
            archive: None,
        };
        let Some(cut) = cut else {
            // What was summarized already stays summarized for good.
            if self.ledger.totals().compacted {
                return Some(vec![self.rewriting(tokens, tokens)]);
            }
            self.manual = None;
            return Some(vec![Effect::EndCompaction(Ok(nothing))]);
        };
        let reason = CompactionReason::Manual;
        let tokens = cut.tokens_before;
        let by = order.by;
        let started = self.note(Record::CompactionStarted { reason, tokens, by });
        let mut effects = vec![started, self.status(Activity::Thinking, "compacting")];
        let room = Room::new(summary, info, window);
        effects.push(self.summarize(reason, cut, &plan, room));
        Some(effects)
    }

    /// Puts the summary in place of the past for good.
    pub(super) fn rewriting(&self, tokens_before: u64, tokens_after: u64) -> Effect {
        let by = self.asked_by();
        let compacted = Compacted {
            compacted: true,
            tokens_before,
            tokens_after,
            archive: None,
        };
        Effect::Rewrite { compacted, by }
    }

    /// Who asked for the summary that is being written; nobody if it began by itself.
    pub(super) fn asked_by(&self) -> Option<String> {
        let manual = self.manual.as_ref()?;
        manual.order.by.clone()
    }

    pub(super) fn head_tokens(&self) -> u64 {
        match (&self.run, &self.manual) {
            (Some(run), _) => run.head.tokens(),
            (None, Some(manual)) => manual.head_tokens,
            (None, None) => 0,
        }
    }

    /// Ends an operator's order to summarize; nothing if there is none or it is too late.
    pub(super) fn cancel_compaction(&mut self) -> Vec<Effect> {
        let Some(manual) = &mut self.manual else {
            return vec![];
        };
        manual.cancelled = true;
        let describing = manual.call_id.clone();
        let summarizing = self.summarizing.as_mut().map(|summarizing| {
            summarizing.cancelled = true;
            summarizing.call_id.clone()
        });
        let call = describing.or(summarizing);
        call.map(Effect::CancelModel).into_iter().collect()
    }

    /// Whether the past is being summarized for good.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        self.manual.is_some()
    }
}
