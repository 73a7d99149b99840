//! The actors of one conversation.

use std::sync::Arc;

use actix::Addr;
use tokio::sync::OwnedSemaphorePermit;

use crate::broadcast::{Attendance, BroadcastActor};
use crate::conversation::ConversationActor;
use crate::journal::Journal;

/// The address of the actor of a conversation.
pub(super) type ConversationAddr = Addr<ConversationActor>;

/// The actors of one conversation, and its journal. Clones share them.
#[derive(Clone)]
pub struct OpenedConversation {
    /// Decides.
    pub actor: Addr<ConversationActor>,
    /// Shows.
    pub broadcast: Addr<BroadcastActor>,
    /// Remembers.
    pub journal: Arc<dyn Journal>,
    /// Counts who is attached.
    pub attendance: Attendance,
    /// Its place among those that are open. A holder keeps the conversation from being let
    /// go for another.
    pub place: ConversationPlace,
}

impl OpenedConversation {
    /// True if both actors are alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.actor.connected() && self.broadcast.connected()
    }
}

impl std::fmt::Debug for OpenedConversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.journal.header().conversation;
        f.debug_tuple("Conversation").field(&id).finish()
    }
}

/// One place, which is free again when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct ConversationPlace(Arc<Option<OwnedSemaphorePermit>>);

impl ConversationPlace {
    /// The place of the default conversation, which no other conversation gets.
    pub(super) fn reserved() -> Self {
        Self(Arc::new(None))
    }

    pub(super) fn with_permit(permit: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Some(permit)))
    }

    /// True if another holder than the directory has a clone of it, and is about to ask the conversation something.
    pub(super) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
