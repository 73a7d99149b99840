//! The time in which a conversation waits to ask its model again: no work.

use crate::conversation::Reading;
use crate::conversation::retry_waits;
use crate::journal::{Journal, Record};
use crate::storage::StorageError;

/// The sum of the waits, from records in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Idle {
    ms: u64,
    /// The start of the running wait and its maximum length, both in milliseconds.
    open: Option<(u64, u64)>,
    /// The last record that was looked at.
    read_to: u64,
}

impl Idle {
    /// The sum after that record.
    pub(super) fn behind(seq: u64) -> Self {
        Self {
            read_to: seq,
            ..Self::default()
        }
    }

    /// Goes by a record.
    pub(super) fn add(&mut self, at: u64, record: &Record) {
        if let Some((since, most)) = self.open.take() {
            self.ms += at.saturating_sub(since).min(most);
        }
        if let Record::Status { message, .. } = record {
            let most = retry_waits(message).map(|wait| u64::try_from(wait.as_millis()));
            self.open = most.map(|most| (at, most.unwrap_or(u64::MAX)));
        }
    }

    /// The sum at that time, in milliseconds.
    pub(super) fn ms_at(&self, now: u64) -> u64 {
        let open = self
            .open
            .map_or(0, |(since, most)| now.saturating_sub(since).min(most));
        self.ms + open
    }

    /// Reads the records that have come since.
    ///
    /// # Errors
    /// When the storage cannot be read.
    pub(super) async fn read_on(mut self, journal: &dyn Journal) -> Result<Self, StorageError> {
        let mut reading = Reading::new(journal, self.read_to, journal.end().seq);
        while let Some(entries) = reading.next().await? {
            for entry in entries {
                self.add(entry.at, &entry.record);
                self.read_to = entry.position.seq;
            }
        }
        Ok(self)
    }

    /// True if it has read more records than the other.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        self.read_to > other.read_to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Activity;

    fn status(message: &str) -> Record {
        Record::Status {
            activity: Activity::Thinking,
            message: message.to_owned(),
        }
    }

    /// Spec: [FLOW-221]
    #[test]
    fn a_wait_counts_until_it_is_over_or_something_comes() {
        let mut idle = Idle::default();
        idle.add(1_000, &status("retrying in 8.0 s (1 of 4): overloaded"));
        assert_eq!(idle.ms_at(3_000), 2_000);
        assert_eq!(idle.ms_at(30_000), 8_000);
        idle.add(4_000, &status(""));
        assert_eq!(idle.ms_at(30_000), 3_000);
        idle.add(5_000, &status("retrying in 1.0 s (2 of 4): overloaded"));
        idle.add(99_000, &status(""));
        assert_eq!(idle.ms_at(99_000), 4_000);
    }
}
