//! Following a conversation from Rust.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::prelude::*;
use harness_protocol::Event;

use crate::broadcast::messages::Publish;
use crate::reply::Object;

/// Follows a conversation. Called in order, on the conversation's thread, so it must not block.
/// Whatever is left out is ignored.
pub trait EventHandler: Send + Sync + 'static {
    /// Anything happened, as clients of `GET /v1/conversations/{id}/events` are told: prompts and
    /// replies, runs and turns, the queues, settings, compaction, and the pieces of blocks that are
    /// not finished. Called before the methods that are about one thing.
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

/// Those who follow a conversation, in the order in which they came; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Handlers(Arc<Mutex<Subscribed>>);

#[derive(Default)]
struct Subscribed {
    /// The number of the last one.
    last: u64,
    handlers: Vec<(u64, Arc<dyn EventHandler>)>,
}

impl Handlers {
    fn lock(&self) -> MutexGuard<'_, Subscribed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; tells its number.
    pub(crate) fn add(&self, handler: Arc<dyn EventHandler>) -> u64 {
        let mut subscribed = self.lock();
        subscribed.last += 1;
        let number = subscribed.last;
        subscribed.handlers.push((number, handler));
        number
    }

    fn remove(&self, number: u64) {
        let mut subscribed = self.lock();
        let is_it = |(other, _): &mut (u64, _)| *other == number;
        let removed: Vec<_> = subscribed.handlers.extract_if(.., is_it).collect();
        drop(subscribed);
        // Dropping a handler may unsubscribe others.
        drop(removed);
    }

    fn has(&self, number: u64) -> bool {
        let subscribed = self.lock();
        subscribed
            .handlers
            .iter()
            .any(|(other, _)| *other == number)
    }

    /// Tells all of an event. A handler may subscribe and unsubscribe while it is told.
    fn tell(&self, event: &Event, is_lasting: bool) {
        let handlers = self.lock().handlers.clone();
        for (number, handler) in handlers {
            if !self.has(number) {
                continue;
            }
            let told = catch_unwind(AssertUnwindSafe(|| tell(&*handler, event, is_lasting)));
            if told.is_err() {
                log::error!("a handler of events panicked; it goes on with the next event");
            }
        }
    }
}

/// Follows a conversation until it is dropped.
#[must_use = "the handler is told of nothing once this is dropped"]
pub struct Subscription {
    handlers: Handlers,
    number: u64,
}

impl Subscription {
    pub(crate) fn new(handlers: Handlers, handler: Arc<dyn EventHandler>) -> Self {
        let number = handlers.add(handler);
        Self { handlers, number }
    }

    /// Ends it. The handler is told of nothing more, not even of what happened before and was not
    /// told yet.
    pub fn unsubscribe(self) {
        drop(self);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.handlers.remove(self.number);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.number).finish()
    }
}

/// Passes published events to handlers.
pub(crate) struct HandlerActor(pub(crate) Handlers);

impl Actor for HandlerActor {
    type Context = Context<Self>;
}

impl Handler<Publish> for HandlerActor {
    type Result = ();

    fn handle(&mut self, shown: Publish, _: &mut Context<Self>) {
        match shown {
            Publish::Lasting { event, .. } => self.0.tell(&event, true),
            Publish::Passing(event) => self.0.tell(&event, false),
            Publish::Rewritten { .. } => {}
        }
    }
}

/// Waits until everything before it was told.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub(crate) struct Told;

impl Handler<Told> for HandlerActor {
    type Result = ();

    fn handle(&mut self, _: Told, _: &mut Context<Self>) {}
}

/// Calls the methods that an event is about. Passing ones have no method of their own.
fn tell(handler: &dyn EventHandler, event: &Event, is_lasting: bool) {
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
