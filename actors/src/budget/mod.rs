//! Spending limits. Before a request leaves, its largest possible cost is reserved; a request that does not fit the rest
//! of the limit is not sent. The reservation is released when the usage of the reply is on record.
//!
//! Invariant: no actor, no IO, no clock. Amounts are in millionths of a US dollar and rounded up.

mod prices;

use std::collections::BTreeMap;

use crate::journal::{ModelTotals, Totals};

pub use prices::{NoPrices, PriceList, TokenPrices};

/// Minimum size of a reply that a request is sent for, in tokens, unless the settings allow less.
pub const MIN_REPLY: u32 = 1024;

/// Number of tokens that a price is for.
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// The largest possible size of a request and of its reply, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSize {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u32,
}

/// The part of a spending limit that a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendingReservation {
    /// The largest possible cost.
    pub micro_usd: u64,
    /// Maximum size of the reply, in tokens: at most the size that was wanted.
    pub output: u32,
}

impl SpendingReservation {
    /// Reserves the cost of a request, and of the largest reply that the rest of the limit allows.
    ///
    /// # Errors
    /// The cost of the request with the smallest reply, if that is more than the rest.
    pub fn within(rest: u64, prices: TokenPrices, wanted: RequestSize) -> Result<Self, u64> {
        let least = wanted.output.min(MIN_REPLY);
        let cost = |output: u32| cost(prices, wanted.input, output);
        if cost(least) > rest {
            return Err(cost(least));
        }
        let input = u128::from(wanted.input) * u128::from(prices.input);
        let left = (u128::from(rest) * TOKENS_PER_PRICE).saturating_sub(input);
        let most = left.checked_div(u128::from(prices.output));
        let most = most.and_then(|most| u32::try_from(most).ok());
        let output = wanted.output.min(most.unwrap_or(u32::MAX)).max(least);
        Ok(Self {
            micro_usd: cost(output),
            output,
        })
    }
}

/// The largest possible cost of so many tokens.
fn cost(prices: TokenPrices, input: u64, output: u32) -> u64 {
    let input = u128::from(input) * u128::from(prices.input);
    let output = u128::from(output) * u128::from(prices.output);
    let cost = input.saturating_add(output).div_ceil(TOKENS_PER_PRICE);
    u64::try_from(cost).unwrap_or(u64::MAX)
}

/// The spending limit of a run, with the sums of its conversation at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBudget {
    limit: u64,
    models: BTreeMap<String, ModelTotals>,
    unsettled: u64,
}

impl RunBudget {
    /// The budget of a run that starts at these sums.
    #[must_use]
    pub fn new(limit: u64, totals: &Totals) -> Self {
        Self {
            limit,
            models: totals.models.clone(),
            unsettled: totals.unsettled_micro_usd,
        }
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The rest of the limit at these later sums, without all that is reserved.
    #[must_use]
    pub fn rest(&self, now: &Totals, prices: &dyn PriceList) -> u64 {
        let used = used(&self.models, now);
        let priced = used.filter_map(|(model, used)| prices.cost(model, &used));
        let unsettled = now.unsettled_micro_usd.saturating_sub(self.unsettled);
        let spent = priced.fold(unsettled, u64::saturating_add);
        self.limit.saturating_sub(spent)
    }
}

/// The tokens of each model that were counted since earlier sums.
pub fn used<'a>(
    before: &'a BTreeMap<String, ModelTotals>,
    now: &'a Totals,
) -> impl Iterator<Item = (&'a str, ModelTotals)> {
    now.models.iter().map(|(model, totals)| {
        let was = before.get(model).copied().unwrap_or_default();
        let used = ModelTotals {
            usage: totals.usage.since(was.usage),
            long: totals.long.since(was.long),
        };
        (model.as_str(), used)
    })
}

#[cfg(test)]
mod tests;
