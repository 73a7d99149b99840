//! What every storage answers with, and why it refuses.

use std::pin::Pin;

use derive_more::{Display, Error};

/// What a storage answers with; never blocks the thread that polls it.
pub type StorageFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What is said of an error that passes.
pub(crate) const PASSES: &str = "this passes, try again in a moment";

/// What the storage said.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("cannot {doing} {path}: {reason}")]
pub struct StorageError {
    /// What was tried, as a verb.
    pub doing: String,
    /// On what.
    pub path: String,
    /// What it said.
    pub reason: String,
}

impl StorageError {
    /// Whether the same may work a moment later: the system lacked an open file or memory.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.reason.ends_with(PASSES)
    }
}
