//! A workflow's steps with git: the bearings, the candidate, its acceptance, the way back.

use std::collections::BTreeSet;

use super::site::{OpenedSite, Site, refusal, storage};
use crate::workflow::facts::{Candidate, Head, StepPlace};
use crate::workflow::git::{AcceptOrder, CANDIDATES, CandidateName, SnapshotOrder, TooLarge};
use crate::workflow::guard::PathGuard;
use crate::workflow::machine::StepRefusal;
use crate::workflow::manifest::Manifest;
use crate::workflow::state::PauseReason;

/// Number of the last commits that the model receives.
const LOG: usize = 20;

/// The facts that the message of a candidate's commit contains.
pub(super) struct Described<'a> {
    pub(super) at: StepPlace,
    pub(super) feature: &'a str,
    /// The time of the commit, in seconds since 1970: that of a record, so that a repetition gives the same.
    pub(super) seconds: i64,
}

impl Site {
    /// Compares branch and tree with the record, and makes the workspace ready.
    pub(super) fn prepare(&self, manifest: &Manifest, head: &Head) -> Result<String, StepRefusal> {
        self.with(manifest, head, |opened| {
            let branch = format!("refs/heads/{}", self.branch(manifest));
            let tip = opened.git.tip(&branch).map_err(|error| refusal(&error))?;
            let found = tip.map(|tip| tip.commit);
            if found.as_ref() != Some(&head.commit) {
                let found = found.unwrap_or_else(|| "nothing".to_owned());
                return Err(StepRefusal {
                    reason: PauseReason::WorkspaceChanged,
                    detail: format!(
                        "the branch {branch} is at {found} and was left at {}",
                        head.commit
                    ),
                });
            }
            let tree = opened.git.tree_now(&opened.tree, &head.commit);
            let tree = tree.map_err(|error| refusal(&error))?;
            if tree != head.tree {
                return Err(StepRefusal {
                    reason: PauseReason::WorkspaceChanged,
                    detail: format!(
                        "the files in {} are not as they were left; take what you want out of them",
                        opened.tree.root.display()
                    ),
                });
            }
            if !opened.is_ready {
                let root = opened.tree.root.clone();
                self.make_ready(manifest, &root)?;
                opened.is_ready = true;
            }
            let mut refs = opened.git.refs().map_err(|error| refusal(&error))?;
            // Candidates and the branch of the work are the service's own.
            refs.0
                .retain(|name, _| *name != branch && !name.starts_with(CANDIDATES));
            let kept = self.parts().files.put_refs(self.workflow(), &refs);
            kept.map_err(|error| storage(&error))?;
            opened.refs = Some(refs);
            let log = opened.git.log(&head.commit, LOG);
            log.map_err(|error| refusal(&error))
        })
    }

    /// Puts down what an attempt left, without its changes of protected files, which are restored.
    pub(super) fn snapshot(
        &self,
        manifest: &Manifest,
        base: &Head,
        described: &Described<'_>,
    ) -> Result<Candidate, StepRefusal> {
        self.with(manifest, base, |opened| {
            self.candidate(opened, manifest, base, described)
        })
    }

    fn candidate(
        &self,
        opened: &OpenedSite,
        manifest: &Manifest,
        base: &Head,
        described: &Described<'_>,
    ) -> Result<Candidate, StepRefusal> {
        let OpenedSite {
            git, tree, config, ..
        } = opened;
        let failed = |error| refusal(&error);
        let protected = self.protect(opened, manifest, base, described)?;
        let kept = match &opened.refs {
            Some(_) => None,
            None => self
                .parts()
                .files
                .refs(self.workflow())
                .map_err(|error| storage(&error))?,
        };
        let changed = match opened.refs.as_ref().or(kept.as_ref()) {
            Some(refs) => git
                .put_refs_back(tree, &base.commit, refs)
                .map_err(failed)?,
            None => Vec::new(),
        };
        for change in changed {
            log::info!("{}: a ref was changed: {change:?}", self.workflow());
        }
        let Described {
            at,
            feature,
            seconds,
        } = described;
        let trailer = |name: &str, value: String| (format!("Harness-{name}"), value);
        let trailers = [
            trailer("Workflow", self.workflow().to_owned()),
            trailer("Iteration", at.n.to_string()),
            trailer("Feature", (*feature).to_owned()),
        ];
        let name = CandidateName {
            workflow: self.workflow().to_owned(),
            iteration: at.n,
            attempt: at.attempt,
        };
        let order = SnapshotOrder {
            base: &base.commit,
            message: feature,
            trailers: &trailers,
            seconds: *seconds,
            name: &name,
            config,
        };
        let found = git.snapshot(tree, &order).map_err(failed)?;
        let too_large = found.too_large.map(|why| match why {
            TooLarge::Files(files) => format!("it has {files} new files"),
            TooLarge::File { path, bytes } => format!("{path} has {bytes} bytes"),
        });
        Ok(Candidate {
            head: Head {
                commit: found.commit,
                tree: found.tree,
            },
            files: u32::try_from(found.files).unwrap_or(u32::MAX),
            lines: found.insertions.saturating_add(found.deletions),
            protected,
            too_large,
        })
    }

    /// Restores protected files and returns those that an attempt changed. They are recorded before: a repetition after
    /// a crash no longer finds anything to restore.
    fn protect(
        &self,
        opened: &OpenedSite,
        manifest: &Manifest,
        base: &Head,
        described: &Described<'_>,
    ) -> Result<Vec<String>, StepRefusal> {
        let OpenedSite { git, tree, .. } = opened;
        let guard = PathGuard::for_manifest(manifest);
        let found = git.protected(tree, &base.commit, &guard);
        let found = found.map_err(|error| refusal(&error))?;
        let files = &self.parts().files;
        // A workflow of that id may have been made before.
        let made = format!("{}-{}", self.workflow(), described.seconds);
        let kept = files.put_protected(&made, described.at, found);
        let kept = kept.map_err(|error| storage(&error))?;
        let restored = git.protect(tree, &base.commit, &guard);
        let restored = restored.map_err(|error| refusal(&error))?;
        let all: BTreeSet<String> = kept.into_iter().chain(restored).collect();
        Ok(all.into_iter().collect())
    }

    /// Moves the branch to a candidate.
    pub(super) fn accept(
        &self,
        manifest: &Manifest,
        candidate: &Candidate,
        base: &Head,
    ) -> Result<(), StepRefusal> {
        self.with(manifest, base, |opened| {
            let branch = self.branch(manifest);
            let order = AcceptOrder {
                branch: &branch,
                candidate: &candidate.head.commit,
                base: &base.commit,
            };
            let accepted = opened.git.accept(&opened.tree, &order);
            accepted.map(drop).map_err(|error| refusal(&error))
        })
    }

    /// Makes the worktree its base again.
    pub(super) fn restore(&self, manifest: &Manifest, base: &Head) -> Result<(), StepRefusal> {
        self.with(manifest, base, |opened| {
            let failed = |error| refusal(&error);
            opened
                .git
                .restore(&opened.tree, &base.commit)
                .map_err(failed)?;
            let branch = self.branch(manifest);
            opened
                .git
                .forget_rejected(self.workflow(), &branch)
                .map_err(failed)
        })
    }
}
