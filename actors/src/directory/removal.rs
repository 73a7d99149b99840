//! Conversations that are deleted.

use actix::prelude::*;

use super::actor::{DirectoryActor, close};
use super::messages::{RemoveConversation, RemoveError};
use crate::blocking;
use crate::broadcast::messages::Closing;
use crate::conversation::messages::EndIfIdle;
use crate::journal::OpenError;

impl Handler<RemoveConversation> for DirectoryActor {
    type Result = ResponseActFuture<Self, Result<String, RemoveError>>;

    fn handle(&mut self, order: RemoveConversation, ctx: &mut Context<Self>) -> Self::Result {
        let RemoveConversation { id } = order;
        let opening = self.opening(&id, ctx);
        let ending = async move {
            let conversation = opening.await.map_err(RemoveError::Open)?;
            // An actor that does not answer has ended.
            if conversation.actor.send(EndIfIdle).await.unwrap_or(true) {
                Ok(conversation)
            } else {
                Err(RemoveError::Busy)
            }
        };
        let removed = ending.into_actor(self).then(move |ended, actor, _| {
            // The store may begin at once, so it is not asked unless it is meant: there may be
            // another of that id by now.
            let removing = ended.map(|conversation| {
                let is_meant = actor.has(&id, &conversation.actor);
                let removing = is_meant.then(|| actor.store.remove(&id));
                (conversation, removing)
            });
            let missing = OpenError::NotFound { id: id.to_string() };
            let removed = async move {
                let (conversation, removing) = removing?;
                let removed = match removing {
                    Some(removing) => removing.await,
                    None => Err(missing),
                };
                Ok((conversation, removed))
            };
            removed.into_actor(actor).map(move |removed, actor, _| {
                let (conversation, removed) = removed?;
                if removed.is_ok() {
                    let (id, jobs) = (id.clone(), actor.parts.extensions.jobs.clone());
                    let outputs = actor.parts.extensions.outputs.clone();
                    let launcher = actor.parts.extensions.launcher.clone();
                    actix::spawn(async move {
                        jobs.remove(&id).await;
                        if let Some(launcher) = launcher.0 {
                            let id = id.clone();
                            if let Err(error) = blocking(move || launcher.forget(&id)).await {
                                log::warn!("temporary files of commands stay: {error}");
                            }
                        }
                        let Some(outputs) = outputs else {
                            return;
                        };
                        match blocking(move || outputs.remove(&id)).await {
                            Ok(Ok(())) => {}
                            Ok(Err(error)) => log::warn!("outputs of commands stay: {error}"),
                            Err(error) => log::warn!("outputs of commands stay: {error}"),
                        }
                    });
                }
                // If its journal is still there, other actors take its place.
                let closing = match &removed {
                    Ok(_) => Closing::Deleted,
                    Err(_) => Closing::Replaced,
                };
                close(&conversation, closing);
                actor.forget(&id, &conversation.actor, closing);
                removed.map_err(RemoveError::Open)
            })
        });
        Box::pin(removed)
    }
}
