//! The commits of repositories that the operator made, as opposed to those that commands made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::git_refs::GitRefs;

/// Maximum number of commits of one repository that are remembered besides those of its refs.
const MAX_COMMITS: usize = 20_000;

/// The commits that the service has seen at refs, by the git folder of their repository.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownCommits(Arc<Mutex<BTreeMap<PathBuf, RepositoryCommits>>>);

#[derive(Debug, Default)]
struct RepositoryCommits {
    /// The commits that were at a ref while no command ran.
    trusted: BTreeSet<String>,
    /// The commits that came to a ref while a command ran.
    made: BTreeSet<String>,
    /// The number of commands that run.
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
    /// Notes that a command begins. Commits that are new at a ref are the operator's if no other command runs.
    pub(super) fn begin(&self, repository: PathBuf, refs: GitRefs) -> TrustedCommits {
        let mut all = self.lock();
        let known = all.entry(repository.clone()).or_default();
        if known.commands == 0 {
            if known.trusted.len() > MAX_COMMITS {
                known.trusted.clear();
            }
            let made = &known.made;
            let own = refs.tips.into_iter().filter(|tip| !made.contains(tip));
            known.trusted.extend(own);
        }
        known.commands += 1;
        TrustedCommits {
            repository,
            trusted: known.trusted.clone(),
            made: known.made.clone(),
        }
    }

    /// Notes that a command ended that was begun in `begun`, and the refs of the repository that is there now.
    pub(super) fn end(&self, begun: Option<&Path>, now: Option<(PathBuf, GitRefs)>) {
        let mut all = self.lock();
        if let Some(repository) = begun
            && let Some(known) = all.get_mut(repository)
        {
            known.commands = known.commands.saturating_sub(1);
        }
        if let Some((repository, refs)) = now {
            let known = all.entry(repository).or_default();
            let trusted = &known.trusted;
            let new = refs.tips.into_iter().filter(|tip| !trusted.contains(tip));
            known.made.extend(new);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, RepositoryCommits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refs(tips: &[&str]) -> GitRefs {
        GitRefs {
            tips: tips.iter().map(|tip| (*tip).to_owned()).collect(),
            head: None,
        }
    }

    /// Spec: [BASH-551]
    #[test]
    fn commits_that_came_while_a_command_ran_are_never_the_operators() {
        let known = KnownCommits::default();
        let path = PathBuf::from("/work/.git");
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
}
