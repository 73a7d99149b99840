//! Judges the result of an attempt.

use std::fmt;
use std::path::Path;

use super::command::{CommandRunner, run_text};
use crate::workflow::check_run::CheckRun;
use crate::workflow::facts::Head;
use crate::workflow::manifest::{Feature, ServiceCommand};

/// Judges the candidate of an attempt, once the checks of every candidate and those of its feature have passed or there
/// are none. It judges one candidate once, and neither the base nor earlier accepted work.
pub trait OutcomeValidator: Send + Sync + 'static {
    /// Judges an outcome. Called on a thread that may block; a panic accepts nothing.
    fn validate(&self, outcome: &OutcomeSubject<'_>) -> OutcomeVerdict;
}

/// The subject of the judgement.
#[derive(Clone, Copy)]
pub struct OutcomeSubject<'a> {
    /// The feature.
    pub feature: &'a Feature,
    /// The exact commit and tree that the attempt left, and that is kept if it is accepted.
    pub candidate: &'a Head,
    /// The root of a worktree that has just that tree.
    pub workspace: &'a Path,
    /// The model's last text: a claim, and no evidence.
    pub reply: &'a str,
    runs: CommandRunner<'a>,
}

impl<'a> OutcomeSubject<'a> {
    pub(in crate::workflow) fn new(
        feature: &'a Feature,
        candidate: &'a Head,
        workspace: &'a Path,
        reply: &'a str,
        runs: CommandRunner<'a>,
    ) -> Self {
        Self {
            feature,
            candidate,
            workspace,
            reply,
            runs,
        }
    }

    /// Runs a command in the worktree of the candidate, as the workflow's own checks are run.
    #[must_use]
    pub fn run(&self, command: &ServiceCommand) -> CheckRun {
        (self.runs)(command)
    }
}

impl fmt::Debug for OutcomeSubject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("feature", &self.feature.id)
            .field("candidate", &self.candidate)
            .finish_non_exhaustive()
    }
}

/// A judgement on one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutcomeVerdict {
    /// True if the result is accepted.
    pub accepted: bool,
    /// The reasons; the model receives the reasons of a rejection.
    pub reasons: Vec<String>,
    /// The evidence of the judgement, for example an output. It is kept with the check's record.
    pub evidence: String,
}

impl OutcomeVerdict {
    /// The outcome is accepted.
    #[must_use]
    pub fn accepted() -> Self {
        Self {
            accepted: true,
            ..Self::default()
        }
    }

    /// The outcome is rejected for that reason.
    #[must_use]
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self {
            reasons: vec![reason.into()],
            ..Self::default()
        }
    }

    /// The same with what it rests on.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = evidence.into();
        self
    }

    /// A health check as a judgement.
    pub(in crate::workflow) fn of_health(checked: Result<(), String>) -> Self {
        checked.map_or_else(Self::rejected, |()| Self::accepted())
    }
}

impl fmt::Display for OutcomeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for reason in &self.reasons {
            writeln!(f, "{reason}")?;
        }
        f.write_str(&self.evidence)
    }
}

/// Accepts every outcome, so that the manifest's own checks decide alone. A candidate that changes nothing, or a
/// protected file, is rejected before the validator is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AcceptAllValidator;

impl OutcomeValidator for AcceptAllValidator {
    fn validate(&self, _: &OutcomeSubject<'_>) -> OutcomeVerdict {
        OutcomeVerdict::accepted()
    }
}

/// Accepts an outcome if a command exits with 0 in the candidate's worktree. The command finds the feature in
/// `HARNESS_FEATURE` and the commit in `HARNESS_CANDIDATE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandValidator {
    command: ServiceCommand,
}

impl CommandValidator {
    /// A validator that runs this command.
    #[must_use]
    pub fn new(command: ServiceCommand) -> Self {
        Self { command }
    }
}

impl OutcomeValidator for CommandValidator {
    fn validate(&self, outcome: &OutcomeSubject<'_>) -> OutcomeVerdict {
        let mut command = self.command.clone();
        let set = [
            ("HARNESS_FEATURE", &outcome.feature.id),
            ("HARNESS_CANDIDATE", &outcome.candidate.commit),
        ];
        let set = set.map(|(name, value)| (name.to_owned(), value.clone()));
        command.env.extend(set);
        let run = outcome.run(&command);
        let verdict = match run.exit {
            Some(0) => OutcomeVerdict::accepted(),
            Some(_) | None => {
                OutcomeVerdict::rejected(format!("{}: {}", command.program, run_text(&run)))
            }
        };
        verdict.with_evidence(run.output.text)
    }
}
