//! The list of journals, the last changed first.

use std::cmp::Reverse;

/// One line of the list of journals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedJournal {
    /// Time of its last change, in nanoseconds since the Unix epoch.
    pub changed_at: u64,
    /// The conversation.
    pub id: String,
}

impl ListedJournal {
    /// Its place in the list.
    fn place(&self) -> (Reverse<u64>, &str) {
        (Reverse(self.changed_at), &self.id)
    }

    /// All lines in the order of the list.
    pub(super) fn sorted(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        all
    }

    /// At most `limit` lines of a sorted list after the line `after`.
    pub(super) fn page(all: &[Self], after: Option<&Self>, limit: usize) -> Vec<Self> {
        let start = after.map_or(0, |after| {
            all.partition_point(|listed| listed.place() <= after.place())
        });
        all.iter().skip(start).take(limit).cloned().collect()
    }
}
