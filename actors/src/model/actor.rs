//! Streams replies from the Messages API. Each call is a future of this actor; cancelling a call
//! drops its future, which closes the connection.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use super::attempt::{AttemptError, SharedAssembler, attempt};
use super::client::ApiClient;
use super::live_models::{live_models, successor};
use super::retry::Retries;
use super::{ModelError, ModelFailure, ModelSettings};
use crate::clock::Clock;
use crate::ids::CallId;
use crate::messages::{CancelModelCall, ModelEvent, StartModelCall, reply};
use crate::reply::ReplyEnd;

/// How many orders may wait for the actor.
const MAILBOX: usize = 1024;

/// Streams replies for all conversations of the service.
pub struct ModelActor {
    client: ApiClient,
    clock: Clock,
    calls: HashMap<CallId, RunningCall>,
    /// The retired default model and the one that took its place.
    replaced: Option<(Arc<str>, Arc<str>)>,
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
            replaced: None,
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
        let choice = order.request.model();
        let model = match &self.replaced {
            Some((retired, successor)) if !choice.chosen && *retired == choice.id => {
                Arc::clone(successor)
            }
            _ => Arc::clone(&choice.id),
        };
        let call_id = order.call_id.clone();
        let reply_to = order.reply_to.clone();
        let assembler = SharedAssembler::default();
        let call = Call {
            client: self.client.clone(),
            clock: self.clock,
            assembler: Rc::clone(&assembler),
            model,
            shown: false,
            order,
        };
        let future = ctx.spawn(call.run().into_actor(self).map(|ended, actor, _| {
            actor.calls.remove(&ended.call_id);
            if ended.replaced.is_some() {
                actor.replaced = ended.replaced;
            }
        }));
        let running = RunningCall {
            future,
            assembler,
            reply_to,
        };
        self.calls.insert(call_id, running);
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
        let failed = ModelEvent::Failed {
            call_id: order.call_id,
            failure: ModelFailure {
                error: ModelError::Cancelled,
                interrupted: false,
            },
            partial,
        };
        reply(&call.reply_to, failed);
    }
}

/// One call with all its attempts.
struct Call {
    client: ApiClient,
    clock: Clock,
    assembler: SharedAssembler,
    model: Arc<str>,
    /// Whether a block was shown: from then on there is no other attempt.
    shown: bool,
    order: StartModelCall,
}

/// What the actor keeps of a call.
struct EndedCall {
    call_id: CallId,
    replaced: Option<(Arc<str>, Arc<str>)>,
}

impl Call {
    async fn run(mut self) -> EndedCall {
        let mut retries = Retries::new(self.client.settings().retry);
        let mut replaced = None;
        let call_id = self.order.call_id.clone();
        let last = loop {
            let failed = match self.attempt().await {
                Ok(end) => {
                    break ModelEvent::Finished {
                        call_id: call_id.clone(),
                        end,
                    };
                }
                Err(failed) => failed,
            };
            let failed = match self.replace_model(failed).await {
                Ok(pair) => {
                    replaced = Some(pair);
                    continue;
                }
                Err(failed) => failed,
            };
            let announce = |retry, delay| self.announce_retry(retry, delay, failed.error.clone());
            if self.shown || !retries.wait(failed.advice, announce).await {
                break self.failed(failed);
            }
        };
        reply(&self.order.reply_to, last);
        EndedCall { call_id, replaced }
    }

    async fn attempt(&mut self) -> Result<ReplyEnd, AttemptError> {
        let body = self.order.request.body(&self.model);
        let shown = &mut self.shown;
        let order = &self.order;
        let emit = |index, block| {
            *shown = true;
            let event = ModelEvent::BlockFinished {
                call_id: order.call_id.clone(),
                index,
                block,
            };
            reply(&order.reply_to, event);
        };
        attempt(&self.client, self.clock, body, &self.assembler, emit).await
    }

    fn announce_retry(&self, retry: u32, delay: Duration, error: ModelError) {
        let retrying = ModelEvent::Retrying {
            call_id: self.order.call_id.clone(),
            retry,
            max_retries: self.client.settings().retry.max_retries,
            delay,
            error,
        };
        reply(&self.order.reply_to, retrying);
    }

    /// Deals with a model that the API does not know: a default is replaced by the newest live
    /// model of its family, a chosen one never is, and the error then names the live ones.
    async fn replace_model(
        &mut self,
        mut failed: AttemptError,
    ) -> Result<(Arc<str>, Arc<str>), AttemptError> {
        let ModelError::Api {
            status: 404,
            kind,
            message,
            ..
        } = &mut failed.error
        else {
            return Err(failed);
        };
        if kind != "not_found_error" {
            return Err(failed);
        }
        let live = live_models(&self.client).await;
        let choice = self.order.request.model();
        let successor =
            successor(&choice.id, &live).filter(|_| !choice.chosen && self.model == choice.id);
        let Some(successor) = successor else {
            let ids: Vec<&str> = live.iter().map(|model| model.id.as_str()).collect();
            if !ids.is_empty() {
                *message = format!(
                    "{message}; set the model to one that is live: {}",
                    ids.join(", ")
                );
            }
            return Err(failed);
        };
        log::warn!(
            "the model {} is not served any more; using {successor}",
            choice.id
        );
        self.model = successor.into();
        let from = Arc::clone(&choice.id);
        let event = ModelEvent::ModelReplaced {
            call_id: self.order.call_id.clone(),
            from: from.to_string(),
            to: self.model.to_string(),
        };
        reply(&self.order.reply_to, event);
        Ok((from, Arc::clone(&self.model)))
    }

    fn failed(&self, failed: AttemptError) -> ModelEvent {
        log::warn!("call {} failed: {}", self.order.call_id, failed.error);
        ModelEvent::Failed {
            call_id: self.order.call_id.clone(),
            failure: ModelFailure {
                error: failed.error,
                interrupted: failed.in_stream,
            },
            partial: Vec::new(),
        }
    }
}
