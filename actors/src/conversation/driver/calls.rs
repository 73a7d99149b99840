//! The calls that a conversation makes: of the model, and of tools.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt as _;
use harness_protocol::FileChange;

use super::actor::ConversationActor;
use crate::blocking;
use crate::conversation::machine::{Input, Machine, SummaryCall};
use crate::conversation::past::Dropped;
use crate::ids::CallId;
use crate::model::messages::{CancelModelCall, DescribeModel, ModelEvent, StartModelCall};
use crate::model::{
    HeadSettings, ModelChoice, ModelError, ModelRequest, RequestHead, RequestPiece,
};
use crate::reply::{Block, ReplyEnd};
use crate::tool::messages::{CancelTool, RunTool, ToolEvent};
use crate::tool::{ToolCall, ToolOutcome};

/// How long a cancelled call may take to end before it is given up. Longer than what the tools'
/// actor grants a tool.
const LOST_AFTER: Duration = Duration::from_secs(4);

impl ConversationActor {
    pub(super) fn call_model(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        let request = self.machine().and_then(Machine::request);
        if request.is_some()
            && let Err(error) = self.downstream.journal.room(0)
        {
            // What the run has done is on record; it ends here rather than grow on.
            let reason = error.to_string();
            ctx.notify(ModelEvent::failed(call_id, ModelError::NoRoom { reason }));
            return;
        }
        match request {
            None => {}
            Some(Ok(request)) => self.start_model_call(call_id, request, ctx),
            Some(Err(reason)) => {
                ctx.notify(ModelEvent::failed(
                    call_id,
                    ModelError::Projection { reason },
                ));
            }
        }
    }

    /// True if the run that is going has a spending limit.
    fn has_budget(&self) -> bool {
        let machine = self.machine();
        machine.is_some_and(|machine| machine.ledger().budget().is_some())
    }

    fn start_model_call(&self, call_id: CallId, request: ModelRequest, ctx: &mut Context<Self>) {
        let order = StartModelCall {
            call_id: call_id.clone(),
            request,
            reply_to: ctx.address().recipient(),
            spending: self.has_budget().then(|| ctx.address().recipient()),
        };
        if self.downstream.start_model_call.try_send(order).is_err() {
            ctx.notify(LostCall(call_id));
        }
    }

    pub(super) fn describe_model(
        &self,
        call_id: CallId,
        model: ModelChoice,
        key_source: Option<Arc<str>>,
        ctx: &mut Context<Self>,
    ) {
        let order = DescribeModel {
            call_id: call_id.clone(),
            model,
            key_source,
            reply_to: ctx.address().recipient(),
        };
        if self.downstream.describe_model.try_send(order).is_err() {
            ctx.notify(LostCall(call_id));
        }
    }

    /// Tells what a cut drops, on a thread of its own.
    pub(super) fn tell_dropped(
        &mut self,
        call_id: CallId,
        dropped: Dropped,
        ctx: &mut Context<Self>,
    ) {
        let id = call_id.clone();
        let telling = blocking(move || dropped.tell()).into_actor(self);
        let telling = telling.map(move |told, actor, ctx| {
            actor.summaries.remove(&id);
            let input = match told {
                Ok(told) => Input::Told { call_id: id, told },
                Err(error) => {
                    let reason = error.to_string();
                    Input::Model(ModelEvent::failed(id, ModelError::Compaction { reason }))
                }
            };
            actor.advance(input, ctx);
        });
        self.summaries.insert(call_id, ctx.spawn(telling));
    }

    /// Asks for a summary: the model, or the code that writes them in its place.
    pub(super) fn summarize(
        &mut self,
        call_id: CallId,
        call: SummaryCall,
        ctx: &mut Context<Self>,
    ) {
        let SummaryCall {
            model,
            key_source,
            request,
        } = call;
        if let Some(summarizer) = self.downstream.summarizer.clone() {
            let id = call_id.clone();
            let writing = AssertUnwindSafe(async move { summarizer.summarize(request).await });
            let writing = writing.catch_unwind().into_actor(self);
            let writing = writing.map(move |written, actor, ctx| {
                let written = written.unwrap_or_else(|_| Err("the summarizer panicked".into()));
                actor.summaries.remove(&id);
                actor.summary_written(&id, written, ctx);
            });
            self.summaries.insert(call_id, ctx.spawn(writing));
            return;
        }
        let head = RequestHead::new(HeadSettings {
            system_prompt: request.system_prompt,
            key_source,
            ..HeadSettings::plain(model, request.max_tokens)
        });
        let content = serde_json::json!([{"type": "text", "text": request.prompt}]);
        let message = serde_json::json!({"role": "user", "content": content});
        let message = RequestPiece::Json(message.to_string().into());
        self.start_model_call(call_id, head.request(vec![message], false), ctx);
    }

    /// Takes a summary as if the model had written it.
    fn summary_written(
        &mut self,
        call_id: &CallId,
        written: Result<String, String>,
        ctx: &mut Context<Self>,
    ) {
        let call_id = call_id.clone();
        let event = match written {
            Ok(summary) => {
                let block = ModelEvent::BlockFinished {
                    call_id: call_id.clone(),
                    index: 0,
                    block: Block::text(&summary),
                };
                self.advance(Input::Model(block), ctx);
                let end = ReplyEnd::default();
                ModelEvent::Finished { call_id, end }
            }
            Err(reason) => ModelEvent::failed(call_id, ModelError::Compaction { reason }),
        };
        self.advance(Input::Model(event), ctx);
    }

    pub(super) fn run_tool(
        &self,
        call_id: CallId,
        call: ToolCall,
        allowed: Option<String>,
        keep: Option<Box<FileChange>>,
        ctx: &mut Context<Self>,
    ) {
        let order = RunTool {
            call_id: call_id.clone(),
            call,
            allowed,
            keep,
            tools: self.tools(),
            folder: Arc::clone(&self.planner.folder),
            command_folder: self
                .machine()
                .and_then(|machine| machine.ledger().command_folder())
                .map(PathBuf::from),
            jobs: self
                .machine()
                .map(|machine| machine.ledger().jobs().into())
                .unwrap_or_default(),
            seen: self
                .machine()
                .map(|machine| machine.ledger().seen())
                .unwrap_or_default(),
            reply_to: ctx.address().recipient(),
        };
        if self.downstream.run_tool.try_send(order).is_err() {
            ctx.notify(LostCall(call_id));
        }
    }

    /// Drops a call of the model at once, however long the journal takes.
    pub(super) fn cancel_model(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        let summary = self.summaries.remove(&call_id);
        let was_summarizing = summary.is_some_and(|summary| ctx.cancel_future(summary));
        if was_summarizing || self.outbox.take_back(&call_id) {
            ctx.notify(ModelEvent::failed(call_id, ModelError::Cancelled));
            return;
        }
        let order = CancelModelCall {
            call_id: call_id.clone(),
        };
        let sent = self.downstream.cancel_model_call.try_send(order).is_ok();
        Self::await_end(call_id, sent, ctx);
    }

    pub(super) fn cancel_tool(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        if self.outbox.take_back(&call_id) {
            let outcome = ToolOutcome::failed("cancelled by user");
            ctx.notify(ToolEvent::Finished { call_id, outcome });
            return;
        }
        let order = CancelTool {
            call_id: call_id.clone(),
        };
        let sent = self.downstream.cancel_tool.try_send(order).is_ok();
        Self::await_end(call_id, sent, ctx);
    }

    /// Gives a cancelled call up if its end does not come: its actor may have died of a panic.
    pub(super) fn await_end(call_id: CallId, cancel_was_sent: bool, ctx: &mut Context<Self>) {
        let limit = if cancel_was_sent {
            LOST_AFTER
        } else {
            Duration::ZERO
        };
        ctx.notify_later(LostCall(call_id), limit);
    }
}

impl Handler<ModelEvent> for ConversationActor {
    type Result = ();

    fn handle(&mut self, event: ModelEvent, ctx: &mut Context<Self>) {
        self.advance(Input::Model(event), ctx);
    }
}

impl Handler<ToolEvent> for ConversationActor {
    type Result = ();

    fn handle(&mut self, event: ToolEvent, ctx: &mut Context<Self>) {
        let has_finished = matches!(&event, ToolEvent::Finished { .. });
        self.advance(Input::Tool(event), ctx);
        if has_finished {
            // Jobs that it or a call behind it started may have ended before they were on record.
            self.note_jobs(ctx);
        }
    }
}

/// A call whose end will not come. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct LostCall(pub(super) CallId);

impl Handler<LostCall> for ConversationActor {
    type Result = ();

    fn handle(&mut self, LostCall(call_id): LostCall, ctx: &mut Context<Self>) {
        self.advance(Input::CallLost(call_id), ctx);
        self.note_jobs(ctx);
    }
}
