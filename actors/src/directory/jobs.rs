//! Jobs that end: their conversations put that on record, also those that are not open.

use actix::prelude::*;

use super::actor::DirectoryActor;
use crate::conversation::messages::NoteJobs;
use crate::ids::ConversationId;

impl DirectoryActor {
    /// Waits for the next job that ends.
    pub(super) fn hear_of_jobs(&self, ctx: &mut Context<Self>) {
        let jobs = self.parts.extensions.jobs.clone();
        let ended = async move { jobs.next_ended().await }.into_actor(self);
        ctx.spawn(ended.map(|conversation, actor, ctx| {
            actor.note_jobs(&conversation, ctx);
            actor.hear_of_jobs(ctx);
        }));
    }

    fn note_jobs(&mut self, id: &ConversationId, ctx: &Context<Self>) {
        let opening = self.opening(id, ctx);
        let id = id.clone();
        actix::spawn(async move {
            match opening.await {
                // If the actor has ended, the next one notes it.
                Ok(conversation) => drop(conversation.actor.send(NoteJobs).await),
                Err(error) => log::warn!("the end of a job of {id} is not on record yet: {error}"),
            }
        });
    }
}
