//! The contents that tools gave to files, and the files that they removed, which the operator allowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::attachment::sha256;

/// Maximum number of files whose contents are known.
const MAX_FILES: usize = 4096;

/// The last change of each file that a tool made with the operator's permission. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ApprovedContents(Arc<Mutex<ApprovedFiles>>);

#[derive(Debug, Default)]
struct ApprovedFiles {
    files: BTreeMap<PathBuf, ApprovedChange>,
    /// The number of removals so far.
    removals: u64,
}

#[derive(Debug)]
enum ApprovedChange {
    /// The SHA-256 hash of the new content.
    Content(String),
    /// The file was removed, as the removal with that number.
    Removal(u64),
}

impl ApprovedContents {
    /// Notes the SHA-256 hash of a file's new content.
    pub(in crate::tool) fn note(&self, path: &Path, hash: String) {
        self.lock().add(path, ApprovedChange::Content(hash));
    }

    /// Notes that a file was removed.
    pub(in crate::tool) fn note_removal(&self, path: &Path) {
        let mut files = self.lock();
        files.removals += 1;
        let number = files.removals;
        files.add(path, ApprovedChange::Removal(number));
    }

    /// True if a tool gave this content to the file.
    pub(in crate::tool) fn has(&self, path: &Path, content: &[u8]) -> bool {
        let files = self.lock();
        let known = files.files.get(path);
        matches!(known, Some(ApprovedChange::Content(hash)) if *hash == sha256(content))
    }

    /// The number of removals so far.
    pub(in crate::tool) fn removals(&self) -> u64 {
        self.lock().removals
    }

    /// True if a tool removed the file after that many removals. An older one says nothing of a file that is there again.
    pub(in crate::tool) fn lacks_since(&self, path: &Path, removals: u64) -> bool {
        let files = self.lock();
        let known = files.files.get(path);
        matches!(known, Some(ApprovedChange::Removal(number)) if *number > removals)
    }

    fn lock(&self) -> MutexGuard<'_, ApprovedFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ApprovedFiles {
    fn add(&mut self, path: &Path, change: ApprovedChange) {
        if self.files.len() >= MAX_FILES {
            self.files.clear();
        }
        self.files.insert(path.to_owned(), change);
    }
}
