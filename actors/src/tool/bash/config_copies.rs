//! The configurations of git that a command may change: it changes copies of them, and each copy is taken over afterwards
//! if git runs no program because of it.
//!
//! The configurations themselves do not change while the command runs, so that no other git reads what it wrote.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::config_change::{ConfigChange, refusal_note};
use super::held_folder::HeldFolder;
use super::temp::TempFolder;
use crate::tool::launch::FileCopy;

/// Maximum number of configurations that have a copy: those of a repository with its submodules.
const MAX_COPIES: usize = 64;
/// Maximum size of a configuration, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Number of attempts to get the lock of a configuration, and the time between two.
const LOCK_ATTEMPTS: usize = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The copies of one command, in a folder that no other program uses.
#[derive(Debug)]
pub(super) struct ConfigCopies {
    folder: TempFolder,
    held: HeldFolder,
    copies: Vec<ConfigCopy>,
}

/// The copy of one configuration.
#[derive(Debug)]
struct ConfigCopy {
    /// The configuration.
    path: PathBuf,
    /// The folder that it is in, and its name there.
    git: HeldFolder,
    name: OsString,
    /// Its content and its mode before the command.
    content: Vec<u8>,
    mode: u32,
    /// The name of the copy.
    copy: String,
}

impl ConfigCopies {
    /// Makes copies of those configurations that are regular files. `None` if there are none. Blocks.
    ///
    /// # Errors
    /// The disk's error.
    pub(super) fn make(configurations: &BTreeSet<PathBuf>) -> io::Result<Option<Self>> {
        let copies = configurations.iter().filter_map(|path| {
            let git = HeldFolder::open(path.parent()?).ok()?;
            let name = path.file_name()?.to_owned();
            let (content, mode) = git.read(&name, MAX_FILE).ok()??;
            Some((path.clone(), git, name, content, mode))
        });
        let copies: Vec<ConfigCopy> = copies
            .take(MAX_COPIES)
            .enumerate()
            .map(|(number, (path, git, name, content, mode))| ConfigCopy {
                path,
                git,
                name,
                content,
                mode,
                copy: format!("config-{number}"),
            })
            .collect();
        if copies.is_empty() {
            return Ok(None);
        }
        let folder = TempFolder::new()?;
        let held = HeldFolder::open(folder.path())?;
        for copy in &copies {
            held.make_file(OsStr::new(&copy.copy), &copy.content, copy.mode)?;
        }
        Ok(Some(Self {
            folder,
            held,
            copies,
        }))
    }

    /// The folder that the command has to be able to write.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The copies with the files in whose place the command sees them.
    pub(super) fn files(&self) -> Vec<FileCopy> {
        let each = self.copies.iter().map(|copy| FileCopy {
            place: copy.path.clone(),
            copy: self.folder.path().join(&copy.copy),
        });
        each.collect()
    }

    /// Takes over the copies that the command has changed, a line for each. Blocks.
    pub(super) fn take_over(&self, workspace: &Path) -> Vec<String> {
        let notes = self.copies.iter().filter_map(|copy| {
            let taken = copy.take_over(&self.held, workspace);
            taken.unwrap_or_else(|reason| Some(refusal_note(&copy.path, &reason)))
        });
        notes.collect()
    }
}

impl ConfigCopy {
    /// Gives the configuration the content of its copy, and returns the note about it.
    ///
    /// # Errors
    /// The reason for which the configuration stays unchanged, as a part of a note.
    fn take_over(&self, copies: &HeldFolder, workspace: &Path) -> Result<Option<String>, String> {
        let now = copies.read(OsStr::new(&self.copy), MAX_FILE);
        let now = now.map_err(|error| format!("what the command made of it: {error}"))?;
        let (now, _) = now.ok_or("what the command made of it is too large")?;
        if now == self.content {
            return Ok(None);
        }
        let git = self.path.parent().unwrap_or(&self.path);
        let change = ConfigChange::judged((&self.content, &now), git, workspace)?;
        self.replace(&now).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                "another git holds its lock".to_owned()
            } else if error.kind() == ErrorKind::InvalidData {
                "another program changed it meanwhile".to_owned()
            } else {
                error.to_string()
            }
        })?;
        Ok(change.note(&self.path))
    }

    /// Replaces the configuration as git does: no other git writes it while its lock is there.
    fn replace(&self, new: &[u8]) -> io::Result<()> {
        let mut lock = self.name.clone();
        lock.push(".lock");
        let mut attempts = 1..=LOCK_ATTEMPTS;
        loop {
            attempts.next();
            match self.git.make_file(&lock, new, self.mode) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && !attempts.is_empty() => {
                    pause();
                }
                made => break made?,
            }
        }
        let replaced = self.replace_by(&lock);
        if replaced.is_err() {
            self.git.remove_file(&lock)?;
        }
        replaced
    }

    fn replace_by(&self, lock: &OsStr) -> io::Result<()> {
        let now = self.git.read(&self.name, MAX_FILE)?;
        if now.is_none_or(|(now, _)| now != self.content) {
            return Err(ErrorKind::InvalidData.into());
        }
        self.git.own_like(lock, &self.name)?;
        self.git.replace(lock, &self.name)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this thread waits for a command anyway"
)]
fn pause() {
    thread::sleep(LOCK_PAUSE);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Ground {
        _home: tempfile::TempDir,
        work: PathBuf,
        config: PathBuf,
        copies: ConfigCopies,
    }

    const PLAIN: &str = "[core]\n\tbare = false\n";
    const REMOTE: &str = "[core]\n\tbare = false\n[remote \"two\"]\n\turl = ../two\n";

    impl Ground {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let work = fs::canonicalize(home.path()).unwrap();
            let config = work.join(".git/config");
            fs::create_dir(work.join(".git")).unwrap();
            fs::write(&config, PLAIN).unwrap();
            let absent = work.join(".git/config.worktree");
            let all = BTreeSet::from([config.clone(), absent]);
            let copies = ConfigCopies::make(&all).unwrap().unwrap();
            Self {
                _home: home,
                work,
                config,
                copies,
            }
        }

        fn copy(&self) -> PathBuf {
            let files = self.copies.files();
            assert_eq!(files.len(), 1);
            assert_eq!(files[0].place, self.config);
            files[0].copy.clone()
        }

        /// The notes of taking over, and the content afterwards.
        fn taken(&self) -> (Vec<String>, String) {
            let notes = self.copies.take_over(&self.work);
            let names = fs::read_dir(self.work.join(".git")).unwrap().count();
            assert_eq!(names, 1, "no lock is left");
            (notes, fs::read_to_string(&self.config).unwrap())
        }
    }

    /// Spec: [BASH-620]
    #[test]
    fn a_copy_that_git_has_changed_is_taken_over_and_named() {
        let ground = Ground::new();
        assert_eq!(ground.taken(), (vec![], PLAIN.to_owned()));
        fs::write(ground.copy(), REMOTE).unwrap();
        let note = format!("{}: set remote.two.url", ground.config.display());
        assert_eq!(ground.taken(), (vec![note], REMOTE.to_owned()));
    }

    /// Spec: [BASH-620]
    #[test]
    fn a_copy_is_not_taken_over_if_it_is_harmful_or_no_file_or_if_the_configuration_is_another() {
        let refused = |reason: &str, work: &dyn Fn(&Ground)| {
            let ground = Ground::new();
            work(&ground);
            let before = fs::read_to_string(&ground.config).unwrap();
            let (notes, after) = ground.taken();
            assert_eq!(after, before);
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert!(notes[0].contains(reason), "{notes:?}");
        };
        refused("names a program", &|ground| {
            fs::write(ground.copy(), "[core]\n\tpager = evil\n").unwrap();
        });
        refused("what the command made of it", &|ground| {
            fs::remove_file(ground.copy()).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", ground.copy()).unwrap();
        });
        refused("too large", &|ground| {
            fs::write(ground.copy(), "#".repeat(2 << 20)).unwrap();
        });
        refused("changed it meanwhile", &|ground| {
            fs::write(ground.copy(), REMOTE).unwrap();
            fs::write(&ground.config, "[core]\n\tbare = true\n").unwrap();
        });
    }

    /// Spec: [BASH-620]
    #[test]
    fn a_configuration_that_another_git_has_locked_stays() {
        let ground = Ground::new();
        fs::write(ground.copy(), REMOTE).unwrap();
        let lock = ground.work.join(".git/config.lock");
        fs::write(&lock, "").unwrap();
        let notes = ground.copies.take_over(&ground.work);
        assert!(notes[0].contains("another git holds its lock"), "{notes:?}");
        assert!(lock.exists());
        assert_eq!(fs::read_to_string(&ground.config).unwrap(), PLAIN);
    }
}
