//! The list of conversations, open or not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::actor::DirectoryActor;
use super::conversation::{Conversation, Door};
use super::messages::{CountRuns, ListConversations, Row};
use crate::conversation::glance;
use crate::conversation::messages::{GetOverview, IsRunning, Overview};
use crate::ids::ConversationId;
use crate::journal::{Header, Journal, JournalStore, Listed};
use crate::storage::StorageError;

/// How long a conversation may take to say how it is; one that cannot holds no list up.
const ROW_TIMEOUT: Duration = Duration::from_secs(2);

/// What is asked of a conversation that is open. It does not keep it from being let go.
#[derive(Clone)]
struct Asked {
    actor: Door,
    journal: Arc<dyn Journal>,
}

/// How a conversation is.
async fn row(
    store: Arc<dyn JournalStore>,
    looks: Arc<Semaphore>,
    open: Option<Asked>,
    listed: Listed,
) -> Row {
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
    Row {
        listed,
        found: found.map(|(header, overview)| (header.title, header.created_at, overview)),
    }
}

async fn ask(conversation: &Asked) -> Result<(Header, Overview), String> {
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

impl Handler<ListConversations> for DirectoryActor {
    type Result = ResponseFuture<Result<Vec<Row>, StorageError>>;

    fn handle(&mut self, order: ListConversations, _: &mut Context<Self>) -> Self::Result {
        let asked = |conversation: &Conversation| Asked {
            actor: conversation.actor.clone(),
            journal: Arc::clone(&conversation.journal),
        };
        let open: HashMap<String, Asked> = self
            .opened()
            .map(|(id, conversation)| (id.to_string(), asked(conversation)))
            .collect();
        let store = Arc::clone(&self.store);
        let looks = Arc::clone(&self.looks);
        Box::pin(async move {
            let listed = store.list(order.after, order.limit).await?;
            let rows = listed.into_iter().map(|listed| {
                let conversation = open.get(&listed.id).cloned();
                row(Arc::clone(&store), Arc::clone(&looks), conversation, listed)
            });
            Ok(join_all(rows).await)
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
