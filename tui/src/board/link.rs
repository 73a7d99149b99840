//! The messages between the board of workflows and the link to the service.

use harness_protocol::{Event, WorkflowSnapshot};

/// The board's orders to the service. The link carries out each, and answers with [`BoardNews`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardOrder {
    /// All workflows; answered with [`BoardNews::Listed`] or [`BoardNews::NotListed`].
    List,
    /// Follow this workflow and no other: how it is with its last records, then what happens.
    Follow {
        /// The workflow.
        workflow: String,
    },
    /// Stop following.
    Leave,
    /// Give an order to a workflow; answered with [`BoardNews::Given`] or [`BoardNews::NotGiven`].
    Give {
        /// The workflow.
        workflow: String,
        /// The order.
        order: WorkflowOrder,
    },
    /// The output of a check; answered with [`BoardNews::Output`] or [`BoardNews::NoOutput`].
    Output {
        /// The workflow.
        workflow: String,
        /// The SHA-256 of the output.
        sha256: String,
    },
}

/// An order to a workflow. Each needs the token of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowOrder {
    /// Begin a run.
    Run,
    /// Pause.
    Pause(PauseAt),
    /// Continue after a pause.
    Resume {
        /// True if stuck features are tried again.
        retries_stuck: bool,
    },
    /// End it for good, which may take minutes.
    Cancel,
    /// Answer a gate.
    Answer {
        /// The gate.
        gate: String,
        /// Yes or no.
        is_approved: bool,
    },
}

/// The point at which a workflow pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseAt {
    /// At once: the attempt is rolled back, which costs no retry.
    Once,
    /// After the end of the iteration.
    IterationEnd,
}

/// News from the link to the board.
#[derive(Debug, Clone, PartialEq)]
pub enum BoardNews {
    /// All workflows, the last made first.
    Listed(Vec<WorkflowSnapshot>),
    /// It is not known which there are.
    NotListed {
        /// The reason.
        reason: String,
    },
    /// The state of the followed workflow. It comes first, and again if something may have been missed.
    Followed {
        /// The state of the workflow.
        snapshot: Box<WorkflowSnapshot>,
        /// Its last records before that, the oldest first.
        recent: Vec<Event>,
    },
    /// The state of the followed workflow, after something happened in it.
    Looked(Box<WorkflowSnapshot>),
    /// Something happened in the workflow that is followed.
    Happened {
        /// The workflow.
        workflow: String,
        /// The event.
        event: Box<Event>,
    },
    /// The stream of the workflow is lost, and will be tried again.
    Down {
        /// The workflow.
        workflow: String,
        /// The reason.
        reason: String,
    },
    /// The stream is open again.
    Up {
        /// The workflow.
        workflow: String,
    },
    /// The workflow cannot be followed at all: it does not exist, or cannot be read.
    Refused {
        /// The workflow.
        workflow: String,
        /// The reason.
        reason: String,
    },
    /// An order was carried out.
    Given {
        /// The state of the workflow after the order.
        snapshot: Box<WorkflowSnapshot>,
        /// The order.
        order: WorkflowOrder,
    },
    /// An order was not carried out, or the client does not know.
    NotGiven {
        /// The workflow.
        workflow: String,
        /// The order.
        order: WorkflowOrder,
        /// The reason.
        reason: String,
    },
    /// The end of the output of a check.
    Output {
        /// The workflow.
        workflow: String,
        /// The SHA-256 of the whole output.
        sha256: String,
        /// Offset of the text in the output, in bytes.
        offset: u64,
        /// Its text from there on.
        text: String,
    },
    /// The output of a check cannot be had.
    NoOutput {
        /// The workflow.
        workflow: String,
        /// The SHA-256 of the output.
        sha256: String,
        /// The reason.
        reason: String,
    },
}
