//! The commits of repositories that the operator made, as opposed to those that commands made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::git_refs::GitRefs;
use crate::attachment::sha256;

/// Maximum number of commits of one repository that are remembered besides those of its refs.
const MAX_COMMITS: usize = 20_000;
/// Maximum size of a file with the commits of a repository, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// The commits that the service has seen at refs, by the git folder of their repository.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownCommits(Arc<Mutex<KnownRepositories>>);

#[derive(Debug, Default)]
struct KnownRepositories {
    /// The folder with a file for each repository. `None` keeps them in memory.
    folder: Option<PathBuf>,
    repositories: BTreeMap<PathBuf, RepositoryCommits>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RepositoryCommits {
    /// The commits that were at a ref while no command ran.
    trusted: BTreeSet<String>,
    /// The commits that came to a ref while a command ran.
    made: BTreeSet<String>,
    /// True from the start of a command to its end, also if the service ended before.
    is_running: bool,
    /// The number of commands that run.
    #[serde(skip)]
    commands: usize,
}

/// The commits of a repository before a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TrustedCommits {
    /// The git folder of the repository.
    pub(super) repository: PathBuf,
    pub(super) trusted: BTreeSet<String>,
    /// Commits whose ancestors are not trusted because of them.
    pub(super) made: BTreeSet<String>,
}

impl KnownCommits {
    /// The commits in the folder `commits` of a state folder. It is made when a command first runs in a repository.
    pub(super) fn within(home: &Path) -> Self {
        Self(Arc::new(Mutex::new(KnownRepositories {
            folder: Some(home.join("commits")),
            repositories: BTreeMap::new(),
        })))
    }

    /// Notes that a command begins. Commits that are new at a ref are the operator's if no other command runs. Blocks.
    pub(super) fn begin(&self, repository: PathBuf, refs: GitRefs) -> TrustedCommits {
        let mut all = self.lock();
        let known = all.find(&repository);
        if known.commands == 0 {
            if known.trusted.len() > MAX_COMMITS {
                known.trusted.clear();
            }
            // The end of the last command was missed: what is new since its start may be its own.
            let was_missed = known.is_running;
            for tip in refs.tips {
                if was_missed && !known.trusted.contains(&tip) {
                    known.made.insert(tip);
                } else if !known.made.contains(&tip) {
                    known.trusted.insert(tip);
                }
            }
        }
        known.commands += 1;
        known.is_running = true;
        let commits = TrustedCommits {
            repository,
            trusted: known.trusted.clone(),
            made: known.made.clone(),
        };
        all.save(&commits.repository);
        commits
    }

    /// The commits of a repository that came to a ref while a command ran. Blocks.
    pub(super) fn made_in(&self, repository: &Path) -> BTreeSet<String> {
        self.lock().find(repository).made.clone()
    }

    /// Notes that these commits are the operator's in a new repository, whose origin has them. Blocks.
    pub(super) fn trust(&self, repository: &Path, commits: &BTreeSet<String>) {
        let mut all = self.lock();
        let known = all.find(repository);
        known.trusted.extend(commits.iter().cloned());
    }

    /// Notes that a command ended that was begun in `begun`, and the refs of the repository that is there now. Blocks.
    pub(super) fn end(&self, begun: Option<&Path>, now: Option<(PathBuf, GitRefs)>) {
        let mut all = self.lock();
        let is_cut = now.as_ref().is_some_and(|(_, refs)| refs.is_cut);
        if let Some((repository, refs)) = now {
            let known = all.find(&repository);
            known.is_running |= is_cut;
            for tip in refs.tips {
                if !known.trusted.contains(&tip) {
                    known.made.insert(tip);
                }
            }
            if begun != Some(&*repository) {
                all.save(&repository);
            }
        }
        if let Some(repository) = begun {
            let known = all.find(repository);
            known.commands = known.commands.saturating_sub(1);
            // Among refs that were not read there may be some of the command's.
            known.is_running = known.commands > 0 || is_cut;
            all.save(repository);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownRepositories> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownRepositories {
    fn find(&mut self, repository: &Path) -> &mut RepositoryCommits {
        let file = self.file(repository);
        let load = || file.map(|file| load(&file)).unwrap_or_default();
        self.repositories
            .entry(repository.to_owned())
            .or_insert_with(load)
    }

    fn file(&self, repository: &Path) -> Option<PathBuf> {
        let name = sha256(repository.as_os_str().as_bytes());
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }

    fn save(&self, repository: &Path) {
        let (Some(file), Some(known)) = (self.file(repository), self.repositories.get(repository))
        else {
            return;
        };
        if let Err(error) = save(&file, known) {
            let path = file.display();
            log::warn!("the commits that commands made are not kept in {path}: {error}");
        }
    }
}

/// Reads the commits of a repository. Where they cannot be read, no commit at its refs is the operator's.
fn load(file: &Path) -> RepositoryCommits {
    let read = || -> io::Result<RepositoryCommits> {
        if fs::metadata(file)?.len() > MAX_FILE {
            return Err(io::Error::other("it is too large"));
        }
        Ok(serde_json::from_slice(&fs::read(file)?)?)
    };
    match read() {
        Ok(known) => known,
        Err(error) if error.kind() == ErrorKind::NotFound => RepositoryCommits::default(),
        Err(error) => {
            log::warn!("{} cannot be read: {error}", file.display());
            RepositoryCommits {
                is_running: true,
                ..RepositoryCommits::default()
            }
        }
    }
}

fn save(file: &Path, known: &RepositoryCommits) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
    }
    let unfinished = file.with_extension("unfinished");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut written = options.open(&unfinished)?;
    written.write_all(&serde_json::to_vec(known)?)?;
    fs::rename(&unfinished, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refs(tips: &[&str]) -> GitRefs {
        GitRefs {
            tips: tips.iter().map(|tip| (*tip).to_owned()).collect(),
            ..GitRefs::default()
        }
    }

    /// Spec: [BASH-551]
    #[test]
    fn commits_that_came_while_a_command_ran_are_never_the_operators() {
        let known = KnownCommits::default();
        let path = PathBuf::from("/project/.git");
        let begin = |tips: &[&str]| known.begin(path.clone(), refs(tips));
        let end = |tips: &[&str]| known.end(Some(&path), Some((path.clone(), refs(tips))));
        assert_eq!(begin(&["a"]).trusted, refs(&["a"]).tips);
        end(&["a", "evil"]);
        let second = begin(&["a", "evil", "own"]);
        assert_eq!(second.trusted, refs(&["a", "own"]).tips);
        assert_eq!(second.made, refs(&["evil"]).tips);
        // While a command runs, a new commit may be its own.
        assert_eq!(begin(&["a", "later"]).trusted, second.trusted);
        end(&["later"]);
        end(&["later"]);
        // A commit of the operator is remembered when its branch moves on.
        assert_eq!(begin(&["later"]).trusted, second.trusted);
        end(&["later"]);
        // A repository that a command made has commits of that command.
        known.end(None, Some((PathBuf::from("/new/.git"), refs(&["x"]))));
        let new = known.begin(PathBuf::from("/new/.git"), refs(&["x", "y"]));
        assert_eq!(new.trusted, refs(&["y"]).tips);
    }
    /// Spec: [BASH-551]
    #[test]
    fn commits_are_known_after_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let path = PathBuf::from("/project/.git");
        let now = |tips: &[&str]| Some((path.clone(), refs(tips)));
        let known = KnownCommits::within(home.path());
        known.begin(path.clone(), refs(&["a"]));
        known.end(Some(&path), now(&["a", "evil"]));
        let known = KnownCommits::within(home.path());
        let begun = known.begin(path.clone(), refs(&["a", "evil", "own"]));
        assert_eq!(begun.trusted, refs(&["a", "own"]).tips);
        // The service ends before the command.
        let known = KnownCommits::within(home.path());
        let begun = known.begin(path.clone(), refs(&["a", "killed"]));
        assert_eq!(begun.trusted, refs(&["a", "own"]).tips);
        assert_eq!(begun.made, refs(&["evil", "killed"]).tips);
        known.end(Some(&path), now(&["a"]));
        // A file that cannot be read trusts nothing.
        let folder = home.path().join("commits");
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        fs::write(file.path(), "{").unwrap();
        let known = KnownCommits::within(home.path());
        let begun = known.begin(path.clone(), refs(&["a"]));
        assert_eq!(begun.trusted, BTreeSet::new());
    }
}
