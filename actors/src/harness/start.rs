//! Starting a conversation.

use std::sync::Arc;

use actix::prelude::*;

use super::follow::{Followers, FollowersActor};
use super::own_thread::OwnThread;
use super::{Config, ConfigError, EventHandler, Harness, Options, parts};
use crate::broadcast::Attendance;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::journal::{Header, Journal, MemoryJournal};
use crate::tool::Tool;

impl Harness {
    /// Starts a conversation, or continues that of the journal. It lasts as long as the value.
    ///
    /// It needs neither an actix system nor a runtime here: it starts a thread that has both, on which all parts of the
    /// options run, for example tools and handlers.
    ///
    /// # Errors
    /// A setting or tool that cannot work, or no thread to be had.
    pub fn start(options: Options) -> Result<Self, ConfigError> {
        let Options {
            config,
            tools,
            workspace,
            handler,
            journal,
            extensions,
            skills,
            templates,
        } = options;
        let clock = Clock::system();
        let journal = journal.unwrap_or_else(|| {
            let header = Header::new(ConversationId::new("default"), clock.unix_millis());
            Arc::new(MemoryJournal::new(header))
        });
        let guidance = extensions.guidance.clone();
        let attachments = Arc::clone(&extensions.attachments);
        let followers = Followers::default();
        if let Some(handler) = handler {
            followers.keep_handler(handler);
        }
        let (told, kept) = (followers.clone(), Arc::clone(&journal));
        let (thread, started) =
            OwnThread::start("conversation", move |arbiter| -> Result<_, ConfigError> {
                let parts = parts(config, tools, extensions, workspace.into(), clock, arbiter)?;
                let telling = FollowersActor(told).start();
                let shown_to = telling.clone().recipient();
                let actor = parts.conversation(kept, Attendance::default(), shown_to);
                Ok((actor.start(), telling, parts.tools))
            })
            .map_err(|error| ConfigError::NoThread {
                reason: error.to_string(),
            })?;
        let (conversation, telling, tools) = started?;
        guidance.change(|guidance| {
            if !skills.is_empty() {
                guidance.skills = skills;
            }
            if !templates.is_empty() {
                guidance.templates = templates;
            }
        });
        Ok(Self {
            conversation,
            telling,
            followers,
            journal,
            guidance,
            tools,
            attachments,
            thread: Arc::new(thread),
        })
    }

    /// Starts a new conversation in memory; see [`Self::start`]. Without a handler it runs
    /// silently.
    ///
    /// # Errors
    /// A setting or tool that cannot work.
    pub fn new(
        config: Config,
        tools: Vec<Arc<dyn Tool>>,
        handler: Option<Arc<dyn EventHandler>>,
    ) -> Result<Self, ConfigError> {
        Self::start(Options {
            tools,
            handler,
            ..Options::new(config)
        })
    }

    /// Continues the conversation of a journal, or begins it if the journal is empty; see [`Self::start`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::journal::{Header, JournalStore, JsonLinesStore};
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Clock, Config, ConversationId, Harness, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let home = folder.path();
    /// let clock = Clock::system();
    /// let header = Header::new(ConversationId::new("mine"), clock.unix_millis());
    /// let journal = JsonLinesStore::at(home, clock).open_or_new(header).await?;
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.extensions.transport = Some(Arc::new(model.clone()));
    /// options.journal = Some(journal);
    ///
    /// let harness = Harness::start(options.clone())?;
    /// model.push(ScriptedReply::text("Noted."));
    /// harness.prompt("The word is blue.").await?;
    /// drop(harness);
    ///
    /// // Later, also in another process: it continues from its last record.
    /// let harness = Harness::start(options)?;
    /// assert_eq!(harness.messages().await?.len(), 2);
    /// model.push(ScriptedReply::text("Blue."));
    /// harness.prompt("What was the word?").await?;
    /// assert_eq!(model.requests()[1]["messages"].as_array().unwrap().len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A setting or tool that cannot work.
    pub fn with_journal(
        config: Config,
        tools: Vec<Arc<dyn Tool>>,
        handler: Option<Arc<dyn EventHandler>>,
        journal: Arc<dyn Journal>,
    ) -> Result<Self, ConfigError> {
        Self::start(Options {
            tools,
            handler,
            journal: Some(journal),
            ..Options::new(config)
        })
    }
}
