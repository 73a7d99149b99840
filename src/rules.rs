//! The rules of folders, kept in `rules.json` in the state folder: never in the folders themselves,
//! which the model may change.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use derive_more::{Display, Error};
use harness_actors::approval::{FolderRules, RuleBook};
use harness_protocol::HeldRule;

use crate::state::write_new;

/// The file in the state folder.
const FILE: &str = "rules.json";

/// Why the rules are not as they should be.
#[derive(Debug, Display, Error)]
#[display("cannot {doing} {}: {reason}", path.display())]
pub(crate) struct RulesFileError {
    doing: &'static str,
    path: PathBuf,
    reason: String,
}

/// Keeps the rules of folders, and shows conversations those that hold. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct KeptRules {
    path: PathBuf,
    book: RuleBook,
    changing: Arc<Mutex<()>>,
}

impl KeptRules {
    /// The rules in a state folder.
    ///
    /// # Errors
    /// A file that cannot be read: without it, what an operator denied would be allowed.
    pub(crate) fn within(home: &Path) -> Result<Self, RulesFileError> {
        let path = home.join(FILE);
        let book = RuleBook::default();
        let error = |reason: String| RulesFileError {
            doing: "read the rules in",
            path: path.clone(),
            reason,
        };
        match fs::read(&path) {
            Ok(bytes) => {
                let all: Vec<FolderRules> = serde_json::from_slice(&bytes)
                    .map_err(|wrong| error(format!("{wrong}; mend it, or move it away")))?;
                book.set(all);
            }
            Err(none) if none.kind() == ErrorKind::NotFound => {}
            Err(refused) => return Err(error(refused.to_string())),
        }
        Ok(Self {
            path,
            book,
            changing: Arc::default(),
        })
    }

    /// The rules that conversations look at.
    pub(crate) fn book(&self) -> RuleBook {
        self.book.clone()
    }

    /// The rules of folders that are still those which they were made for. Blocks.
    pub(crate) fn held(&self) -> Vec<HeldRule> {
        let all = self.book.all();
        let there = all
            .iter()
            .filter(|rules| inode_of(&rules.folder).is_ok_and(|inode| inode == rules.inode));
        there.flat_map(|rules| rules.rules.clone()).collect()
    }

    /// The rules of one folder. Blocks.
    pub(crate) fn of(&self, folder: &Path) -> Vec<HeldRule> {
        let inode = inode_of(folder);
        inode.map_or_else(|_| Vec::new(), |inode| self.book.of(folder, inode))
    }

    /// Changes the rules of a folder, and keeps them. Blocks.
    ///
    /// # Errors
    /// The refusal of `change`, or the disk's error: nothing is changed then.
    pub(crate) fn change<E: From<RulesFileError>>(
        &self,
        folder: &Path,
        change: impl FnOnce(&mut Vec<HeldRule>) -> Result<(), E>,
    ) -> Result<Vec<HeldRule>, E> {
        let _turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |error: io::Error| RulesFileError {
            doing: "keep rules in",
            path: self.path.clone(),
            reason: error.to_string(),
        };
        let inode = inode_of(folder).map_err(error)?;
        let mut rules = self.book.of(folder, inode);
        change(&mut rules)?;
        let mut all = self.book.all().to_vec();
        all.retain(|other| other.folder != folder);
        if !rules.is_empty() {
            all.push(FolderRules {
                folder: folder.to_owned(),
                inode,
                rules: rules.clone(),
            });
        }
        self.write(&all).map_err(error)?;
        self.book.set(all);
        Ok(rules)
    }

    /// Puts a file in place of the other, through to the disk.
    fn write(&self, all: &[FolderRules]) -> io::Result<()> {
        let new = self.path.with_extension("json.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        write_new(&new, &serde_json::to_string_pretty(all)?)?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

fn inode_of(folder: &Path) -> io::Result<u64> {
    fs::metadata(folder).map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use harness_protocol::{RuleAction, Scope};

    use super::*;

    fn rule(folder: &Path, text: &str) -> HeldRule {
        HeldRule {
            action: RuleAction::Allow,
            rule: text.to_owned(),
            scope: Scope::Workspace,
            workspace: Some(folder.display().to_string()),
            by: None,
        }
    }

    /// Spec: [APPR-11]
    #[test]
    fn a08_rules_of_a_folder_are_kept_and_another_folder_there_has_none() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("work");
        fs::create_dir(&folder).unwrap();
        let kept = KeptRules::within(home.path()).unwrap();
        let add = |text: &str| {
            let new = rule(&folder, text);
            kept.change(&folder, |rules| {
                rules.push(new);
                Ok::<(), RulesFileError>(())
            })
        };
        add("edit(a)").unwrap();
        assert_eq!(add("edit(b)").unwrap().len(), 2);
        let again = KeptRules::within(home.path()).unwrap();
        assert_eq!(
            again.held(),
            [rule(&folder, "edit(a)"), rule(&folder, "edit(b)")]
        );
        let mode = fs::metadata(home.path().join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Both are there at once, so that they are not one.
        let other = home.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::rename(&folder, home.path().join("away")).unwrap();
        fs::rename(&other, &folder).unwrap();
        assert_eq!((again.held(), again.of(&folder)), (vec![], vec![]));
        // Nothing is lost where nothing can be kept.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let is_root = nix::unistd::Uid::effective().is_root();
        assert!(is_root || add("edit(c)").is_err());
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(home.path().join(FILE), "[{").unwrap();
        let refused = KeptRules::within(home.path()).unwrap_err().to_string();
        assert!(
            refused.contains("rules.json") && refused.contains("mend it"),
            "{refused}"
        );
    }
}
