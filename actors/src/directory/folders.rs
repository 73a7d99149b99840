//! Where conversations work, as far as it is known.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// In which folders conversations work, as digests, as far as it was looked up. It never changes, so
/// that a list of one folder looks at no journal of another twice.
#[derive(Clone, Default)]
pub(super) struct Folders(Arc<Mutex<HashMap<String, u64>>>);

impl Folders {
    /// Whether a conversation may work there, as far as is known.
    pub(super) fn may_be_in(&self, id: &str, folder: &Path) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(id).is_none_or(|known| *known == digest(folder))
    }

    /// Notes where a conversation works.
    pub(super) fn note(&self, id: &str, folder: &Path) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(id.to_owned(), digest(folder));
    }
}

fn digest(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    hasher.finish()
}
