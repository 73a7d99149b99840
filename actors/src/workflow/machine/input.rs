//! The inputs of a workflow.

use std::sync::Arc;

use crate::ids::RunId;
use crate::workflow::facts::{
    Candidate, CommandRun, Grants, Head, SandboxStrength, Spent, StepPlace,
};
use crate::workflow::manifest::Manifest;
use crate::workflow::state::{IterationStep, PauseReason, PauseWhen};

/// The inputs of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkflowInput {
    /// An operator wants something.
    Order {
        /// The asker who waits for the answer.
        asker: u64,
        /// The operator's name.
        by: Option<String>,
        /// The wish.
        order: OperatorOrder,
    },
    /// The workspace was compared with the record and made ready, or not. Has the last commits.
    PrepareEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The last commits.
        ended: Result<String, StepRefusal>,
        /// Duration in milliseconds.
        ms: u64,
    },
    /// The health checks ran.
    HealthEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The outcome of each, in the order of the file.
        runs: Vec<CommandRun>,
    },
    /// The conversation took the prompt.
    ConversationLinked {
        /// The place in the workflow.
        at: StepPlace,
        /// The conversation.
        conversation: String,
        /// The run of the prompt.
        run: RunId,
    },
    /// The conversation's run ended.
    RunEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The end of the run.
        ended: RunEnd,
    },
    /// The snapshot of an attempt was taken, or not.
    SnapshotEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The candidate.
        ended: Result<Candidate, StepRefusal>,
    },
    /// A check ended, or was stopped.
    CheckEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The check.
        check: String,
        /// The tree that it ran on.
        tree: String,
        /// The start of it, as in the effect.
        number: u32,
        /// The outcome.
        run: CommandRun,
    },
    /// The branch has the candidate, or not.
    AcceptEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The reason of a refusal.
        ended: Result<(), StepRefusal>,
    },
    /// The worktree is the base again, or not.
    RestoreEnded {
        /// The place in the workflow.
        at: StepPlace,
        /// The reason of a refusal.
        ended: Result<(), StepRefusal>,
    },
    /// The run ended since the provider did not answer as long as the conversation tried.
    ProviderDown {
        /// The place in the workflow.
        at: StepPlace,
        /// The end of the run.
        ended: RunEnd,
        /// The text that goes with it.
        detail: String,
    },
    /// The alarm of the machine is due; the driver has set its time before.
    Time {
        /// True if one more workflow may work.
        has_room: bool,
    },
    /// The step that was open could not be carried out.
    StepRefused {
        /// The place of the step.
        at: StepPlace,
        /// The step.
        step: IterationStep,
        /// The reason.
        refusal: StepRefusal,
    },
    /// Something outside makes work impossible: the provider, the disk.
    Trouble {
        /// The kind of trouble.
        reason: PauseReason,
        /// The text that goes with it.
        detail: String,
    },
    /// The usage so far of the run that is going.
    BudgetTick {
        /// The place in the workflow.
        at: StepPlace,
        /// Of this run alone.
        spent: Spent,
        /// Duration of the attempt's conversation so far, in milliseconds.
        attempt_ms: u64,
    },
    /// The file's command received a notice for people.
    Notified {
        /// The number of that.
        number: u32,
        /// The reason of a failed delivery.
        failed: Option<String>,
    },
    /// A tool of the conversation waits for a person, or no longer does.
    ConversationAsks {
        /// The place in the workflow.
        at: StepPlace,
        /// The question. `None` if it was answered or withdrawn.
        asks: Option<String>,
    },
}

/// An operator's order.
#[derive(Debug, Clone, PartialEq)]
pub enum OperatorOrder {
    /// Make the workflow; nothing if it is there.
    Create {
        /// Its id.
        workflow: String,
        /// Its manifest.
        applied: NewManifest,
    },
    /// Let another version of the manifest count.
    Apply {
        /// The manifest.
        applied: NewManifest,
        /// The SHA-256 of the file that must be in force until then. `None` for any.
        over: Option<String>,
        /// True if features may be missing in it.
        allow_remove: bool,
    },
    /// Run the initializer, or iterations.
    Run {
        /// The key under which a repetition is known.
        key: Option<String>,
        /// Maximum number of features, if other than in the file.
        max_features: Option<u32>,
        /// Iterations of this run.
        max_iterations: Option<u32>,
    },
    /// Pause.
    Pause(PauseWhen),
    /// Continue.
    Resume {
        /// The budget that is added.
        grants: Grants,
        /// True if stuck features are tried again.
        retry_stuck: bool,
    },
    /// End it for good.
    Cancel,
    /// Answer a gate.
    Gate {
        /// The gate.
        gate: String,
        /// Yes or no.
        approved: bool,
        /// A line for the model.
        comment: Option<String>,
    },
    /// Try a feature again.
    Retry(String),
    /// Leave a feature out.
    Skip(String),
    /// Open it again.
    Unskip(String),
    /// Run all checks on the head, without a model.
    Verify,
}

/// A manifest with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct NewManifest {
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// The SHA-256 of its file.
    pub hash: String,
    /// The commit that the branch begins with; later versions keep the head that was accepted.
    pub base: Head,
    /// True if a person approved exactly this file.
    pub approved: bool,
    /// The strength of the sandbox for commands. `None` if that is unknown.
    pub sandbox: Option<SandboxStrength>,
    /// The path of the file, below the folder of the repository, if it came from one.
    pub file: Option<String>,
}

/// The reason for a step that was not done, after which the workflow must pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRefusal {
    /// The reason of the pause.
    pub reason: PauseReason,
    /// The text that goes with it.
    pub detail: String,
}

/// The end of a run of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The outcome.
    pub status: RunStatus,
    /// Its usage in all.
    pub spent: Spent,
    /// The model's last text, or why it failed.
    pub last_text: String,
}

/// The outcome of a run of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// It completed by itself.
    Completed,
    /// An error ended it.
    Failed,
    /// A client cancelled it.
    Cancelled,
}

/// The findings when the service came back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryFindings {
    /// The fate of the prompt of the open attempt.
    pub conversation: FoundRun,
    /// The reason why the workflow may not continue by itself. `None` if it may.
    pub stays: Option<StepRefusal>,
}

/// The fate of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FoundRun {
    /// No conversation has it.
    #[default]
    NotSent,
    /// Its run was under way when the service died.
    Open,
    /// Its run has ended.
    Ended(RunEnd),
}
