//! The calls that a conversation makes: of the model, and of tools.

use std::time::Duration;

use actix::prelude::*;

use super::actor::{ConversationActor, State};
use super::input::Input;
use crate::ids::CallId;
use crate::messages::{CancelModelCall, CancelTool, ModelEvent, StartModelCall, ToolEvent};
use crate::model::{ModelError, ModelFailure};
use crate::tool::ToolOutcome;

/// How long a cancelled call may take to end before it is given up. Longer than what the tools'
/// actor grants a tool.
const LOST_AFTER: Duration = Duration::from_secs(4);

impl ConversationActor {
    pub(super) fn call_model(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        let State::Alive(machine) = &self.state else {
            return;
        };
        let order = StartModelCall {
            call_id: call_id.clone(),
            request: self.head.request(machine.history().messages()),
            reply_to: ctx.address().recipient(),
        };
        if self.downstream.start_model_call.try_send(order).is_err() {
            ctx.notify(Lost(call_id));
        }
    }

    /// Drops a call of the model at once, however long the journal takes.
    pub(super) fn cancel_model(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        if self.outbox.take_back(&call_id) {
            let failure = ModelFailure {
                error: ModelError::Cancelled,
                interrupted: false,
            };
            ctx.notify(ModelEvent::Failed {
                call_id,
                failure,
                partial: Vec::new(),
            });
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
        ctx.notify_later(Lost(call_id), limit);
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
        self.advance(Input::Tool(event), ctx);
    }
}

/// A call whose end will not come. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Lost(pub(super) CallId);

impl Handler<Lost> for ConversationActor {
    type Result = ();

    fn handle(&mut self, Lost(call_id): Lost, ctx: &mut Context<Self>) {
        self.advance(Input::CallLost(call_id), ctx);
    }
}
