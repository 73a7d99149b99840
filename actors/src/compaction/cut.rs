//! Where the past is cut, and what that is to reach.

use super::{CompactionSettings, Files};

/// The limits that a cut must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// How many tokens a request may have.
    pub window: u64,
    /// The settings.
    pub settings: CompactionSettings,
    /// The estimate of what stands before the messages in a request, in tokens.
    pub head_tokens: u64,
    /// The limit of one summary, in tokens.
    pub summary_tokens: u64,
}

impl Goal {
    /// How many tokens a request has at most before the past is summarized.
    #[must_use]
    pub fn limit(&self) -> u64 {
        match self.window.saturating_sub(self.settings.reserve_tokens) {
            // A reserve that takes the whole window would summarize before every request.
            0 => self.window / 2,
            limit => limit,
        }
    }

    /// Whether a request of so many tokens is too long.
    #[must_use]
    pub fn is_exceeded_by(&self, tokens: u64) -> bool {
        tokens > self.limit()
    }
}

/// Where the past is cut, and what is to be summarized. The summary is made by one request after
/// the other: each is [`super::prompt()`] of the next piece of what is dropped, the first with the summary
/// before, each later one with the answer to the one before. [`super::finish`] makes the summary of the last answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// How many of the last messages are kept; see `Record::Compacted`.
    pub kept: u64,
    /// The estimate of the next request, in tokens.
    pub tokens_before: u64,
    /// The estimate of the next request after it, in tokens, with a summary of full length.
    pub tokens_after: u64,
    /// The piece of what is dropped that was told last.
    pub told: Told,
}

/// A piece of what is dropped by a cut, as it is to be summarized.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The piece, for one request.
    pub piece: String,
    /// The summary that it goes on from, without its lists of files; of the first piece only.
    pub previous: Option<String>,
    /// The files that were read and changed in what is dropped now or was before.
    pub files: Files,
}

#[cfg(test)]
impl Cut {
    /// The prompt for the first piece.
    pub(crate) fn first_prompt(&self) -> String {
        super::prompt(&self.told.piece, self.told.previous.as_deref())
    }
}
