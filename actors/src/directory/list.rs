//! The list of conversations, open or not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::actor::DirectoryActor;
use super::conversation::{ConversationAddr, OpenedConversation};
use super::folders::Folders;
use super::messages::{ConversationRow, CountRuns, ListConversations};
use super::rows::ConversationRows;
use crate::clock::Clock;
use crate::conversation::glance;
use crate::conversation::messages::{GetOverview, IsRunning, Overview};
use crate::ids::ConversationId;
use crate::journal::{Header, Journal, JournalStore, ListedJournal};
use crate::storage::StorageError;

/// Time limit for a conversation's answer about its state; a slow one delays no list.
const ROW_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of conversations that are looked at together to find those of one folder.
const PART: usize = 200;

/// A question to a conversation that is open. It does not keep it from being let go.
#[derive(Clone)]
struct AskedConversation {
    actor: ConversationAddr,
    journal: Arc<dyn Journal>,
}

/// The row of one conversation.
async fn row(
    store: Arc<dyn JournalStore>,
    looks: Arc<Semaphore>,
    open: Option<AskedConversation>,
    listed: ListedJournal,
) -> ConversationRow {
    // It is never closed; who waits for a look is not late.
    let _look = match open {
        Some(_) => None,
        None => looks.acquire().await.ok(),
    };
    let found = async {
        match open {
            Some(conversation) => ask(&conversation).await,
            None => look(&*store, &ConversationId::new(&listed.id)).await,
        }
    };
    let found = tokio::time::timeout(ROW_TIMEOUT, found).await;
    let found = found.unwrap_or_else(|_| Err(format!("no answer within {ROW_TIMEOUT:?}")));
    ConversationRow { listed, found }
}

async fn ask(conversation: &AskedConversation) -> Result<(Header, Overview), String> {
    let header = conversation.journal.header();
    match conversation.actor.send(GetOverview).await {
        Ok(Ok(overview)) => Ok((header, overview)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(format!("the conversation: {error}")),
    }
}

async fn look(store: &dyn JournalStore, id: &ConversationId) -> Result<(Header, Overview), String> {
    let journal = store.open(id).await.map_err(|error| error.to_string())?;
    let glance = glance(&*journal).await.map_err(|error| error.to_string())?;
    Ok((journal.header(), glance.into()))
}

/// The sources of lists.
struct Lists {
    store: Arc<dyn JournalStore>,
    looks: Arc<Semaphore>,
    folders: Folders,
    /// The folder of conversations that name none.
    workspace: Arc<Path>,
    open: HashMap<String, AskedConversation>,
    /// The overviews of conversations that are not open.
    known: ConversationRows,
    clock: Clock,
}

impl Lists {
    async fn rows(&self, listed: Vec<ListedJournal>) -> Vec<ConversationRow> {
        join_all(listed.into_iter().map(|listed| self.row(listed))).await
    }

    async fn row(&self, listed: ListedJournal) -> ConversationRow {
        let open = self.open.get(&listed.id).cloned();
        let is_open = open.is_some();
        if !is_open && let Some(known) = self.known.get(&listed) {
            let found = Ok(known);
            return ConversationRow { listed, found };
        }
        let (store, looks) = (Arc::clone(&self.store), Arc::clone(&self.looks));
        let row = row(store, looks, open, listed).await;
        if !is_open && let Ok((header, overview)) = &row.found {
            self.known.note(&row.listed, header, overview, self.clock);
        }
        row
    }

    /// The first `limit` conversations that work in a folder.
    async fn rows_in(
        &self,
        folder: &Path,
        mut after: Option<ListedJournal>,
        limit: usize,
    ) -> Result<Vec<ConversationRow>, StorageError> {
        let mut found = Vec::new();
        loop {
            let mut listed = self.store.list(after, PART).await?;
            let is_last = listed.len() < PART;
            after = listed.last().cloned();
            listed.retain(|listed| self.folders.may_be_in(&listed.id, folder));
            for row in self.rows(listed).await {
                let Ok((header, _)) = &row.found else {
                    continue;
                };
                let own = header.workspace.as_ref();
                let own = own.map_or(&*self.workspace, |own| &own.folder);
                self.folders.note(&row.listed.id, own);
                if own == folder && found.len() < limit {
                    found.push(row);
                }
            }
            if is_last || found.len() == limit {
                return Ok(found);
            }
        }
    }
}

impl Handler<ListConversations> for DirectoryActor {
    type Result = ResponseFuture<Result<Vec<ConversationRow>, StorageError>>;

    fn handle(&mut self, order: ListConversations, _: &mut Context<Self>) -> Self::Result {
        let asked = |conversation: &OpenedConversation| AskedConversation {
            actor: conversation.actor.clone(),
            journal: Arc::clone(&conversation.journal),
        };
        let open = self.opened();
        let open = open.map(|(id, conversation)| (id.to_string(), asked(conversation)));
        let lists = Lists {
            open: open.collect(),
            store: Arc::clone(&self.store),
            looks: Arc::clone(&self.looks),
            folders: self.folders.clone(),
            workspace: Arc::clone(&self.parts.workspace),
            known: self.rows.clone(),
            clock: self.parts.clock,
        };
        Box::pin(async move {
            match order.workspace {
                Some(folder) => lists.rows_in(&folder, order.after, order.limit).await,
                None => {
                    let listed = lists.store.list(order.after, order.limit).await?;
                    Ok(lists.rows(listed).await)
                }
            }
        })
    }
}

impl Handler<CountRuns> for DirectoryActor {
    type Result = ResponseFuture<usize>;

    fn handle(&mut self, _: CountRuns, _: &mut Context<Self>) -> Self::Result {
        // A run keeps its conversation open. An actor that does not answer is not waited for.
        let asked: Vec<_> = self
            .opened()
            .map(|(_, conversation)| conversation.actor.send(IsRunning).timeout(ROW_TIMEOUT))
            .collect();
        Box::pin(async move {
            let answers = join_all(asked).await;
            answers.into_iter().filter(|is| *is == Ok(true)).count()
        })
    }
}
