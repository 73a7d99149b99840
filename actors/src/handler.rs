//! Following a conversation from Rust.

use std::sync::Arc;

use actix::prelude::*;
use harness_protocol::Event;

use crate::messages::Publish;
use crate::reply::Object;

/// Follows a conversation. Called in order, on the conversation's thread, so it must not block.
/// Whatever is left out is ignored.
pub trait EventHandler: Send + Sync + 'static {
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

/// Passes published events to a handler.
pub(crate) struct HandlerActor(pub(crate) Option<Arc<dyn EventHandler>>);

impl Actor for HandlerActor {
    type Context = Context<Self>;
}

impl Handler<Publish> for HandlerActor {
    type Result = ();

    fn handle(&mut self, shown: Publish, _: &mut Context<Self>) {
        let (Some(handler), Publish::Lasting { event, .. }) = (&self.0, shown) else {
            return;
        };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a handler is told of these five and of no other, old or new"
        )]
        match &event {
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
}
