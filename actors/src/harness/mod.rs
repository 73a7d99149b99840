//! One conversation as a Rust value: the actors, wired.

mod config;
mod error;
mod events;
mod follow;
mod guidance;
mod inspect;
mod message;
mod options;
mod own_thread;
mod reply;
mod settings;
mod start;
mod wiring;
mod workflow;

use std::fmt;
use std::sync::Arc;

use actix::prelude::*;
use harness_protocol::{Attachment, Queue, RunRules};

use crate::attachment::{AttachmentStore, NewAttachment, keep_attachments};
use crate::conversation::ConversationActor;
use crate::conversation::messages::{
    CancelRun, CompactConversation, Compacted, ContinueRun, QueueMessage, Resumption, SubmitPrompt,
    WaitForEnd, WithdrawMessages,
};
use crate::guidance::GuidanceShelf;
use crate::ids::{ItemId, RunId};
use crate::journal::Journal;
use crate::tool::ToolShelf;

use follow::{AwaitDelivery, Followers, FollowersActor};
use own_thread::OwnThread;
use reply::Gathering;

pub use config::{Config, ConfigError};
pub use error::{Cause, HarnessError};
pub use events::EventStream;
pub use follow::{EventHandler, Subscription};
pub use inspect::Snapshot;
pub use message::{Content, Message, Role};
pub use options::Options;
pub use reply::{Reply, ReplyOutcome};
pub use wiring::parts;
pub use workflow::{
    FeatureRequest, InitializerRequest, InitializerResult, IterationReport, RunPolicy,
    RuntimeError, RuntimeRunOutcome, RuntimeRunRequest, TaskIterationRequest, TaskIterationResult,
    WorkflowBuilder, WorkflowPlan, WorkflowRuntime,
};

/// One conversation with a model. Its actors run on a separate thread, so it is made and used from any runtime, and the
/// thread ends with the last clone; clones share the conversation.
///
/// [`Self::prompt`], [`Self::continue_run`] and [`Self::retry`] return at the end of their run and exclude each other.
/// Everything else may be called while a run is in progress. Every future may be dropped: its order is carried out all
/// the same, and a run continues until [`Self::cancel`].
///
/// ```no_run
/// use harness_actors::{Config, Harness, standard_tools};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let harness = Harness::new(Config::new("the key of the API"), standard_tools(), None)?;
///     let reply = harness.prompt("What is in src?").await?;
///     println!("{}", reply.text);
///     if let Some(remark) = reply.outcome.remark() {
///         println!("It is not done: {remark}");
///     }
///     Ok(())
/// }
/// ```
///
/// The same with a script in place of the model, so that it runs anywhere, with its events in progress:
///
/// ```
/// use futures_util::StreamExt;
/// use harness_actors::model::{ScriptedReply, ScriptedTransport};
/// use harness_actors::{Config, Extensions, Harness, Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedTransport::default();
/// let extensions = Extensions::default().with_transport(model.clone());
/// let options = Options::new(Config::for_model("any")).with_extensions(extensions);
/// let harness = Harness::start(options)?;
/// model.push(ScriptedReply::text("Two files."));
///
/// let mut events = harness.events();
/// let mut run = std::pin::pin!(harness.prompt("What is in src?"));
/// let reply = loop {
///     tokio::select! {
///         reply = &mut run => break reply?,
///         Some(event) = events.next() => println!("{}", event.type_name()),
///     }
/// };
/// assert_eq!(reply.text, "Two files.");
/// assert_eq!(harness.messages().await?[1].text(), "Two files.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Harness {
    conversation: Addr<ConversationActor>,
    telling: Addr<FollowersActor>,
    followers: Followers,
    journal: Arc<dyn Journal>,
    guidance: GuidanceShelf,
    tools: ToolShelf,
    attachments: Arc<dyn AttachmentStore>,
    /// The thread of the actors; it ends with the last clone.
    thread: Arc<OwnThread>,
}

impl Harness {
    /// The conversation itself, for what this value has no method for: it takes the messages of
    /// [`crate::conversation::messages`].
    #[must_use]
    pub fn conversation(&self) -> &Addr<ConversationActor> {
        &self.conversation
    }

    /// The journal of the conversation.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Submits a prompt and waits for the end of its run, and until the handlers have received it. A run that reached a
    /// limit ended well; [`Reply::outcome`] names the limit.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while a run is going; a blank prompt, a cancel, or a model that gave
    /// no reply.
    pub async fn prompt(&self, content: &str) -> Result<Reply, HarnessError> {
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
    ) -> Result<Reply, HarnessError> {
        let prompt = SubmitPrompt {
            content: content.to_owned(),
            attachments: self.keep(files).await?,
            ..SubmitPrompt::default()
        };
        let gathering = Gathering::begin(&self.followers);
        let run = self.conversation.send(prompt).await??;
        self.end_of(run, &gathering).await
    }

    /// Continues from the present past, and waits for the end of the run: from a prompt or results without a reply, or
    /// from the queued messages.
    ///
    /// # Errors
    /// As [`Self::prompt`]; [`HarnessError::Empty`] or [`HarnessError::Replied`] if there is nothing to continue.
    pub async fn continue_run(&self) -> Result<Reply, HarnessError> {
        self.resume(Resumption::Continue).await
    }

    /// The same without the last reply, if that failed or was cancelled: the model is asked for
    /// another one in its place.
    ///
    /// # Errors
    /// As [`Self::continue_run`].
    pub async fn retry(&self) -> Result<Reply, HarnessError> {
        self.resume(Resumption::Retry).await
    }

    async fn resume(&self, resumption: Resumption) -> Result<Reply, HarnessError> {
        let order = ContinueRun {
            resumption,
            by: None,
            rules: RunRules::default(),
            spending_limit_micro_usd: None,
        };
        let gathering = Gathering::begin(&self.followers);
        let run = self.conversation.send(order).await??;
        self.end_of(run, &gathering).await
    }

    async fn end_of(&self, run: RunId, gathering: &Gathering) -> Result<Reply, HarnessError> {
        let outcome = self.conversation.send(WaitForEnd { run }).await?;
        self.wait_for_handlers().await?;
        gathering.reply(run, outcome)
    }

    /// Waits until the handlers have received all events so far.
    async fn wait_for_handlers(&self) -> Result<(), HarnessError> {
        Ok(self.telling.send(AwaitDelivery).await?)
    }

    /// Queues a message that is sent before the next model request of the run, after the results of the tools. Without
    /// a run in progress it waits for the next one. Returns its name in the queue.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Config, Harness, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.extensions.transport = Some(Arc::new(model.clone()));
    /// let harness = Harness::start(options)?;
    /// # let (reached, arrived) = tokio::sync::oneshot::channel();
    /// # let (open, opened) = tokio::sync::oneshot::channel::<()>();
    /// # model.push(ScriptedReply::text("I begin.").after(async {
    /// #     drop(reached.send(()));
    /// #     drop(opened.await);
    /// # }));
    /// # model.push(ScriptedReply::text("Without the tests."));
    /// let run = harness.clone();
    /// let run = tokio::spawn(async move { run.prompt("Read everything.").await });
    /// # arrived.await?;
    /// // Meanwhile, while the model replies:
    /// harness.steer("Leave out the tests.").await?;
    /// # drop(open);
    /// run.await??;
    /// let said = model.requests()[1]["messages"][2]["content"][0]["text"].clone();
    /// assert_eq!(said, "Leave out the tests.");
    /// # Ok(())
    /// # }
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

    /// Queues a message that is sent when the run would otherwise end, so that it continues. Without a run in progress
    /// it waits for the next one. Returns its name in the queue.
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

    /// Withdraws a queued message, or all of them. Returns those that were queued.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub async fn withdraw(&self, item: Option<ItemId>) -> Result<Vec<ItemId>, HarnessError> {
        let order = WithdrawMessages { item, by: None };
        Ok(self.conversation.send(order).await??)
    }

    /// Cancels the run or the compaction in progress, and waits until it has stopped; harmless when idle. Returns true
    /// if there was one. Queued messages stay in the queues.
    pub async fn cancel(&self) -> bool {
        let cancelled = self.conversation.send(CancelRun::default()).await;
        cancelled.unwrap_or(false)
    }

    /// Permanently replaces the past except for its end by a summary, if it is so long that it would be summarized in
    /// the next run. The result tells whether that was done.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while a run is going; a cancel; or a summary that failed.
    pub async fn compact(&self) -> Result<Compacted, HarnessError> {
        self.compact_with(false, None).await
    }

    /// The same; with `force` however short the past is. The instructions name the focus of the summary.
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
        self.wait_for_handlers().await?;
        Ok(compacted?)
    }

    /// Sends all events from now on to a handler, until the returned guard is dropped. Handlers are called one after
    /// the other, in the order in which they subscribed.
    pub fn subscribe(&self, handler: Arc<dyn EventHandler>) -> Subscription {
        self.followers.subscribe(handler)
    }

    /// Everything from now on, as a stream for `select!` and the like. When [`Self::prompt`] returns, the events of its
    /// run wait in the stream.
    pub fn events(&self) -> EventStream {
        EventStream::new(&self.followers, Arc::clone(&self.journal))
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
