//! Storage for the contents of attachments.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::{is_sha256, sha256};
use crate::storage::{StorageError, StorageFuture};

/// The error for a content that is not there.
const MISSING: &str = "there is none";

/// The outcome of an order that a content was held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was taken, or may have been: a journal may name the content.
    Named,
    /// It was refused, or never given.
    Refused,
}

/// Keeps contents. They are never changed, so a reader that has a hash needs no lock.
pub trait AttachmentStore: Send + Sync + 'static {
    /// Keeps a content, unless it is kept; durable when this returns. Tells its SHA-256 in
    /// hexadecimal digits.
    ///
    /// # Errors
    /// When the storage cannot be written.
    fn put(&self, content: Bytes) -> StorageFuture<Result<String, StorageError>>;

    /// Stores a content for an order that may be refused. It stays until [`Self::settle`] receives the outcome of the
    /// order. A store that cannot tell held contents from others keeps it permanently.
    ///
    /// # Errors
    /// As [`Self::put`]. Nothing is held then, and there is nothing to settle.
    fn hold(&self, content: Bytes) -> StorageFuture<Result<String, StorageError>> {
        self.put(content)
    }

    /// Reports the outcome of the order that a content was held for. A content that came with a refused order, and with
    /// nothing else, is removed.
    fn settle(&self, sha256: &str, fate: Fate) {
        let _ = (sha256, fate);
    }

    /// The content of that SHA-256.
    ///
    /// # Errors
    /// When there is none, which [`is_missing`] distinguishes; when its content no longer matches this hash; or when
    /// the storage cannot be read.
    fn get(&self, sha256: &str) -> StorageFuture<Result<Bytes, StorageError>>;
}

/// Keeps contents as long as it lives.
#[derive(Debug, Default)]
pub struct MemoryAttachments {
    contents: Mutex<HashMap<String, Bytes>>,
}

impl AttachmentStore for MemoryAttachments {
    fn put(&self, content: Bytes) -> StorageFuture<Result<String, StorageError>> {
        let sha256 = sha256(&content);
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.insert(sha256.clone(), content);
        Box::pin(async { Ok(sha256) })
    }

    fn get(&self, sha256: &str) -> StorageFuture<Result<Bytes, StorageError>> {
        let contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let found = contents.get(sha256).cloned().ok_or_else(|| missing(sha256));
        Box::pin(async { found })
    }
}

/// True if a content could not be read because it does not exist.
#[must_use]
pub fn is_missing(error: &StorageError) -> bool {
    error.reason == MISSING
}

/// The error for a content that does not exist.
pub(crate) fn missing(sha256: &str) -> StorageError {
    failed(sha256, MISSING)
}

/// There is one, but it is not what was kept.
#[cfg(feature = "journal")]
pub(crate) fn changed(sha256: &str) -> StorageError {
    failed(sha256, "its content was changed since it was kept")
}

fn failed(sha256: &str, reason: &str) -> StorageError {
    let path = if is_sha256(sha256) {
        format!("attachment {sha256}")
    } else {
        "an attachment whose name is no SHA-256".to_owned()
    };
    StorageError {
        doing: "read".to_owned(),
        path,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Spec: [ATT-01] [ATT-02]
    #[test]
    fn memory_keeps_a_content_once_and_says_what_it_has_not() {
        let store = MemoryAttachments::default();
        let put = || store.put(Bytes::from_static(b"abc")).now_or_never();
        let sha256 = put().unwrap().unwrap();
        assert_eq!(put().unwrap().unwrap(), sha256);
        assert_eq!(store.contents.lock().unwrap().len(), 1);
        let get = |sha256: &str| store.get(sha256).now_or_never().unwrap();
        assert_eq!(get(&sha256).unwrap(), "abc");
        for sha256 in ["../token", &"0".repeat(64)] {
            assert!(is_missing(&get(sha256).unwrap_err()));
        }
        assert!(!is_missing(&changed(&sha256)));
    }
}
