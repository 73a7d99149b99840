//! The place where the past is cut, and the limits that the cut must keep.

use super::{CompactionSettings, SummaryFiles};

/// The limits that a cut must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// Maximum number of tokens of a request.
    pub window: u64,
    /// The settings.
    pub settings: CompactionSettings,
    /// The estimate of the part of a request before the messages, in tokens.
    pub head_tokens: u64,
    /// The limit of one summary, in tokens.
    pub summary_tokens: u64,
}

impl Goal {
    /// Maximum number of tokens of a request before the past is summarized.
    #[must_use]
    pub fn limit(&self) -> u64 {
        match self.window.saturating_sub(self.settings.reserve_tokens) {
            // A reserve that takes the whole window would summarize before every request.
            0 => self.window / 2,
            limit => limit,
        }
    }

    /// True if a request of that many tokens is too long.
    #[must_use]
    pub fn is_exceeded_by(&self, tokens: u64) -> bool {
        tokens > self.limit()
    }
}

/// The place where the past is cut, and the text to summarize. The summary is made by one request after the other: each
/// is [`super::prompt()`] of the next piece of the dropped messages, the first with the earlier summary, each later one
/// with the answer to the one before. [`super::finish`] makes the summary of the last answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionCut {
    /// Number of the last messages that are kept; see `Record::Compacted`.
    pub kept: u64,
    /// The estimate of the next request, in tokens.
    pub tokens_before: u64,
    /// The estimate of the next request after it, in tokens, with a summary of full length.
    pub tokens_after: u64,
    /// The piece of the dropped messages that was sent last.
    pub told: DroppedPiece,
}

/// A piece of the messages that a cut drops, in the form for the summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DroppedPiece {
    /// The piece, for one request.
    pub piece: String,
    /// The earlier summary that this one continues, without its lists of files; with the first piece only.
    pub previous: Option<String>,
    /// The files that were read and changed in the messages dropped now and before.
    pub files: SummaryFiles,
}

#[cfg(test)]
impl CompactionCut {
    /// The prompt for the first piece.
    pub(crate) fn first_prompt(&self) -> String {
        super::prompt(&self.told.piece, self.told.previous.as_deref())
    }
}
