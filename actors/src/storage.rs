//! What every storage answers with, and why it refuses.

use std::pin::Pin;

use derive_more::{Display, Error};
use tokio::runtime::Handle;

use crate::threads::{PASSES, blocking};

/// What a storage answers with; never blocks the thread that polls it.
pub type StorageFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

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

/// Does what may take long on a thread that may block.
///
/// # Errors
/// Those of the work; that there is no thread, which passes; or that it panicked.
pub(crate) async fn aside<T: Send + 'static>(
    path: String,
    work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
) -> Result<T, StorageError> {
    let runtime = Handle::current();
    let worked = blocking(move || runtime.block_on(work)).await;
    worked.unwrap_or_else(|error| {
        Err(StorageError {
            doing: "read back".to_owned(),
            path,
            reason: error.to_string(),
        })
    })
}
