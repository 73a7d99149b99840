//! Compaction: the model receives a summary in place of the past, except for the end of it.

mod cut;
mod files;
mod prompt;
mod transcript;

use futures_util::future::BoxFuture;
use harness_protocol::FullSettings;

pub use cut::{CompactionCut, DroppedPiece, Goal};
pub use files::SummaryFiles;
pub use prompt::{SYSTEM_PROMPT, finish, prompt};
pub(crate) use transcript::{SummaryFrame, TranscriptPlace, add_files};

/// The settings of compaction: when the past is summarized, and how much of its end is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// True if the past is summarized automatically.
    pub auto: bool,
    /// The distance below the window at which the past is summarized, in tokens.
    pub reserve_tokens: u64,
    /// Number of the last tokens that remain unchanged.
    pub keep_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self::from_settings(&FullSettings::default())
    }
}

impl CompactionSettings {
    /// Those among the settings, with the default in place of a number that is 0.
    #[must_use]
    pub fn from_settings(settings: &FullSettings) -> Self {
        let default = FullSettings::default();
        let or = |number, default| if number == 0 { default } else { number };
        Self {
            auto: settings.auto_compact,
            reserve_tokens: or(settings.reserve_tokens, default.reserve_tokens),
            keep_tokens: or(settings.keep_tokens, default.keep_tokens),
        }
    }
}

/// The parts of the request for one summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The model to ask.
    pub model: String,
    /// Maximum number of tokens of the summary.
    pub max_tokens: u32,
    /// The system prompt, see [`SYSTEM_PROMPT`].
    pub system_prompt: &'static str,
    /// All that the model is asked: the instructions, the earlier summary and the part of the conversation to
    /// summarize; see [`prompt()`].
    pub prompt: String,
}

/// Writes summaries. Replaces the model's own, for users of this crate.
///
/// ```
/// use std::sync::Arc;
///
/// use futures_util::future::BoxFuture;
/// use harness_actors::compaction::{Summarizer, SummaryRequest};
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Harness, Options};
///
/// /// Keeps the first words.
/// struct FirstWords;
///
/// impl Summarizer for FirstWords {
///     fn summarize(&self, request: SummaryRequest) -> BoxFuture<'static, Result<String, String>> {
///         let words = request.prompt.split_whitespace().take(50);
///         let words: Vec<&str> = words.collect();
///         let summary = words.join(" ");
///         Box::pin(async { Ok(summary) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.extensions.transport = Some(Arc::new(model.clone()));
/// options.extensions.summarizer = Some(Arc::new(FirstWords));
/// let harness = Harness::start(options)?;
/// for _ in 0..4 {
///     model.push(ScriptedReply::text("Read."));
///     harness.prompt(&"a long text ".repeat(500)).await?;
/// }
/// let done = harness.compact_with(true, None).await?;
/// assert!(done.compacted && done.tokens_after < done.tokens_before);
/// assert_eq!(model.requests().len(), 4);
/// # Ok(())
/// # }
/// ```
pub trait Summarizer: Send + Sync + 'static {
    /// The summary, or the reason why there is none, in words for the operator.
    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'static, Result<String, String>>;
}

#[cfg(test)]
mod tests;
