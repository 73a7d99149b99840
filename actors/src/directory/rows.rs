//! Overviews of conversations that are not open, from the last time that a list looked at them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::conversation::messages::Overview;
use crate::journal::{Header, ListedJournal};

/// Maximum number that is remembered; beyond it all are forgotten at once.
const MOST: usize = 20_000;
/// Minimum age of a journal's last change for its overview to be remembered, in nanoseconds. Two changes within a tick
/// of the system's clock have the same time.
const SETTLED: u64 = 1_000_000_000;

/// The rows so far. A journal that has not changed since is not opened again.
#[derive(Clone, Default)]
pub(super) struct ConversationRows(Arc<Mutex<HashMap<String, KnownJournal>>>);

struct KnownJournal {
    changed_at: u64,
    header: Header,
    overview: Overview,
}

impl ConversationRows {
    /// The row of a journal that was changed then.
    pub(super) fn get(&self, listed: &ListedJournal) -> Option<(Header, Overview)> {
        let all = self.all();
        let known = all.get(&listed.id)?;
        let is_same = known.changed_at == listed.changed_at;
        is_same.then(|| (known.header.clone(), known.overview.clone()))
    }

    /// Notes what was found in a journal that has ended; of one with a reply that was cut short,
    /// more than its file can change.
    pub(super) fn note(
        &self,
        listed: &ListedJournal,
        header: &Header,
        overview: &Overview,
        clock: Clock,
    ) {
        let now = clock.unix_millis().saturating_mul(1_000_000);
        let is_settled = listed.changed_at.saturating_add(SETTLED) < now;
        if !is_settled || overview.run.is_some() {
            return;
        }
        let known = KnownJournal {
            changed_at: listed.changed_at,
            header: header.clone(),
            overview: overview.clone(),
        };
        let mut all = self.all();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(listed.id.clone(), known);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, KnownJournal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
