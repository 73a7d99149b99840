//! Which contents of files the model knows whole.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// A file as the model saw it whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Its absolute path, without links.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub hash: String,
}

/// The contents that are on record: the hash of the last one of each file, by its path.
pub type SeenBefore = Arc<HashMap<String, String>>;

/// The last content of each file that the model has read whole or written. Clones share what they learn.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    before: SeenBefore,
    /// The files that the call has shown the model, the latest last.
    new: Arc<Mutex<Vec<SeenFile>>>,
}

impl Seen {
    /// The files on record, for one call.
    pub(crate) fn of(before: SeenBefore) -> Self {
        Self {
            before,
            new: Arc::default(),
        }
    }

    /// Notes that the model knows a file with that SHA-256, in hexadecimal digits.
    pub fn note(&self, path: &Path, hash: String) {
        let path = path.to_string_lossy().into_owned();
        self.learned().push(SeenFile { path, hash });
    }

    /// Whether the model knows the file as it is now.
    #[must_use]
    pub fn knows(&self, path: &Path, hash: &str) -> bool {
        self.hash_of(path).is_some_and(|known| known == hash)
    }

    /// Whether the model knows the file, and it is another by now.
    #[must_use]
    pub fn is_another(&self, path: &Path, hash: &str) -> bool {
        self.hash_of(path).is_some_and(|known| known != hash)
    }

    /// The files that the model has seen whole, in the order of their names.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let learned = self.learned();
        let new = learned.iter().map(|seen| &seen.path);
        let all: BTreeSet<&String> = self.before.keys().chain(new).collect();
        all.into_iter().map(PathBuf::from).collect()
    }

    /// The files that were noted since the call began.
    pub(crate) fn take(&self) -> Vec<SeenFile> {
        std::mem::take(&mut self.learned())
    }

    fn hash_of(&self, path: &Path) -> Option<String> {
        let path = path.to_string_lossy();
        let learned = self.learned();
        let new = learned.iter().rev().find(|seen| seen.path == path);
        let new = new.map(|seen| seen.hash.clone());
        new.or_else(|| self.before.get(&*path).cloned())
    }

    fn learned(&self) -> MutexGuard<'_, Vec<SeenFile>> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
