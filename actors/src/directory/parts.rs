//! The parts that all conversations of a service share, and how the actors of one are started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::conversation::{ConversationPlace, OpenedConversation};
use crate::approval::{Approver, DenyAll, RuleBook};
use crate::attachment::{AttachmentStore, MemoryAttachments};
use crate::broadcast::messages::Publish;
use crate::broadcast::{Attendance, BroadcastActor, Now};
use crate::budget::{NoPrices, PriceList};
use crate::clock::Clock;
use crate::compaction::Summarizer;
use crate::conversation::{
    ConversationActor, Defaults, Downstream, Glance, INTERRUPTED, Planner, Projection,
    SystemPromptBuilder, state,
};
use crate::guidance::GuidanceShelf;
use crate::journal::Journal;
use crate::model::messages::{CancelModelCall, DescribeModel, ListModels, StartModelCall};
use crate::model::{KeyResolver, Transport};
use crate::secret::Redaction;
use crate::tool::messages::{CancelTool, RunTool};
use crate::tool::{BeforeStore, FileUndo, FolderShelves, Jobs, Launching, Outputs, ToolShelf};
use actix::prelude::*;

/// Distance between the numbers of two actors' first calls.
const CALLS_OF_A_LIFE: u64 = 1_000_000;

/// Finds the guidance of a folder. It must not wait for anything.
pub type GuidanceOf = Arc<dyn Fn(&Path) -> GuidanceShelf + Send + Sync>;

/// Extension points: code that users of this crate put in the place of the service's own. All of them are left as
/// they are by [`Self::default`]; a field or a method sets one.
#[derive(Clone)]
#[non_exhaustive]
pub struct Extensions {
    /// The context files and skills that the model gets besides the system prompt.
    pub guidance: GuidanceShelf,
    /// The same for a conversation in that folder, where it is not the same for all.
    pub guidance_of: Option<GuidanceOf>,
    /// The store of the contents of attachments.
    pub attachments: Arc<dyn AttachmentStore>,
    /// Carries requests, in place of HTTP.
    pub transport: Option<Arc<dyn Transport>>,
    /// Gives a key before every call.
    pub keys: Option<Arc<dyn KeyResolver>>,
    /// Builds the system prompt before every turn, in place of the static one.
    pub system_prompt: Option<Arc<dyn SystemPromptBuilder>>,
    /// Changes what is sent to the model of the past.
    pub projection: Option<Arc<dyn Projection>>,
    /// The prices that spending limits are held with.
    pub prices: Arc<dyn PriceList>,
    /// Writes summaries, in place of the model.
    pub summarizer: Option<Arc<dyn Summarizer>>,
    /// Takes secrets out of results of tools and answers of the API, besides the credential and the
    /// configuration's secrets. More can be added to it at any time.
    pub redaction: Redaction,
    /// Answers what tools ask before they change something; without one they are denied.
    pub approver: Arc<dyn Approver>,
    /// The rules of folders, for what tools may change.
    pub rules: RuleBook,
    /// Keeps the contents of files before tools change them; nothing is taken back without it.
    pub before: Option<BeforeStore>,
    /// Starts programs for tools; without one, tools start them directly.
    pub launcher: Launching,
    /// Keeps the outputs of commands that are too long to be shown.
    pub outputs: Option<Outputs>,
    /// The jobs in the background: the same that the tools have.
    pub jobs: Jobs,
    /// Files and folders that are closed to tools, whatever name leads there.
    pub closed: Arc<[PathBuf]>,
    /// The tools that there are only in some folders.
    pub folder_tools: FolderShelves,
}

impl Default for Extensions {
    fn default() -> Self {
        Self {
            guidance: GuidanceShelf::default(),
            guidance_of: None,
            attachments: Arc::new(MemoryAttachments::default()),
            transport: None,
            keys: None,
            system_prompt: None,
            projection: None,
            prices: Arc::new(NoPrices),
            summarizer: None,
            redaction: Redaction::default(),
            approver: Arc::new(DenyAll),
            rules: RuleBook::default(),
            before: None,
            outputs: None,
            launcher: Launching::default(),
            jobs: Jobs::default(),
            closed: Arc::default(),
            folder_tools: FolderShelves::default(),
        }
    }
}

impl Extensions {
    /// The same with another way to the model.
    #[must_use]
    pub fn with_transport(self, transport: impl Transport) -> Self {
        Self {
            transport: Some(Arc::new(transport)),
            ..self
        }
    }

    /// The same, with a key that is found before every call.
    #[must_use]
    pub fn with_keys(self, keys: impl KeyResolver) -> Self {
        Self {
            keys: Some(Arc::new(keys)),
            ..self
        }
    }

    /// The same, with a system prompt that is built before every turn.
    #[must_use]
    pub fn with_system_prompt(self, builder: impl SystemPromptBuilder) -> Self {
        Self {
            system_prompt: Some(Arc::new(builder)),
            ..self
        }
    }

    /// The same, with another past for the model.
    #[must_use]
    pub fn with_projection(self, projection: impl Projection) -> Self {
        Self {
            projection: Some(Arc::new(projection)),
            ..self
        }
    }

    /// The same, with another writer of summaries.
    #[must_use]
    pub fn with_summarizer(self, summarizer: impl Summarizer) -> Self {
        Self {
            summarizer: Some(Arc::new(summarizer)),
            ..self
        }
    }

    /// The same, with an answer to what tools ask.
    #[must_use]
    pub fn with_approver(self, approver: impl Approver) -> Self {
        Self {
            approver: Arc::new(approver),
            ..self
        }
    }

    /// The same, with another place for the contents of files that go with prompts.
    #[must_use]
    pub fn with_attachments(self, attachments: Arc<dyn AttachmentStore>) -> Self {
        Self {
            attachments,
            ..self
        }
    }

    /// The guidance of a conversation in that folder.
    fn guidance_of(&self, folder: &Path) -> GuidanceShelf {
        match &self.guidance_of {
            None => self.guidance.clone(),
            Some(of) => of(folder),
        }
    }
}

/// The parts that all conversations share.
#[derive(Clone)]
pub struct DirectoryParts {
    /// Asks the model.
    pub start_model_call: Recipient<StartModelCall>,
    /// Drops a call of the model.
    pub cancel_model_call: Recipient<CancelModelCall>,
    /// Runs tools.
    pub run_tool: Recipient<RunTool>,
    /// Stops a tool.
    pub cancel_tool: Recipient<CancelTool>,
    /// Looks up what a model can do.
    pub describe_model: Recipient<DescribeModel>,
    /// The tools.
    pub tools: ToolShelf,
    /// The folder of conversations that name none.
    pub workspace: Arc<Path>,
    /// The values of a conversation without settings.
    pub defaults: Arc<Defaults>,
    /// Lists what models there are.
    pub list_models: Recipient<ListModels>,
    /// Other code that takes the place of the service's own.
    pub extensions: Extensions,
    /// Number of actors of conversations that were started.
    pub lives: Arc<AtomicU64>,
    /// Tells the time.
    pub clock: Clock,
    /// The thread that broadcasters run on, so that fanning out to many clients never delays the
    /// reading of a reply.
    pub broadcasting: ArbiterHandle,
}

impl DirectoryParts {
    /// Starts the actors of a conversation on this thread's arbiter.
    #[must_use]
    pub fn start(
        &self,
        journal: Arc<dyn Journal>,
        glance: &Glance,
        place: ConversationPlace,
    ) -> OpenedConversation {
        let attendance = Attendance::default();
        let broadcaster = BroadcastActor::new(
            journal.header().conversation,
            glance.position,
            now(glance),
            attendance.clone(),
        )
        .showing(glance.ledger.unfinished());
        let broadcast = BroadcastActor::start_in_arbiter(&self.broadcasting, move |_| broadcaster);
        let actor = self
            .conversation(
                Arc::clone(&journal),
                attendance.clone(),
                broadcast.clone().recipient(),
            )
            .start();
        OpenedConversation {
            actor,
            broadcast,
            journal,
            attendance,
            place,
        }
    }

    /// The tools of conversations in a folder.
    fn tools_in(&self, folder: &Path) -> ToolShelf {
        let own = self.extensions.folder_tools.get(folder);
        own.behind(self.tools.clone())
    }

    /// The actor of a conversation that publishes there.
    pub(crate) fn conversation(
        &self,
        journal: Arc<dyn Journal>,
        attendance: Attendance,
        publish: Recipient<Publish>,
    ) -> ConversationActor {
        let header = journal.header();
        let folder = header
            .workspace
            .map_or_else(|| Arc::clone(&self.workspace), |own| Arc::from(own.folder));
        let planner = Planner {
            defaults: Arc::clone(&self.defaults),
            made_with: header.settings,
            tools: self.tools_in(&folder),
            rules: self.extensions.rules.clone(),
            guidance: self.extensions.guidance_of(&folder),
            folder,
            home: std::env::var_os("HOME").map(|home| PathBuf::from(home).into()),
            system_prompt: self.extensions.system_prompt.clone(),
            projection: self.extensions.projection.clone(),
            prices: Arc::clone(&self.extensions.prices),
        };
        let downstream = Downstream {
            start_model_call: self.start_model_call.clone(),
            cancel_model_call: self.cancel_model_call.clone(),
            run_tool: self.run_tool.clone(),
            cancel_tool: self.cancel_tool.clone(),
            publish,
            journal,
            describe_model: self.describe_model.clone(),
            summarizer: self.extensions.summarizer.clone(),
            approver: Arc::clone(&self.extensions.approver),
            jobs: self.extensions.jobs.clone(),
            undo: FileUndo {
                before: self.extensions.before.clone(),
                closed: Arc::clone(&self.extensions.closed),
                redaction: self.extensions.redaction.clone(),
            },
        };
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let calls = life * CALLS_OF_A_LIFE;
        ConversationActor::new(planner, downstream, self.clock, attendance, calls)
    }
}

/// The first event for clients that attach before anything happens, from the end of a journal.
fn now(glance: &Glance) -> Now {
    let status = &glance.ledger.resting_status();
    let interrupted = glance.ledger.run().is_some();
    let (state, message) = if let Some(approval) = glance.ledger.open_approval() {
        (
            harness_protocol::ActivityState::WaitingApproval,
            approval.tool,
        )
    } else if interrupted {
        (
            harness_protocol::ActivityState::Error,
            INTERRUPTED.to_owned(),
        )
    } else {
        (state(status.activity), status.message.clone())
    };
    Now {
        state,
        message,
        timestamp: glance.active_at / 1000,
        run_id: None,
        interrupted,
    }
}
