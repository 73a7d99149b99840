//! The prices that a spending limit is held with.

use crate::journal::ModelTotals;

/// Prices of a model, in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrices {
    /// The highest price of a token of a request, whatever the API does with its cache.
    pub input: u64,
    /// The highest price of a token of a reply.
    pub output: u64,
}

/// The prices of models.
pub trait PriceList: Send + Sync + 'static {
    /// The cost of tokens that were used, in millionths of a US dollar, rounded up. `None` if the price is not known.
    fn cost(&self, model: &str, used: &ModelTotals) -> Option<u64>;

    /// The highest prices for a request of at most so many tokens. `None` if they are not known.
    fn highest(&self, model: &str, input_tokens: u64) -> Option<TokenPrices>;
}

/// No price is known: no request fits a spending limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrices;

impl PriceList for NoPrices {
    fn cost(&self, _: &str, _: &ModelTotals) -> Option<u64> {
        None
    }

    fn highest(&self, _: &str, _: u64) -> Option<TokenPrices> {
        None
    }
}
