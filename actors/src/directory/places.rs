//! The places for open conversations: each has a file open, and there are not many to be had.

use std::sync::Arc;

use actix::prelude::*;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::actor::{DEFAULT_CONVERSATION, DirectoryActor};
use super::conversation::Door;
use super::messages::LetGo;
use crate::broadcast::messages::Closing;
use crate::conversation::messages::MakeWay;
use crate::ids::ConversationId;
use crate::journal::OpenError;

/// How many conversations are open at once, besides the default one, where the system grants the
/// open files. Each takes one file and the memory of its past. More than are in use at once on any
/// desk, and a small part of the files that a service with many clients has.
pub const MAX_OPEN_CONVERSATIONS: usize = 512;

/// The places of a directory.
#[derive(Debug, Clone)]
pub(super) struct Places {
    max: usize,
    free: Arc<Semaphore>,
    /// Held by who has another conversation let go, so that each has one let go.
    turn: Arc<Mutex<()>>,
}

/// One place, which is free again when nobody holds a clone of it.
#[derive(Debug, Clone)]
pub struct Place(Arc<Option<OwnedSemaphorePermit>>);

impl Place {
    /// The place of the default conversation, which nobody else gets.
    pub(super) fn reserved() -> Self {
        Self(Arc::new(None))
    }

    /// Whether anybody but the directory holds it, and is about to ask the conversation something.
    pub(super) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Places {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            free: Arc::new(Semaphore::new(max)),
            turn: Arc::default(),
        }
    }

    fn try_take(&self) -> Option<Place> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Place(Arc::new(Some(permit))))
    }

    /// A place; the idle conversation that was used longest ago is let go for it if need be.
    ///
    /// # Errors
    /// When all conversations that are open are in use.
    pub(super) async fn take(&self, directory: &Addr<DirectoryActor>) -> Result<Place, OpenError> {
        if let Some(place) = self.try_take() {
            return Ok(place);
        }
        let _turn = self.turn.lock().await;
        loop {
            if let Some(place) = self.try_take() {
                return Ok(place);
            }
            if !directory.send(LetGo).await.unwrap_or(false) {
                return Err(OpenError::TooMany { max: self.max });
            }
        }
    }
}

impl DirectoryActor {
    /// The conversations that may be idle, the one that was used longest ago first. The default one
    /// has a place of its own.
    fn candidates(&self) -> Vec<(ConversationId, Door)> {
        let mut candidates: Vec<_> = self
            .open
            .iter()
            .filter_map(|(id, open)| {
                let conversation = open.opening.peek()?.as_ref().ok()?;
                let may_go = id.as_str() != DEFAULT_CONVERSATION && !conversation.place.is_in_use();
                may_go.then(|| (open.used, id.clone(), conversation.actor.clone()))
            })
            .collect();
        candidates.sort_unstable_by_key(|(used, ..)| *used);
        let found = candidates.into_iter();
        found.map(|(_, id, actor)| (id, actor)).collect()
    }
}

impl Handler<LetGo> for DirectoryActor {
    type Result = ResponseActFuture<Self, bool>;

    fn handle(&mut self, _: LetGo, _: &mut Context<Self>) -> Self::Result {
        let candidates = self.candidates();
        let asking = async move {
            for (id, actor) in candidates {
                // An actor that is gone has ended.
                if actor.send(MakeWay).await.unwrap_or(true) {
                    return Some((id, actor));
                }
            }
            None
        };
        let gone = asking.into_actor(self).map(|gone, actor, _| {
            let Some((id, ended)) = gone else {
                return false;
            };
            actor.forget(&id, &ended, Closing::Replaced);
            true
        });
        Box::pin(gone)
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
