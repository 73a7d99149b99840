//! Conversations that are deleted.

use actix::prelude::*;

use super::actor::{DirectoryActor, close};
use crate::journal::OpenError;
use crate::messages::{Closing, EndIfIdle, RemoveConversation, RemoveError};

impl Handler<RemoveConversation> for DirectoryActor {
    type Result = ResponseActFuture<Self, Result<String, RemoveError>>;

    fn handle(&mut self, order: RemoveConversation, _: &mut Context<Self>) -> Self::Result {
        let RemoveConversation { id } = order;
        let opening = self.opening(&id);
        let ending = async move {
            let conversation = opening.await.map_err(RemoveError::Open)?;
            // An actor that is gone has ended.
            if conversation.actor.send(EndIfIdle).await.unwrap_or(true) {
                Ok(conversation)
            } else {
                Err(RemoveError::Busy)
            }
        };
        let removed = ending.into_actor(self).then(move |ended, actor, _| {
            // The store may begin at once, so it is not asked unless it is meant.
            let removing = ended.map(|conversation| {
                let is_meant = actor.forget(&id, &conversation);
                (conversation, is_meant.then(|| actor.store.remove(&id)))
            });
            async move {
                let (conversation, removing) = removing?;
                let missing = || OpenError::NotFound { id: id.to_string() };
                let removed = match removing {
                    Some(removing) => removing.await,
                    // Somebody else deleted it, and there may be another of that id by now.
                    None => Err(missing()),
                };
                let closing = match &removed {
                    Ok(_) => Closing::Deleted,
                    Err(_) => Closing::Replaced,
                };
                close(&conversation, closing);
                removed.map_err(RemoveError::Open)
            }
            .into_actor(actor)
        });
        Box::pin(removed)
    }
}
