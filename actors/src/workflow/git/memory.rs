//! A repository in memory, for tests of what works with one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{
    AcceptOrder, Accepted, GitCandidate, GitConfig, GitError, KEPT_REJECTED, RefChange, Refs,
    SnapshotOrder, Tip, TreeKind, WorkflowGit, Worktree, WorktreeOrder,
};
use crate::attachment::sha256;
use crate::workflow::guard::PathGuard;

/// The files of a tree, by path.
pub type TreeFiles = BTreeMap<String, String>;

/// A repository in memory. Its trees are maps of files, by the folder of the tree.
#[derive(Debug, Default)]
pub struct MemoryGit(Mutex<MemoryRepository>);

#[derive(Debug, Default)]
struct MemoryRepository {
    trees: BTreeMap<String, TreeFiles>,
    commits: BTreeMap<String, Commit>,
    refs: BTreeMap<String, String>,
    /// The working trees.
    worktrees: BTreeMap<PathBuf, TreeFiles>,
    config: GitConfig,
}

#[derive(Debug, Clone)]
struct Commit {
    tree: String,
    parent: Option<String>,
}

/// The folder of the repository's own tree.
const OWN: &str = "/repository";

impl MemoryGit {
    /// A repository with one commit of these files on the branch `main`, and in its own tree.
    #[must_use]
    pub fn new(files: &[(&str, &str)]) -> Self {
        let own = |(path, content): &(&str, &str)| ((*path).to_owned(), (*content).to_owned());
        let files: TreeFiles = files.iter().map(own).collect();
        let mut state = MemoryRepository::default();
        let tree = state.add_tree(&files);
        let commit = state.add_commit(&tree, None, "first");
        state.refs.insert("refs/heads/main".to_owned(), commit);
        state.worktrees.insert(OWN.into(), files);
        Self(Mutex::new(state))
    }

    /// Writes a file in a tree, as a model does; none removes it.
    pub fn write(&self, folder: &Path, path: &str, content: Option<&str>) {
        let mut state = self.lock();
        let files = state.worktrees.entry(folder.to_owned()).or_default();
        match content {
            Some(content) => drop(files.insert(path.to_owned(), content.to_owned())),
            None => drop(files.remove(path)),
        }
    }

    /// The entries of a tree.
    #[must_use]
    pub fn files(&self, folder: &Path) -> TreeFiles {
        self.lock()
            .worktrees
            .get(folder)
            .cloned()
            .unwrap_or_default()
    }

    /// Moves a ref, as a person does; none removes it.
    pub fn set_ref(&self, name: &str, commit: Option<&str>) {
        let mut state = self.lock();
        match commit {
            Some(commit) => drop(state.refs.insert(name.to_owned(), commit.to_owned())),
            None => drop(state.refs.remove(name)),
        }
    }

    /// Changes the configuration.
    pub fn set_config(&self, key: &str, value: &str) {
        self.lock()
            .config
            .0
            .insert(key.to_owned(), value.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, MemoryRepository> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryRepository {
    fn add_tree(&mut self, files: &TreeFiles) -> String {
        let id = sha256(format!("{files:?}").as_bytes());
        self.trees.insert(id.clone(), files.clone());
        id
    }

    fn add_commit(&mut self, tree: &str, parent: Option<&str>, message: &str) -> String {
        let id = sha256(format!("{tree} {parent:?} {message}").as_bytes());
        let commit = Commit {
            tree: tree.to_owned(),
            parent: parent.map(str::to_owned),
        };
        self.commits.insert(id.clone(), commit);
        id
    }

    fn tip(&self, name: &str) -> Option<Tip> {
        let commit = self.refs.get(name).map_or(name, String::as_str);
        let tree = self.commits.get(commit)?.tree.clone();
        let commit = commit.to_owned();
        Some(Tip { commit, tree })
    }

    fn files_at(&self, commit: &str) -> Result<TreeFiles, GitError> {
        let tip = self.tip(commit);
        let files = tip.and_then(|tip| self.trees.get(&tip.tree).cloned());
        files.ok_or_else(|| GitError::Missing {
            name: commit.to_owned(),
        })
    }

    /// The entries of a tree that count.
    fn now(&self, tree: &Worktree) -> Result<TreeFiles, GitError> {
        let files = self.worktrees.get(&tree.root);
        let mut files = files.cloned().ok_or_else(|| GitError::NotOurs {
            folder: tree.root.clone(),
        })?;
        files.retain(|path, _| !is_copy(tree, path));
        Ok(files)
    }

    /// Puts a commit's files into a tree, but for its copies.
    fn put(&mut self, tree: &Worktree, commit: &str) -> Result<(), GitError> {
        let mut files = self.files_at(commit)?;
        let own = self
            .worktrees
            .get(Path::new(OWN))
            .cloned()
            .unwrap_or_default();
        files.extend(own.into_iter().filter(|(path, _)| is_copy(tree, path)));
        self.worktrees.insert(tree.root.clone(), files);
        Ok(())
    }

    fn is_in(&self, commit: &str, branch: &str) -> bool {
        let mut at = self.refs.get(branch).cloned();
        while let Some(id) = at {
            if id == commit {
                return true;
            }
            at = self
                .commits
                .get(&id)
                .and_then(|commit| commit.parent.clone());
        }
        false
    }
}

fn is_copy(tree: &Worktree, path: &str) -> bool {
    tree.copy
        .iter()
        .any(|copy| Path::new(path).starts_with(copy))
}

/// The paths at which two trees differ.
fn differing(one: &TreeFiles, other: &TreeFiles) -> Vec<String> {
    let mut paths: Vec<String> = one
        .keys()
        .chain(other.keys())
        .filter(|path| one.get(*path) != other.get(*path))
        .cloned()
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

fn lines(text: Option<&String>) -> u64 {
    text.map_or(0, |text| text.lines().count() as u64)
}

impl WorkflowGit for MemoryGit {
    fn tip(&self, name: &str) -> Result<Option<Tip>, GitError> {
        let state = self.lock();
        Ok(state
            .tip(name)
            .or_else(|| state.tip(&format!("refs/heads/{name}"))))
    }

    fn log(&self, commit: &str, _: usize) -> Result<String, GitError> {
        Ok(commit.to_owned())
    }

    fn worktree(&self, order: &WorktreeOrder<'_>) -> Result<Worktree, GitError> {
        let mut state = self.lock();
        let name = format!("refs/heads/{}", order.branch);
        let start = order.start.to_owned();
        let at = state.refs.entry(name).or_insert(start).clone();
        let tree = Worktree {
            root: order.folder.to_owned(),
            git: order.folder.join(".git"),
            kind: TreeKind::Linked,
            branch: Some(order.branch.to_owned()),
            copy: order.copy.to_vec(),
            ignored: Vec::new(),
        };
        if !state.worktrees.contains_key(order.folder) {
            state.put(&tree, &at)?;
        }
        Ok(tree)
    }

    fn in_place(&self) -> Result<Worktree, GitError> {
        let tree = Worktree {
            root: OWN.into(),
            git: Path::new(OWN).join(".git"),
            kind: TreeKind::InPlace,
            branch: Some("main".to_owned()),
            copy: Vec::new(),
            ignored: Vec::new(),
        };
        self.check_clean(&tree)?;
        Ok(tree)
    }

    fn fresh(&self, commit: &str, folder: &Path, copy: &[String]) -> Result<Worktree, GitError> {
        let tree = Worktree {
            root: folder.to_owned(),
            git: folder.join(".git"),
            kind: TreeKind::Fresh,
            branch: None,
            copy: copy.to_vec(),
            ignored: Vec::new(),
        };
        self.lock().put(&tree, commit)?;
        Ok(tree)
    }

    fn remove(&self, tree: &Worktree) -> Result<(), GitError> {
        if tree.kind == TreeKind::InPlace {
            let folder = tree.root.clone();
            return Err(GitError::NotOurs { folder });
        }
        self.lock().worktrees.remove(&tree.root);
        Ok(())
    }

    fn check_clean(&self, tree: &Worktree) -> Result<(), GitError> {
        let state = self.lock();
        let branch = tree.branch.as_deref().ok_or(GitError::Detached)?;
        let paths = differing(
            &state.now(tree)?,
            &state.files_at(&format!("refs/heads/{branch}"))?,
        );
        if paths.is_empty() {
            return Ok(());
        }
        Err(GitError::Dirty { paths })
    }

    fn config(&self, _: &Worktree) -> Result<GitConfig, GitError> {
        Ok(self.lock().config.clone())
    }

    fn refs(&self) -> Result<Refs, GitError> {
        Ok(Refs(self.lock().refs.clone()))
    }

    fn put_refs_back(
        &self,
        tree: &Worktree,
        _: &str,
        before: &Refs,
    ) -> Result<Vec<RefChange>, GitError> {
        let mut state = self.lock();
        let own = tree
            .branch
            .as_ref()
            .map(|branch| format!("refs/heads/{branch}"));
        let now = state.refs.clone();
        let is_other =
            |name: &String| !name.starts_with("refs/harness/") && own.as_ref() != Some(name);
        let mut names: Vec<&String> = before.0.keys().chain(now.keys()).collect();
        names.sort();
        names.dedup();
        let mut changes = Vec::new();
        for name in names.into_iter().filter(|name| is_other(name)) {
            let (was, is) = (before.0.get(name), now.get(name));
            if was == is {
                continue;
            }
            // In this repository no command commits in a worktree: another user moved the refs that moved.
            let put_back = is.is_none();
            if let Some(was) = was.filter(|_| put_back) {
                state.refs.insert(name.clone(), was.clone());
            }
            changes.push(RefChange {
                name: name.clone(),
                before: was.cloned(),
                now: is.cloned(),
                put_back,
            });
        }
        Ok(changes)
    }

    fn protect(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError> {
        let paths = self.protected(tree, base, guard)?;
        let mut state = self.lock();
        let was = state.files_at(base)?;
        let files = state.worktrees.entry(tree.root.clone()).or_default();
        for path in &paths {
            match was.get(path) {
                Some(content) => drop(files.insert(path.clone(), content.clone())),
                None => drop(files.remove(path)),
            }
        }
        Ok(paths)
    }

    fn protected(
        &self,
        tree: &Worktree,
        base: &str,
        guard: &PathGuard,
    ) -> Result<Vec<String>, GitError> {
        let state = self.lock();
        let was = state.files_at(base)?;
        let mut paths = differing(&state.now(tree)?, &was);
        paths.retain(|path| guard.covers(path) || guard.scripts().contains(path));
        Ok(paths)
    }

    fn snapshot(
        &self,
        tree: &Worktree,
        order: &SnapshotOrder<'_>,
    ) -> Result<GitCandidate, GitError> {
        let mut state = self.lock();
        let keys = order.config.changed(&state.config);
        if !keys.is_empty() {
            return Err(GitError::ConfigChanged { keys });
        }
        let (was, now) = (state.files_at(order.base)?, state.now(tree)?);
        let paths = differing(&was, &now);
        let hash = state.add_tree(&now);
        let message = format!("{} {:?} {}", order.message, order.trailers, order.seconds);
        let commit = state.add_commit(&hash, Some(order.base), &message);
        state.refs.insert(order.name.to_string(), commit.clone());
        Ok(GitCandidate {
            tree: hash,
            commit,
            files: paths.len(),
            insertions: paths.iter().map(|path| lines(now.get(path))).sum(),
            deletions: paths.iter().map(|path| lines(was.get(path))).sum(),
            paths,
            nested: Vec::new(),
            too_large: None,
        })
    }

    fn tree_now(&self, tree: &Worktree, _: &str) -> Result<String, GitError> {
        let mut state = self.lock();
        let now = state.now(tree)?;
        Ok(state.add_tree(&now))
    }

    fn accept(&self, tree: &Worktree, order: &AcceptOrder<'_>) -> Result<Accepted, GitError> {
        let mut state = self.lock();
        let name = format!("refs/heads/{}", order.branch);
        let at = state.refs.get(&name).cloned();
        let accepted = match at.as_deref() {
            Some(at) if at == order.candidate => Accepted::Before,
            Some(at) if at == order.base => Accepted::Now,
            Some(_) | None => {
                return Err(GitError::Moved {
                    branch: order.branch.to_owned(),
                    expected: order.base.to_owned(),
                    found: at.unwrap_or_else(|| "nothing".to_owned()),
                });
            }
        };
        state.put(tree, order.candidate)?;
        state.refs.insert(name, order.candidate.to_owned());
        Ok(accepted)
    }

    fn restore(&self, tree: &Worktree, base: &str) -> Result<(), GitError> {
        let mut state = self.lock();
        state.now(tree)?;
        state.put(tree, base)
    }

    fn forget_rejected(&self, workflow: &str, branch: &str) -> Result<(), GitError> {
        let mut state = self.lock();
        let (prefix, branch) = (
            format!("refs/harness/{workflow}/"),
            format!("refs/heads/{branch}"),
        );
        let mut rejected: Vec<(u32, u32, String)> = state
            .refs
            .iter()
            .filter(|(_, commit)| !state.is_in(commit, &branch))
            .filter_map(|(name, _)| {
                let (iteration, attempt) = name.strip_prefix(&prefix)?.split_once('.')?;
                Some((iteration.parse().ok()?, attempt.parse().ok()?, name.clone()))
            })
            .collect();
        rejected.sort_unstable();
        let old = rejected.len().saturating_sub(KEPT_REJECTED);
        for (_, _, name) in rejected.drain(..old) {
            state.refs.remove(&name);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
