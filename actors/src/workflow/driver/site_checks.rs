//! A workflow's commands: what makes a worktree ready, health checks, and checks of one exact tree.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::site::{OpenedSite, Site, refusal, storage};
use crate::tool::LiveOutput;
use crate::workflow::StopHandle;
use crate::workflow::check_run::{CheckOrder, CheckRun, kept, run_check};
use crate::workflow::facts::{CommandEnd, CommandRun, Head};
use crate::workflow::hooks::{HealthSubject, OutcomeSubject, OutcomeVerdict};
use crate::workflow::machine::StepRefusal;
use crate::workflow::manifest::{Check, Feature, Hook, Manifest, ServiceCommand, VerifyWhere};
use crate::workflow::state::PauseReason;

impl Site {
    /// Runs the commands that make a worktree ready.
    pub(super) fn make_ready(&self, manifest: &Manifest, root: &Path) -> Result<(), StepRefusal> {
        for command in &manifest.workspace.prepare {
            let stop = StopHandle::default();
            let run = self.command(
                command,
                root,
                &Default::default(),
                &stop,
                &LiveOutput::default(),
            );
            let end = end_of(&run);
            if end != CommandEnd::Exited(0) {
                return Err(StepRefusal {
                    reason: PauseReason::Health,
                    detail: format!(
                        "what makes the worktree ready failed ({}): {}",
                        end_text(&end),
                        run.output.tail.trim_end()
                    ),
                });
            }
        }
        Ok(())
    }

    /// Runs health checks where the work is done. Their lines are shown as they come.
    pub(super) fn health(
        &self,
        manifest: &Manifest,
        head: &Head,
        checks: &[Check],
        (stop, shown): (&StopHandle, &LiveOutput),
    ) -> Result<Vec<CommandRun>, StepRefusal> {
        let root = self.with(manifest, head, |opened| Ok(opened.tree.root.clone()))?;
        let judged = CheckSubject {
            manifest,
            feature: None,
            head,
            reply: "",
        };
        let run = |check: &Check| self.run_of(check, &root, &judged, (stop, shown), || false);
        checks.iter().map(run).collect()
    }

    /// Runs a check on one exact tree, at the chosen place. Its lines are shown as they come.
    pub(super) fn check(
        &self,
        manifest: &Manifest,
        (head, place): (&Head, VerifyWhere),
        check: &Check,
        done: &AttemptWork,
        way: (&StopHandle, &LiveOutput),
    ) -> Result<CommandRun, StepRefusal> {
        let judged = CheckSubject {
            manifest,
            feature: manifest
                .features
                .iter()
                .find(|feature| feature.id == done.feature),
            head,
            reply: &done.reply,
        };
        let root = self.with(manifest, head, |opened| {
            self.tree_of(opened, manifest, head, place)
        })?;
        let is_changed = || {
            let tree = self.with(manifest, head, |opened| {
                let tree = match (&opened.fresh, place) {
                    (Some((_, fresh)), VerifyWhere::Fresh) => fresh,
                    (_, VerifyWhere::InPlace) | (None, VerifyWhere::Fresh) => &opened.tree,
                };
                let now = opened.git.tree_now(tree, &head.commit);
                now.map_err(|error| refusal(&error))
            });
            // One that can no longer be read counts as changed.
            let is_changed = tree.is_ok_and(|tree| tree == head.tree);
            !is_changed
        };
        let run = self.run_of(check, &root, &judged, way, is_changed)?;
        if run.tree_changed {
            // The next check gets an unchanged tree.
            self.with(manifest, head, |opened| {
                opened.fresh = None;
                Ok(())
            })?;
        }
        Ok(run)
    }

    /// The root of a tree that holds just this commit.
    fn tree_of(
        &self,
        opened: &mut OpenedSite,
        manifest: &Manifest,
        head: &Head,
        place: VerifyWhere,
    ) -> Result<std::path::PathBuf, StepRefusal> {
        if place == VerifyWhere::InPlace {
            return Ok(opened.tree.root.clone());
        }
        if let Some((commit, tree)) = &opened.fresh
            && *commit == head.commit
        {
            return Ok(tree.root.clone());
        }
        opened.fresh = None;
        let copy = &manifest.workspace.copy;
        let tree = opened.git.fresh(&head.commit, &self.fresh_folder(), copy);
        let tree = tree.map_err(|error| refusal(&error))?;
        self.make_ready(manifest, &tree.root)?;
        let root = tree.root.clone();
        opened.fresh = Some((head.commit.clone(), tree));
        Ok(root)
    }

    fn run_of(
        &self,
        check: &Check,
        root: &Path,
        judged: &CheckSubject<'_>,
        (stop, shown): (&StopHandle, &LiveOutput),
        is_changed: impl FnOnce() -> bool,
    ) -> Result<CommandRun, StepRefusal> {
        let Some(command) = &check.command else {
            return Ok(CommandRun {
                end: CommandEnd::NotStarted("a person makes this check".to_owned()),
                output: String::new(),
                output_hash: String::new(),
                ms: 0,
                tree_changed: false,
            });
        };
        let run = match check.hook() {
            Some(hook) => self.ask(hook, root, judged, (stop, shown)),
            None => self.command(command, root, &check.files, stop, shown),
        };
        let output = &run.output;
        let kept = self.parts().files.put_output(&output.sha256, &output.text);
        kept.map_err(|error| storage(&error))?;
        Ok(CommandRun {
            end: end_of(&run),
            output: run.output.text,
            output_hash: run.output.sha256,
            ms: run.ms,
            tree_changed: is_changed(),
        })
    }

    /// Asks the program that embeds the workflow. One that panics has not accepted anything.
    fn ask(
        &self,
        hook: Hook,
        root: &Path,
        judged: &CheckSubject<'_>,
        (stop, shown): (&StopHandle, &LiveOutput),
    ) -> CheckRun {
        let run = |command: &ServiceCommand| {
            self.command(command, root, &Default::default(), stop, shown)
        };
        let hooks = &self.parts().hooks;
        let began = Instant::now();
        let asked = catch_unwind(AssertUnwindSafe(|| match hook {
            Hook::Health => hooks.health.as_ref().map(|checker| {
                let health = HealthSubject::new(judged.manifest, root, &run);
                OutcomeVerdict::of_health(checker.check(&health))
            }),
            Hook::Outcome => {
                hooks
                    .validator
                    .as_ref()
                    .zip(judged.feature)
                    .map(|(validator, feature)| {
                        let outcome =
                            OutcomeSubject::new(feature, judged.head, root, judged.reply, &run);
                        validator.validate(&outcome)
                    })
            }
        }));
        let not_started = |why: &str| (None, Some(why.to_owned()), String::new());
        let (exit, not_started, said) = match asked {
            Ok(Some(verdict)) => (
                Some(i32::from(!verdict.accepted)),
                None,
                verdict.to_string(),
            ),
            Ok(None) => {
                not_started("the program that runs this workflow has nothing that decides it")
            }
            Err(_) => not_started("the program that decides it panicked"),
        };
        CheckRun {
            exit,
            not_started,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            output: kept(&said, self.parts().redaction.clone()),
            ..CheckRun::default()
        }
    }

    fn command(
        &self,
        command: &ServiceCommand,
        root: &Path,
        files: &std::collections::BTreeMap<String, String>,
        stop: &StopHandle,
        shown: &LiveOutput,
    ) -> CheckRun {
        let parts = self.parts();
        let order = CheckOrder {
            launcher: &*parts.launcher,
            command,
            root,
            files,
            closed: Arc::clone(&parts.closed),
            redaction: parts.redaction.clone(),
        };
        run_check(&order, stop, &mut |line| shown.write(&format!("{line}\n")))
    }
}

/// The work of an attempt, for its judge.
#[derive(Debug, Clone, Default)]
pub(super) struct AttemptWork {
    /// The feature that was worked on.
    pub(super) feature: String,
    /// The model's last text.
    pub(super) reply: String,
}

/// The subject of a check.
struct CheckSubject<'a> {
    manifest: &'a Manifest,
    feature: Option<&'a Feature>,
    head: &'a Head,
    reply: &'a str,
}

/// The end of a command, in the form of records.
pub(in crate::workflow) fn end_of(run: &CheckRun) -> CommandEnd {
    if run.timed_out {
        return CommandEnd::TimedOut;
    }
    if let Some(reason) = &run.not_started {
        return CommandEnd::NotStarted(reason.clone());
    }
    if let Some(over) = &run.over {
        return CommandEnd::NotStarted(format!("it took too much: {over}"));
    }
    if run.cancelled {
        return CommandEnd::NotStarted("it was stopped".to_owned());
    }
    match (run.exit, run.signal) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, Some(signal)) => CommandEnd::Signalled(signal),
        (None, None) => CommandEnd::NotStarted("it was ended from outside".to_owned()),
    }
}

/// The end of a command, in words.
pub(in crate::workflow) fn end_text(end: &CommandEnd) -> String {
    match end {
        CommandEnd::Exited(code) => format!("exit {code}"),
        CommandEnd::Signalled(signal) => format!("signal {signal}"),
        CommandEnd::TimedOut => "its time was over".to_owned(),
        CommandEnd::NotStarted(reason) => reason.clone(),
    }
}
