//! The answer of every storage, and the reason of its refusal.

use std::pin::Pin;

use derive_more::{Display, Error};
use tokio::runtime::Handle;

use crate::threads::{PASSES, blocking};

/// A storage's answer; never blocks the thread that polls it.
pub type StorageFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A storage's error.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("cannot {doing} {path}: {reason}")]
pub struct StorageError {
    /// The attempt, as a verb.
    pub doing: String,
    /// On what.
    pub path: String,
    /// The reason.
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
