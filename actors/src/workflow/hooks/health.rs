//! Judges if the base is fit for work.

use std::fmt;
use std::path::Path;

use super::command::{CommandRunner, run_text};
use crate::workflow::check_run::CheckRun;
use crate::workflow::manifest::{Manifest, ServiceCommand};

/// Judges the base's fitness for work, before each iteration.
pub trait HealthChecker: Send + Sync + 'static {
    /// Looks at the workspace. Called on a thread that may block; a panic counts as a failure.
    ///
    /// # Errors
    /// The problem, for people and for the model that may have to repair it.
    fn check(&self, health: &HealthSubject<'_>) -> Result<(), String>;
}

/// The subject of the look.
#[derive(Clone, Copy)]
pub struct HealthSubject<'a> {
    /// The workflow's objective.
    pub objective: &'a str,
    /// The init plan: the commands that made the workspace ready.
    pub init_plan: &'a [ServiceCommand],
    /// The root of the workspace, as the last accepted iteration left it.
    pub workspace: &'a Path,
    runs: CommandRunner<'a>,
}

impl<'a> HealthSubject<'a> {
    pub(in crate::workflow) fn new(
        manifest: &'a Manifest,
        workspace: &'a Path,
        runs: CommandRunner<'a>,
    ) -> Self {
        Self {
            objective: &manifest.objective,
            init_plan: &manifest.workspace.prepare,
            workspace,
            runs,
        }
    }

    /// Runs a command in the workspace, as the workflow's own checks are run.
    #[must_use]
    pub fn run(&self, command: &ServiceCommand) -> CheckRun {
        (self.runs)(command)
    }
}

impl fmt::Debug for HealthSubject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("objective", &self.objective)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

/// Finds every base fit for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoopHealthChecker;

impl HealthChecker for NoopHealthChecker {
    fn check(&self, _: &HealthSubject<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Runs commands that have to exit with 0: those of the init plan, or others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandHealthChecker {
    commands: Vec<ServiceCommand>,
}

impl CommandHealthChecker {
    /// A checker that runs these commands in place of the init plan.
    #[must_use]
    pub fn new(commands: Vec<ServiceCommand>) -> Self {
        Self { commands }
    }
}

impl HealthChecker for CommandHealthChecker {
    fn check(&self, health: &HealthSubject<'_>) -> Result<(), String> {
        let commands = if self.commands.is_empty() {
            health.init_plan
        } else {
            &self.commands
        };
        for command in commands {
            let run = health.run(command);
            if run.exit != Some(0) {
                let tail = run.output.tail.trim_end();
                return Err(format!("{}: {}\n{tail}", command.program, run_text(&run)));
            }
        }
        Ok(())
    }
}
