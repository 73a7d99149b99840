//! A handle to a broadcaster's messages, for callers that need not know the actor.

use actix::prelude::*;

use super::actor::BroadcastActor;
use super::messages::{CloseSubscribers, Join, Publish};
use super::now::Now;
use super::presence::Attendance;
use crate::ids::ConversationId;
use crate::journal::Position;

/// A handle to a broadcaster. Clones reach the same one.
#[derive(Debug, Clone)]
pub struct Broadcaster {
    /// Attaches clients.
    pub join: Recipient<Join>,
    /// Shows something to them.
    pub publish: Recipient<Publish>,
    /// Ends their streams.
    pub close: Recipient<CloseSubscribers>,
}

impl Broadcaster {
    /// Starts one on that thread, for a journal of that name that ends at that position.
    #[must_use]
    pub fn start(
        thread: &ArbiterHandle,
        name: ConversationId,
        position: Position,
        now: Now,
        attendance: Attendance,
    ) -> Self {
        let actor = BroadcastActor::new(name, position, now, attendance);
        let actor = BroadcastActor::start_in_arbiter(thread, move |_| actor);
        Self {
            join: actor.clone().recipient(),
            publish: actor.clone().recipient(),
            close: actor.recipient(),
        }
    }
}
