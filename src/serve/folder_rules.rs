//! The rules of folders, kept in `rules.json` in the state folder: never in the folders themselves,
//! which the model may change.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use derive_more::{Display, Error};
use harness_actors::approval::{FolderRules, NO_INODE, Rule, RuleBook};
use harness_protocol::{HeldRule, RuleAction, Scope};
use nix::fcntl::OFlag;
use serde::Deserialize;

use crate::state_dir::write_new;
use crate::visible;

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

/// The rules of one folder, as the file has them.
#[derive(Deserialize)]
struct FolderEntry {
    folder: PathBuf,
    inode: u64,
    rules: Vec<RuleEntry>,
}

/// A rule, as the file has it.
#[derive(Deserialize)]
struct RuleEntry {
    action: EntryAction,
    rule: String,
    scope: Scope,
    #[serde(default)]
    workspace: Option<String>,
    #[serde(default)]
    by: Option<String>,
}

/// The actions that the file may have. Another one is an error, since a rule that does nothing would allow what an
/// operator denied.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryAction {
    Allow,
    Ask,
    Deny,
}

impl FolderEntry {
    /// The rules that conversations go by.
    ///
    /// # Errors
    /// A rule that cannot be understood.
    fn into_rules(self) -> Result<FolderRules, String> {
        let rules = self.rules.into_iter().map(RuleEntry::into_held);
        Ok(FolderRules {
            folder: self.folder,
            inode: self.inode,
            rules: rules.collect::<Result<_, _>>()?,
        })
    }
}

impl RuleEntry {
    fn into_held(self) -> Result<HeldRule, String> {
        let parsed: Result<Rule, _> = self.rule.parse();
        parsed.map_err(|error| error.to_string())?;
        Ok(HeldRule {
            action: match self.action {
                EntryAction::Allow => RuleAction::Allow,
                EntryAction::Ask => RuleAction::Ask,
                EntryAction::Deny => RuleAction::Deny,
            },
            rule: self.rule,
            scope: self.scope,
            workspace: self.workspace,
            by: self.by,
        })
    }
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
    /// A file that cannot be read or understood: without it, what an operator denied would be allowed.
    pub(crate) fn within(home: &Path) -> Result<Self, RulesFileError> {
        let path = home.join(FILE);
        let book = RuleBook::default();
        let all = read(&path).map_err(|reason| {
            let reason = visible::line(&reason);
            RulesFileError {
                doing: "read the rules in",
                path: path.clone(),
                reason: format!("{reason}; mend it, or move it away"),
            }
        })?;
        book.set(all);
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

    /// The rules of all folders that hold at their paths. Blocks.
    pub(crate) fn held(&self) -> Vec<HeldRule> {
        let all = self.book.all();
        let held = all.iter().flat_map(|rules| {
            let inode = inode_of(&rules.folder).ok();
            rules.held_in(&rules.folder, inode)
        });
        held.cloned().collect()
    }

    /// The rules that hold in one folder. Blocks.
    pub(crate) fn rules_in(&self, folder: &Path) -> Vec<HeldRule> {
        self.book.rules_in(folder, inode_of(folder).ok())
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
        let mut all = self.book.all().to_vec();
        let known = all.iter().find(|other| other.folder == folder);
        let inode = match (inode_of(folder), known) {
            (Ok(inode), _) => inode,
            // The folder was removed, and its rules can be taken back.
            (Err(_), Some(known)) => known.inode,
            (Err(none), None) => return Err(error(none).into()),
        };
        let mut rules = self.book.rules_in(folder, Some(inode));
        for held in &mut rules {
            held.workspace = Some(folder.display().to_string());
        }
        change(&mut rules)?;
        all.retain(|other| other.folder != folder);
        // What the folder brought along from another path is its own now, and stays there by that path.
        for left in all.iter_mut().filter(|other| other.inode == inode) {
            left.inode = NO_INODE;
            left.rules.retain(|held| held.action != RuleAction::Allow);
        }
        all.retain(|other| !other.rules.is_empty());
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

/// The rules in a file; empty if there is no file.
///
/// # Errors
/// Returns the reason why the file cannot be read, or its first member that is not understood.
fn read(path: &Path) -> Result<Vec<FolderRules>, String> {
    let bytes = match state_file(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Vec::new()),
        Err(refused) => return Err(refused.to_string()),
    };
    let entries: Vec<FolderEntry> =
        serde_json::from_slice(&bytes).map_err(|wrong| wrong.to_string())?;
    entries.into_iter().map(FolderEntry::into_rules).collect()
}

/// The content of a file, at the end of links; `None` if there is neither a file nor a link. Nothing but a file is
/// read, and a named pipe is not waited for.
pub(super) fn state_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(none) if none.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(io::Error::other("it is a link that leads to no file")),
                Err(none) if none.kind() == ErrorKind::NotFound => Ok(None),
                Err(refused) => Err(refused),
            };
        }
        Err(refused) => return Err(refused),
    };
    let kind = file.metadata()?.file_type();
    if !kind.is_file() {
        let name = kind_name(kind);
        return Err(io::Error::other(format!("it is {name} instead of a file")));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The name of a kind that is not a file.
fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

fn inode_of(folder: &Path) -> io::Result<u64> {
    fs::metadata(folder).map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

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
        assert_eq!((again.held(), again.rules_in(&folder)), (vec![], vec![]));
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

    fn add(kept: &KeptRules, folder: &Path, held: HeldRule) -> Vec<HeldRule> {
        let change = |rules: &mut Vec<HeldRule>| {
            rules.push(held);
            Ok::<(), RulesFileError>(())
        };
        kept.change(folder, change).unwrap()
    }

    /// Spec: [APPR-420]
    #[test]
    fn a_denial_holds_at_its_path_and_in_its_folder_and_can_be_taken_back_in_both() {
        let home = tempfile::tempdir().unwrap();
        let (here, away) = (home.path().join("here"), home.path().join("away"));
        fs::create_dir(&here).unwrap();
        let kept = KeptRules::within(home.path()).unwrap();
        let denial = |folder: &Path| HeldRule {
            action: RuleAction::Deny,
            ..rule(folder, "edit(b)")
        };
        add(&kept, &here, rule(&here, "edit(a)"));
        add(&kept, &here, denial(&here));
        fs::rename(&here, &away).unwrap();
        for _ in 0..2 {
            assert_eq!(kept.held(), [denial(&here)]);
            assert_eq!(kept.rules_in(&here), [denial(&here)]);
            assert_eq!(kept.rules_in(&away), [denial(&here)]);
            // Once without a folder at the path, and once with another one.
            fs::create_dir_all(&here).unwrap();
        }
        // A change in the moved folder makes the denial its own, and leaves the one of the path.
        let changed = add(&kept, &away, rule(&away, "edit(c)"));
        assert_eq!(changed, [denial(&away), rule(&away, "edit(c)")]);
        let clear = |folder: &Path| {
            kept.change(folder, |rules| {
                rules.clear();
                Ok::<(), RulesFileError>(())
            })
        };
        assert!(clear(&away).unwrap().is_empty());
        assert!(kept.rules_in(&away).is_empty());
        assert_eq!(kept.rules_in(&here), [denial(&here)]);
        // It can be taken back without its folder, where there are rules to be taken back.
        fs::remove_dir(&here).unwrap();
        assert!(clear(&here).unwrap().is_empty());
        assert!(kept.held().is_empty());
        assert!(clear(&here).is_err());
        let again = KeptRules::within(home.path()).unwrap();
        assert!(again.held().is_empty());
    }

    /// Spec: [APPR-421]
    #[test]
    fn a_file_that_is_not_understood_is_refused_by_name_and_value() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE);
        let refusal = || {
            let refused = KeptRules::within(home.path()).unwrap_err().to_string();
            assert!(refused.contains(FILE), "{refused}");
            assert!(!refused.contains('\n'), "{refused}");
            refused
        };
        let with = |action: &str, rule: &str| {
            let rule = format!(r#"{{"action":"{action}","rule":"{rule}","scope":"workspace"}}"#);
            let text = format!(r#"[{{"folder":"/w","inode":1,"rules":[{rule}]}}]"#);
            fs::write(&file, text).unwrap();
        };
        for action in ["denied", "Deny", "unknown", "", "a\\nb"] {
            with(action, "bash(rm *)");
            let refused = refusal();
            let allowed = "expected one of `allow`, `ask`, `deny`";
            let value = format!("`{action}`");
            assert!(
                refused.contains(&value) && refused.contains(allowed),
                "{refused}"
            );
        }
        with("deny", "bash(rm");
        assert!(refusal().contains("is no rule"));
        for action in ["allow", "ask", "deny"] {
            with(action, "bash(rm x)");
            KeptRules::within(home.path()).unwrap();
        }
        // What can be read through a link is read, and what is not a file is not.
        let elsewhere = home.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(KeptRules::within(home.path()).unwrap().held().len(), 1);
        fs::remove_file(&elsewhere).unwrap();
        assert!(refusal().contains("a link that leads to no file"));
        fs::remove_file(&file).unwrap();
        mkfifo(&file, Mode::S_IRWXU).unwrap();
        assert!(refusal().contains("a named pipe"));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(refusal().contains("a folder"));
        fs::remove_dir(&file).unwrap();
        symlink("/dev/null", &file).unwrap();
        assert!(refusal().contains("a device"));
    }
}
