//! Streams replies from the Messages API. Each call is a future of this actor; cancelling a call
//! drops its future, which closes the connection.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use actix::prelude::*;
use futures_util::FutureExt as _;

use super::attempt::SharedAssembler;
use super::call::{Call, Successors, failed};
use super::client::ApiClient;
use super::{ModelError, ModelSettings};
use crate::clock::Clock;
use crate::ids::CallId;
use crate::messages::{CancelModelCall, ModelEvent, StartModelCall, reply};

/// How many orders may wait for the actor.
const MAILBOX: usize = 1024;

/// Streams replies for all conversations of the service.
pub struct ModelActor {
    client: ApiClient,
    clock: Clock,
    calls: HashMap<CallId, RunningCall>,
    successors: Successors,
}

/// A call that is under way.
struct RunningCall {
    future: SpawnHandle,
    assembler: SharedAssembler,
    reply_to: Recipient<ModelEvent>,
}

impl ModelActor {
    /// An actor for the API that the settings point to. Must be made on the arbiter that runs it.
    #[must_use]
    pub fn new(settings: ModelSettings, clock: Clock) -> Self {
        Self {
            client: ApiClient::new(settings),
            clock,
            calls: HashMap::new(),
            successors: Successors::default(),
        }
    }
}

impl Actor for ModelActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<StartModelCall> for ModelActor {
    type Result = ();

    fn handle(&mut self, order: StartModelCall, ctx: &mut Context<Self>) {
        let call_id = order.call_id.clone();
        let running_id = call_id.clone();
        let reply_to = order.reply_to.clone();
        let assembler = SharedAssembler::default();
        let call = Call {
            client: self.client.clone(),
            clock: self.clock,
            assembler: Rc::clone(&assembler),
            successors: Rc::clone(&self.successors),
            shown: false,
            order,
        };
        // A panic must not take the actor down, nor leave the conversation without an answer.
        let work = AssertUnwindSafe(call.run()).catch_unwind();
        let future = ctx.spawn(work.into_actor(self).map(move |ended, actor, _| {
            let Some(call) = actor.calls.remove(&call_id) else {
                return; // It was cancelled, and that was its end.
            };
            let last = ended.unwrap_or_else(|_| {
                log::error!("call {call_id} panicked");
                failed(call_id, ModelError::Panicked, false, Vec::new())
            });
            reply(&call.reply_to, last);
        }));
        let running = RunningCall {
            future,
            assembler,
            reply_to,
        };
        self.calls.insert(running_id, running);
    }
}

impl Handler<CancelModelCall> for ModelActor {
    type Result = ();

    fn handle(&mut self, order: CancelModelCall, ctx: &mut Context<Self>) {
        let Some(call) = self.calls.remove(&order.call_id) else {
            return; // It has ended, and its end is on the way.
        };
        ctx.cancel_future(call.future);
        let partial = call.assembler.borrow().partial_texts();
        let end = failed(order.call_id, ModelError::Cancelled, false, partial);
        reply(&call.reply_to, end);
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
