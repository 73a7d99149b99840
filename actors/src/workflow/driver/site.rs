//! The site of a workflow: its repository, its worktree and the programs that run there. All of it blocks.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_protocol::{Access, Backend};

use super::files::StartState;
use super::parts::WorkflowParts;
use crate::tool::Contained;
use crate::workflow::facts::{Head, SandboxStrength};
use crate::workflow::git::lock::{RepositoryHolder, RepositoryLock};
use crate::workflow::git::{
    GitConfig, GitError, Refs, RepositoryGit, Tip, WorkflowGit, Worktree, WorktreeOrder,
};
use crate::workflow::machine::StepRefusal;
use crate::workflow::manifest::{GitMode, Manifest};
use crate::workflow::state::PauseReason;

/// The site of a workflow. Clones share one site.
#[derive(Clone)]
pub(in crate::workflow) struct Site(Arc<Inner>);

struct Inner {
    parts: WorkflowParts,
    workflow: String,
    name: String,
    /// The folder of the repository that it works for.
    folder: PathBuf,
    open: Mutex<Option<OpenedSite>>,
    /// Counts the uses of the repository, so that a late word to let it go is known.
    uses: AtomicU64,
}

/// A repository that is held, with the worktree of the work.
pub(super) struct OpenedSite {
    pub(super) git: Arc<dyn WorkflowGit>,
    pub(super) tree: Worktree,
    pub(super) config: GitConfig,
    /// All refs at the beginning of the iteration. `None` if that was in an earlier life, which kept them.
    pub(super) refs: Option<Refs>,
    /// True if the worktree was made ready in this life.
    pub(super) is_ready: bool,
    /// The commit that checks run on, in a separate tree.
    pub(super) fresh: Option<(String, Worktree)>,
    _lock: RepositoryLock,
}

impl From<Tip> for Head {
    fn from(Tip { commit, tree }: Tip) -> Self {
        Self { commit, tree }
    }
}

impl Site {
    pub(in crate::workflow) fn new(
        parts: WorkflowParts,
        workflow: &str,
        name: &str,
        folder: &Path,
    ) -> Self {
        Self(Arc::new(Inner {
            parts,
            workflow: workflow.to_owned(),
            name: name.to_owned(),
            folder: folder.to_owned(),
            open: Mutex::default(),
            uses: AtomicU64::new(0),
        }))
    }

    pub(super) fn parts(&self) -> &WorkflowParts {
        &self.0.parts
    }

    pub(super) fn workflow(&self) -> &str {
        &self.0.workflow
    }

    /// The folder of the repository that it works for.
    pub(super) fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// The branch of the work.
    pub(super) fn branch(&self, manifest: &Manifest) -> String {
        manifest.workspace.branch.replace("{name}", &self.0.name)
    }

    /// The tree in which the work is done.
    pub(super) fn worktree(&self, manifest: &Manifest) -> PathBuf {
        match manifest.workspace.git {
            GitMode::Worktree => self.0.parts.worktrees.join(&self.0.workflow),
            GitMode::InPlace => self.0.folder.clone(),
        }
    }

    /// The folder of the worktrees that checks run in.
    pub(super) fn fresh_folder(&self) -> PathBuf {
        let name = format!("{}.check", self.0.workflow);
        self.0.parts.worktrees.join(name)
    }

    fn git(&self) -> Result<RepositoryGit, GitError> {
        RepositoryGit::open(Arc::clone(&self.0.parts.launcher), &self.0.folder)
    }

    /// The changes of a candidate, and true if they were cut. `None` if it is no longer kept.
    pub(in crate::workflow) fn diff(
        &self,
        base: &str,
        commit: &str,
    ) -> Result<Option<(String, bool)>, String> {
        let git = self.git().map_err(|error| error.to_string())?;
        git.diff(base, commit).map_err(|error| error.to_string())
    }

    /// The strength of the sandbox for programs in its repository.
    pub(in crate::workflow) fn sandbox(&self) -> SandboxStrength {
        let launcher = &self.0.parts.launcher;
        match launcher.containment(Access::Write, false, &self.0.folder) {
            Err(_) => SandboxStrength::None,
            Ok(Contained {
                backend: Backend::None,
                ..
            }) => SandboxStrength::None,
            Ok(Contained { is_held: true, .. }) => SandboxStrength::Held,
            Ok(Contained { is_held: false, .. }) => SandboxStrength::Partly,
        }
    }

    /// The commit that the branch begins with, or where it is.
    pub(in crate::workflow) fn base(&self, manifest: &Manifest) -> Result<Head, String> {
        let git = self.git().map_err(|error| error.to_string())?;
        let branch = format!("refs/heads/{}", self.branch(manifest));
        for name in [branch.as_str(), "HEAD"] {
            let tip = git.tip(name).map_err(|error| error.to_string())?;
            if let Some(tip) = tip {
                return Ok(tip.into());
            }
        }
        Err("the repository has no commit yet; make one first".to_owned())
    }

    /// Takes the repository, unless it is held, and finds the worktree or makes it.
    pub(super) fn open(&self, manifest: &Manifest, head: &Head) -> Result<(), StepRefusal> {
        self.with(manifest, head, |_| Ok(()))
    }

    fn opened(&self, manifest: &Manifest, head: &Head) -> Result<OpenedSite, StepRefusal> {
        let git = self.git().map_err(|error| refusal(&error))?;
        let holder = RepositoryHolder {
            pid: std::process::id(),
            state: self.0.parts.home.clone(),
            workflow: self.0.workflow.clone(),
        };
        let lock = RepositoryLock::take(git.common(), &holder).map_err(|error| StepRefusal {
            reason: PauseReason::WorkspaceChanged,
            detail: error.to_string(),
        })?;
        let known = self.0.parts.files.ground(&self.0.workflow);
        let known = known.map_err(|error| storage(&error))?;
        let tree = match (manifest.workspace.git, &known) {
            (GitMode::InPlace, Some(known)) => Ok(known.tree.clone()),
            (GitMode::InPlace, None) => git.in_place(),
            (GitMode::Worktree, _) => git.worktree(&WorktreeOrder {
                folder: &self.worktree(manifest),
                branch: &self.branch(manifest),
                start: &head.commit,
                copy: &manifest.workspace.copy,
            }),
        };
        let tree = tree.map_err(|error| refusal(&error))?;
        let config = match known {
            Some(known) => known.config,
            None => {
                let config = git.config(&tree).map_err(|error| refusal(&error))?;
                let ground = StartState {
                    config: config.clone(),
                    tree: tree.clone(),
                };
                let kept = self.0.parts.files.put_ground(&self.0.workflow, &ground);
                kept.map_err(|error| storage(&error))?;
                config
            }
        };
        Ok(OpenedSite {
            refs: None,
            git: Arc::new(git),
            tree,
            config,
            is_ready: false,
            fresh: None,
            _lock: lock,
        })
    }

    /// Number of uses of the repository so far.
    pub(super) fn uses(&self) -> u64 {
        self.0.uses.load(Ordering::SeqCst)
    }

    /// Lets others have the repository, and removes what only checks needed; nothing of that if it was used
    /// since it was used so often.
    pub(super) fn release(&self, uses: u64) {
        // Held to the end: who opens it again meanwhile waits, and does not find it held by this one.
        let mut open = self.lock();
        if self.uses() != uses {
            return;
        }
        let Some(opened) = open.take() else {
            return;
        };
        if let Some((_, tree)) = &opened.fresh
            && let Err(error) = opened.git.remove(tree)
        {
            log::warn!("{}: a worktree of checks stays: {error}", self.0.workflow);
        }
    }

    /// Removes its worktree and the refs of its candidates. The branch stays. A worktree that was changed since is an
    /// error, and everything stays unchanged.
    pub(in crate::workflow) fn clear(
        &self,
        manifest: &Manifest,
        head: &Head,
    ) -> Result<(), String> {
        self.release(self.uses());
        let _open = self.lock();
        let git = match self.git() {
            Ok(git) => git,
            Err(GitError::NotRepository { .. }) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let folder = self.worktree(manifest);
        if manifest.workspace.git == GitMode::Worktree && folder.exists() {
            match self.own_tree(&git, manifest, head) {
                Ok(tree) => git.remove(&tree).map_err(|error| error.to_string())?,
                Err(Ok(reason)) => return Err(reason),
                // What is there is not ours.
                Err(Err(error)) => log::warn!("{}: {error}", self.0.workflow),
            }
        }
        let forgotten = git.forget(&self.0.workflow);
        forgotten.map_err(|error| error.to_string())
    }

    /// Its worktree, if it is unchanged. The error is the reason why it is not removed, or does not exist.
    fn own_tree(
        &self,
        git: &RepositoryGit,
        manifest: &Manifest,
        head: &Head,
    ) -> Result<Worktree, Result<String, GitError>> {
        let folder = self.worktree(manifest);
        let tree = git.worktree(&WorktreeOrder {
            folder: &folder,
            branch: &self.branch(manifest),
            start: &head.commit,
            copy: &manifest.workspace.copy,
        });
        let tree = tree.map_err(Err)?;
        let now = git.tree_now(&tree, &head.commit).map_err(Err)?;
        if now != head.tree {
            return Err(Ok(format!(
                "the files in {} are not as they were left; take what you want out of them, then remove the \
                 folder or put them back",
                folder.display()
            )));
        }
        Ok(tree)
    }

    /// Does something with the repository that is held.
    pub(super) fn with<T>(
        &self,
        manifest: &Manifest,
        head: &Head,
        work: impl FnOnce(&mut OpenedSite) -> Result<T, StepRefusal>,
    ) -> Result<T, StepRefusal> {
        let mut open = self.lock();
        self.0.uses.fetch_add(1, Ordering::SeqCst);
        let opened = match open.take() {
            Some(opened) => opened,
            None => self.opened(manifest, head)?,
        };
        work(open.insert(opened))
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenedSite>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason that a failure of git is to people.
pub(super) fn refusal(error: &GitError) -> StepRefusal {
    let reason = match error {
        GitError::Dirty { .. } => PauseReason::WorkspaceDirty,
        GitError::ConfigChanged { .. } => PauseReason::GitConfigChanged,
        GitError::NotRepository { .. }
        | GitError::Missing { .. }
        | GitError::Detached
        | GitError::Moved { .. }
        | GitError::CheckedOut { .. }
        | GitError::Broken { .. }
        | GitError::NotOurs { .. }
        | GitError::NotRestored { .. }
        | GitError::TimedOut { .. }
        | GitError::Failed { .. } => PauseReason::WorkspaceChanged,
    };
    StepRefusal {
        reason,
        detail: error.to_string(),
    }
}

/// The reason that a failure of the disk is to people.
pub(super) fn storage(error: &std::io::Error) -> StepRefusal {
    StepRefusal {
        reason: PauseReason::Storage,
        detail: error.to_string(),
    }
}
