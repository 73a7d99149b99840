//! The parts that the handlers share: the actors that they ask, and the bounds on their answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use actix::{Addr, Recipient};
use harness_actors::broadcast::ReadBudget;
use harness_actors::directory::DirectoryActor;
use harness_actors::model::messages::ListModels;
use harness_actors::tool::{Jobs, Outputs, ToolShelf};
use harness_actors::workflow::keeper::WorkflowsActor;
use harness_actors::{AttachmentStore, Redaction};
use harness_protocol::ServiceInfo;
use tokio::sync::Semaphore;

use crate::file_search::FileSearch;
use crate::guidance::GuidanceSources;
use crate::proof::ProofKey;
use crate::serve::folder_rules::KeptRules;
use crate::serve::mcp::McpServers;
use crate::serve::pricing::{KeptFor, Prices};
use crate::state_dir::StateFolder;

/// Maximum time that a handler waits for an actor. Longer than any cancel takes.
pub(super) const HANDLER_TIMEOUT: Duration = Duration::from_secs(8);

/// Returns the name of the means that contains the commands of tools. `None` before it was determined.
pub(crate) type ContainedBy = Arc<dyn Fn() -> Option<&'static str> + Send + Sync>;

/// True if a connection that is accepted now may be that of a command: one runs that can reach the service.
pub(crate) type CommandsAreNear = Arc<dyn Fn() -> bool + Send + Sync>;

/// The parts that the routes need.
#[derive(Clone)]
pub(crate) struct HttpShared {
    /// Finds the conversations.
    pub(crate) directory: Addr<DirectoryActor>,
    /// Keeps the workflows.
    pub(crate) workflows: Addr<WorkflowsActor>,
    /// The places for event streams.
    pub(crate) subscribers: Arc<Semaphore>,
    /// Number of places for event streams.
    pub(crate) max_subscribers: usize,
    /// The service's description, and the way in which it proves itself.
    pub(crate) about: Arc<ServiceAbout>,
    /// Bounds what is held of journals for clients of event streams.
    pub(crate) streams: ReadBudget,
    /// Bounds what is held of answers that may be large.
    pub(crate) answers: ReadBudget,
    /// Skills, templates and context files.
    pub(crate) guidance: GuidanceSources,
    /// True if conversations give the model the context files unless their settings differ.
    pub(crate) tells_context_files: bool,
    /// The time between two heartbeats of an event stream.
    pub(crate) heartbeat: Duration,
    /// The store of the files of prompts.
    pub(crate) attachments: Arc<dyn AttachmentStore>,
    /// The path of the state folder.
    pub(crate) home: Arc<Path>,
    /// The state folder.
    pub(crate) state: StateFolder,
    /// True while a request tries whether the disk takes a file: a disk that does not answer holds one thread, and not one
    /// for each request.
    pub(crate) tries_disk: Arc<AtomicBool>,
    /// The folder of conversations that name none.
    pub(crate) workspace: Arc<Path>,
    /// Lists the models.
    pub(crate) models: Recipient<ListModels>,
    /// Finds files by parts of their names.
    pub(crate) files: FileSearch,
    /// The rules of folders.
    pub(crate) rules: KeptRules,
    /// The tools that there are.
    pub(crate) tools: ToolShelf,
    /// The MCP servers.
    pub(crate) mcp: McpServers,
    /// The jobs in the background.
    pub(crate) jobs: Jobs,
    /// The outputs of commands that are kept.
    pub(crate) outputs: Outputs,
    /// Folders that are closed to commands.
    pub(crate) closed: Arc<[PathBuf]>,
    /// Secrets that no client is shown.
    pub(crate) redaction: Redaction,
    /// The names of the keys that conversations can choose.
    pub(crate) key_sources: Arc<[String]>,
    /// The means that contains the commands of tools.
    pub(crate) contained_by: ContainedBy,
    /// Asked for each connection.
    pub(crate) commands_are_near: CommandsAreNear,
    /// The time for which the API caches requests, which determines the price.
    pub(crate) kept_for: KeptFor,
    /// The prices of tokens.
    pub(crate) prices: Arc<Prices>,
}

/// The service's description of itself.
#[derive(Debug, Clone)]
pub(crate) struct ServiceAbout {
    /// The part that does not change while it runs; the numbers of clients and runs do.
    pub(crate) info: ServiceInfo,
    /// The key that proves that this service wrote `service.json`.
    pub(crate) proof: ProofKey,
}
