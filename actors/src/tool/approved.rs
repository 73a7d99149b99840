//! The contents that `edit` and `write` gave to files, which the operator allowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::attachment::sha256;

/// Maximum number of files whose contents are known.
const MAX_FILES: usize = 4096;

/// The hash of the last content of each file that a tool changed with the operator's permission, or none of one that it
/// removed. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ApprovedContents(Arc<Mutex<BTreeMap<PathBuf, Option<String>>>>);

impl ApprovedContents {
    /// Notes the SHA-256 hash of a file's new content.
    pub(in crate::tool) fn note(&self, path: &Path, hash: String) {
        self.set(path, Some(hash));
    }

    /// Notes that a file was removed.
    pub(in crate::tool) fn note_removal(&self, path: &Path) {
        self.set(path, None);
    }

    fn set(&self, path: &Path, hash: Option<String>) {
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(path.to_owned(), hash);
    }

    /// True if a tool gave this content to the file.
    pub(in crate::tool) fn has(&self, path: &Path, content: &[u8]) -> bool {
        let known = self.lock().get(path).cloned().flatten();
        known.is_some_and(|hash| hash == sha256(content))
    }

    /// True if a tool removed the file.
    pub(in crate::tool) fn lacks(&self, path: &Path) -> bool {
        self.lock().get(path) == Some(&None)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
