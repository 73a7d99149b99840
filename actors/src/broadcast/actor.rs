//! Fans events out to every attached client.

use actix::prelude::*;
use bytes::Bytes;
use tokio::time::Instant;

use super::subscription::{self, Subscriber, Subscription};
use crate::messages::{CloseSubscribers, Publish, Subscribe, SubscribeError};

/// How many orders may wait for the actor; publishing does not count against it.
const MAILBOX: usize = 1024;

/// Fans events out. A subscriber that lags is let go, and delays nobody.
pub struct BroadcastActor {
    subscribers: Vec<Subscriber>,
    max_subscribers: usize,
    closed: bool,
}

impl BroadcastActor {
    /// A broadcaster that takes that many clients.
    #[must_use]
    pub fn new(max_subscribers: usize) -> Self {
        Self {
            subscribers: Vec::new(),
            max_subscribers,
            closed: false,
        }
    }
}

impl Actor for BroadcastActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Publish> for BroadcastActor {
    type Result = ();

    fn handle(&mut self, Publish(event): Publish, _: &mut Context<Self>) {
        let json = match serde_json::to_string(&event) {
            Ok(json) => json,
            Err(error) => {
                log::error!("an event could not be encoded: {error}");
                return;
            }
        };
        // JSON text holds no line break, so the event is one line.
        let frame = Bytes::from(format!("data: {json}\n\n"));
        let now = Instant::now();
        self.subscribers
            .retain_mut(|subscriber| subscriber.send(&frame, now));
    }
}

impl Handler<Subscribe> for BroadcastActor {
    type Result = Result<Subscription, SubscribeError>;

    fn handle(&mut self, _: Subscribe, _: &mut Context<Self>) -> Self::Result {
        if self.closed {
            return Err(SubscribeError::Closed);
        }
        if self.subscribers.len() >= self.max_subscribers {
            self.subscribers.retain(Subscriber::is_attached);
        }
        if self.subscribers.len() >= self.max_subscribers {
            return Err(SubscribeError::Full {
                limit: self.max_subscribers,
            });
        }
        let (subscriber, subscription) = subscription::pair();
        self.subscribers.push(subscriber);
        Ok(subscription)
    }
}

impl Handler<CloseSubscribers> for BroadcastActor {
    type Result = ();

    fn handle(&mut self, _: CloseSubscribers, _: &mut Context<Self>) {
        self.closed = true;
        self.subscribers.clear();
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
