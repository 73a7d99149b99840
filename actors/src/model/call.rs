//! One call of the model, with all its attempts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::answer::AttemptError;
use super::assemble::Assembler;
use super::attempt::{AttemptPiece, Prepared, SharedAssembler, attempt};
use super::catalog::Catalog;
use super::client::ApiClient;
use super::extras::{self, ExtraSet, RequestExtra};
use super::left_out::{LeftOut, holds_for_later, may_be_for_files, names_images};
use super::live_models::{Models, live_models, successor};
use super::messages::{ModelEvent, ReserveSpending, StartModelCall};
use super::no_tools::way_out;
use super::request::RequestTarget;
use super::retry::{Advice, Retries};
use super::{ModelChoice, ModelError, ModelFailure, ModelInfo};
use crate::clock::Clock;
use crate::ids::CallId;
use crate::reply::{Block, ReplyEnd};
use crate::send::tell;

/// The models that are no longer served, each with the one that is asked in its place.
pub(super) type Successors = Rc<RefCell<HashMap<Arc<str>, Arc<str>>>>;

/// Number of days before the end of a model from which on it is said.
const NOTICE_DAYS: i64 = 30;
const SECONDS_OF_DAY: u64 = 24 * 60 * 60;

/// A call that is under way.
pub(super) struct ModelCall {
    pub(super) client: ApiClient,
    pub(super) clock: Clock,
    pub(super) assembler: SharedAssembler,
    pub(super) successors: Successors,
    pub(super) catalog: Catalog,
    /// The request that was sent last.
    pub(super) prepared: Option<Prepared>,
    /// The files that this call leaves out, besides those that are known to be refused.
    pub(super) left_out: LeftOut,
    /// The extras that were refused, until a request without them was taken.
    pub(super) refused_extras: ExtraSet,
    /// The error of the request that had all of its files.
    pub(super) failed_with_files: Option<AttemptError>,
    /// True if a block was shown: after that no further attempt is made.
    pub(super) shown: bool,
    pub(super) order: StartModelCall,
}

impl ModelCall {
    /// Makes attempts until one succeeds or another is not worth it; the call's last event.
    pub(super) async fn run(mut self) -> ModelEvent {
        match self
            .client
            .for_call(self.order.request.key_source().map(|source| &**source))
            .await
        {
            Ok(client) => self.client = client.for_conversation(&self.order.call_id.conversation),
            Err(error) => {
                log::warn!("call {} failed: {error}", self.order.call_id);
                return failed(self.order.call_id, error, false, Vec::new());
            }
        }
        let mut retries = Retries::new(self.client.settings().retry);
        let began = tokio::time::Instant::now();
        loop {
            let refused = match self.attempt().await {
                Ok(end) => {
                    self.learn_left_out();
                    self.learn_refused_extras();
                    return self.finished(end, began.elapsed());
                }
                Err(refused) => refused,
            };
            // What the failed attempt began is not part of any reply.
            self.assembler.replace(Assembler::default());
            let refused = match self.replace_model(refused).await {
                Ok(()) => continue,
                Err(refused) => refused,
            };
            if self.lower_reply_maximum(&refused.error)
                || self.change_version(&refused.error)
                || self.leave_extras_out(&refused.error)
                || self.leave_server_tools_out(&refused.error)
                || self.leave_thinking_out(&refused.error)
            {
                continue;
            }
            self.learn_window(&refused.error);
            let announce = |retry, delay| self.announce_retry(retry, delay, refused.error.clone());
            let advice = match self.order.request.files().next() {
                Some(_) if names_images(&refused.error) => Advice::Never,
                Some(_) | None => refused.advice,
            };
            if !self.shown && retries.wait(advice, announce).await {
                let call_id = self.order.call_id.clone();
                tell(&self.order.reply_to, ModelEvent::RetryBegan { call_id });
                continue;
            }
            if let Some(refused) = self.leave_files_out(refused) {
                let AttemptError {
                    mut error,
                    in_stream,
                    ..
                } = refused;
                if let ModelError::Api { message, .. } = &mut error
                    && let Some(way_out) = way_out(message)
                {
                    message.push_str(way_out);
                }
                let error = self.client.with_hint_of_key(error);
                log::warn!("call {} failed: {error}", self.order.call_id);
                return failed(self.order.call_id, error, in_stream, Vec::new());
            }
        }
    }

    /// The request for the model that is asked now. What it can do is looked up only if the
    /// request depends on it.
    async fn prepare(&mut self) -> Result<Prepared, AttemptError> {
        let model = model_to_ask(self.order.request.model(), &self.successors);
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        let maximum = learned.reply_maximum(source, &model);
        let conversation = &self.order.call_id.conversation;
        let has_no_server_tools = learned.has_no_server_tools(source, &model);
        let has_no_thinking = learned.has_no_thinking(source, &model, conversation);
        let mut refused = learned.refused_extras(source, &model);
        if self.order.spending.is_some() {
            // What another model costs cannot be told before.
            refused.insert(RequestExtra::RefusalFallback);
        }
        if let Some(maximum) = maximum {
            self.order.request.limit_reply(maximum);
        }
        // Another call may have learned it since this one was prepared.
        if has_no_server_tools && self.order.request.leave_server_tools_out() {
            self.prepared = None;
        }
        if has_no_thinking && self.order.request.leave_thinking_out() {
            self.prepared = None;
        }
        if self.order.request.leave_extras_out(&refused) {
            self.prepared = None;
        }
        let request = &self.order.request;
        if let Some(prepared) = self.prepared.as_ref().filter(|last| last.model == model) {
            return Ok(prepared.clone());
        }
        let info = if request.needs_info() {
            let looked_up = self
                .catalog
                .model(&self.client, request.key_source(), &model);
            // Why it failed was logged; the model's id tells enough.
            looked_up.await.ok().flatten()
        } else {
            self.catalog.known(request.key_source(), &model)
        };
        let store = self.client.attachments();
        let learned = self.catalog.learned();
        let known = learned.left_out(request.key_source(), &model);
        let left_out = known.and(self.left_out.clone());
        let version = learned.version(request.key_source(), &model);
        let version = version.unwrap_or_else(|| self.client.first_version());
        let mut extras = request.extras(info.as_deref());
        if self.client.transport().is_some() {
            // What takes the place of HTTP has no headers.
            extras = extras::without_header(extras);
        }
        let target = RequestTarget {
            model: &model,
            info: info.as_deref(),
            version,
            extras: &extras,
        };
        let body = request.whole_body(target, &left_out, store);
        let body = body.await;
        let body = body.map_err(AttemptError::before_stream)?;
        if let Some(remark) = request.not_sent(target) {
            log::warn!("call {}: {remark}", self.order.call_id);
            let call_id = self.order.call_id.clone();
            tell(
                &self.order.reply_to,
                ModelEvent::Remarked { call_id, remark },
            );
        }
        if let Some(remark) = self.near_end(&model, info.as_deref()).await {
            log::warn!("call {}: {remark}", self.order.call_id);
            let call_id = self.order.call_id.clone();
            tell(
                &self.order.reply_to,
                ModelEvent::Remarked { call_id, remark },
            );
        }
        let size = request.largest_size(info.as_deref());
        let prepared = Prepared {
            model,
            version,
            extras,
            body,
            size,
        };
        self.prepared = Some(prepared.clone());
        Ok(prepared)
    }

    /// The remark that the API ends to serve a model within some days, once on each of them. It names a model of the
    /// same family that stays.
    async fn near_end(&self, model: &Arc<str>, info: Option<&ModelInfo>) -> Option<String> {
        let today = i64::try_from(self.clock.unix_seconds() / SECONDS_OF_DAY).ok()?;
        let is_near = |days: i64| (0..=NOTICE_DAYS).contains(&days);
        let days = info?.days_left(today).filter(|days| is_near(*days))?;
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        if !learned.note_told_of_end(source, model, today) {
            return None;
        }
        // Without the list no other model is named.
        let listed = self.catalog.list(&self.client, source).await;
        let listed = listed.unwrap_or_default();
        let mut live = still_served(&listed, &self.successors);
        live.retain(|other| !other.days_left(today).is_some_and(is_near));
        let other = successor(model, live).map(|other| {
            let id = &other.id;
            format!("; set the model to one that stays, such as {id}")
        });
        let when = match days {
            0 => "which is today".to_owned(),
            1 => "which is tomorrow".to_owned(),
            _ => format!("in {days} days"),
        };
        let end = info?.retires_at.as_deref()?.get(..10)?;
        Some(format!(
            "the API serves {model} until {end}, {when}{}",
            other.unwrap_or_default()
        ))
    }

    /// Reserves the largest possible cost of an attempt, if there is a spending limit. A reply that does not fit the
    /// limit is asked for with a lower maximum.
    async fn reserve(&mut self, prepared: Prepared) -> Result<Prepared, AttemptError> {
        let Some(spending) = &self.order.spending else {
            return Ok(prepared);
        };
        let reserving = spending.send(ReserveSpending {
            call_id: self.order.call_id.clone(),
            model: Arc::clone(&prepared.model),
            size: prepared.size,
        });
        let reserved = reserving.await.unwrap_or(Err(ModelError::Unavailable));
        let output = reserved.map_err(AttemptError::before_stream)?;
        if output == prepared.size.output {
            return Ok(prepared);
        }
        self.order.request.limit_reply(output);
        self.prepared = None;
        self.prepare().await
    }

    async fn attempt(&mut self) -> Result<ReplyEnd, AttemptError> {
        let prepared = self.prepare().await?;
        let prepared = self.reserve(prepared).await?;
        let shown = &mut self.shown;
        let order = &self.order;
        let emit = |piece| {
            let call_id = order.call_id.clone();
            let event = match piece {
                AttemptPiece::Delta {
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
                AttemptPiece::Block(index, block) => {
                    *shown = true;
                    ModelEvent::BlockFinished {
                        call_id,
                        index,
                        block,
                    }
                }
            };
            tell(&order.reply_to, event);
        };
        let made = attempt(&self.client, self.clock, prepared, &self.assembler, emit).await;
        if made
            .as_ref()
            .err()
            .is_none_or(|refused| refused.error.took_key())
        {
            self.client.learn_key(&order.call_id.conversation);
        }
        if let Err(refused) = &made
            && refused.costs_nothing()
            && order.spending.is_some()
        {
            let call_id = order.call_id.clone();
            tell(&order.reply_to, ModelEvent::NotCharged { call_id });
        }
        made.map_err(|refused| AttemptError {
            error: refused.error.redacted(self.client.redaction()),
            ..refused
        })
    }

    fn finished(&self, end: ReplyEnd, took: Duration) -> ModelEvent {
        let call_id = self.order.call_id.clone();
        // A gateway may quote what it was sent anywhere.
        let mut end = end.redacted(self.client.redaction());
        if let Some(asked) = &self.prepared {
            if end.model.is_empty() {
                asked.model.as_ref().clone_into(&mut end.model);
            }
            end.usage.name_models(&asked.model, &end.model);
        }
        let usage = end.usage.counts();
        let input = usage
            .input_tokens
            .saturating_add(usage.cache_creation_input_tokens)
            .saturating_add(usage.cache_read_input_tokens);
        log::info!(
            "call {call_id}: {} replied with {} ({input} tokens in, {} out) in {:.1} s, reply {}",
            end.model,
            end.stop_reason,
            usage.output_tokens,
            took.as_secs_f64(),
            end.id,
        );
        ModelEvent::Finished { call_id, end }
    }

    /// Leaves out files that may be the reason of a failure, to try it without them; the failure of
    /// the call if there is nothing to leave out.
    fn leave_files_out(&mut self, refused: AttemptError) -> Option<AttemptError> {
        if self.shown {
            self.learn_left_out();
            return Some(refused);
        }
        let mut left_out = self.left_out.clone();
        if let Some(prepared) = &self.prepared {
            let source = self.order.request.key_source();
            left_out = left_out.and(self.catalog.learned().left_out(source, &prepared.model));
        }
        let names = may_be_for_files(&refused.error, refused.reached)
            .then(|| left_out.next_files(self.order.request.files()))
            .flatten();
        let Some(names) = names else {
            return Some(self.failed_with_files.take().unwrap_or(refused));
        };
        self.left_out = left_out;
        self.ask_again(&format!("without {names}"), &refused.error);
        self.failed_with_files.get_or_insert(refused);
        None
    }

    /// Remembers the files that the request had to be made without.
    fn learn_left_out(&self) {
        let Some(refused) = &self.failed_with_files else {
            return;
        };
        if let Some(prepared) = self
            .prepared
            .as_ref()
            .filter(|_| holds_for_later(&refused.error))
        {
            let source = self.order.request.key_source();
            let learned = self.catalog.learned();
            learned.note_left_out(source, &prepared.model, &self.left_out);
        }
    }

    /// Remembers the window that an error names.
    fn learn_window(&self, error: &ModelError) {
        if let (Some(window), Some(prepared)) = (error.window(), &self.prepared) {
            let source = self.order.request.key_source();
            let learned = self.catalog.learned();
            learned.note_window(source, &prepared.model, window);
        }
    }

    /// Lowers the maximum size of the reply to what a refusal names, for this request and the later ones of an hour;
    /// `false` if it names none that is lower.
    fn lower_reply_maximum(&mut self, error: &ModelError) -> bool {
        let Some(prepared) = &self.prepared else {
            return false;
        };
        let Some(maximum) = error.reply_maximum(prepared.size.output) else {
            return false;
        };
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        learned.note_reply_maximum(source, &prepared.model, maximum);
        self.ask_again(&format!("with max_tokens {maximum}"), error);
        true
    }

    /// Says that the request is made once more, and how. Its body is prepared again for that.
    fn ask_again(&mut self, how: &str, error: &ModelError) {
        let call_id = self.order.call_id.clone();
        let remark = format!("asking again {how}: {error}");
        log::warn!("call {call_id}: {remark}");
        tell(
            &self.order.reply_to,
            ModelEvent::Adapted { call_id, remark },
        );
        self.prepared = None;
    }

    /// Takes the other version of the API after a refusal that names the one that was sent, for this
    /// request and those to that model within an hour; `false` if there is another reason, or if the version is set.
    fn change_version(&mut self, error: &ModelError) -> bool {
        let Some(prepared) = &self.prepared else {
            return false;
        };
        // Each is tried once.
        let is_first = prepared.version == self.client.first_version();
        if self.client.settings().api_version.is_some() || !is_first {
            return false;
        }
        let Some(version) = prepared.version.in_its_place(error) else {
            return false;
        };
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        learned.note_version(source, &prepared.model, version);
        self.ask_again(
            &format!("with version {} of the API", version.date()),
            error,
        );
        true
    }

    /// Leaves the extras out that a refusal names, or all betas where it names none; `false` if there is another reason.
    fn leave_extras_out(&mut self, error: &ModelError) -> bool {
        let Some(prepared) = &self.prepared else {
            return false;
        };
        let refused = extras::refused(error, &prepared.extras);
        if self.shown || refused.is_empty() {
            return false;
        }
        self.order.request.leave_extras_out(&refused);
        self.ask_again(&extras::without(&refused), error);
        if !extras::is_about_this_schema(error) {
            self.refused_extras.extend(refused);
        }
        true
    }

    /// Remembers the extras that the request had to be made without, for those to that model within an hour.
    fn learn_refused_extras(&self) {
        if let Some(prepared) = self
            .prepared
            .as_ref()
            .filter(|_| !self.refused_extras.is_empty())
        {
            let source = self.order.request.key_source();
            let learned = self.catalog.learned();
            learned.note_refused_extras(source, &prepared.model, &self.refused_extras);
        }
    }

    /// Leaves the tools out that the API runs itself after a refusal of them, for this request and those to that
    /// model within an hour; `false` if there is another reason.
    fn leave_server_tools_out(&mut self, error: &ModelError) -> bool {
        let Some(prepared) = &self.prepared else {
            return false;
        };
        if self.shown || !self.order.request.is_refused_for_server_tools(error) {
            return false;
        }
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        learned.note_no_server_tools(source, &prepared.model);
        self.ask_again("without web tools", error);
        true
    }

    /// Leaves all thinking of the past out after a refusal of it, for this request and those of the conversation to
    /// that model within an hour; `false` if there is another reason.
    fn leave_thinking_out(&mut self, error: &ModelError) -> bool {
        let Some(prepared) = &self.prepared else {
            return false;
        };
        if self.shown || !self.order.request.is_refused_for_thinking(error) {
            return false;
        }
        let source = self.order.request.key_source();
        let learned = self.catalog.learned();
        let conversation = &self.order.call_id.conversation;
        learned.note_no_thinking(source, &prepared.model, conversation);
        self.ask_again("without the thinking so far", error);
        true
    }

    fn announce_retry(&self, retry: u32, delay: Duration, error: ModelError) {
        let retrying = ModelEvent::Retrying {
            call_id: self.order.call_id.clone(),
            retry,
            max_retries: self.client.settings().retry.max_retries,
            delay,
            error,
        };
        tell(&self.order.reply_to, retrying);
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
        let (listed, end) = live_models(&self.client).await;
        match end {
            Ok(()) => {
                let source = self.order.request.key_source();
                self.catalog.note_list(source, Arc::clone(&listed));
            }
            Err(error) => log::warn!("the list of live models could not be read: {error}"),
        }
        let live = still_served(&listed, &self.successors);
        let choice = self.order.request.model();
        let asked = model_to_ask(choice, &self.successors);
        let last = self.prepared.as_ref().map(|last| Arc::clone(&last.model));
        let retired = last.unwrap_or_else(|| Arc::clone(&asked));
        // Another call may have found one meanwhile.
        let successor = if asked == retired {
            let live = live.iter().copied();
            successor(&retired, live)
                .filter(|_| !choice.chosen)
                .map(|model| Arc::from(&*model.id))
        } else {
            Some(asked)
        };
        let Some(successor) = successor else {
            let ids: Vec<&str> = live.iter().map(|model| model.id.as_str()).collect();
            if listed
                .iter()
                .any(|model| *model.id == *retired && model.is_retired())
            {
                *message = format!("{message}; {retired} is retired");
            }
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
            to: successor.to_string(),
        };
        tell(&self.order.reply_to, event);
        let mut successors = self.successors.borrow_mut();
        successors.insert(retired, successor);
        Ok(())
    }
}

/// The model to ask. Only a default is ever replaced by another.
pub(super) fn model_to_ask(choice: &ModelChoice, successors: &Successors) -> Arc<str> {
    let mut model = &choice.id;
    let successors = successors.borrow();
    while let Some(successor) = successors.get(model).filter(|_| !choice.chosen) {
        model = successor;
    }
    Arc::clone(model)
}

/// The models of a list that the API serves: neither listed as retired, nor found to be since.
pub(super) fn still_served<'a>(
    listed: &'a Models,
    successors: &Successors,
) -> Vec<&'a Arc<ModelInfo>> {
    let successors = successors.borrow();
    let served =
        |model: &&Arc<ModelInfo>| !model.is_retired() && !successors.contains_key(&*model.id);
    listed.iter().filter(served).collect()
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
