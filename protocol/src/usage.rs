//! The tokens that a conversation has used, and their cost.

use serde::{Deserialize, Serialize};

use crate::TokenUsage;

/// The answer to `GET /v1/conversations/{id}/usage`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageAnswer {
    /// The token counts by model, in the order of the models' names.
    pub models: Vec<ModelUsage>,
    /// The token counts of the whole conversation.
    pub usage: TokenUsage,
    /// The cost of the whole conversation in US dollars; null if a price is not known.
    pub cost_usd: Option<f64>,
    /// The date of the prices, for example `2026-10-24`.
    pub prices_as_of: String,
    /// The last run that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunUsage>,
}

/// The token counts of one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The model; empty if it is not known.
    pub model: String,
    /// The token counts.
    pub usage: TokenUsage,
    /// Their cost in US dollars; null if the price is not known.
    pub cost_usd: Option<f64>,
}

/// The window of a model, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindow {
    /// The tokens that a request and its reply may have together.
    pub tokens: u64,
    /// The size of a request above which the past is summarized; left out if it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_at: Option<u64>,
}

/// The token counts of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunUsage {
    /// The run.
    pub run_id: u64,
    /// The token counts.
    pub usage: TokenUsage,
}
