//! Following a conversation from Rust.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use actix::prelude::*;
use harness_protocol::Event;

use crate::broadcast::messages::Publish;
use crate::reply::Object;

/// Follows a conversation. Called in order, on the conversation's thread, so it must not block.
/// Whatever is left out is ignored.
pub trait EventHandler: Send + Sync + 'static {
    /// Any event, as clients of `GET /v1/conversations/{id}/events` receive it: prompts and replies, runs and turns,
    /// the queues, settings, compaction, and the pieces of blocks that are not finished. Called before the methods for
    /// single events.
    fn event(&self, event: &Event) {
        _ = event;
    }

    /// A prompt was accepted.
    fn user(&self, content: &str) {
        _ = content;
    }

    /// A text block is complete; called once a block with the whole text.
    fn text(&self, text: &str) {
        _ = text;
    }

    /// A thinking block is complete.
    fn reasoning(&self, text: &str) {
        _ = text;
    }

    /// The model asked for a tool.
    fn tool_call(&self, id: &str, name: &str, input: &Object) {
        _ = (id, name, input);
    }

    /// A tool call ended.
    fn tool_result(&self, id: &str, result: &str, is_error: bool) {
        _ = (id, result, is_error);
    }
}

/// Takes all that is published of a conversation: the only source of handlers, streams and callers that wait for a
/// reply. Called on the conversation's thread.
pub(super) trait ConversationFollower: Send + Sync {
    /// Takes what was published.
    fn take(&self, shown: &Publish);
}

/// A handler, told by its methods.
struct Methods(Arc<dyn EventHandler>);

impl ConversationFollower for Methods {
    fn take(&self, shown: &Publish) {
        match shown {
            Publish::Lasting { event, .. } => tell(&*self.0, event, true),
            Publish::Passing(event) => tell(&*self.0, event, false),
            Publish::Rewritten { .. } => {}
        }
    }
}

/// Those who follow a conversation, in the order in which they came; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Followers(Arc<Mutex<FollowerList>>);

#[derive(Default)]
struct FollowerList {
    /// The number of the last one.
    last: u64,
    followers: Vec<(u64, Arc<dyn ConversationFollower>)>,
}

/// Those who follow, for one that does not keep them.
type WeakFollowing = Weak<Mutex<FollowerList>>;

fn lock(following: &Mutex<FollowerList>) -> MutexGuard<'_, FollowerList> {
    following.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Followers {
    /// Adds one, until what is returned is dropped.
    pub(super) fn add(&self, follower: Arc<dyn ConversationFollower>) -> FollowerPlace {
        let number = self.keep(follower);
        FollowerPlace {
            followers: Arc::downgrade(&self.0),
            number,
        }
    }

    /// Adds a handler, until what is returned is dropped.
    pub(super) fn subscribe(&self, handler: Arc<dyn EventHandler>) -> Subscription {
        Subscription(self.add(Arc::new(Methods(handler))))
    }

    /// Adds a handler that follows to the end.
    pub(super) fn keep_handler(&self, handler: Arc<dyn EventHandler>) {
        self.keep(Arc::new(Methods(handler)));
    }

    fn keep(&self, follower: Arc<dyn ConversationFollower>) -> u64 {
        let mut following = lock(&self.0);
        following.last += 1;
        let number = following.last;
        following.followers.push((number, follower));
        number
    }

    fn has(&self, number: u64) -> bool {
        let following = lock(&self.0);
        let mut followers = following.followers.iter();
        followers.any(|(other, _)| *other == number)
    }

    /// Passes a published event to all followers. A handler may subscribe and unsubscribe during the call.
    fn tell(&self, shown: &Publish) {
        let followers = lock(&self.0).followers.clone();
        for (number, follower) in followers {
            if !self.has(number) {
                continue;
            }
            let told = catch_unwind(AssertUnwindSafe(|| follower.take(shown)));
            if told.is_err() {
                log::error!("a handler of events panicked; it goes on with the next event");
            }
        }
    }
}

/// The place of a follower, which leaves when this is dropped.
pub(super) struct FollowerPlace {
    followers: WeakFollowing,
    number: u64,
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        let Some(followers) = self.followers.upgrade() else {
            return;
        };
        let mut following = lock(&followers);
        let is_it = |(other, _): &mut (u64, _)| *other == self.number;
        let removed: Vec<_> = following.followers.extract_if(.., is_it).collect();
        drop(following);
        // Dropping a handler may unsubscribe others.
        drop(removed);
    }
}

/// Follows a conversation until it is dropped.
#[must_use = "dropping this ends the subscription of the handler"]
pub struct Subscription(FollowerPlace);

impl Subscription {
    /// Ends the subscription. The handler receives no further events, not even earlier ones that were not delivered
    /// yet.
    pub fn unsubscribe(self) {
        drop(self);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.0.number).finish()
    }
}

/// Passes published events to the followers.
pub(crate) struct FollowersActor(pub(crate) Followers);

impl Actor for FollowersActor {
    type Context = Context<Self>;
}

impl Handler<Publish> for FollowersActor {
    type Result = ();

    fn handle(&mut self, shown: Publish, _: &mut Context<Self>) {
        self.0.tell(&shown);
    }
}

/// Waits until everything before it was delivered.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub(crate) struct AwaitDelivery;

impl Handler<AwaitDelivery> for FollowersActor {
    type Result = ();

    fn handle(&mut self, _: AwaitDelivery, _: &mut Context<Self>) {}
}

/// Calls the methods for an event. Passing events have no separate method.
pub(super) fn tell(handler: &dyn EventHandler, event: &Event, is_lasting: bool) {
    handler.event(event);
    if !is_lasting {
        return;
    }
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "five events have a method of their own, and no other, old or new"
    )]
    match event {
        Event::User { content, .. } => handler.user(content),
        Event::Text { content, .. } => handler.text(content),
        Event::Reasoning { content, .. } => handler.reasoning(content),
        Event::ToolCall {
            id, name, input, ..
        } => handler.tool_call(id, name, input),
        Event::ToolResult {
            id,
            result,
            is_error,
            ..
        } => {
            handler.tool_result(id, result, *is_error);
        }
        _ => {}
    }
}
