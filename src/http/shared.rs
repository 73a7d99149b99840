//! What the handlers share: the actors that they ask, and what bounds their answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, Recipient};
use harness_actors::broadcast::ReadBudget;
use harness_actors::directory::DirectoryActor;
use harness_actors::model::messages::ListModels;
use harness_actors::tool::{Jobs, Outputs, ToolShelf};
use harness_actors::{AttachmentStore, Redaction};
use harness_protocol::ServiceInfo;
use tokio::sync::Semaphore;

use crate::guidance::GuidanceSources;
use crate::prices::KeptFor;
use crate::proof::ProofKey;
use crate::rules::KeptRules;

/// How long a handler waits for an actor. Longer than any cancel takes.
pub(super) const HANDLER_TIMEOUT: Duration = Duration::from_secs(8);

/// Tells the name of what contains the commands of tools; none before it was found.
pub(crate) type ContainedBy = Arc<dyn Fn() -> Option<&'static str> + Send + Sync>;

/// What the routes need.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Finds the conversations.
    pub(crate) directory: Addr<DirectoryActor>,
    /// The places for event streams.
    pub(crate) subscribers: Arc<Semaphore>,
    /// How many there are.
    pub(crate) max_subscribers: usize,
    /// What the service is, and how it proves it.
    pub(crate) about: Arc<About>,
    /// Bounds what is held of journals for clients of event streams.
    pub(crate) streams: ReadBudget,
    /// Bounds what is held of answers that may be large.
    pub(crate) answers: ReadBudget,
    /// Skills, templates and context files.
    pub(crate) guidance: GuidanceSources,
    /// Whether a conversation that says nothing else is told the context files.
    pub(crate) tells_context_files: bool,
    /// The time between two heartbeats of an event stream.
    pub(crate) heartbeat: Duration,
    /// Where the files of prompts are kept.
    pub(crate) attachments: Arc<dyn AttachmentStore>,
    /// The state folder.
    pub(crate) home: Arc<Path>,
    /// The folder of those conversations that have none of their own.
    pub(crate) workspace: Arc<Path>,
    /// Lists the models.
    pub(crate) models: Recipient<ListModels>,
    /// The rules of folders.
    pub(crate) rules: KeptRules,
    /// The tools that there are.
    pub(crate) tools: ToolShelf,
    /// What runs in the background.
    pub(crate) jobs: Jobs,
    /// The outputs of commands that are kept.
    pub(crate) outputs: Outputs,
    /// What is shown to nobody.
    pub(crate) redaction: Redaction,
    /// The names of the keys that conversations can choose.
    pub(crate) key_sources: Arc<[String]>,
    /// What contains the commands of tools.
    pub(crate) contained_by: ContainedBy,
    /// How long the API is asked to remember requests, which has its price.
    pub(crate) kept_for: KeptFor,
}

/// What the service can tell of itself.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// What does not change while it runs; how many clients and runs there are does.
    pub(crate) info: ServiceInfo,
    /// By what it proves that it wrote `service.json`.
    pub(crate) proof: ProofKey,
}
