//! The rules of folders: they hold in every conversation that works there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use harness_protocol::HeldRule;
use serde::{Deserialize, Serialize};

/// The rules of one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRules {
    /// Where it is, without links.
    pub folder: PathBuf,
    /// Its inode: another folder that is put there has none of the rules.
    pub inode: u64,
    /// The rules in it.
    pub rules: Vec<HeldRule>,
}

/// The rules of all folders: read by conversations, changed by their keeper. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct RuleBook(Arc<RwLock<Arc<[FolderRules]>>>);

impl RuleBook {
    /// The rules of all folders.
    #[must_use]
    pub fn all(&self) -> Arc<[FolderRules]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rules of a folder, if it is still the one that they were made for.
    #[must_use]
    pub fn of(&self, folder: &Path, inode: u64) -> Vec<HeldRule> {
        let all = self.all();
        let is_it = |rules: &&FolderRules| rules.folder == folder && rules.inode == inode;
        all.iter()
            .find(is_it)
            .map_or_else(Vec::new, |rules| rules.rules.clone())
    }

    /// Puts other rules in the place of all.
    pub fn set(&self, all: Vec<FolderRules>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all.into();
    }
}
