//! What a conversation is made of.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::follow::EventHandler;
use crate::directory::Seams;
use crate::guidance::{PromptTemplate, Skill};
use crate::journal::Journal;
use crate::tool::Tool;

/// What a conversation is made of. Only the configuration is needed, and of that only the model and
/// a way to it; whatever else is left as it is, the conversation does without.
#[derive(Clone)]
pub struct Options {
    /// The model and how it is asked.
    pub config: Config,
    /// The tools, in the order in which the model is told of them. [`harness_protocol::FullSettings::active_tools`] says
    /// which of them it is offered.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The folder that the conversation works in, unless its journal says another: the tools' relative
    /// paths start there. The process's own if left as it is.
    pub workspace: PathBuf,
    /// Follows the conversation as long as it lasts; [`super::Harness::subscribe`] adds others.
    pub handler: Option<Arc<dyn EventHandler>>,
    /// Keeps the conversation, which goes on from what is in it; in memory if none.
    pub journal: Option<Arc<dyn Journal>>,
    /// What is done by others than this crate: the way to the model, its keys, the system prompt,
    /// what is sent of the past, summaries, and where attachments are kept.
    pub seams: Seams,
    /// Named instructions, in place of those of [`Seams::guidance`] if there are any.
    pub skills: Vec<Skill>,
    /// Named prompts with places for arguments, in place of those of [`Seams::guidance`] if there
    /// are any.
    pub templates: Vec<PromptTemplate>,
}

impl Options {
    /// Only this: no tools, no handler, in memory.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            tools: Vec::new(),
            workspace: PathBuf::from("."),
            handler: None,
            journal: None,
            seams: Seams::default(),
            skills: Vec::new(),
            templates: Vec::new(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        f.debug_struct("Options")
            .field("config", &self.config)
            .field("tools", &tools)
            .field("workspace", &self.workspace)
            .field("has_handler", &self.handler.is_some())
            .field("has_journal", &self.journal.is_some())
            .field("skills", &self.skills)
            .field("templates", &self.templates)
            .finish_non_exhaustive()
    }
}
