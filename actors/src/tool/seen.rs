//! Which contents of files the model knows whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last content of each file that the model has read whole or written, by its hash. Clones share what
/// they know.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<HashMap<PathBuf, String>>>);

impl Seen {
    /// Notes that the model knows a file with that SHA-256, in hexadecimal digits.
    pub fn note(&self, path: &Path, hash: String) {
        self.known().insert(path.to_owned(), hash);
    }

    /// Whether the model knows the file as it is now.
    #[must_use]
    pub fn knows(&self, path: &Path, hash: &str) -> bool {
        self.known().get(path).is_some_and(|known| known == hash)
    }

    /// Whether the model knows the file, and it is another by now.
    #[must_use]
    pub fn is_another(&self, path: &Path, hash: &str) -> bool {
        self.known().get(path).is_some_and(|known| known != hash)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
