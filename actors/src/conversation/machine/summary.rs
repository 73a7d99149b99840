//! A summary that is being written, and how much it may have.

use std::sync::Arc;

use harness_protocol::{CompactionReason, TokenUsage};

use super::effect::{Effect, SummaryCall};
use super::plan::RunPlan;
use crate::compaction::{
    CompactionCut, CompactionSettings, DroppedPiece, SYSTEM_PROMPT, SummaryRequest, prompt,
};
use crate::conversation::past::Dropped;
use crate::ids::CallId;
use crate::model::{ModelChoice, ModelInfo};
use crate::reply::{Object, StopReason};

/// The least that a summary may have, in tokens.
pub(super) const MIN_SUMMARY: u64 = 256;
/// The least that a model is given to write one, in tokens.
const MIN_ROOM: u64 = 8_192;

/// A summary that is being written.
#[derive(Debug)]
pub(super) struct Summarizing {
    pub(super) call_id: CallId,
    pub(super) reason: CompactionReason,
    pub(super) model: ModelChoice,
    key_source: Option<Arc<str>>,
    max_tokens: u32,
    /// How many tokens the cut was planned with for the summary.
    pub(super) allowance: u64,
    pub(super) cut: CompactionCut,
    /// The part after the piece that was described last.
    pub(super) rest: Option<Dropped>,
    /// The summary so far.
    pub(super) summary: Option<String>,
    /// The text of the summary that includes the next piece.
    pub(super) text: String,
    pub(super) usage: TokenUsage,
    /// True if a client cancelled the summary.
    pub(super) cancelled: bool,
}

/// The window of a model of which nothing is known, in tokens; only tells how much one request for
/// a summary may have.
pub(super) const DEFAULT_WINDOW: u64 = 200_000;

impl Summarizing {
    pub(super) fn new(
        call_id: CallId,
        reason: CompactionReason,
        cut: CompactionCut,
        plan: &RunPlan,
        SummaryRoom { allowance, room }: SummaryRoom,
    ) -> Self {
        Self {
            call_id,
            reason,
            model: summary_model(plan),
            key_source: plan.key_source.clone(),
            max_tokens: u32::try_from(room).unwrap_or(u32::MAX),
            allowance,
            summary: None,
            cut,
            rest: None,
            text: String::new(),
            usage: TokenUsage::default(),
            cancelled: false,
        }
    }

    /// Takes a piece of what is dropped.
    pub(super) fn take(&mut self, told: DroppedPiece, rest: Option<Dropped>) {
        if let Some(previous) = &told.previous {
            self.summary = Some(previous.clone());
        }
        self.cut.told = told;
        self.rest = rest;
    }

    /// Asks for the next piece.
    pub(super) fn ask(&self) -> Effect {
        let earlier = self.summary.as_deref();
        let call = SummaryCall {
            model: self.model.clone(),
            key_source: self.key_source.clone(),
            request: SummaryRequest {
                model: self.model.id.to_string(),
                max_tokens: self.max_tokens,
                system_prompt: SYSTEM_PROMPT,
                prompt: prompt(&self.cut.told.piece, earlier),
            },
        };
        Effect::Summarize(self.call_id.clone(), call)
    }

    /// Ends a piece; whether it was the last one.
    ///
    /// # Errors
    /// Why there is no summary.
    pub(super) fn end_piece(&mut self, stop_reason: &StopReason) -> Result<bool, String> {
        let is_for_good = self.reason == CompactionReason::Manual;
        let text = std::mem::take(&mut self.text);
        let error = if self.cancelled {
            "cancelled"
        } else if *stop_reason == StopReason::Refusal {
            "the model declined to summarize"
        } else if *stop_reason == StopReason::MaxTokens && is_for_good {
            // The journal keeps what such a summary lacks, unless it is replaced.
            "the summary was cut at the limit of its output tokens"
        } else if text.trim().is_empty() {
            "the summary is empty"
        } else {
            self.summary = Some(text);
            return Ok(self.rest.is_none());
        };
        Err(error.to_owned())
    }
}

/// How many tokens a summary may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct SummaryRoom {
    /// The allowance that the cut was planned with.
    pub(super) allowance: u64,
    /// The limit that the model gets: one that thinks does so within the same limit.
    pub(super) room: u64,
}

impl SummaryRoom {
    pub(super) fn new(allowance: u64, info: Option<&ModelInfo>, window: Option<u64>) -> Self {
        let least = window.map_or(MIN_ROOM, |window| MIN_ROOM.min(window / 8));
        let most = info.and_then(|info| info.max_tokens).unwrap_or(u64::MAX);
        Self {
            allowance,
            room: allowance.max(least).min(most),
        }
    }
}

/// Looks up what the model can take.
pub(super) fn describe(call_id: CallId, plan: &RunPlan) -> Effect {
    Effect::DescribeModel {
        call_id,
        model: plan.model.clone(),
        key_source: plan.key_source.clone(),
    }
}

/// How many tokens a request may have.
pub(super) fn window(plan: &RunPlan, info: Option<&ModelInfo>) -> Option<u64> {
    info.and_then(|info| info.max_input_tokens)
        .filter(|window| *window > 0)
        .or(plan.settings.context_window)
}

/// How many tokens a request for a summary may have: of another model nothing is known.
pub(super) fn readable(plan: &RunPlan, window: u64) -> u64 {
    match &plan.settings.compaction_model {
        Some(other) if **other != *plan.model.id => window.min(DEFAULT_WINDOW),
        Some(_) | None => window,
    }
}

/// The size of a request behind which a summary begins.
pub(super) fn limit(settings: CompactionSettings, window: u64) -> u64 {
    window.saturating_sub(fitting(settings, window).reserve_tokens)
}

/// The settings, bounded by a window.
pub(super) fn fitting(settings: CompactionSettings, window: u64) -> CompactionSettings {
    let reserve_tokens = settings.reserve_tokens.min(window / 2);
    CompactionSettings {
        auto: settings.auto,
        reserve_tokens,
        keep_tokens: settings.keep_tokens.min((window - reserve_tokens) / 2),
    }
}

/// How many tokens a summary may have: 0.8 of the reserve, no more than the model can write, nor
/// than half of what it replaces, nor than an eighth of the window. A request for a summary has the
/// earlier one in it too, and most of it is to be what is summarized.
pub(super) fn summary_tokens(
    settings: CompactionSettings,
    info: Option<&ModelInfo>,
    tokens: u64,
    window: Option<u64>,
) -> u64 {
    let most = info.and_then(|info| info.max_tokens).unwrap_or(u64::MAX);
    let eighth = window.map_or(u64::MAX, |window| window / 8);
    let wanted = settings.reserve_tokens.saturating_mul(4) / 5;
    wanted
        .min(most)
        .min(tokens / 2)
        .min(eighth)
        .max(MIN_SUMMARY)
}

fn summary_model(plan: &RunPlan) -> ModelChoice {
    let own = plan.settings.compaction_model.as_deref();
    own.map_or_else(
        || plan.model.clone(),
        |id| ModelChoice {
            id: id.into(),
            chosen: true,
        },
    )
}

/// Token counts as the API names them.
pub(super) fn object(usage: &TokenUsage) -> Object {
    [
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        (
            "cache_creation_input_tokens",
            usage.cache_creation_input_tokens,
        ),
        ("cache_read_input_tokens", usage.cache_read_input_tokens),
    ]
    .into_iter()
    .map(|(name, count)| (name.to_owned(), count.into()))
    .collect()
}
