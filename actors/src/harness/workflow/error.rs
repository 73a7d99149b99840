//! The error of a workflow's run without a result.

use actix::MailboxError;
use derive_more::{Display, Error};

use crate::storage::StorageError;
use crate::workflow::file::FileProblem;
use crate::workflow::machine::Refused;
use crate::workflow::messages::WorkflowError;
use crate::workflow::state::{PauseReason, RunErrorKind};

/// The reason why a run of a workflow has no result. The work up to that point is on record.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{message}")]
#[non_exhaustive]
pub struct RuntimeError {
    /// The kind of mistake.
    pub kind: RunErrorKind,
    /// The mistake, and a way out.
    pub message: String,
    /// All that is wrong with a request, each with its key; empty if that was not the cause.
    pub problems: Vec<FileProblem>,
    /// The reason of the pause, if the workflow is paused.
    pub paused: Option<PauseReason>,
}

impl RuntimeError {
    pub(super) fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            problems: Vec::new(),
            paused: None,
        }
    }

    pub(super) fn not_ready(message: impl Into<String>) -> Self {
        Self::new(RunErrorKind::NotReady, message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(RunErrorKind::InvalidRequest, message)
    }

    pub(super) fn of_problems(problems: Vec<FileProblem>) -> Self {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Self {
            problems,
            ..Self::invalid(told.join("; "))
        }
    }

    pub(super) fn paused(reason: PauseReason, detail: &str) -> Self {
        let kind = kind_of(reason);
        Self {
            paused: Some(reason),
            ..Self::new(kind, format!("the workflow is paused: {detail}"))
        }
    }

    pub(super) fn refused(kind: Refused, message: String) -> Self {
        let kind = match kind {
            Refused::InvalidRequest => RunErrorKind::InvalidRequest,
            Refused::NotReady | Refused::Conflict | Refused::Stale => RunErrorKind::NotReady,
        };
        Self::new(kind, message)
    }
}

/// The kind of mistake that a pause tells of.
fn kind_of(reason: PauseReason) -> RunErrorKind {
    match reason {
        PauseReason::Health => RunErrorKind::HealthCheck,
        PauseReason::ProviderAuth | PauseReason::ProviderQuota | PauseReason::ProviderDown => {
            RunErrorKind::Chat
        }
        PauseReason::Storage => RunErrorKind::Memory,
        PauseReason::Selector
        | PauseReason::Stuck
        | PauseReason::NoProgress
        | PauseReason::BaselineBroken
        | PauseReason::Tampering => RunErrorKind::Validation,
        PauseReason::Operator
        | PauseReason::Gate
        | PauseReason::BudgetTokens
        | PauseReason::BudgetCost
        | PauseReason::BudgetTime
        | PauseReason::Iterations
        | PauseReason::Ask
        | PauseReason::WorkspaceChanged
        | PauseReason::WorkspaceDirty
        | PauseReason::GitConfigChanged
        | PauseReason::CrashLoop
        | PauseReason::OutsideSchedule => RunErrorKind::NotReady,
    }
}

impl From<WorkflowError> for RuntimeError {
    fn from(error: WorkflowError) -> Self {
        let kind = match &error {
            WorkflowError::Invalid { .. } => RunErrorKind::InvalidRequest,
            WorkflowError::NotFound { .. }
            | WorkflowError::Busy { .. }
            | WorkflowError::Kept { .. }
            | WorkflowError::Stopping => RunErrorKind::NotReady,
            WorkflowError::Open(_) | WorkflowError::Storage(_) => RunErrorKind::Memory,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<StorageError> for RuntimeError {
    fn from(error: StorageError) -> Self {
        Self::new(RunErrorKind::Memory, error.to_string())
    }
}

impl From<MailboxError> for RuntimeError {
    fn from(_: MailboxError) -> Self {
        Self::not_ready("the workflows have ended")
    }
}
