//! The checks of a file on the base, before a workflow is made of it: which are red, which are green.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::StopHandle;
use super::check_run::{CheckOrder, run_check};
use super::driver::{end_of, end_text};
use super::facts::{CommandEnd, CommandRun, Head, TestNames};
use super::git::lock::{RepositoryHolder, RepositoryLock};
use super::git::{RepositoryGit, WorkflowGit as _, Worktree};
use super::judge::{judge, wrong_on_base};
use super::manifest::{Check, CheckTime, Manifest, ServiceCommand};
use super::state::CheckVerdict;
use crate::attachment::sha256;
use crate::secret::Redaction;
use crate::tool::Launcher;

/// The checks of a file, and the place where they run.
pub struct OnBase<'a> {
    /// Contains git and the checks.
    pub launcher: Arc<dyn Launcher>,
    /// A folder of the repository.
    pub repository: &'a Path,
    /// The name of the workflow, which its branch may have.
    pub name: &'a str,
    /// The folder of worktrees.
    pub worktrees: &'a Path,
    /// The places that no check sees.
    pub closed: Arc<[PathBuf]>,
    /// The content of the file.
    pub manifest: &'a Manifest,
}

/// The outcome of a check on the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseCheck {
    /// The feature. `None` if the check is of every candidate, or of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The check.
    pub check: String,
    /// The verdict.
    pub verdict: CheckVerdict,
    /// The reason of the verdict, in a sentence.
    pub why: String,
    /// The problem with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Duration in milliseconds.
    pub ms: u64,
    /// The end of what it wrote.
    pub tail: String,
}

/// The purpose of a check.
#[derive(Debug, Clone, Copy)]
enum CheckPurpose<'a> {
    Health,
    Candidates,
    Feature(&'a str),
}

/// A worktree of the base with what it takes to make it again.
struct BaseWorktree<'a> {
    order: &'a OnBase<'a>,
    git: RepositoryGit,
    head: Head,
    folder: PathBuf,
    tree: Option<Worktree>,
    _lock: RepositoryLock,
}

impl OnBase<'_> {
    /// Runs every check of the file on the base, in a fresh worktree, which is removed at the end; `tell` gets each
    /// as it ends. What the base is. Blocks for as long as that takes.
    ///
    /// # Errors
    /// If the folder has no base, git or a preparation of the worktree fails, or it was stopped.
    pub fn run(&self, stop: &StopHandle, tell: &mut dyn FnMut(BaseCheck)) -> Result<Head, String> {
        let mut ground = self.ground()?;
        let done = self.all(&mut ground, stop, tell);
        let removed = ground.clear();
        done?;
        removed?;
        Ok(ground.head)
    }

    fn all(
        &self,
        ground: &mut BaseWorktree<'_>,
        stop: &StopHandle,
        tell: &mut dyn FnMut(BaseCheck),
    ) -> Result<(), String> {
        let manifest = self.manifest;
        let health = manifest
            .health
            .iter()
            .map(|check| (CheckPurpose::Health, check));
        let global = manifest
            .checks
            .iter()
            .map(|check| (CheckPurpose::Candidates, check));
        let features = manifest.features.iter().flat_map(|feature| {
            let checks = feature.checks.iter();
            checks.map(|check| (CheckPurpose::Feature(&feature.id), check))
        });
        for (of, check) in health.chain(global).chain(features) {
            if let Some(command) = &check.command {
                tell(ground.check(of, check, command, stop)?);
            }
            if stop.is_stopped() {
                return Err("it was stopped".to_owned());
            }
        }
        Ok(())
    }

    fn ground(&self) -> Result<BaseWorktree<'_>, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        let git = RepositoryGit::open(Arc::clone(&self.launcher), self.repository);
        let git = git.map_err(|error| failed(&error))?;
        let branch = self.manifest.workspace.branch.replace("{name}", self.name);
        let branch = format!("refs/heads/{branch}");
        let mut tip = git.tip(&branch).map_err(|error| failed(&error))?;
        if tip.is_none() {
            tip = git.tip("HEAD").map_err(|error| failed(&error))?;
        }
        let head: Head = tip
            .ok_or("the repository has no commit yet; make one first")?
            .into();
        // One at a time for a repository; what a crash left there is found by its name.
        let own = sha256(git.common().as_os_str().as_encoded_bytes());
        let own = self.worktrees.join(format!("check-{}", &own[..16]));
        fs::create_dir_all(&own).map_err(|error| failed(&error))?;
        let holder = RepositoryHolder {
            pid: std::process::id(),
            state: own.clone(),
            workflow: "check".to_owned(),
        };
        let lock = RepositoryLock::take(&own, &holder).map_err(|error| failed(&error))?;
        Ok(BaseWorktree {
            order: self,
            git,
            head,
            folder: own.join("tree"),
            tree: None,
            _lock: lock,
        })
    }

    fn command(
        &self,
        command: &ServiceCommand,
        check: Option<&Check>,
        root: &Path,
        stop: &StopHandle,
    ) -> Ran {
        let none = std::collections::BTreeMap::new();
        let order = CheckOrder {
            launcher: &*self.launcher,
            command,
            root,
            files: check.map_or(&none, |check| &check.files),
            closed: Arc::clone(&self.closed),
            redaction: Redaction::default(),
        };
        let run = run_check(&order, stop, &mut |_| {});
        Ran {
            end: end_of(&run),
            ms: run.ms,
            text: run.output.text,
            tail: run.output.tail,
        }
    }
}

/// The end of a command, and its output.
struct Ran {
    end: CommandEnd,
    ms: u64,
    text: String,
    tail: String,
}

impl BaseWorktree<'_> {
    /// The root of the worktree, which is made if there is none.
    fn root(&mut self, stop: &StopHandle) -> Result<PathBuf, String> {
        if let Some(tree) = &self.tree {
            return Ok(tree.root.clone());
        }
        let workspace = &self.order.manifest.workspace;
        let tree = self
            .git
            .fresh(&self.head.commit, &self.folder, &workspace.copy);
        let tree = tree.map_err(|error| error.to_string())?;
        let root = tree.root.clone();
        self.tree = Some(tree);
        for command in &workspace.prepare {
            let ran = self.order.command(command, None, &root, stop);
            if ran.end != CommandEnd::Exited(0) {
                let said = end_text(&ran.end);
                let tail = ran.tail.trim_end();
                return Err(format!(
                    "what makes the worktree ready failed ({said}): {tail}"
                ));
            }
        }
        Ok(root)
    }

    fn check(
        &mut self,
        of: CheckPurpose<'_>,
        check: &Check,
        command: &ServiceCommand,
        stop: &StopHandle,
    ) -> Result<BaseCheck, String> {
        let root = self.root(stop)?;
        let ran = self.order.command(command, Some(check), &root, stop);
        let now = self
            .tree
            .as_ref()
            .map(|tree| self.git.tree_now(tree, &self.head.commit));
        let is_same = matches!(now, Some(Ok(tree)) if tree == self.head.tree);
        if !is_same {
            // The next check gets an unchanged tree.
            self.clear()?;
        }
        let run = CommandRun {
            end: ran.end,
            output: ran.text,
            output_hash: String::new(),
            ms: ran.ms,
            tree_changed: !is_same,
        };
        let judged = judge(check, &run, &TestNames::new());
        let problem = match of {
            CheckPurpose::Health if !judged.verdict.is_good() => {
                Some("fails on the base, so that no work would begin".to_owned())
            }
            CheckPurpose::Health => None,
            // It is not run before the end.
            CheckPurpose::Candidates | CheckPurpose::Feature(_)
                if check.when == CheckTime::Final =>
            {
                None
            }
            CheckPurpose::Candidates => wrong_on_base(check, true, judged.verdict, &judged.why),
            CheckPurpose::Feature(_) => wrong_on_base(check, false, judged.verdict, &judged.why),
        };
        Ok(BaseCheck {
            feature: match of {
                CheckPurpose::Feature(feature) => Some(feature.to_owned()),
                CheckPurpose::Health | CheckPurpose::Candidates => None,
            },
            check: check.id.clone(),
            verdict: judged.verdict,
            why: judged.why,
            problem,
            ms: ran.ms,
            tail: ran.tail,
        })
    }

    /// Removes the worktree.
    fn clear(&mut self) -> Result<(), String> {
        match self.tree.take() {
            None => Ok(()),
            Some(tree) => self.git.remove(&tree).map_err(|error| error.to_string()),
        }
    }
}
