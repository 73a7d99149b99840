//! Finds conversations: starts the actors of those that a client or a workflow asks for, and ends those that are
//! unused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::{FutureExt, LocalBoxFuture, Shared, join, join_all};
use tokio::sync::Semaphore;

use super::conversation::{ConversationAddr, ConversationPlace, OpenedConversation};
use super::folders::Folders;
use super::messages::{
    CreateConversation, ForgetFailed, MadeConversation, OpenConversation, StopAll,
};
use super::parts::DirectoryParts;
use super::places::Places;
use super::rows::ConversationRows;
use crate::broadcast::messages::{CloseSubscribers, Closing};
use crate::conversation::glance;
use crate::conversation::messages::{NoteJobs, RetireIfIdle, StopRuns};
use crate::ids::ConversationId;
use crate::journal::{Header, Journal, JournalStore, OpenError, Workspace};
use crate::send::tell;

/// Maximum number of orders that wait for the actor.
const MAILBOX: usize = 1024;
/// Time between two sweeps, which ask conversations for permission to end them; one that is idle twice ends.
const SWEEP: Duration = Duration::from_secs(15);
/// Maximum number of conversations that all lists together look at without opening them: each look takes an open file.
const LOOKS: usize = 32;
/// Maximum number of journals that are copied at the same time. Each is in memory as a whole meanwhile.
const COPIES: usize = 1;
/// The conversation that is there without being made.
pub const DEFAULT_CONVERSATION: &str = "default";
/// A conversation that is open, or about to be.
pub(super) type OpeningConversation =
    Shared<LocalBoxFuture<'static, Result<OpenedConversation, OpenError>>>;

/// Finds conversations.
pub struct DirectoryActor {
    pub(super) store: Arc<dyn JournalStore>,
    pub(super) parts: DirectoryParts,
    places: Places,
    pub(super) open: HashMap<ConversationId, DirectoryEntry>,
    /// Limits how many conversations that are not open are looked at.
    pub(super) looks: Arc<Semaphore>,
    /// Limits how many journals are copied.
    pub(super) copies: Arc<Semaphore>,
    /// The working folders of conversations.
    pub(super) folders: Folders,
    /// The overviews of conversations that are not open.
    pub(super) rows: ConversationRows,
    /// Number of all uses of conversations; numbers them.
    uses: u64,
    stopping: bool,
}

/// A conversation that is open, or about to be.
pub(super) struct DirectoryEntry {
    pub(super) opening: OpeningConversation,
    /// The number of the last use.
    pub(super) used: u64,
}

impl DirectoryActor {
    /// The conversations of that store. At most `max_open` are open besides the default one.
    #[must_use]
    pub fn new(store: Arc<dyn JournalStore>, parts: DirectoryParts, max_open: usize) -> Self {
        Self {
            store,
            parts,
            places: Places::new(max_open),
            open: HashMap::new(),
            looks: Arc::new(Semaphore::new(LOOKS)),
            copies: Arc::new(Semaphore::new(COPIES)),
            folders: Folders::default(),
            rows: ConversationRows::default(),
            uses: 0,
            stopping: false,
        }
    }

    /// The actors of a conversation. All who ask while they are started get the same ones.
    pub(super) fn opening(
        &mut self,
        id: &ConversationId,
        ctx: &Context<Self>,
    ) -> OpeningConversation {
        if self.stopping {
            let refused = async { Err(OpenError::Stopping) };
            return FutureExt::boxed_local(refused).shared();
        }
        self.uses += 1;
        if let Some(open) = self.open.get_mut(id) {
            open.used = self.uses;
            match open.opening.peek() {
                None => return open.opening.clone(),
                Some(Ok(conversation)) if conversation.is_alive() => return open.opening.clone(),
                // Clients that are still attached would receive no further events.
                Some(Ok(dead)) => close(dead, Closing::Replaced),
                Some(Err(_)) => {}
            }
        }
        let opening = open(
            Arc::clone(&self.store),
            self.parts.clone(),
            self.places.clone(),
            ctx.address(),
            id.clone(),
        );
        let open = DirectoryEntry {
            opening: FutureExt::boxed_local(opening).shared(),
            used: self.uses,
        };
        let opening = open.opening.clone();
        self.open.insert(id.clone(), open);
        opening
    }

    /// True if callers that ask for the conversation get this actor.
    pub(super) fn has(&self, id: &ConversationId, actor: &ConversationAddr) -> bool {
        let opened = self.open.get(id).and_then(|open| open.opening.peek());
        matches!(opened, Some(Ok(opened)) if opened.actor == *actor)
    }

    /// Forgets a conversation that has ended, unless it was opened again in the meantime, and ends its streams for that
    /// reason.
    pub(super) fn forget(
        &mut self,
        id: &ConversationId,
        ended: &ConversationAddr,
        closing: Closing,
    ) {
        if !self.has(id, ended) {
            return;
        }
        let open = self.open.remove(id);
        if let Some(Ok(conversation)) = open.as_ref().and_then(|open| open.opening.peek()) {
            close(conversation, closing);
        }
    }

    /// The conversations that are open now.
    pub(super) fn opened(&self) -> impl Iterator<Item = (&ConversationId, &OpenedConversation)> {
        self.open.iter().filter_map(|(id, open)| {
            let conversation = open.opening.peek()?.as_ref().ok()?;
            Some((id, conversation))
        })
    }

    /// Ends what is idle.
    fn sweep(&mut self, ctx: &mut Context<Self>) {
        for (id, conversation) in self.opened() {
            let id = id.clone();
            let conversation = conversation.actor.clone();
            let asked = conversation.send(RetireIfIdle);
            ctx.spawn(asked.into_actor(self).map(move |retired, actor, _| {
                if retired.unwrap_or(true) {
                    // Who found it and is about to attach is to find the next one.
                    actor.forget(&id, &conversation, Closing::Replaced);
                }
            }));
        }
    }

    /// The folder of conversations that are made without one.
    pub(super) fn own_workspace(&self) -> Workspace {
        Workspace {
            folder: self.parts.workspace.to_path_buf(),
            is_elsewhere: false,
        }
    }

    pub(super) fn new_id(&self) -> ConversationId {
        let now = self.parts.clock.unix_millis();
        let random = fastrand::u64(..) >> 24;
        ConversationId::new(&format!("{now:011x}{random:010x}"))
    }
}

/// Opens a conversation. A failure is not remembered: the next caller tries again.
async fn open(
    store: Arc<dyn JournalStore>,
    parts: DirectoryParts,
    places: Places,
    directory: Addr<DirectoryActor>,
    id: ConversationId,
) -> Result<OpenedConversation, OpenError> {
    let opening = async {
        let place = if id.as_str() == DEFAULT_CONVERSATION {
            ConversationPlace::reserved()
        } else {
            places.take(&directory.clone().recipient()).await?
        };
        open_at(place, store, parts, id.clone()).await
    };
    let opened = opening.await;
    if opened.is_err() {
        tell(&directory.recipient(), ForgetFailed { id });
    }
    opened
}

/// Opens a journal and starts its actors.
async fn open_at(
    place: ConversationPlace,
    store: Arc<dyn JournalStore>,
    parts: DirectoryParts,
    id: ConversationId,
) -> Result<OpenedConversation, OpenError> {
    let journal = match store.open(&id).await {
        // Made at once, or the position of a client that attaches now would mean nothing later.
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
    Ok(parts.start(journal, &glance, place))
}

/// The description of a journal that was just made. The journal is closed afterwards.
pub(super) async fn made(journal: Arc<dyn Journal>) -> Result<MadeConversation, OpenError> {
    let glance = glance(&*journal).await.map_err(OpenError::Storage)?;
    Ok(MadeConversation {
        header: journal.header(),
        overview: glance.into(),
    })
}

/// Ends the streams of a conversation.
pub(super) fn close(conversation: &OpenedConversation, closing: Closing) {
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
        self.hear_of_jobs(ctx);
    }
}

impl Handler<OpenConversation> for DirectoryActor {
    type Result = ResponseFuture<Result<OpenedConversation, OpenError>>;

    fn handle(&mut self, order: OpenConversation, ctx: &mut Context<Self>) -> Self::Result {
        Box::pin(self.opening(&order.id, ctx))
    }
}

impl Handler<ForgetFailed> for DirectoryActor {
    type Result = ();

    fn handle(&mut self, ForgetFailed { id }: ForgetFailed, _: &mut Context<Self>) {
        let failed = self.open.get(&id).and_then(|open| open.opening.peek());
        if matches!(failed, Some(Err(_))) {
            self.open.remove(&id);
        }
    }
}

impl Handler<CreateConversation> for DirectoryActor {
    type Result = ResponseFuture<Result<MadeConversation, OpenError>>;

    fn handle(&mut self, order: CreateConversation, _: &mut Context<Self>) -> Self::Result {
        if self.stopping {
            return Box::pin(async { Err(OpenError::Stopping) });
        }
        let own = self.own_workspace();
        let workspace = order.workspace.map_or(own.clone(), |folder| Workspace {
            is_elsewhere: folder != own.folder,
            folder,
        });
        let header = Header {
            title: order.title,
            settings: order.settings,
            workspace: Some(workspace),
            ..Header::new(
                order.id.unwrap_or_else(|| self.new_id()),
                self.parts.clock.unix_millis(),
            )
        };
        let creating = self.store.create(header, Vec::new());
        Box::pin(async move { made(creating.await?).await })
    }
}

impl Handler<StopAll> for DirectoryActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopAll, _: &mut Context<Self>) -> Self::Result {
        self.stopping = true;
        let open = self.open.values();
        let openings: Vec<OpeningConversation> = open.map(|open| open.opening.clone()).collect();
        let jobs = self.parts.extensions.jobs.clone();
        Box::pin(async move {
            let opened = join_all(openings).await;
            let opened: Vec<OpenedConversation> =
                opened.into_iter().filter_map(Result::ok).collect();
            // An actor that has ended has no runs.
            let runs = opened
                .iter()
                .map(|conversation| conversation.actor.send(StopRuns));
            let (runs, ()) = join(join_all(runs), jobs.end_all()).await;
            drop(runs);
            let noted = opened
                .iter()
                .map(|conversation| conversation.actor.send(NoteJobs));
            drop(join_all(noted).await);
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
pub(super) mod tests;
