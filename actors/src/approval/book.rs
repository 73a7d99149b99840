//! The rules of folders: they hold in every conversation that works there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use harness_protocol::{HeldRule, RuleAction};
use serde::{Deserialize, Serialize};

/// The rules of one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRules {
    /// Where it is, without links.
    pub folder: PathBuf,
    /// The inode of the folder that they were made for, or [`NO_INODE`].
    pub inode: u64,
    /// The rules in it.
    pub rules: Vec<HeldRule>,
}

/// The inode of rules that hold by their path alone; no folder has it.
pub const NO_INODE: u64 = 0;

impl FolderRules {
    /// The rules that hold in the folder with that path and inode.
    ///
    /// A rule that allows holds only in the very folder that it was made for. One that denies or asks outlives that
    /// folder: it holds in each folder at its path, and in the folder itself wherever it was moved.
    pub fn held_in(&self, folder: &Path, inode: Option<u64>) -> impl Iterator<Item = &HeldRule> {
        let is_at_path = self.folder == folder;
        let is_same = self.inode != NO_INODE && inode == Some(self.inode);
        self.rules.iter().filter(move |held| match held.action {
            RuleAction::Allow => is_at_path && is_same,
            RuleAction::Ask | RuleAction::Deny | RuleAction::Unknown => is_at_path || is_same,
        })
    }
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

    /// The rules that hold in the folder with that path and inode; `None` if its inode is not known.
    #[must_use]
    pub fn rules_in(&self, folder: &Path, inode: Option<u64>) -> Vec<HeldRule> {
        let all = self.all();
        let held = all.iter().flat_map(|rules| rules.held_in(folder, inode));
        held.cloned().collect()
    }

    /// Puts other rules in the place of all.
    pub fn set(&self, all: Vec<FolderRules>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all.into();
    }
}

#[cfg(test)]
mod tests {
    use harness_protocol::Scope;

    use super::*;

    /// Spec: [APPR-420]
    #[test]
    fn what_denies_or_asks_outlives_the_folder_that_it_was_made_for() {
        let held = |action, rule: &str| HeldRule {
            action,
            rule: rule.to_owned(),
            scope: Scope::Workspace,
            workspace: Some("/a".to_owned()),
            by: None,
        };
        let book = RuleBook::default();
        book.set(vec![FolderRules {
            folder: PathBuf::from("/a"),
            inode: 5,
            rules: vec![
                held(RuleAction::Allow, "edit(x)"),
                held(RuleAction::Ask, "edit(y)"),
                held(RuleAction::Deny, "edit(z)"),
            ],
        }]);
        let texts = |folder: &str, inode| -> Vec<String> {
            let held = book.rules_in(Path::new(folder), inode);
            held.into_iter().map(|held| held.rule).collect()
        };
        let all = ["edit(x)", "edit(y)", "edit(z)"];
        for (folder, inode, expected) in [
            ("/a", Some(5), &all[..]),
            // Another folder at the path, none, and the folder at another path.
            ("/a", Some(9), &all[1..]),
            ("/a", None, &all[1..]),
            ("/b", Some(5), &all[1..]),
            ("/b", Some(9), &[]),
            ("/b", None, &[]),
        ] {
            assert_eq!(texts(folder, inode), expected, "{folder} {inode:?}");
        }
        // Rules without an inode hold by their path, also for what claims to have that inode.
        let mut all = book.all().to_vec();
        all[0].inode = NO_INODE;
        book.set(all);
        assert_eq!(texts("/b", Some(NO_INODE)), [""; 0]);
        assert_eq!(texts("/a", Some(NO_INODE)), ["edit(y)", "edit(z)"]);
    }
}
