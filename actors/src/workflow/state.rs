//! The words of a workflow: its states, why it pauses, and how what it does ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// State of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowState {
    /// It was made, and nothing of it has run.
    Draft,
    /// Its checks run on the base.
    Initializing,
    /// A person has to approve its manifest.
    WaitingForApproval,
    /// It waits for an order to run.
    Ready,
    /// It works.
    Running,
    /// It waits, for the reason of the pause.
    Paused,
    /// Every required feature passes, and so did the final verification.
    Completed,
    /// An operator ended it.
    Cancelled,
    /// Its manifest or its journal cannot be used.
    Failed,
}

/// State of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureState {
    /// It is open.
    Failing,
    /// The service accepted it.
    Passing,
    /// It was given up until a person wants it tried again.
    Stuck,
    /// A person left it out.
    Skipped,
    /// It waits for another feature.
    Blocked,
}

/// The reason for a pause of a workflow. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// A person wanted it.
    Operator,
    /// A gate is open.
    Gate,
    /// The tokens are used up.
    BudgetTokens,
    /// The money is used up.
    BudgetCost,
    /// The time is used up.
    BudgetTime,
    /// The iterations are used up.
    Iterations,
    /// Several iterations brought no feature.
    NoProgress,
    /// No feature is left that may be tried.
    Stuck,
    /// The base is not fit for work.
    Health,
    /// A check fails on the base that should not, or passes that should fail.
    BaselineBroken,
    /// Protected files were changed again.
    Tampering,
    /// A tool waits for a person's answer.
    Ask,
    /// The branch or its tree is not as on record.
    WorkspaceChanged,
    /// The working tree has changes that the workflow did not make.
    WorkspaceDirty,
    /// The repository's configuration is not as at the start.
    GitConfigChanged,
    /// The provider does not take the key.
    ProviderAuth,
    /// The provider's spend limit is reached.
    ProviderQuota,
    /// The provider did not answer for too long.
    ProviderDown,
    /// The disk does not take what has to be kept.
    Storage,
    /// The service died again and again in one iteration.
    CrashLoop,
    /// It is not the time for it.
    OutsideSchedule,
    /// The selector chose nothing, or what it may not.
    Selector,
}

/// Outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// Its candidate is the new head.
    Accepted,
    /// Its candidate was judged and rolled back.
    Rejected,
    /// It was not judged; it costs no retry.
    Interrupted,
}

/// The reason for the rejection of a candidate. The order of the variants is the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The conversation took too long.
    AttemptTimedOut,
    /// A protected file was changed.
    ProtectedChanged,
    /// The tree is that of the base.
    NoChange,
    /// There are too many or too large new files.
    TooLarge,
    /// This tree was rejected before.
    SeenBefore,
    /// A check failed, or a person said no.
    CheckFailed,
    /// A check took too long.
    CheckTimedOut,
    /// A check ran and showed nothing.
    CheckVacuous,
    /// A feature that was accepted before fails.
    Regression,
    /// A test that passed no longer passes.
    TestLost,
}

impl RejectReason {
    /// True if checks of the tree gave the reason, so that the same tree would be rejected again.
    #[must_use]
    pub fn is_of_checks(self) -> bool {
        match self {
            Self::CheckFailed
            | Self::CheckTimedOut
            | Self::CheckVacuous
            | Self::Regression
            | Self::TestLost => true,
            Self::AttemptTimedOut
            | Self::ProtectedChanged
            | Self::NoChange
            | Self::TooLarge
            | Self::SeenBefore => false,
        }
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AttemptTimedOut => "attempt_timed_out",
            Self::ProtectedChanged => "protected_changed",
            Self::NoChange => "no_change",
            Self::TooLarge => "too_large",
            Self::SeenBefore => "seen_before",
            Self::CheckFailed => "check_failed",
            Self::CheckTimedOut => "check_timed_out",
            Self::CheckVacuous => "check_vacuous",
            Self::Regression => "regression",
            Self::TestLost => "test_lost",
        }
    }
}

/// Outcome of one check of one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It took too long.
    TimedOut,
    /// It ended well and showed nothing.
    Vacuous,
    /// It failed, then passed as often as it had to.
    Flaky,
    /// It could not be started.
    NotStarted,
}

impl CheckVerdict {
    /// True if the verdict is good enough to accept.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Passed | Self::Flaky)
    }
}

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// The checks run on the base.
    Initializer,
    /// Features are worked on.
    TaskIteration,
}

/// The step of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum IterationStep {
    /// The workspace is compared with the record and made ready.
    Prepare,
    /// The base is looked at.
    Health,
    /// The model works.
    Converse,
    /// Its result is put down as a commit.
    Snapshot,
    /// This check runs.
    Check(String),
    /// The branch moves to the candidate.
    Accept,
    /// The worktree goes back to the base.
    Restore,
}

impl fmt::Display for IterationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare => f.write_str("prepare"),
            Self::Health => f.write_str("health"),
            Self::Converse => f.write_str("converse"),
            Self::Snapshot => f.write_str("snapshot"),
            Self::Check(id) => write!(f, "check:{id}"),
            Self::Accept => f.write_str("accept"),
            Self::Restore => f.write_str("restore"),
        }
    }
}

impl From<IterationStep> for String {
    fn from(step: IterationStep) -> Self {
        step.to_string()
    }
}

impl TryFrom<String> for IterationStep {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if let Some(id) = word.strip_prefix("check:") {
            return Ok(Self::Check(id.to_owned()));
        }
        match word.as_str() {
            "prepare" => Ok(Self::Prepare),
            "health" => Ok(Self::Health),
            "converse" => Ok(Self::Converse),
            "snapshot" => Ok(Self::Snapshot),
            "accept" => Ok(Self::Accept),
            "restore" => Ok(Self::Restore),
            other => Err(format!("{other:?} is no step of an iteration")),
        }
    }
}

/// Outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It did what it was to do.
    Done,
    /// It did not.
    Failed,
    /// It took too long.
    TimedOut,
    /// It was stopped.
    Interrupted,
}

/// Outcome of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationStatus {
    /// Its feature passes.
    Accepted,
    /// Its last attempt was rejected.
    Rejected,
    /// Its conversation failed.
    Failed,
    /// It was stopped.
    Interrupted,
}

/// The kind of mistake that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunErrorKind {
    /// The request cannot be carried out.
    InvalidRequest,
    /// The journal or the outputs cannot be read or written.
    Memory,
    /// The conversation failed.
    Chat,
    /// A candidate was rejected, or the selector chose what it may not.
    Validation,
    /// The base is not fit for work.
    HealthCheck,
    /// Something has to be there first.
    NotReady,
}

/// The point at which a workflow pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseWhen {
    /// After the end of the iteration.
    Iteration,
    /// After the end of the attempt.
    Attempt,
    /// At once; the attempt is interrupted.
    Now,
}
