//! What the broadcaster is told.

use actix::Message;
use derive_more::{Display, Error};
use harness_protocol::Event;

use crate::broadcast::Subscription;

/// Fans one event out. Sent by a conversation; no answer.
#[derive(Debug, Clone, PartialEq, Message)]
#[rtype(result = "()")]
pub struct Publish(pub Event);

/// Attaches one client. Sent by HTTP; the answer yields every event published from now on.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<Subscription, SubscribeError>")]
pub struct Subscribe;

/// Why a client was not attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
pub enum SubscribeError {
    /// As many clients are attached as the service takes.
    #[display("{limit} clients are attached, and the service takes no more")]
    Full {
        /// How many the service takes.
        limit: usize,
    },
    /// The service is stopping.
    #[display("the service is stopping")]
    Closed,
}

/// Ends every subscription and takes no more. Sent when the service stops; no answer.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct CloseSubscribers;
