//! The parts of a conversation.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::follow::EventHandler;
use crate::directory::Extensions;
use crate::guidance::{PromptTemplate, Skill};
use crate::journal::Journal;
use crate::tool::Tool;

/// The parts of a conversation. Only the configuration is needed, and of that only the model and a way to it; all other
/// parts are optional.
///
/// ```
/// use harness_actors::model::ScriptedTransport;
/// use harness_actors::{Config, Extensions, Options, standard_tools};
///
/// let options = Options::new(Config::for_model("any"))
///     .with_tools(standard_tools())
///     .with_workspace("/tmp")
///     .with_extensions(Extensions::default().with_transport(ScriptedTransport::default()));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The model and how it is asked.
    pub config: Config,
    /// The tools, in the order in which the model is offered them. [`harness_protocol::FullSettings::active_tools`]
    /// selects among them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The folder that the conversation works in, unless its journal names another: the tools' relative paths start
    /// there. The process's own folder by default.
    pub workspace: PathBuf,
    /// Follows the conversation as long as it lasts, without a guard to keep; [`super::Harness::subscribe`] adds others
    /// for a while.
    pub handler: Option<Arc<dyn EventHandler>>,
    /// The journal of the conversation, which continues from its records. `None` keeps it in memory.
    pub journal: Option<Arc<dyn Journal>>,
    /// The parts that other code than this crate does: the way to the model, its keys, the system
    /// prompt, the past that is sent, summaries, and where attachments are kept.
    pub extensions: Extensions,
    /// Named instructions, in place of those of [`Extensions::guidance`] if there are any.
    pub skills: Vec<Skill>,
    /// Named prompts with places for arguments, in place of those of [`Extensions::guidance`] if there
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
            extensions: Extensions::default(),
            skills: Vec::new(),
            templates: Vec::new(),
        }
    }

    /// The same with these tools.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools, ..self }
    }

    /// The same in that folder.
    #[must_use]
    pub fn with_workspace(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            workspace: folder.into(),
            ..self
        }
    }

    /// The same with a handler that follows the conversation as long as it lasts.
    #[must_use]
    pub fn with_handler(self, handler: Arc<dyn EventHandler>) -> Self {
        Self {
            handler: Some(handler),
            ..self
        }
    }

    /// The same, kept in that journal.
    #[must_use]
    pub fn with_journal(self, journal: Arc<dyn Journal>) -> Self {
        Self {
            journal: Some(journal),
            ..self
        }
    }

    /// The same with other code in the crate's place.
    #[must_use]
    pub fn with_extensions(self, extensions: Extensions) -> Self {
        Self { extensions, ..self }
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
