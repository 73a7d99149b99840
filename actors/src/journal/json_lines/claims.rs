//! Who has a use for the content of an attachment while an order that names it is under way.
//!
//! Invariant: a content is removed only while nobody claims it, and only if it was not there before
//! the first of those who claimed it since, and none of their orders was taken.

use std::collections::{HashMap, HashSet};
use std::io;

use super::attachments::Contents;
use super::pool::lock;
use crate::attachment::Fate;

/// The contents that are claimed now. Looked at and removed from the disk under one lock.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claimed: HashMap<String, Claim>,
    /// What was claimed since a sweep began, while one goes on.
    pub(super) since_sweep: Option<HashSet<String>>,
}

#[derive(Debug)]
struct Claim {
    /// By how many orders.
    orders: usize,
    /// Whether it was not there before the first of them.
    is_new: bool,
    /// Whether one of them was taken.
    is_named: bool,
}

impl Claims {
    /// Whether nobody has claimed it, nor did since the sweep began.
    pub(super) fn is_free(&self, sha256: &str) -> bool {
        let is_claimed = self.claimed.contains_key(sha256);
        let was_claimed = self
            .since_sweep
            .as_ref()
            .is_some_and(|since| since.contains(sha256));
        !is_claimed && !was_claimed
    }
}

impl Contents {
    /// Claims a content for an order.
    pub(super) fn claim(&self, sha256: &str) {
        let mut claims = lock(&self.claims);
        if let Some(since) = &mut claims.since_sweep {
            since.insert(sha256.to_owned());
        }
        let claim = claims
            .claimed
            .entry(sha256.to_owned())
            .or_insert_with(|| Claim {
                orders: 0,
                is_new: self.is_missing(sha256),
                is_named: false,
            });
        claim.orders += 1;
    }

    /// Ends a claim.
    pub(super) fn settle(&self, sha256: &str, fate: Fate) {
        let mut claims = lock(&self.claims);
        let Some(claim) = claims.claimed.get_mut(sha256) else {
            return;
        };
        claim.orders -= 1;
        claim.is_named |= fate == Fate::Named;
        if claim.orders > 0 {
            return;
        }
        let is_in_vain = claim.is_new && !claim.is_named;
        claims.claimed.remove(sha256);
        if is_in_vain {
            self.remove(sha256);
        }
    }

    /// Whether there is certainly no such content.
    fn is_missing(&self, sha256: &str) -> bool {
        let (_, path) = self.place(sha256);
        let looked = self.disk.stat(&path);
        looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Removes a content. The lock of the claims must be held.
    pub(super) fn remove(&self, sha256: &str) {
        let (_, path) = self.place(sha256);
        let length = self.disk.stat(&path).map_or(0, |stat| stat.length);
        match self.disk.remove(&path) {
            Ok(()) => self.size.shrank(length),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // The next start finds it.
            Err(error) => log::warn!("cannot remove {}: {error}", path.display()),
        }
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
