//! The records of a workflow's journal: one durable fact each. The journal adds number and time.
//!
//! Records are a separate format: journals outlive the machine that wrote them.

use serde::{Deserialize, Serialize};

use super::facts::{
    Candidate, Checkpoint, CommandEnd, FeatureChange, Grants, Head, ProgressEntry, Rejection,
    RunOrder, SandboxStrength, Spent, TestNames,
};
use super::state::{
    CheckVerdict, IterationStatus, IterationStep, PauseReason, PauseWhen, RunErrorKind, RunPhase,
    StepOutcome,
};
use crate::ids::RunId;
use crate::journal::Durability;

/// One durable fact of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum WorkflowRecord {
    /// The workflow was made.
    Created {
        /// Its id.
        workflow: String,
        /// The operator who made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// This version of the manifest counts from now on.
    ManifestApplied(Box<ManifestApplied>),
    /// A person has to say yes.
    GateOpened {
        /// Names the gate.
        gate: String,
        /// The question.
        asks: String,
    },
    /// A person answered.
    GateClosed {
        /// Names the gate.
        gate: String,
        /// The answer.
        #[serde(flatten)]
        answer: GateAnswer,
    },
    /// A run began.
    PhaseStarted {
        /// Its phase.
        phase: RunPhase,
        /// The limits of it.
        order: RunOrder,
    },
    /// A run ended. That of the initializer has the first progress entry and checkpoint.
    PhaseEnded {
        /// Its phase.
        phase: RunPhase,
        /// The kind of mistake that ended it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunErrorKind>,
        /// A remark.
        detail: String,
        /// The first progress entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<ProgressEntry>,
        /// The first checkpoint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<Checkpoint>,
    },
    /// A feature is worked on.
    IterationStarted {
        /// The iteration.
        n: u32,
        /// The feature.
        feature: String,
        /// The commit that it begins with.
        base: Head,
        /// The reason for the choice.
        why: String,
    },
    /// Something is about to be done.
    StepStarted {
        /// The iteration.
        n: u32,
        /// The attempt.
        attempt: u32,
        /// The step.
        step: IterationStep,
        /// The tree, of a check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// Counts the starts of this step.
        r#try: u32,
        /// The key of the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// It was done, or not. A check that was judged ends with `check_ended` instead, a snapshot that was
    /// taken with `candidate`.
    StepEnded(StepEnded),
    /// A conversation took the prompt.
    ConversationLinked {
        /// The iteration.
        n: u32,
        /// The attempt.
        attempt: u32,
        /// The conversation.
        conversation: String,
        /// Its run.
        run: RunId,
    },
    /// The conversation of an attempt took too long; its run is cancelled.
    AttemptTimedOut {
        /// The iteration.
        n: u32,
        /// The attempt.
        attempt: u32,
    },
    /// The provider does not answer: the run continues after a wait.
    ProviderWaits(ProviderWaits),
    /// The candidate that an attempt left. Ends the step `snapshot`.
    Candidate {
        /// The iteration.
        n: u32,
        /// The attempt.
        attempt: u32,
        /// The exact tree.
        #[serde(flatten)]
        candidate: Candidate,
    },
    /// A check was judged.
    CheckEnded(Box<CheckEnded>),
    /// The judgement on a candidate.
    Verdict(VerdictNote),
    /// An iteration ended.
    IterationEnded(Box<IterationEnded>),
    /// Checks of the head begin to run, without a model.
    VerificationStarted {
        /// Counts verifications.
        number: u32,
        /// Their purpose.
        purpose: Purpose,
        /// The commit that they run on.
        head: Head,
    },
    /// They have ended.
    VerificationEnded(VerificationEnded),
    /// A pause is wanted, by a person or by the service.
    PauseRequested {
        /// The point at which it pauses.
        when: PauseWhen,
        /// The reason.
        reason: PauseReason,
        /// The text that goes with it.
        detail: String,
        /// The operator who wants it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Nothing is done until it is resumed.
    Paused {
        /// The reason.
        reason: PauseReason,
        /// The text that goes with it.
        detail: String,
        /// The operator who wanted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The workflow continues.
    Resumed {
        /// The budget that is added.
        grants: Grants,
        /// True if stuck features are tried again.
        #[serde(default)]
        retry_stuck: bool,
        /// The person who wanted it. `None` if the cause of the pause disappeared by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A person wants it ended.
    CancelRequested {
        /// The operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It is ended, and nothing of it runs. Ends the run, too.
    Cancelled {
        /// The work that was under way, and its end.
        detail: String,
    },
    /// All is done and verified. Ends the run, too.
    Completed {
        /// The commit that was verified.
        head: Head,
    },
    /// A person set a feature's state.
    Intervened {
        /// The change.
        what: Intervention,
        /// The feature.
        feature: String,
        /// The operator who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The schedule starts a run at that time.
    StartPlanned {
        /// The planned time, in milliseconds since the Unix epoch.
        at: u64,
        /// In how many seconds that is.
        in_s: u64,
    },
    /// A start of the schedule came while none could begin.
    StartSkipped {
        /// The time when it was due, in milliseconds since the Unix epoch.
        due: u64,
        /// The reason.
        why: String,
    },
    /// The service came back and found the workflow at work.
    Restarted {
        /// The step that was under way.
        found: String,
    },
    /// The file's command received a notice for people.
    Notified {
        /// The number of the notice.
        number: u32,
        /// The reason of a failed delivery.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// The manifest or the journal cannot be used.
    Failed {
        /// The reason.
        detail: String,
    },
}

/// A version of the manifest that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestApplied {
    /// Counts from 1.
    pub version: u32,
    /// The SHA-256 of the file.
    pub hash: String,
    /// The commit that the branch began with, or has at this time.
    pub base: Head,
    /// The features in the order of the file.
    pub features: Vec<String>,
    /// Those whose checks changed, which are open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// True if a person approved exactly this file before.
    pub approved: bool,
    /// The strength of the sandbox for commands when it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxStrength>,
    /// The file, below the folder of the repository. `None` if the text came in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The operator who applied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A person's answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateAnswer {
    /// Yes or no.
    pub approved: bool,
    /// A line for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The operator who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    /// The iteration.
    pub n: u32,
    /// The attempt.
    pub attempt: u32,
    /// The step.
    pub step: IterationStep,
    /// The outcome.
    pub outcome: StepOutcome,
    /// The model's last text, the last commits that `prepare` saw, or what went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Its usage.
    #[serde(default)]
    pub spent: Spent,
}

/// A wait for a provider that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderWaits {
    /// The iteration.
    pub n: u32,
    /// The attempt.
    pub attempt: u32,
    /// Counts the waits of the attempt.
    pub number: u32,
    /// Length of the wait, in milliseconds.
    pub ms: u64,
    /// The end of the wait, in milliseconds since the Unix epoch.
    pub until: u64,
    /// The provider's answer, or that there was none.
    pub detail: String,
    /// The usage of the conversation since the last wait.
    #[serde(default)]
    pub spent: Spent,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEnded {
    /// The iteration; 0 for a verification.
    pub n: u32,
    /// The attempt.
    pub attempt: u32,
    /// The check.
    pub check: String,
    /// The tree that it ran on.
    pub tree: String,
    /// Counts the starts of it.
    pub r#try: u32,
    /// The judgement.
    pub verdict: CheckVerdict,
    /// The reason of the verdict, in a sentence.
    pub why: String,
    /// True if this is the try that counts: false if more tries follow.
    pub counts: bool,
    /// The end of the command.
    pub end: CommandEnd,
    /// Duration in milliseconds.
    pub ms: u64,
    /// The SHA-256 of its output.
    pub output: String,
    /// The last 4 KiB of that.
    pub tail: String,
    /// The fingerprint of the failure. `None` if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The names of passing tests, of a check with `keep`.
    #[serde(default, skip_serializing_if = "TestNames::is_empty")]
    pub kept: TestNames,
    /// Those of the accepted head that are not among them.
    #[serde(default, skip_serializing_if = "TestNames::is_empty")]
    pub lost: TestNames,
}

/// The judgement on a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictNote {
    /// The iteration.
    pub n: u32,
    /// The attempt.
    pub attempt: u32,
    /// The tree that was judged.
    pub tree: String,
    /// True if the candidate is accepted.
    pub accepted: bool,
    /// The reasons of a rejection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Rejection>,
    /// The look of the rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The tries of the checks that count, on this tree or on the base.
    pub evidence: Vec<Evidence>,
}

/// A `check_ended` that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The check.
    pub check: String,
    /// The tree that it ran on.
    pub tree: String,
    /// The try that counts.
    pub r#try: u32,
    /// The verdict.
    pub verdict: CheckVerdict,
}

/// The end of an iteration, with all that it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationEnded {
    /// The iteration.
    pub n: u32,
    /// The outcome of the iteration.
    pub status: IterationStatus,
    /// The model's note.
    pub note: String,
    /// The new head, if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Head>,
    /// Its usage.
    pub usage: Spent,
    /// The change of its feature.
    pub feature: FeatureChange,
    /// True if its retries were used up.
    #[serde(default)]
    pub exhausted: bool,
    /// The line of progress.
    pub progress: ProgressEntry,
    /// The state of the run.
    pub checkpoint: Checkpoint,
}

/// The purpose of checks of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To know what fails before work begins.
    Baseline,
    /// To know that all is done.
    Final,
    /// A person wants to know.
    Operator,
}

/// The outcome of the checks of the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationEnded {
    /// The verification.
    pub number: u32,
    /// True if the checks found no problem.
    pub green: bool,
    /// The checks that are not, each with why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Rejection>,
    /// The features that passed and do not, which are open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<String>,
    /// True if it was stopped, so that its result means nothing.
    #[serde(default)]
    pub stopped: bool,
    /// The features that need no work: they are to hold, and their checks pass before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holding: Vec<String>,
}

/// A person's change of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intervention {
    /// It is tried again, its counters at zero.
    Retried,
    /// It is left out.
    Skipped,
    /// It is open again.
    Unskipped,
}

impl WorkflowRecord {
    /// The disaster that the record outlives before any later effect is carried out: effects that may not happen twice,
    /// judgements, and answers to operators rely on it.
    #[must_use]
    pub fn durability(&self) -> Durability {
        match self {
            Self::StepStarted { step, .. } => match step {
                IterationStep::Converse | IterationStep::Accept | IterationStep::Restore => {
                    Durability::Synced
                }
                IterationStep::Prepare
                | IterationStep::Health
                | IterationStep::Snapshot
                | IterationStep::Check(_) => Durability::Written,
            },
            Self::Created { .. }
            | Self::ManifestApplied(_)
            | Self::GateOpened { .. }
            | Self::GateClosed { .. }
            | Self::PhaseStarted { .. }
            | Self::Verdict(_)
            | Self::IterationEnded(_)
            | Self::PauseRequested { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::CancelRequested { .. }
            | Self::Cancelled { .. }
            | Self::Completed { .. }
            | Self::Intervened { .. }
            | Self::Failed { .. } => Durability::Synced,
            Self::PhaseEnded { .. }
            | Self::IterationStarted { .. }
            | Self::StepEnded(_)
            | Self::ConversationLinked { .. }
            | Self::AttemptTimedOut { .. }
            | Self::ProviderWaits(_)
            | Self::StartPlanned { .. }
            | Self::StartSkipped { .. }
            | Self::Candidate { .. }
            | Self::CheckEnded(_)
            | Self::VerificationStarted { .. }
            | Self::VerificationEnded(_)
            | Self::Notified { .. }
            | Self::Restarted { .. } => Durability::Written,
        }
    }
}

#[cfg(test)]
mod tests;
