//! Finds conversations: starts the actors of those that somebody asks for, and ends those of which
//! nobody wants anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::{FutureExt as _, LocalBoxFuture, Shared, join_all};

use super::conversation::Conversation;
use super::parts::Parts;
use crate::conversation::glance;
use crate::ids::ConversationId;
use crate::journal::{
    ForkedFrom, Header, Journal, JournalStore, Listed, OpenError, PageLimit, StorageError,
};
use crate::messages::{
    CloseSubscribers, Closing, CreateConversation, ForkConversation, ForkError, GetOverview,
    ListConversations, OpenConversation, Overview, RemoveConversation, RemoveError, RetireIfIdle,
    Row, StopAll, StopRuns,
};

/// How many orders may wait for the actor.
const MAILBOX: usize = 1024;
/// How often conversations are asked whether they may end; one that is idle twice does.
const SWEEP: Duration = Duration::from_secs(15);
/// The conversation that is there without being made.
pub const DEFAULT_CONVERSATION: &str = "default";
/// How much of a journal is copied at once.
const COPY: PageLimit = PageLimit {
    records: 8192,
    bytes: 1024 * 1024,
};

/// A conversation that is open, or about to be.
type Opening = Shared<LocalBoxFuture<'static, Result<Conversation, OpenError>>>;

/// Finds conversations.
pub struct DirectoryActor {
    store: Arc<dyn JournalStore>,
    parts: Parts,
    open: HashMap<ConversationId, Opening>,
}

impl DirectoryActor {
    /// The conversations of that store.
    #[must_use]
    pub fn new(store: Arc<dyn JournalStore>, parts: Parts) -> Self {
        Self {
            store,
            parts,
            open: HashMap::new(),
        }
    }

    /// The actors of a conversation. Whoever asks while they are started gets the same ones.
    fn opening(&mut self, id: &ConversationId) -> Opening {
        if let Some(opening) = self.open.get(id) {
            let is_usable = match opening.peek() {
                Some(Ok(conversation)) => conversation.is_alive(),
                Some(Err(_)) => false,
                None => true,
            };
            if is_usable {
                return opening.clone();
            }
            if let Some(Ok(dead)) = opening.peek() {
                // Who is still attached would hear nothing any more.
                let closing = CloseSubscribers(Closing::Replaced);
                if let Err(error) = dead.broadcast.try_send(closing) {
                    log::debug!("conversation {id}: its broadcaster is gone too: {error}");
                }
            }
        }
        let journal = if id.as_str() == DEFAULT_CONVERSATION {
            let header = Header::new(id.clone(), self.parts.clock.unix_millis());
            self.store.open_or_new(header)
        } else {
            self.store.open(id)
        };
        let parts = self.parts.clone();
        let opening = async move { start(&parts, journal.await?).await };
        let opening = opening.boxed_local().shared();
        self.open.insert(id.clone(), opening.clone());
        opening
    }

    /// The conversations that are open now.
    fn opened(&self) -> impl Iterator<Item = (&ConversationId, &Conversation)> {
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
            ctx.spawn(asked.into_actor(self).map(move |retired, actor, _| {
                if retired.unwrap_or(true) {
                    let opening = actor.open.remove(&id);
                    // Somebody may have opened it anew in the meantime.
                    if let Some(opening) = opening
                        && let Some(Ok(conversation)) = opening.peek()
                        && conversation.is_alive()
                    {
                        actor.open.insert(id, opening);
                    }
                }
            }));
        }
    }

    fn new_id(&self) -> ConversationId {
        let now = self.parts.clock.unix_millis();
        let random = fastrand::u64(..) >> 24;
        ConversationId::new(&format!("{now:011x}{random:010x}"))
    }
}

/// Starts the actors of a journal.
async fn start(parts: &Parts, journal: Arc<dyn Journal>) -> Result<Conversation, OpenError> {
    let glance = glance(&*journal).await.map_err(OpenError::Storage)?;
    Ok(parts.start(journal, &glance))
}

/// How a conversation is, whether it is open or not.
async fn row(store: Arc<dyn JournalStore>, open: Option<Conversation>, listed: Listed) -> Row {
    let found = match open {
        Some(conversation) => {
            let header = conversation.journal.header();
            let overview = conversation.actor.send(GetOverview).await;
            match overview {
                Ok(Ok(overview)) => Ok((header, overview)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(format!("the conversation: {error}")),
            }
        }
        None => look(&*store, &ConversationId::new(&listed.id)).await,
    };
    Row {
        listed,
        found: found.map(|(header, overview)| (header.title, header.created_at, overview)),
    }
}

async fn look(store: &dyn JournalStore, id: &ConversationId) -> Result<(Header, Overview), String> {
    let journal = store.open(id).await.map_err(|error| error.to_string())?;
    let glance = glance(&*journal).await.map_err(|error| error.to_string())?;
    let overview = Overview {
        position: glance.position,
        status: glance.ledger.status().clone(),
        run: glance.ledger.run(),
        is_running: false,
        totals: glance.ledger.totals().clone(),
        active_at: glance.active_at,
    };
    Ok((journal.header(), overview))
}

/// The records of a journal up to `end`, as they stand there.
async fn copy(journal: &dyn Journal, end: u64) -> Result<Vec<bytes::Bytes>, StorageError> {
    let mut copied = Vec::new();
    let mut after = 0;
    while after < end {
        let page = journal.read(after, COPY).await?;
        for entry in page.entries {
            after = entry.position.seq;
            if after <= end {
                copied.push(entry.json);
            }
        }
        if page.at_end {
            break;
        }
    }
    Ok(copied)
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

impl Handler<ForkConversation> for DirectoryActor {
    type Result = ResponseActFuture<Self, Result<Conversation, ForkError>>;

    fn handle(&mut self, order: ForkConversation, _: &mut Context<Self>) -> Self::Result {
        let ForkConversation { id, seq, title } = order;
        let origin = self.opening(&id);
        let fork = self.new_id();
        let opened_as = fork.clone();
        let store = Arc::clone(&self.store);
        let now = self.parts.clock.unix_millis();
        let forking = async move {
            let origin = origin.await.map_err(ForkError::Open)?.journal;
            let end = origin.end().seq;
            let seq = seq.unwrap_or(end);
            if seq > end {
                return Err(ForkError::NoSuchRecord { seq, end });
            }
            let storage = |error| ForkError::Open(OpenError::Storage(error));
            let entries = copy(&*origin, seq).await.map_err(storage)?;
            let header = Header {
                title: title.or(origin.header().title),
                settings: origin.header().settings,
                forked_from: Some(ForkedFrom {
                    conversation: id.to_string(),
                    seq,
                }),
                ..Header::new(fork, now)
            };
            let created = store.create(header, entries).await;
            created.map(drop).map_err(ForkError::Open)
        };
        let opened = forking.into_actor(self).then(move |forked, actor, _| {
            let opening = forked.map(|()| actor.opening(&opened_as));
            async move { opening?.await.map_err(ForkError::Open) }.into_actor(actor)
        });
        Box::pin(opened)
    }
}

impl Handler<RemoveConversation> for DirectoryActor {
    type Result = ResponseActFuture<Self, Result<String, RemoveError>>;

    fn handle(&mut self, order: RemoveConversation, _: &mut Context<Self>) -> Self::Result {
        let RemoveConversation { id } = order;
        let opening = self.opening(&id);
        let stopping = async move {
            let conversation = opening.await.map_err(RemoveError::Open)?;
            let overview = conversation.actor.send(GetOverview).await;
            if matches!(
                overview,
                Ok(Ok(Overview {
                    is_running: true,
                    ..
                }))
            ) {
                return Err(RemoveError::Busy);
            }
            // An actor that is gone has stopped.
            conversation.actor.send(StopRuns).await.unwrap_or_default();
            let closing = CloseSubscribers(Closing::Deleted);
            let closed = conversation.broadcast.send(closing).await;
            closed.unwrap_or_default();
            Ok(())
        };
        let removed = stopping.into_actor(self).then(move |stopped, actor, _| {
            // The store may begin at once, so it is not asked unless it is meant.
            let removing = stopped.map(|()| {
                actor.open.remove(&id);
                actor.store.remove(&id)
            });
            async move { removing?.await.map_err(RemoveError::Open) }.into_actor(actor)
        });
        Box::pin(removed)
    }
}

impl Handler<ListConversations> for DirectoryActor {
    type Result = ResponseFuture<Result<Vec<Row>, StorageError>>;

    fn handle(&mut self, order: ListConversations, _: &mut Context<Self>) -> Self::Result {
        let open: HashMap<String, Conversation> = self
            .opened()
            .map(|(id, conversation)| (id.to_string(), conversation.clone()))
            .collect();
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let listed = store.list(order.after, order.limit).await?;
            let rows = listed.into_iter().map(|listed| {
                let conversation = open.get(&listed.id).cloned();
                row(Arc::clone(&store), conversation, listed)
            });
            Ok(join_all(rows).await)
        })
    }
}

impl Handler<StopAll> for DirectoryActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopAll, _: &mut Context<Self>) -> Self::Result {
        let opened: Vec<Conversation> = self
            .opened()
            .map(|(_, conversation)| conversation.clone())
            .collect();
        Box::pin(async move {
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
