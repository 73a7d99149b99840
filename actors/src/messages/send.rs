//! The two ways of sending that never wait and never lose.
//!
//! A bounded mailbox in front of a broadcaster loses events in any burst (a mailbox of 16 kept
//! 16 of 100), so what is bounded is the subscriber, and these two ignore the mailbox's bound.

use actix::{Message, Recipient};

use super::Publish;

/// Hands an event to whoever publishes. A publisher that is gone has no subscribers either.
pub fn publish(to: &Recipient<Publish>, event: Publish) {
    #[expect(
        clippy::disallowed_methods,
        reason = "publishing must neither wait nor drop"
    )]
    to.do_send(event);
}

/// Answers the asker of a question. If it is gone, nobody waits for the answer.
pub fn reply<M>(to: &Recipient<M>, answer: M)
where
    M: Message + Send,
    M::Result: Send,
{
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer must neither wait nor drop"
    )]
    to.do_send(answer);
}
