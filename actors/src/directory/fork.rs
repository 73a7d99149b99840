//! Conversations that begin like others.

use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;

use super::actor::DirectoryActor;
use super::conversation::Conversation;
use crate::conversation::each_entry;
use crate::journal::{ForkedFrom, Header, Journal, OpenError, StorageError};
use crate::messages::{ForkConversation, ForkError};

/// The records of a journal up to `end`, as they stand there.
async fn copy(journal: &dyn Journal, end: u64) -> Result<Vec<Bytes>, StorageError> {
    let mut copied = Vec::new();
    each_entry(journal, 0, end, |entry| copied.push(entry.json)).await?;
    Ok(copied)
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
