//! Counts of the clients that are attached to a conversation, and of those that are about to be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the clients that are attached to a conversation. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Attendance(Arc<AttendanceShared>);

#[derive(Debug, Default)]
struct AttendanceShared {
    count: AtomicUsize,
    following: AtomicUsize,
    changed: Notify,
}

impl Attendance {
    /// Number of clients that are attached.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// True if a client is attached, or still reads the records that it lacks.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.count() > 0 || self.0.following.load(Ordering::Acquire) > 0
    }

    /// Counts a client that is on its way, for as long as the guard lives.
    pub(super) fn follow(&self) -> FollowGuard {
        self.0.following.fetch_add(1, Ordering::AcqRel);
        FollowGuard(self.clone())
    }

    /// Counts a client for as long as the guard lives.
    pub(super) fn enter(&self) -> AttachedGuard {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        self.0.changed.notify_one();
        AttachedGuard(self.clone())
    }

    /// Counts a client without a stream.
    #[cfg(test)]
    pub(crate) fn attend(&self) -> impl Drop + use<> {
        self.enter()
    }

    /// Returns when a client came or went since the last call.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

/// One client on its way.
#[derive(Debug)]
pub(super) struct FollowGuard(Attendance);

impl Drop for FollowGuard {
    fn drop(&mut self) {
        let Attendance(shared) = &self.0;
        shared.following.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One client that is attached.
#[derive(Debug)]
pub(super) struct AttachedGuard(Attendance);

impl Drop for AttachedGuard {
    fn drop(&mut self) {
        let Attendance(shared) = &self.0;
        shared.count.fetch_sub(1, Ordering::AcqRel);
        shared.changed.notify_one();
    }
}
