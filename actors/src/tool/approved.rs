//! The contents that `edit` and `write` gave to files, which the operator allowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::attachment::sha256;

/// Maximum number of files whose contents are known.
const MAX_FILES: usize = 4096;

/// The hash of the last content of each file that a tool changed with the operator's permission. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ApprovedContents(Arc<Mutex<BTreeMap<PathBuf, String>>>);

impl ApprovedContents {
    /// Notes the SHA-256 hash of a file's new content.
    pub(in crate::tool) fn note(&self, path: &Path, hash: String) {
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(path.to_owned(), hash);
    }

    /// True if a tool gave this content to the file.
    pub(in crate::tool) fn has(&self, path: &Path, content: &[u8]) -> bool {
        let known = self.lock().get(path).cloned();
        known.is_some_and(|hash| hash == sha256(content))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
