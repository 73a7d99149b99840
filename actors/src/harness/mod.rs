//! One conversation as a Rust value: the actors, wired.

mod config;
mod error;
mod follow;
mod guidance;
mod inspect;
mod options;
mod settings;
mod wiring;

use std::fmt;
use std::sync::Arc;

use actix::prelude::*;
use harness_protocol::{Attachment, Queue};

use crate::attachment::{AttachmentStore, NewAttachment, keep_attachments};
use crate::broadcast::Attendance;
use crate::clock::Clock;
use crate::conversation::ConversationActor;
use crate::conversation::messages::{
    CancelRun, CompactConversation, Compacted, ContinueRun, QueueMessage, Resumption, SubmitPrompt,
    WaitForEnd, WithdrawMessages,
};
use crate::guidance::GuidanceShelf;
use crate::ids::{ConversationId, ItemId, RunId};
use crate::journal::{Header, Journal, MemoryJournal};
use crate::tool::{Tool, ToolShelf};

pub use config::{Config, ConfigError};
use follow::{HandlerActor, Handlers, Told};

pub use error::HarnessError;
pub use follow::{EventHandler, Subscription};
pub use inspect::Snapshot;
pub use options::Options;
pub use wiring::parts;

/// One conversation with a model. Lives on the actix system that it was made on; clones share
/// the conversation.
///
/// [`Self::prompt`], [`Self::continue_run`] and [`Self::retry`] return at the end of their run and
/// exclude each other. Everything else may be called while a run is going. Every future may be
/// dropped: what it asked for is done all the same, and a run goes on until [`Self::cancel`].
///
/// ```no_run
/// use harness_actors::{Config, Harness, standard_tools};
///
/// # actix::System::new().block_on(async {
/// let tools = standard_tools();
/// let harness = Harness::new(Config::new("the key of the API"), tools, None)?;
/// harness.prompt("What is in src?").await?;
/// for message in harness.messages().await? {
///     println!("{message}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// The same with a script in place of the model, so that it runs anywhere:
///
/// ```
/// use std::sync::Arc;
///
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Harness, Options};
///
/// # actix::System::new().block_on(async {
/// let model = ScriptedTransport::default();
/// let mut options = Options::new(Config::for_model("any"));
/// options.seams.transport = Some(Arc::new(model.clone()));
/// let harness = Harness::start(options)?;
/// model.push(ScriptedReply::text("Two files."));
/// harness.prompt("What is in src?").await?;
/// let messages = harness.messages().await?;
/// assert_eq!(messages[1]["content"][0]["text"], "Two files.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Harness {
    conversation: Addr<ConversationActor>,
    telling: Addr<HandlerActor>,
    handlers: Handlers,
    journal: Arc<dyn Journal>,
    guidance: GuidanceShelf,
    tools: ToolShelf,
    attachments: Arc<dyn AttachmentStore>,
}

impl Harness {
    /// Starts a conversation on this thread's arbiter, or goes on with that of the journal. It
    /// lasts as long as the value.
    ///
    /// # Errors
    /// A setting or tool that cannot work.
    pub fn start(options: Options) -> Result<Self, ConfigError> {
        let Options {
            config,
            tools,
            workspace,
            handler,
            journal,
            seams,
            skills,
            templates,
        } = options;
        let clock = Clock::system();
        let journal = journal.unwrap_or_else(|| {
            let header = Header::new(ConversationId::new("default"), clock.unix_millis());
            Arc::new(MemoryJournal::new(header))
        });
        let guidance = seams.guidance.clone();
        let attachments = Arc::clone(&seams.attachments);
        let parts = parts(
            config,
            tools,
            seams,
            workspace.into(),
            clock,
            Arbiter::current(),
        )?;
        guidance.change(|guidance| {
            if !skills.is_empty() {
                guidance.skills = skills;
            }
            if !templates.is_empty() {
                guidance.templates = templates;
            }
        });
        let handlers = Handlers::default();
        if let Some(handler) = handler {
            handlers.add(handler);
        }
        let telling = HandlerActor(handlers.clone()).start();
        let shown_to = telling.clone().recipient();
        let actor = parts.conversation(Arc::clone(&journal), Attendance::default(), shown_to);
        Ok(Self {
            conversation: actor.start(),
            telling,
            handlers,
            journal,
            guidance,
            tools: parts.tools,
            attachments,
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

    /// Goes on with the conversation of a journal, or begins it if the journal is empty; see
    /// [`Self::start`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::journal::{Header, JournalStore, JsonLinesStore};
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Clock, Config, ConversationId, Harness, Options};
    ///
    /// # actix::System::new().block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let home = folder.path();
    /// let clock = Clock::system();
    /// let header = Header::new(ConversationId::new("mine"), clock.unix_millis());
    /// let journal = JsonLinesStore::at(home, clock).open_or_new(header).await?;
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.seams.transport = Some(Arc::new(model.clone()));
    /// options.journal = Some(journal);
    ///
    /// let harness = Harness::start(options.clone())?;
    /// model.push(ScriptedReply::text("Noted."));
    /// harness.prompt("The word is blue.").await?;
    /// drop(harness);
    ///
    /// // Later, also in another process: it goes on where it was.
    /// let harness = Harness::start(options)?;
    /// assert_eq!(harness.messages().await?.len(), 2);
    /// model.push(ScriptedReply::text("Blue."));
    /// harness.prompt("What was the word?").await?;
    /// assert_eq!(model.requests()[1]["messages"].as_array().unwrap().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
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

    /// The conversation itself, for what this value has no method for: it takes the messages of
    /// [`crate::conversation::messages`].
    #[must_use]
    pub fn conversation(&self) -> &Addr<ConversationActor> {
        &self.conversation
    }

    /// What the conversation is kept in.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Submits a prompt and waits for the end of its run, and until the handlers were told of it. A
    /// run that reached a limit ended well.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while a run is going; a blank prompt, a cancel, or a model that gave
    /// no reply.
    pub async fn prompt(&self, content: &str) -> Result<(), HarnessError> {
        self.prompt_with(content, vec![]).await
    }

    /// The same, with files.
    ///
    /// # Errors
    /// As [`Self::prompt`], or when a file cannot go with a prompt.
    pub async fn prompt_with(
        &self,
        content: &str,
        files: Vec<NewAttachment>,
    ) -> Result<(), HarnessError> {
        let prompt = SubmitPrompt {
            content: content.to_owned(),
            attachments: self.keep(files).await?,
            ..SubmitPrompt::default()
        };
        let run = self.conversation.send(prompt).await??;
        self.end_of(run).await
    }

    /// Goes on from the past as it is, and waits for the end of the run: from a prompt or results
    /// without a reply, or from what is queued.
    ///
    /// # Errors
    /// As [`Self::prompt`]; [`HarnessError::Empty`] or [`HarnessError::Replied`] if there is
    /// nothing to go on from.
    pub async fn continue_run(&self) -> Result<(), HarnessError> {
        self.resume(Resumption::Continue).await
    }

    /// The same without the last reply, if that failed or was cancelled: the model is asked for
    /// another one in its place.
    ///
    /// # Errors
    /// As [`Self::continue_run`].
    pub async fn retry(&self) -> Result<(), HarnessError> {
        self.resume(Resumption::Retry).await
    }

    async fn resume(&self, resumption: Resumption) -> Result<(), HarnessError> {
        let order = ContinueRun {
            resumption,
            by: None,
        };
        let run = self.conversation.send(order).await??;
        self.end_of(run).await
    }

    async fn end_of(&self, run: RunId) -> Result<(), HarnessError> {
        let outcome = self.conversation.send(WaitForEnd { run }).await?;
        self.told().await?;
        error::ended(outcome)
    }

    /// Waits until the handlers were told of all that has happened.
    async fn told(&self) -> Result<(), HarnessError> {
        Ok(self.telling.send(Told).await?)
    }

    /// Queues a message that is said before the next model request of the run, behind the results
    /// of the tools. While no run is going it waits for the next one. Names it in the queue.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Config, Harness, Options};
    ///
    /// # actix::System::new().block_on(async {
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.seams.transport = Some(Arc::new(model.clone()));
    /// let harness = Harness::start(options)?;
    /// # let (reached, arrived) = tokio::sync::oneshot::channel();
    /// # let (open, opened) = tokio::sync::oneshot::channel::<()>();
    /// # model.push(ScriptedReply::text("I begin.").after(async {
    /// #     drop(reached.send(()));
    /// #     drop(opened.await);
    /// # }));
    /// # model.push(ScriptedReply::text("Without the tests."));
    /// let run = harness.clone();
    /// let run = actix::spawn(async move { run.prompt("Read everything.").await });
    /// # arrived.await?;
    /// // Meanwhile, while the model replies:
    /// harness.steer("Leave out the tests.").await?;
    /// # drop(open);
    /// run.await??;
    /// let said = model.requests()[1]["messages"][2]["content"][0]["text"].clone();
    /// assert_eq!(said, "Leave out the tests.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// A blank message, or queues that are full.
    pub async fn steer(&self, content: &str) -> Result<ItemId, HarnessError> {
        self.steer_with(content, vec![]).await
    }

    /// The same, with files.
    ///
    /// # Errors
    /// As [`Self::steer`], or when a file cannot go with a message.
    pub async fn steer_with(
        &self,
        content: &str,
        files: Vec<NewAttachment>,
    ) -> Result<ItemId, HarnessError> {
        self.enqueue(Queue::Steer, content, files).await
    }

    /// Queues a message that is said when the run would otherwise end, so that it goes on. While no
    /// run is going it waits for the next one. Names it in the queue.
    ///
    /// # Errors
    /// As [`Self::steer`].
    pub async fn follow_up(&self, content: &str) -> Result<ItemId, HarnessError> {
        self.follow_up_with(content, vec![]).await
    }

    /// The same, with files.
    ///
    /// # Errors
    /// As [`Self::steer_with`].
    pub async fn follow_up_with(
        &self,
        content: &str,
        files: Vec<NewAttachment>,
    ) -> Result<ItemId, HarnessError> {
        self.enqueue(Queue::FollowUp, content, files).await
    }

    async fn enqueue(
        &self,
        queue: Queue,
        content: &str,
        files: Vec<NewAttachment>,
    ) -> Result<ItemId, HarnessError> {
        let message = QueueMessage {
            queue,
            content: content.to_owned(),
            key: None,
            by: None,
            attachments: self.keep(files).await?,
        };
        Ok(self.conversation.send(message).await??)
    }

    /// Withdraws a message that waits, or all of them; tells which ones waited.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub async fn withdraw(&self, item: Option<ItemId>) -> Result<Vec<ItemId>, HarnessError> {
        let order = WithdrawMessages { item, by: None };
        Ok(self.conversation.send(order).await??)
    }

    /// Cancels the run that is going, or the compaction, and waits until it has stopped; harmless
    /// when idle. Tells whether there was one. What waits in the queues goes on waiting.
    pub async fn cancel(&self) -> bool {
        let cancelled = self.conversation.send(CancelRun::default()).await;
        cancelled.unwrap_or(false)
    }

    /// Another name of [`Self::cancel`].
    pub async fn abort(&self) -> bool {
        self.cancel().await
    }

    /// Replaces the past but for its end by a summary, for good, if it is so long that it would be
    /// summarized in the next run. Tells whether that was done.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while a run is going; a cancel; or a summary that failed.
    pub async fn compact(&self) -> Result<Compacted, HarnessError> {
        self.compact_with(false, None).await
    }

    /// The same; with `force` however short the past is. The instructions say what the summary is to
    /// look at above all.
    ///
    /// # Errors
    /// As [`Self::compact`].
    pub async fn compact_with(
        &self,
        force: bool,
        instructions: Option<&str>,
    ) -> Result<Compacted, HarnessError> {
        let order = CompactConversation {
            force,
            instructions: instructions.map(str::to_owned),
            by: None,
        };
        let compacted = self.conversation.send(order).await?;
        self.told().await?;
        Ok(compacted?)
    }

    /// Tells a handler of everything from now on, until what is returned is dropped. Handlers are
    /// told one after the other, in the order in which they subscribed.
    pub fn subscribe(&self, handler: Arc<dyn EventHandler>) -> Subscription {
        Subscription::new(self.handlers.clone(), handler)
    }

    async fn keep(&self, files: Vec<NewAttachment>) -> Result<Vec<Attachment>, HarnessError> {
        if files.is_empty() {
            return Ok(vec![]);
        }
        Ok(keep_attachments(&*self.attachments, files).await?)
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conversation = self.journal.header().conversation;
        f.debug_tuple("Harness").field(&conversation).finish()
    }
}

#[cfg(test)]
mod tests;
