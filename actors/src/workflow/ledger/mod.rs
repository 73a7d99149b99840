//! The sums of a workflow's records. The same fold serves a running workflow and one that comes back after a crash.
//!
//! Invariant: it grows with the manifest, not with the history: it holds the open iteration with the checks
//! of one attempt, of each feature at most 64 trees and 8 failures, 10 lines of progress, 20 gates, 16
//! ignored results, and the names of the tests that the head passed.

mod apply;
mod feature;
mod iteration;
mod notice;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::facts::{
    Grants, Head, ProgressEntry, RunOrder, SandboxStrength, Spent, StepPlace, TestNames,
};
use super::record::GateAnswer;
use super::state::{
    FeatureState, IterationStatus, IterationStep, PauseReason, PauseWhen, RunPhase, WorkflowState,
};

pub use feature::{BLOCKED, Failure, FeatureNote};
pub use iteration::{Attempt, Linked, OpenIteration, OpenStep, OpenVerification, Results};
pub use notice::LedgerNotice;

/// Maximum number of lines of progress that are kept.
const MAX_PROGRESS: usize = 10;
/// Maximum number of answered gates that are remembered.
const MAX_GATES: usize = 20;
/// Maximum number of ignored results that are listed.
const MAX_IGNORED: usize = 16;

/// The sums of a workflow's records. Takes records in any order: a damaged journal lacks some.
#[derive(Debug, Clone, Default)]
pub struct WorkflowLedger {
    workflow: Option<String>,
    manifest: Option<ManifestNote>,
    is_initialized: bool,
    features: Vec<FeatureNote>,
    head: Option<AcceptedHead>,
    red: BTreeSet<String>,
    phase: Option<OpenPhase>,
    last_key: Option<String>,
    bearings: Bearings,
    iteration: Option<OpenIteration>,
    verification: Option<OpenVerification>,
    step: Option<OpenStep>,
    starts: Vec<OpenStep>,
    verifications: u32,
    final_green: Option<Head>,
    iterations: u32,
    since_progress: u32,
    protected_changes: u32,
    crashes: u32,
    spent: Spent,
    granted: Grants,
    progress: VecDeque<ProgressEntry>,
    gate: Option<OpenGate>,
    closed_gates: VecDeque<(String, GateAnswer)>,
    wish: Option<PauseWish>,
    is_cancelling: bool,
    rest: Option<RestReason>,
    ignored: Vec<Ignored>,
    notices: notice::Notices,
    next_start: Option<u64>,
    commits: u32,
}

/// The manifest that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestNote {
    /// Its version.
    pub version: u32,
    /// The SHA-256 of its file.
    pub hash: String,
    /// True if a person approved it.
    pub is_approved: bool,
    /// The strength of the sandbox for commands when it was applied. `None` if that is not on record.
    pub sandbox: Option<SandboxStrength>,
    /// The path of the file, below the folder of the repository. `None` if the text came in another way.
    pub file: Option<String>,
}

/// The last accepted commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedHead {
    /// The commit.
    pub head: Head,
    /// The names of passing tests that each check with `keep` showed of it.
    pub kept: BTreeMap<String, TestNames>,
}

/// The run that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPhase {
    /// Its phase.
    pub phase: RunPhase,
    /// The limits of it.
    pub order: RunOrder,
    /// Number of its iterations that have ended, without those that were interrupted.
    pub iterations: u32,
    /// The outcome of the last one.
    pub last: Option<IterationStatus>,
}

/// The findings about the base before the next iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bearings {
    /// The last commits, once the workspace is ready.
    pub log: Option<String>,
    /// The result of the health checks; the error is the reason of the failure.
    pub health: Option<Result<(), String>>,
}

/// A gate that awaits an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenGate {
    /// Its name.
    pub gate: String,
    /// The question.
    pub asks: String,
}

/// A pause that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseWish {
    /// The point at which it pauses.
    pub when: PauseWhen,
    /// The reason.
    pub reason: PauseReason,
    /// The text that goes with it.
    pub detail: String,
    /// The operator who wants it.
    pub by: Option<String>,
}

/// The reason why the workflow does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestReason {
    /// It is paused.
    Paused {
        /// The reason.
        reason: PauseReason,
        /// The text that goes with it.
        detail: String,
    },
    /// It is done.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It cannot be used.
    Failed(String),
}

/// A result that came after the one that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The place in the workflow.
    pub at: StepPlace,
    /// The check.
    pub check: String,
    /// The tree.
    pub tree: String,
    /// The start of it.
    pub number: u32,
}

impl WorkflowLedger {
    /// The next notice for people, with its number. `None` if all notices were sent.
    #[must_use]
    pub fn notice(&self) -> Option<&(u32, LedgerNotice)> {
        self.notices.first()
    }

    /// Number of candidates that were accepted.
    #[must_use]
    pub fn commits(&self) -> u32 {
        self.commits
    }

    /// The next start by the schedule, in milliseconds since the Unix epoch. `None` if that is not planned yet.
    #[must_use]
    pub fn next_start(&self) -> Option<u64> {
        self.next_start
    }

    /// The workflow's id.
    #[must_use]
    pub fn workflow(&self) -> Option<&str> {
        self.workflow.as_deref()
    }

    /// The state of the workflow.
    #[must_use]
    pub fn state(&self) -> WorkflowState {
        match &self.rest {
            Some(RestReason::Completed) => return WorkflowState::Completed,
            Some(RestReason::Cancelled) => return WorkflowState::Cancelled,
            Some(RestReason::Failed(_)) => return WorkflowState::Failed,
            Some(RestReason::Paused { .. }) => return WorkflowState::Paused,
            None => {}
        }
        let phase = self.phase.as_ref().map(|phase| phase.phase);
        match (&self.gate, phase) {
            (Some(_), Some(RunPhase::Initializer)) => WorkflowState::WaitingForApproval,
            (Some(_), _) => WorkflowState::Paused,
            (None, Some(RunPhase::Initializer)) => WorkflowState::Initializing,
            (None, Some(RunPhase::TaskIteration)) => WorkflowState::Running,
            (None, None) if self.verification.is_some() => WorkflowState::Running,
            (None, None) if self.is_initialized => WorkflowState::Ready,
            (None, None) => WorkflowState::Draft,
        }
    }

    /// The reason and the text of the pause.
    #[must_use]
    pub fn paused(&self) -> Option<(PauseReason, &str)> {
        match (&self.rest, &self.gate) {
            (Some(RestReason::Paused { reason, detail }), _) => Some((*reason, detail)),
            (None, Some(gate)) if self.state() == WorkflowState::Paused => {
                Some((PauseReason::Gate, &gate.asks))
            }
            (
                Some(RestReason::Completed | RestReason::Cancelled | RestReason::Failed(_)) | None,
                _,
            ) => None,
        }
    }

    /// True if the workflow acts without an order: it works, or it is being cancelled.
    #[must_use]
    pub fn is_active(&self) -> bool {
        match self.rest {
            Some(RestReason::Completed | RestReason::Cancelled | RestReason::Failed(_)) => false,
            Some(RestReason::Paused { .. }) => self.is_cancelling,
            None if self.is_cancelling || self.wish.is_some() => true,
            None => self.gate.is_none() && self.is_at_work(),
        }
    }

    /// True if the workflow has ended.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        match self.rest {
            Some(RestReason::Completed | RestReason::Cancelled | RestReason::Failed(_)) => true,
            Some(RestReason::Paused { .. }) | None => false,
        }
    }

    fn is_at_work(&self) -> bool {
        self.phase.is_some() || self.verification.is_some() || self.iteration.is_some()
    }

    /// The manifest that counts.
    #[must_use]
    pub fn manifest(&self) -> Option<&ManifestNote> {
        self.manifest.as_ref()
    }

    /// True if the initializer has ended well with this manifest.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// The features, in the order of the file.
    #[must_use]
    pub fn features(&self) -> &[FeatureNote] {
        &self.features
    }

    /// One feature.
    #[must_use]
    pub fn feature(&self, id: &str) -> Option<&FeatureNote> {
        self.features.iter().find(|feature| feature.id == id)
    }

    /// True if a feature passes.
    #[must_use]
    pub fn passes(&self, id: &str) -> bool {
        let feature = self.feature(id);
        feature.is_some_and(|feature| feature.state == FeatureState::Passing)
    }

    /// The last accepted commit.
    #[must_use]
    pub fn head(&self) -> Option<&AcceptedHead> {
        self.head.as_ref()
    }

    /// The checks that failed on the base before the work began.
    #[must_use]
    pub fn red(&self) -> &BTreeSet<String> {
        &self.red
    }

    /// The run that is under way.
    #[must_use]
    pub fn phase(&self) -> Option<&OpenPhase> {
        self.phase.as_ref()
    }

    /// The key of the last order to run.
    #[must_use]
    pub fn last_key(&self) -> Option<&str> {
        self.last_key.as_deref()
    }

    /// The findings about the base before the next iteration.
    #[must_use]
    pub fn bearings(&self) -> &Bearings {
        &self.bearings
    }

    /// The iteration that is under way.
    #[must_use]
    pub fn iteration(&self) -> Option<&OpenIteration> {
        self.iteration.as_ref()
    }

    /// The verification that is under way.
    #[must_use]
    pub fn verification(&self) -> Option<&OpenVerification> {
        self.verification.as_ref()
    }

    /// Number of verifications that were started.
    #[must_use]
    pub fn verifications(&self) -> u32 {
        self.verifications
    }

    /// True if all checks passed on the present head.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        let head = self.head.as_ref().map(|head| &head.head);
        head.is_some() && head == self.final_green.as_ref()
    }

    /// The step that is under way.
    #[must_use]
    pub fn step(&self) -> Option<&OpenStep> {
        self.step.as_ref()
    }

    /// The number of the next start of a step.
    #[must_use]
    pub fn next_try(&self, at: StepPlace, step: &IterationStep, tree: Option<&str>) -> u32 {
        let is_it = |start: &&OpenStep| {
            start.at == at && start.step == *step && start.tree.as_deref() == tree
        };
        self.starts
            .iter()
            .find(is_it)
            .map_or(1, |start| start.number.saturating_add(1))
    }

    /// Number of iterations that were started.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Number of iterations that have ended since one made a feature pass for the first time.
    #[must_use]
    pub fn since_progress(&self) -> u32 {
        self.since_progress
    }

    /// Number of attempts that changed protected files since a feature was accepted or a person resumed.
    #[must_use]
    pub fn protected_changes(&self) -> u32 {
        self.protected_changes
    }

    /// Number of times that the service died in the open iteration, or before the next one.
    #[must_use]
    pub fn crashes(&self) -> u32 {
        self.crashes
    }

    /// The sums that were used up so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The budget that resumes have added to the file's.
    #[must_use]
    pub fn granted(&self) -> Grants {
        self.granted
    }

    /// The last lines of progress, oldest first.
    pub fn progress(&self) -> impl Iterator<Item = &ProgressEntry> {
        self.progress.iter()
    }

    /// The gate that waits for an answer.
    #[must_use]
    pub fn gate(&self) -> Option<&OpenGate> {
        self.gate.as_ref()
    }

    /// The answer of a gate.
    #[must_use]
    pub fn gate_answer(&self, gate: &str) -> Option<&GateAnswer> {
        let found = self.closed_gates.iter().find(|(name, _)| name == gate);
        found.map(|(_, answer)| answer)
    }

    /// The pause that is wanted.
    #[must_use]
    pub fn wish(&self) -> Option<&PauseWish> {
        self.wish.as_ref()
    }

    /// True if the running work must stop without a judgement: for a cancel, or for a pause at once.
    #[must_use]
    pub fn stops_now(&self) -> bool {
        let at_once = |wish: &PauseWish| wish.when == PauseWhen::Now;
        self.is_cancelling || self.wish.as_ref().is_some_and(at_once)
    }

    /// True if an operator cancelled, and the cancel is not finished yet.
    #[must_use]
    pub fn is_cancelling(&self) -> bool {
        self.is_cancelling
    }

    /// Results that came after the one that counts, for the doctor.
    #[must_use]
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }
}

#[cfg(test)]
mod tests;
