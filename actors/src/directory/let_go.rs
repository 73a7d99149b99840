//! Lets an idle conversation go, to make a place for another.

use actix::prelude::*;

use super::actor::{DEFAULT_CONVERSATION, DirectoryActor};
use super::conversation::ConversationAddr;
use super::messages::LetGo;
use crate::broadcast::messages::Closing;
use crate::conversation::messages::MakeWay;
use crate::ids::ConversationId;

impl DirectoryActor {
    /// The conversations that may be idle, the one that was used longest ago first. The default one
    /// has a place of its own.
    fn candidates(&self) -> Vec<(ConversationId, ConversationAddr)> {
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
                // An actor that does not answer has ended.
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
