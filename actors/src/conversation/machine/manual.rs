//! Compaction for good, by an operator's order: how much of the past it takes.

use harness_protocol::CompactionReason;

use super::plan::{Planner, RunPlan};
use super::summary::{
    DEFAULT_WINDOW, MIN_SUMMARY, Summarizing, SummaryRoom, fitting, readable, summary_tokens,
    window,
};
use crate::compaction::Goal;
use crate::conversation::messages::CompactConversation;
use crate::conversation::past::{Dropped, History};
use crate::ids::CallId;
use crate::model::ModelInfo;

/// A compaction that an operator asked for.
#[derive(Debug)]
pub(super) struct Manual {
    /// The look at what the model can take, as long as it goes on.
    pub(super) call_id: Option<CallId>,
    pub(super) order: CompactConversation,
    pub(super) plan: RunPlan,
    pub(super) head_tokens: u64,
    pub(super) cancelled: bool,
}

impl Manual {
    /// An order that waits for the answer of that call.
    pub(super) fn new(order: CompactConversation, plan: RunPlan, call_id: CallId) -> Self {
        Self {
            call_id: Some(call_id),
            order,
            plan,
            head_tokens: 0,
            cancelled: false,
        }
    }

    /// The summary that is to be written, when it is known what the model can take.
    ///
    /// # Errors
    /// Without need, or with nothing to summarize: how many tokens the next request has.
    pub(super) fn look(
        &mut self,
        info: Option<&ModelInfo>,
        planner: &Planner,
        history: &History,
        last_call: &mut CallId,
    ) -> Result<(Summarizing, Dropped), u64> {
        let (plan, force) = (&self.plan, self.order.force);
        let head = planner.head(plan, history);
        self.head_tokens = head.map_or(0, |head| head.tokens());
        let tokens = history.estimate(self.head_tokens);
        let window = window(plan, info);
        let mut settings =
            window.map_or(plan.compaction, |window| fitting(plan.compaction, window));
        let is_due =
            window.is_some_and(|window| tokens > window.saturating_sub(settings.reserve_tokens));
        let mut summary = summary_tokens(settings, info, tokens, window);
        if force {
            settings.keep_tokens = settings.keep_tokens.min(tokens / 4);
            summary = summary.min(tokens / 4).max(MIN_SUMMARY);
        }
        let mut goal = Goal {
            window: readable(plan, window.unwrap_or(DEFAULT_WINDOW)),
            settings,
            head_tokens: self.head_tokens,
            summary_tokens: summary,
        };
        let tools = plan.tools.now();
        let instructions = self.order.instructions.as_deref();
        let plan_cut = |goal: &Goal| history.plan_cut(goal, instructions, &tools);
        let is_wanted = is_due || force;
        let mut cut = is_wanted.then(|| plan_cut(&goal)).flatten();
        // With `force`, less and less is kept until a cut is possible.
        while force && cut.is_none() && goal.settings.keep_tokens > 0 {
            goal.settings.keep_tokens /= 2;
            cut = plan_cut(&goal);
        }
        let (cut, dropped) = cut.ok_or(tokens)?;
        let reason = CompactionReason::Manual;
        let room = SummaryRoom::new(summary, info, window);
        let summarizing = Summarizing::new(last_call.next(), reason, cut, plan, room);
        Ok((summarizing, dropped))
    }
}
