//! The messages to the broadcaster of a conversation.

use actix::Message;
use harness_protocol::Event;

use super::frame::EventView;
use super::subscription::BroadcastSubscription;
use crate::journal::{Epoch, Position};

/// Shows something to every client that is attached. Sent by a conversation; no answer.
#[derive(Debug, Clone, PartialEq, Message)]
#[rtype(result = "()")]
pub enum Publish {
    /// A record's event. The record is in the journal.
    Lasting {
        /// The position after the record.
        position: Position,
        /// The event.
        event: Event,
    },
    /// An event that is shown once and never again.
    Passing(Event),
    /// The journal was replaced by one of another epoch. Nothing of it continues what was shown, so
    /// every stream ends, and clients come back for a `reset`.
    Rewritten {
        /// The end of the new journal.
        position: Position,
    },
}

/// Attaches one client. Sent by a follower.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Joined")]
pub struct Join {
    /// The last record that the client has. `None` for the last one in the journal.
    pub after: Option<u64>,
    /// The life of the journal that the client has seen. `None` for any.
    pub epoch: Option<Epoch>,
    /// The view that it gets.
    pub view: EventView,
    /// Its name.
    pub name: Option<String>,
}

/// The result of attaching a client.
#[derive(Debug)]
pub enum Joined {
    /// The client is attached: the subscription yields all events that it lacks, and then new ones.
    Live {
        /// Its subscription.
        subscription: BroadcastSubscription,
        /// The position of the client when it was attached.
        position: Position,
    },
    /// The client lacks more than the broadcaster remembers: it is to read the journal up to this
    /// record first.
    Behind {
        /// The last record.
        end: u64,
    },
    /// The broadcaster shows another life of the journal than the one that the client has seen.
    Elsewhere,
    /// The broadcaster takes no further clients.
    Closed(Closing),
}

/// Ends every subscription and takes no further clients. Sent when the service stops or the conversation is deleted; no
/// answer.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct CloseSubscribers(pub Closing);

/// The reason for the end of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The service stops; clients may come back.
    Stopping,
    /// The conversation was deleted.
    Deleted,
    /// The conversation's actors died, and others take their place, or the journal was replaced by
    /// another; clients are to come back.
    Replaced,
}
