//! The parts that all workflows of a service share.

use std::path::PathBuf;
use std::sync::Arc;

use actix::{ArbiterHandle, Recipient};

use super::files::WorkflowFiles;
use super::room::WorkSlots;
use crate::budget::PriceList;
use crate::clock::Clock;
use crate::directory::messages::{CreateConversation, OpenConversation};
use crate::journal::JournalStore;
use crate::secret::Redaction;
use crate::tool::Launcher;
use crate::workflow::hooks::Hooks;
use crate::workflow::machine::ProviderPatience;

/// Finds and makes conversations.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Opens one.
    pub open: Recipient<OpenConversation>,
    /// Makes one.
    pub create: Recipient<CreateConversation>,
}

/// The parts that all workflows of a service share.
#[derive(Clone)]
pub struct WorkflowParts {
    /// Their journals.
    pub store: Arc<dyn JournalStore>,
    /// Finds conversations.
    pub directory: Directory,
    /// Contains git and checks, and starts them.
    pub launcher: Arc<dyn Launcher>,
    /// Tells the time.
    pub clock: Clock,
    /// The secrets that no output may show.
    pub redaction: Redaction,
    /// The places out of the sight of checks.
    pub closed: Arc<[PathBuf]>,
    /// Manifests and outputs.
    pub files: WorkflowFiles,
    /// The folder of worktrees, which is not in the state folder.
    pub worktrees: PathBuf,
    /// The state folder, which names the owner of a repository in errors for others.
    pub home: PathBuf,
    /// The thread that broadcasters run on.
    pub broadcasting: ArbiterHandle,
    /// Limit of their waits for a provider that does not answer.
    pub patience: ProviderPatience,
    /// True if the workflows that worked when the service ended continue by themselves.
    pub auto_resume: bool,
    /// Limit of workflows that work at the same time.
    pub room: WorkSlots,
    /// The prices of tokens.
    pub prices: Arc<dyn PriceList>,
    /// True if another model may answer in their conversations where the model declines, by itself.
    pub falls_back: bool,
    /// The decisions of the program that embeds the workflows; the service has none.
    pub hooks: Hooks,
}
