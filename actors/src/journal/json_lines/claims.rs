//! The uses of an attachment's content while an order that names it is under way.
//!
//! Invariant: a content is removed only while no order claims it, and only if it was not there before the first order
//! that claimed it since, and none of those orders was taken.

use std::collections::{HashMap, HashSet};

use crate::attachment::Fate;

/// The contents that are claimed now. Looked at and removed from the disk under one lock.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claimed: HashMap<String, Claim>,
    /// The contents that were claimed since the running sweep began. `None` without a sweep.
    pub(super) since_sweep: Option<HashSet<String>>,
}

#[derive(Debug)]
struct Claim {
    /// By how many orders.
    orders: usize,
    /// True if the content was not there before the first order.
    is_new: bool,
    /// True if one of the orders was taken.
    is_named: bool,
}

impl Claims {
    /// True if no order claims the content, and none did since the sweep began.
    pub(super) fn is_free(&self, sha256: &str) -> bool {
        let is_claimed = self.claimed.contains_key(sha256);
        let was_claimed = self
            .since_sweep
            .as_ref()
            .is_some_and(|since| since.contains(sha256));
        !is_claimed && !was_claimed
    }

    /// Claims a content for an order; `is_new` tells whether there is certainly none yet.
    pub(super) fn claim(&mut self, sha256: &str, is_new: impl FnOnce() -> bool) {
        if let Some(since) = &mut self.since_sweep {
            since.insert(sha256.to_owned());
        }
        let claimed = self.claimed.entry(sha256.to_owned());
        let claim = claimed.or_insert_with(|| Claim {
            orders: 0,
            is_new: is_new(),
            is_named: false,
        });
        claim.orders += 1;
    }

    /// Ends a claim. Returns true if the content has to be removed.
    pub(super) fn settle(&mut self, sha256: &str, fate: Fate) -> bool {
        let Some(claim) = self.claimed.get_mut(sha256) else {
            return false;
        };
        claim.orders -= 1;
        claim.is_named |= fate == Fate::Named;
        if claim.orders > 0 {
            return false;
        }
        let is_in_vain = claim.is_new && !claim.is_named;
        self.claimed.remove(sha256);
        is_in_vain
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
