//! The known working folders of conversations.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The working folders of conversations that were looked up, as digests. They never change, so that a list of one
/// folder looks at no journal of another twice.
#[derive(Clone, Default)]
pub(super) struct Folders(Arc<Mutex<HashMap<String, u64>>>);

impl Folders {
    /// False if the conversation is known to work in another folder.
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
