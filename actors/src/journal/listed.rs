//! The list of journals, the last changed first.

use std::cmp::Reverse;

/// One line of the list of journals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// When it was changed last, in nanoseconds since the Unix epoch.
    pub changed_at: u64,
    /// The conversation.
    pub id: String,
}

impl Listed {
    /// Its place in the list.
    fn place(&self) -> (Reverse<u64>, &str) {
        (Reverse(self.changed_at), &self.id)
    }

    /// At most `limit` lines of the list behind the line `after`.
    pub(super) fn page(mut all: Vec<Self>, after: Option<&Self>, limit: usize) -> Vec<Self> {
        all.retain(|listed| after.is_none_or(|after| listed.place() > after.place()));
        all.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        all.truncate(limit);
        all
    }
}
