//! The spending limit of a run: reservations before requests, and their release.
//!
//! Invariant: a reservation is released only after a record of the usage that it was for, so that a crash in between
//! counts too much rather than too little.

use harness_protocol::TokenUsage;
use harness_protocol::words::dollars;

use super::Machine;
use super::effect::Effect;
use super::order::{ConversationOrder, OrderResult};
use super::run::RunReservations;
use crate::budget::SpendingReservation;
use crate::conversation::messages::SubmitError;
use crate::ids::CallId;
use crate::journal::{ModelTotals, Record};
use crate::model::ModelError;
use crate::model::messages::ReserveSpending;

impl From<SubmitError> for ModelError {
    fn from(error: SubmitError) -> Self {
        let reason = error.to_string();
        Self::NoRoom { reason }
    }
}

impl ConversationOrder for ReserveSpending {
    type Answer = u32;
    type Refusal = ModelError;

    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self {
            call_id,
            model,
            size,
        } = self;
        let is_awaited = machine.waits_for_model(&call_id);
        let run = machine.run.as_mut();
        let Some(run) = run.filter(|run| is_awaited && run.ending.is_none()) else {
            return Err(ModelError::Cancelled);
        };
        let Some(budget) = machine.ledger.budget() else {
            return Ok((size.output, vec![]));
        };
        let prices = &*machine.planner.prices;
        let limit = |reason| ModelError::SpendingLimit { reason };
        let highest = prices.highest(&model, size.input).ok_or_else(|| {
            let tokens = size.input;
            limit(format!(
                "the price of a request of up to {tokens} tokens to {model} is not known"
            ))
        })?;
        let rest = budget.rest(machine.ledger.totals(), prices);
        let reserved = SpendingReservation::within(rest, highest, size).map_err(|needed| {
            let (needed, rest) = (dollars(needed), dollars(rest));
            limit(format!(
                "the next request to {model} may cost {needed} with a short reply, and {rest} is left"
            ))
        })?;
        run.reserved.attempt = reserved.micro_usd;
        let record = Record::SpendingReserved {
            run: run.id,
            micro_usd: reserved.micro_usd,
        };
        Ok((reserved.output, vec![machine.note(record)]))
    }
}

impl Machine {
    /// Releases the reservation of an attempt that cost nothing.
    pub(super) fn attempt_cost_nothing(&mut self, call_id: &CallId) -> Vec<Effect> {
        if !self.waits_for_model(call_id) {
            return vec![];
        }
        self.settle(|reserved| &mut reserved.attempt, true)
    }

    /// Settles the reservation of an attempt whose usage was recorded now.
    pub(super) fn reply_recorded(&mut self, usage: &[(String, TokenUsage)]) -> Vec<Effect> {
        let is_known = usage
            .iter()
            .all(|(model, usage)| self.has_cost(model, usage));
        self.settle(|reserved| &mut reserved.attempt, is_known)
    }

    /// Keeps the reservation of an attempt at a summary until the summary is recorded.
    pub(super) fn summary_replied(&mut self) {
        if let Some(run) = &mut self.run {
            let attempt = std::mem::take(&mut run.reserved.attempt);
            run.reserved.summary = run.reserved.summary.saturating_add(attempt);
        }
    }

    /// Settles the reservations of a summary whose usage was recorded now.
    pub(super) fn summary_recorded(&mut self, model: &str, usage: &TokenUsage) -> Vec<Effect> {
        let is_known = self.has_cost(model, usage);
        self.settle(|reserved| &mut reserved.summary, is_known)
    }

    /// True if the cost of that usage is part of what the sums of the conversation cost.
    fn has_cost(&self, model: &str, usage: &TokenUsage) -> bool {
        let counted = ModelTotals::of_reply(usage);
        let is_known = self.planner.prices.cost(model, &counted).is_some();
        let is_counted = self.ledger.totals().models.contains_key(model);
        is_known && is_counted && counted != ModelTotals::default()
    }

    /// Ends a reservation: releases it if the cost that it was for is known, and leaves it charged for good if not.
    fn settle(
        &mut self,
        part: impl FnOnce(&mut RunReservations) -> &mut u64,
        is_known: bool,
    ) -> Vec<Effect> {
        let Some(run) = &mut self.run else {
            return vec![];
        };
        let micro_usd = std::mem::take(part(&mut run.reserved));
        let run = run.id;
        if micro_usd == 0 || !is_known {
            return vec![];
        }
        vec![self.note(Record::SpendingReleased { run, micro_usd })]
    }
}
