//! The way of sending that never waits and never loses.
//!
//! A bounded mailbox in front of a broadcaster loses events in any burst (a mailbox of 16 kept
//! 16 of 100), so what is bounded is the subscriber, and this ignores the mailbox's bound.

use actix::{Message, Recipient};

/// Publishes an event, or answers the asker of a question. A receiver that is gone has no
/// subscribers and waits for no answer.
pub fn tell<M>(to: &Recipient<M>, message: M)
where
    M: Message + Send,
    M::Result: Send,
{
    #[expect(
        clippy::disallowed_methods,
        reason = "an event and an answer must neither wait nor be dropped"
    )]
    to.do_send(message);
}
