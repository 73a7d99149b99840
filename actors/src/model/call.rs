//! One call of the model, with all its attempts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::assemble::Assembler;
use super::attempt::{AttemptError, Piece, SharedAssembler, attempt};
use super::client::ApiClient;
use super::live_models::{live_models, successor};
use super::retry::Retries;
use super::{ModelError, ModelFailure};
use crate::clock::Clock;
use crate::ids::CallId;
use crate::messages::{ModelEvent, StartModelCall, reply};
use crate::reply::{Block, ReplyEnd};

/// The models that are not served any more, each with the one that is asked in its place.
pub(super) type Successors = Rc<RefCell<HashMap<Arc<str>, Arc<str>>>>;

/// A call that is under way.
pub(super) struct Call {
    pub(super) client: ApiClient,
    pub(super) clock: Clock,
    pub(super) assembler: SharedAssembler,
    pub(super) successors: Successors,
    /// Whether a block was shown: from then on there is no other attempt.
    pub(super) shown: bool,
    pub(super) order: StartModelCall,
}

impl Call {
    /// Makes attempts until one succeeds or another is not worth it; the call's last event.
    pub(super) async fn run(mut self) -> ModelEvent {
        let mut retries = Retries::new(self.client.settings().retry);
        let began = tokio::time::Instant::now();
        loop {
            let refused = match self.attempt().await {
                Ok(end) => return self.finished(end, began.elapsed()),
                Err(refused) => refused,
            };
            // What the failed attempt began is not part of any reply.
            self.assembler.replace(Assembler::default());
            let refused = match self.replace_model(refused).await {
                Ok(()) => continue,
                Err(refused) => refused,
            };
            let announce = |retry, delay| self.announce_retry(retry, delay, refused.error.clone());
            if self.shown || !retries.wait(refused.advice, announce).await {
                let AttemptError {
                    error, in_stream, ..
                } = refused;
                log::warn!("call {} failed: {error}", self.order.call_id);
                return failed(self.order.call_id, error, in_stream, Vec::new());
            }
        }
    }

    /// The model to ask. Only a default is ever replaced by another.
    fn model(&self) -> Arc<str> {
        let choice = self.order.request.model();
        let mut model = &choice.id;
        let successors = self.successors.borrow();
        while let Some(successor) = successors.get(model).filter(|_| !choice.chosen) {
            model = successor;
        }
        Arc::clone(model)
    }

    async fn attempt(&mut self) -> Result<ReplyEnd, AttemptError> {
        let body = self.order.request.body(&self.model());
        let shown = &mut self.shown;
        let order = &self.order;
        let emit = |piece| {
            let call_id = order.call_id.clone();
            let event = match piece {
                Piece::Delta {
                    index,
                    kind,
                    offset,
                    text,
                } => ModelEvent::Delta {
                    call_id,
                    index,
                    kind,
                    offset,
                    text,
                },
                Piece::Block(index, block) => {
                    *shown = true;
                    ModelEvent::BlockFinished {
                        call_id,
                        index,
                        block,
                    }
                }
            };
            reply(&order.reply_to, event);
        };
        let made = attempt(&self.client, self.clock, body, &self.assembler, emit);
        made.await.map_err(|refused| AttemptError {
            error: refused.error.redacted(&self.client.redaction()),
            ..refused
        })
    }

    fn finished(&self, end: ReplyEnd, took: Duration) -> ModelEvent {
        let call_id = self.order.call_id.clone();
        let tokens = |name| end.usage.count(name);
        log::info!(
            "call {call_id}: {} replied with {} ({} tokens in, {} out) in {:.1} s, reply {}",
            end.model,
            end.stop_reason,
            tokens("input_tokens"),
            tokens("output_tokens"),
            took.as_secs_f64(),
            end.id,
        );
        ModelEvent::Finished { call_id, end }
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
    async fn replace_model(&mut self, mut refused: AttemptError) -> Result<(), AttemptError> {
        let ModelError::Api {
            status: 404,
            kind,
            message,
            ..
        } = &mut refused.error
        else {
            return Err(refused);
        };
        if kind != "not_found_error" || refused.in_stream {
            return Err(refused);
        }
        let mut live = live_models(&self.client).await;
        live.retain(|model| !self.successors.borrow().contains_key(&*model.id));
        let retired = self.model();
        let is_chosen = self.order.request.model().chosen;
        let Some(successor) = successor(&retired, &live).filter(|_| !is_chosen) else {
            let ids: Vec<&str> = live.iter().map(|model| model.id.as_str()).collect();
            if !ids.is_empty() {
                let ids = ids.join(", ");
                *message = format!("{message}; set the model to one that is live: {ids}");
            }
            return Err(refused);
        };
        log::warn!("the model {retired} is not served any more; using {successor}");
        let event = ModelEvent::ModelReplaced {
            call_id: self.order.call_id.clone(),
            from: retired.to_string(),
            to: successor.clone(),
        };
        reply(&self.order.reply_to, event);
        let mut successors = self.successors.borrow_mut();
        successors.insert(retired, successor.into());
        Ok(())
    }
}

/// The last event of a call without a complete reply.
pub(super) fn failed(
    call_id: CallId,
    error: ModelError,
    interrupted: bool,
    partial: Vec<(u64, Block)>,
) -> ModelEvent {
    ModelEvent::Failed {
        call_id,
        failure: ModelFailure { error, interrupted },
        partial,
    }
}
