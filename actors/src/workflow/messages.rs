//! The messages to the keeper of workflows.

use std::path::PathBuf;
use std::sync::Arc;

use actix::{Message, Recipient};
use derive_more::{Display, Error};
use harness_protocol::WorkflowSnapshot;

use super::facts::Head;
use super::ledger::ManifestNote;
use super::machine::{OperatorOrder, OrderOutcome};
use super::manifest::Manifest;
use crate::broadcast::Attendance;
use crate::broadcast::messages::Join;
use crate::journal::{Journal, OpenError};
use crate::storage::StorageError;

/// Makes a workflow; the one that is there if its id is known. Sent by HTTP; answered when it is safe on
/// disk. Nothing of the file runs before it is approved.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(WorkflowSnapshot, bool), WorkflowError>")]
pub struct CreateWorkflow {
    /// Its id. `None` generates one.
    pub id: Option<String>,
    /// The name of its file.
    pub name: String,
    /// The file.
    pub given: GivenFile,
    /// The folder of the repository, absolute and without links.
    pub folder: PathBuf,
    /// The operator's name.
    pub by: Option<String>,
}

/// A file that was read and found to be in order.
#[derive(Debug, Clone)]
pub struct GivenFile {
    /// Its text.
    pub manifest: Arc<Manifest>,
    /// Its SHA-256.
    pub hash: String,
    /// Its text.
    pub text: Arc<[u8]>,
    /// The path of the file, below the folder of the repository. `None` if the text came in another way.
    pub file: Option<String>,
    /// True if a person approved exactly this text.
    pub approved: bool,
}

/// Lets another file count in a workflow. Sent by HTTP; answered when that is on record. Nothing of it runs
/// before it is approved.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<OrderOutcome, WorkflowError>")]
pub struct ApplyFile {
    /// The workflow.
    pub id: String,
    /// The file.
    pub given: GivenFile,
    /// The SHA-256 of the file that must be in force until then. `None` for any.
    pub over: Option<String>,
    /// True if features may be missing in it.
    pub allow_remove: bool,
    /// The operator who wants it.
    pub by: Option<String>,
}

/// Asks which file counts in a workflow. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(CountingManifest, Option<Vec<u8>>), WorkflowError>")]
pub struct FindManifest {
    /// The workflow.
    pub id: String,
}

/// Asks for the changes between two commits of a workflow, and true if they were cut. `None` if one of the commits is
/// no longer kept. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Option<(String, bool)>, WorkflowError>")]
pub struct DiffCandidate {
    /// The workflow.
    pub id: String,
    /// The commit before it.
    pub base: String,
    /// The commit.
    pub commit: String,
}

/// The manifest that counts in a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct CountingManifest {
    /// Its version and hash.
    pub note: ManifestNote,
    /// Its text.
    pub manifest: Arc<Manifest>,
    /// The last accepted commit.
    pub head: Head,
    /// The name of the workflow.
    pub name: String,
    /// The folder of the repository.
    pub folder: PathBuf,
}

/// Gives a workflow an order other than `Create`. Sent by HTTP; answered when it is on record, a cancel when nothing of
/// the workflow runs any longer.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<OrderOutcome, WorkflowError>")]
pub struct GiveOrder {
    /// The workflow.
    pub id: String,
    /// The thing wanted.
    pub order: OperatorOrder,
    /// The operator who wants it.
    pub by: Option<String>,
}

/// Asks how a workflow is. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<WorkflowSnapshot, WorkflowError>")]
pub struct LookAtWorkflow {
    /// The workflow.
    pub id: String,
}

/// Asks how a workflow is when it rests: it waits for an order or a person, or is at its end. Answered then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<WorkflowSnapshot, WorkflowError>")]
pub struct AwaitRest {
    /// The workflow.
    pub id: String,
}

/// Asks how all workflows are, the last made first. Sent by HTTP.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<Vec<WorkflowSnapshot>, WorkflowError>")]
pub struct ListWorkflows;

/// Asks for what a client follows. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Followable, WorkflowError>")]
pub struct FollowWorkflow {
    /// The workflow.
    pub id: String,
}

/// Moves the journal of a workflow that is at rest to the trash, and removes its worktree and the refs of its
/// candidates; answered with where the journal is then. Sent by HTTP.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<String, WorkflowError>")]
pub struct RemoveWorkflow {
    /// The workflow.
    pub id: String,
}

/// Stops running work, and takes no further orders; interrupted work continues at the next start. Sent when the service
/// stops, before its conversations are stopped.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct StopWorkflows;

/// The stream that a client follows.
#[derive(Clone)]
pub struct Followable {
    /// The records that it lacks.
    pub journal: Arc<dyn Journal>,
    /// The live events.
    pub broadcast: Recipient<Join>,
    /// The attached clients.
    pub attendance: Attendance,
}

impl std::fmt::Debug for Followable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.journal.header().conversation;
        f.debug_tuple("Followable").field(&id).finish()
    }
}

/// The reason why nothing was done for a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum WorkflowError {
    /// There is none.
    #[display("there is no workflow {id:?}; `harness workflow list` shows those that there are")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The file or the order cannot be.
    #[display("{reason}")]
    Invalid {
        /// The mistake, and a way out.
        reason: String,
    },
    /// Something of it would be lost.
    #[display("{reason}")]
    Kept {
        /// The thing, and a way out.
        reason: String,
    },
    /// It works.
    #[display("the workflow {id} is at work; cancel it first")]
    Busy {
        /// The id.
        id: String,
    },
    /// The service is stopping.
    #[display("the service is stopping")]
    Stopping,
    /// Its journal cannot be opened.
    #[display("{_0}")]
    Open(OpenError),
    /// Its journal refuses new records.
    #[display("{_0}")]
    Storage(StorageError),
}
