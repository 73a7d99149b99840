//! The effects of a workflow.

use crate::workflow::facts::{Candidate, Head, StepPlace};
use crate::workflow::manifest::Check;
use crate::workflow::record::{GateAnswer, WorkflowRecord};
use crate::workflow::state::{PauseReason, WorkflowState};

/// An effect. Effects after a record are carried out when the record is in the journal. Each may be repeated after a
/// crash, and must then detect that it has happened.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkflowEffect {
    /// Write this down, then show it.
    Record(WorkflowRecord),
    /// Compare branch, tree and protected files with the record, and make the workspace ready. Ends with
    /// `PrepareEnded`.
    RunPrepare {
        /// The place in the workflow.
        at: StepPlace,
        /// The head that the branch has to have.
        head: Head,
    },
    /// Run the health checks on the base, in the workspace. Ends with `HealthEnded`.
    RunHealth {
        /// The place in the workflow.
        at: StepPlace,
        /// The checks.
        checks: Vec<Check>,
    },
    /// Make the conversation and send the prompt; each is nothing if it has happened. Ends with `RunEnded`.
    StartConversation(IterationPrompt),
    /// Send the prompt to the conversation. Ends with `RunEnded`.
    SendPrompt(IterationPrompt),
    /// Continue the run that the service left open, without a prompt. Ends with `RunEnded`.
    ContinueRun {
        /// The place in the workflow.
        at: StepPlace,
        /// The conversation.
        conversation: String,
    },
    /// Cancel the run. Its end comes as usual.
    CancelRun {
        /// The place in the workflow.
        at: StepPlace,
        /// The conversation.
        conversation: String,
    },
    /// Put down what the attempt left, with the protected files of the base. It changes nothing in the
    /// worktree, so that it shows the same when it comes again. Ends with `SnapshotEnded`.
    TakeSnapshot {
        /// The place in the workflow.
        at: StepPlace,
        /// Its first commit.
        base: Head,
    },
    /// Run a check on a candidate, or on the head of a verification. Ends with `CheckEnded`.
    RunCheck(CheckCall),
    /// The same on the base of the iteration.
    RunCheckOnBase(CheckCall),
    /// Stop the command that runs. Its end comes as usual.
    KillStep {
        /// The place in the workflow.
        at: StepPlace,
    },
    /// Move the branch from the base to the candidate. Ends with `AcceptEnded`: well, too, if it is there.
    Accept {
        /// The place in the workflow.
        at: StepPlace,
        /// The new head of the branch.
        candidate: Candidate,
        /// The head that it has to have before.
        base: Head,
    },
    /// Make the worktree the base again. Ends with `RestoreEnded`.
    Restore {
        /// The place in the workflow.
        at: StepPlace,
        /// The base.
        base: Head,
    },
    /// Send an operator the result of an order.
    Answer {
        /// The caller that waits.
        asker: u64,
        /// The answer.
        answer: OrderOutcome,
    },
    /// Tell people.
    Notify(NoticeText),
}

/// A prompt for a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationPrompt {
    /// The place in the workflow.
    pub at: StepPlace,
    /// The conversation.
    pub conversation: String,
    /// The text.
    pub text: String,
    /// The key under which a repetition is known.
    pub key: String,
}

/// A check that is to run.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckCall {
    /// The place in the workflow.
    pub at: StepPlace,
    /// The check.
    pub check: Box<Check>,
    /// The tree that it runs on.
    pub head: Head,
    /// Counts the starts of it.
    pub number: u32,
}

/// The outcome of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderOutcome {
    /// The workflow is there.
    Created {
        /// True if this order made it.
        created: bool,
    },
    /// The order was taken.
    Taken,
    /// It has happened; the workflow is in this state.
    Done(WorkflowState),
    /// The gate was answered before.
    AnsweredBefore(GateAnswer),
    /// It cannot be done.
    Refused {
        /// The kind of mistake.
        kind: Refused,
        /// The mistake, and a way out.
        message: String,
    },
}

/// The kind of mistake in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It can never be done.
    InvalidRequest,
    /// Something has to be there first.
    NotReady,
    /// It cannot be done in the state that the workflow is in.
    Conflict,
    /// The state that it relies on has changed.
    Stale,
}

/// The text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeText {
    /// All is done.
    Completed,
    /// It is paused.
    Paused(PauseReason),
    /// A gate is open.
    Gate(String),
}
