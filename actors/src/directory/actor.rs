//! Finds conversations: starts the actors of those that somebody asks for, and ends those of which
//! nobody wants anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::{FutureExt, LocalBoxFuture, Shared, join_all};

use super::conversation::Conversation;
use super::parts::Parts;
use crate::conversation::glance;
use crate::ids::ConversationId;
use crate::journal::{Header, JournalStore, OpenError};
use crate::messages::{
    CloseSubscribers, Closing, CreateConversation, OpenConversation, RetireIfIdle, StopAll,
    StopRuns,
};

/// How many orders may wait for the actor.
const MAILBOX: usize = 1024;
/// How often conversations are asked whether they may end; one that is idle twice does.
const SWEEP: Duration = Duration::from_secs(15);
/// The conversation that is there without being made.
pub const DEFAULT_CONVERSATION: &str = "default";
/// A conversation that is open, or about to be.
pub(super) type Opening = Shared<LocalBoxFuture<'static, Result<Conversation, OpenError>>>;

/// Finds conversations.
pub struct DirectoryActor {
    pub(super) store: Arc<dyn JournalStore>,
    pub(super) parts: Parts,
    open: HashMap<ConversationId, Opening>,
    stopping: bool,
}

impl DirectoryActor {
    /// The conversations of that store.
    #[must_use]
    pub fn new(store: Arc<dyn JournalStore>, parts: Parts) -> Self {
        Self {
            store,
            parts,
            open: HashMap::new(),
            stopping: false,
        }
    }

    /// The actors of a conversation. Whoever asks while they are started gets the same ones.
    pub(super) fn opening(&mut self, id: &ConversationId) -> Opening {
        if self.stopping {
            let refused = async { Err(OpenError::Stopping) };
            return FutureExt::boxed_local(refused).shared();
        }
        match self.open.get(id).map(|opening| (opening, opening.peek())) {
            Some((opening, None)) => return opening.clone(),
            Some((opening, Some(Ok(conversation)))) if conversation.is_alive() => {
                return opening.clone();
            }
            // Who is still attached would hear nothing any more.
            Some((_, Some(Ok(dead)))) => close(dead, Closing::Replaced),
            Some((_, Some(Err(_)))) | None => {}
        }
        let opening = open(Arc::clone(&self.store), self.parts.clone(), id.clone());
        let opening = FutureExt::boxed_local(opening).shared();
        self.open.insert(id.clone(), opening.clone());
        opening
    }

    /// Whether these are the actors that who asks for the conversation gets.
    pub(super) fn has(&self, id: &ConversationId, conversation: &Conversation) -> bool {
        let opened = self.open.get(id).and_then(Opening::peek);
        matches!(opened, Some(Ok(opened)) if opened.actor == conversation.actor)
    }

    /// Forgets a conversation that has ended, unless it was opened anew in the meantime.
    pub(super) fn forget(&mut self, id: &ConversationId, ended: &Conversation) {
        if self.has(id, ended) {
            self.open.remove(id);
        }
    }

    /// The conversations that are open now.
    pub(super) fn opened(&self) -> impl Iterator<Item = (&ConversationId, &Conversation)> {
        self.open.iter().filter_map(|(id, opening)| {
            let conversation = opening.peek()?.as_ref().ok()?;
            Some((id, conversation))
        })
    }

    /// Ends what is idle. What could not be opened is tried anew when it is asked for.
    fn sweep(&mut self, ctx: &mut Context<Self>) {
        self.open
            .retain(|_, opening| !matches!(opening.peek(), Some(Err(_))));
        for (id, conversation) in self.opened() {
            let id = id.clone();
            let asked = conversation.actor.send(RetireIfIdle);
            let conversation = conversation.clone();
            ctx.spawn(asked.into_actor(self).map(move |retired, actor, _| {
                if retired.unwrap_or(true) {
                    actor.forget(&id, &conversation);
                    // Who found it and is about to attach is to find the next one.
                    close(&conversation, Closing::Replaced);
                }
            }));
        }
    }

    pub(super) fn new_id(&self) -> ConversationId {
        let now = self.parts.clock.unix_millis();
        let random = fastrand::u64(..) >> 24;
        ConversationId::new(&format!("{now:011x}{random:010x}"))
    }
}

/// Opens a journal and starts its actors.
async fn open(
    store: Arc<dyn JournalStore>,
    parts: Parts,
    id: ConversationId,
) -> Result<Conversation, OpenError> {
    let journal = match store.open(&id).await {
        // Made at once, or the position of whoever attaches now would mean nothing later.
        Err(OpenError::NotFound { .. }) if id.as_str() == DEFAULT_CONVERSATION => {
            let header = Header::new(id, parts.clock.unix_millis());
            match store.create(header.clone(), Vec::new()).await {
                Ok(journal) => journal,
                Err(error) => {
                    log::warn!("the default conversation cannot be made yet: {error}");
                    store.open_or_new(header).await?
                }
            }
        }
        opened => opened?,
    };
    let glance = glance(&*journal).await.map_err(OpenError::Storage)?;
    Ok(parts.start(journal, &glance))
}

/// Ends the streams of a conversation.
pub(super) fn close(conversation: &Conversation, closing: Closing) {
    let closed = conversation.broadcast.try_send(CloseSubscribers(closing));
    if let Err(error) = closed {
        log::debug!("{conversation:?}: its broadcaster is gone: {error}");
    }
}

impl Actor for DirectoryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(SWEEP, Self::sweep);
    }
}

impl Handler<OpenConversation> for DirectoryActor {
    type Result = ResponseFuture<Result<Conversation, OpenError>>;

    fn handle(&mut self, order: OpenConversation, _: &mut Context<Self>) -> Self::Result {
        Box::pin(self.opening(&order.id))
    }
}

impl Handler<CreateConversation> for DirectoryActor {
    type Result = ResponseActFuture<Self, Result<Conversation, OpenError>>;

    fn handle(&mut self, order: CreateConversation, _: &mut Context<Self>) -> Self::Result {
        let header = Header {
            title: order.title,
            settings: order.settings,
            ..Header::new(self.new_id(), self.parts.clock.unix_millis())
        };
        let id = header.conversation.clone();
        let creating = self.store.create(header, Vec::new());
        let opened = creating.into_actor(self).then(move |created, actor, _| {
            let opening = created.map(|_| actor.opening(&id));
            async move { opening?.await }.into_actor(actor)
        });
        Box::pin(opened)
    }
}

impl Handler<StopAll> for DirectoryActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopAll, _: &mut Context<Self>) -> Self::Result {
        self.stopping = true;
        let openings: Vec<Opening> = self.open.values().cloned().collect();
        Box::pin(async move {
            let opened = join_all(openings).await;
            let opened: Vec<Conversation> = opened.into_iter().filter_map(Result::ok).collect();
            // An actor that is gone has stopped.
            let runs = opened
                .iter()
                .map(|conversation| conversation.actor.send(StopRuns));
            drop(join_all(runs).await);
            let closing = CloseSubscribers(Closing::Stopping);
            let streams = opened
                .iter()
                .map(|conversation| conversation.broadcast.send(closing));
            drop(join_all(streams).await);
        })
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
