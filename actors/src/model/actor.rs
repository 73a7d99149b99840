//! Streams replies from the Messages API. Each call is a future of this actor; cancelling a call
//! drops its future, which closes the connection.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt as _;

use super::attempt::SharedAssembler;
use super::call::{ModelCall, Successors, failed};
use super::catalog::Catalog;
use super::client::ApiClient;
use super::describe::described;
use super::extras::ExtraSet;
use super::left_out::LeftOut;
use super::messages::{CancelModelCall, DescribeModel, ListModels, ModelEvent, StartModelCall};
use super::{ModelError, ModelExtensions, ModelInfo, ModelSettings};
use crate::clock::Clock;
use crate::ids::CallId;
use crate::send::tell;

/// Maximum number of orders that wait for the actor.
const MAILBOX: usize = 1024;

/// Streams replies for all conversations of the service.
pub struct ModelActor {
    client: ApiClient,
    clock: Clock,
    calls: HashMap<CallId, RunningCall>,
    successors: Successors,
    catalog: Catalog,
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
        Self::with_extensions(settings, clock, ModelExtensions::default())
    }

    /// Like [`Self::new`], with other parts on the way to the model.
    #[must_use]
    pub fn with_extensions(
        settings: ModelSettings,
        clock: Clock,
        extensions: ModelExtensions,
    ) -> Self {
        Self {
            client: ApiClient::new(settings, extensions),
            clock,
            calls: HashMap::new(),
            successors: Successors::default(),
            catalog: Catalog::default(),
        }
    }

    /// Runs what a call does, up to the event that is its end.
    fn start(
        &mut self,
        call_id: CallId,
        reply_to: Recipient<ModelEvent>,
        assembler: SharedAssembler,
        work: impl Future<Output = ModelEvent> + 'static,
        ctx: &mut Context<Self>,
    ) {
        let running_id = call_id.clone();
        // A panic must not take the actor down, nor leave the conversation without an answer.
        let work = AssertUnwindSafe(work).catch_unwind();
        let future = ctx.spawn(work.into_actor(self).map(move |ended, actor, _| {
            let Some(call) = actor.calls.remove(&call_id) else {
                return; // It was cancelled, and that was its end.
            };
            let last = ended.unwrap_or_else(|_| {
                log::error!("call {call_id} panicked");
                failed(call_id, ModelError::Panicked, false, Vec::new())
            });
            tell(&call.reply_to, last);
        }));
        let running = RunningCall {
            future,
            assembler,
            reply_to,
        };
        self.calls.insert(running_id, running);
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
        let reply_to = order.reply_to.clone();
        let assembler = SharedAssembler::default();
        let call = ModelCall {
            client: self.client.clone(),
            clock: self.clock,
            assembler: Rc::clone(&assembler),
            successors: Rc::clone(&self.successors),
            catalog: self.catalog.clone(),
            prepared: None,
            left_out: LeftOut::default(),
            failed_with_files: None,
            refused_extras: ExtraSet::new(),
            shown: false,
            order,
        };
        self.start(call_id, reply_to, assembler, call.run(), ctx);
    }
}

impl Handler<DescribeModel> for ModelActor {
    type Result = ();

    fn handle(&mut self, order: DescribeModel, ctx: &mut Context<Self>) {
        let (call_id, reply_to) = (order.call_id.clone(), order.reply_to.clone());
        let client = self.client.clone();
        let (catalog, successors) = (self.catalog.clone(), Rc::clone(&self.successors));
        let work = async move { described(order, client, catalog, successors).await };
        self.start(call_id, reply_to, SharedAssembler::default(), work, ctx);
    }
}

impl Handler<ListModels> for ModelActor {
    type Result = ResponseFuture<Result<Vec<Arc<ModelInfo>>, ModelError>>;

    fn handle(&mut self, _: ListModels, _: &mut Context<Self>) -> Self::Result {
        let (client, catalog) = (self.client.clone(), self.catalog.clone());
        Box::pin(async move {
            let client = client.for_call(None).await?;
            let listed = catalog.list(&client, None).await?;
            Ok(listed.to_vec())
        })
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
        tell(&call.reply_to, end);
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
