//! Carries a conversation's decisions out: messages become inputs of the machine, its effects
//! become messages.

use std::time::Duration;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use tokio::sync::oneshot;

use super::effect::Effect;
use super::input::Input;
use super::machine::{Limits, Machine};
use super::publication::Publication;
use crate::clock::Clock;
use crate::ids::{CallId, ConversationId, RunId};
use crate::messages::{
    CancelModelCall, CancelRun, CancelTool, ModelEvent, Publish, RunOutcome, RunTool,
    StartModelCall, StopRuns, SubmitError, SubmitPrompt, ToolEvent, WaitForEnd, publish,
};
use crate::model::RequestHead;

/// How many orders may wait for the actor; answers do not count against it.
const MAILBOX: usize = 64;
/// How long a cancelled call may take to end before it is given up. Longer than what the tools'
/// actor grants a tool.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// Whom a conversation gives orders to.
#[derive(Clone)]
pub struct Downstream {
    /// Asks the model.
    pub start_model_call: Recipient<StartModelCall>,
    /// Drops a call of the model.
    pub cancel_model_call: Recipient<CancelModelCall>,
    /// Runs tools.
    pub run_tool: Recipient<RunTool>,
    /// Stops a tool.
    pub cancel_tool: Recipient<CancelTool>,
    /// Shows events.
    pub publish: Recipient<Publish>,
}

/// Owns the history and the turn counter of one conversation.
pub struct ConversationActor {
    machine: Machine,
    head: RequestHead,
    downstream: Downstream,
    clock: Clock,
    waiting: Vec<(RunId, oneshot::Sender<RunOutcome>)>,
    last: Option<(RunId, RunOutcome)>,
}

impl ConversationActor {
    /// A new conversation.
    #[must_use]
    pub fn new(
        id: ConversationId,
        head: RequestHead,
        limits: Limits,
        downstream: Downstream,
        clock: Clock,
    ) -> Self {
        Self {
            machine: Machine::new(id, limits),
            head,
            downstream,
            clock,
            waiting: Vec::new(),
            last: None,
        }
    }

    fn advance(&mut self, input: Input, ctx: &mut Context<Self>) {
        let effects = self.machine.handle(input);
        self.carry_out(effects, ctx);
    }

    fn carry_out(&mut self, effects: Vec<Effect>, ctx: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Publish(publication) => self.publish(publication),
                Effect::CallModel(call_id) => self.call_model(call_id, ctx),
                Effect::CancelModel(call_id) => {
                    let order = CancelModelCall {
                        call_id: call_id.clone(),
                    };
                    let sent = self.downstream.cancel_model_call.try_send(order).is_ok();
                    Self::await_end(call_id, sent, ctx);
                }
                Effect::RunTool(call_id, call) => {
                    let order = RunTool {
                        call_id: call_id.clone(),
                        call,
                        reply_to: ctx.address().recipient(),
                    };
                    if self.downstream.run_tool.try_send(order).is_err() {
                        ctx.notify(Lost(call_id));
                    }
                }
                Effect::CancelTool(call_id) => {
                    let order = CancelTool {
                        call_id: call_id.clone(),
                    };
                    let sent = self.downstream.cancel_tool.try_send(order).is_ok();
                    Self::await_end(call_id, sent, ctx);
                }
                Effect::EndRun(run, outcome) => self.end_run(run, &outcome),
            }
        }
    }

    fn publish(&self, publication: Publication) {
        let event = publication.at(self.clock.unix_seconds());
        publish(&self.downstream.publish, Publish(event));
    }

    fn call_model(&self, call_id: CallId, ctx: &mut Context<Self>) {
        let order = StartModelCall {
            call_id: call_id.clone(),
            request: self.head.request(self.machine.history().messages()),
            reply_to: ctx.address().recipient(),
        };
        if self.downstream.start_model_call.try_send(order).is_err() {
            ctx.notify(Lost(call_id));
        }
    }

    /// Gives a cancelled call up if its end does not come: its actor may have died of a panic.
    fn await_end(call_id: CallId, cancel_was_sent: bool, ctx: &mut Context<Self>) {
        let limit = if cancel_was_sent {
            LOST_AFTER
        } else {
            Duration::ZERO
        };
        ctx.notify_later(Lost(call_id), limit);
    }

    fn end_run(&mut self, run: RunId, outcome: &RunOutcome) {
        for (_, waiter) in self
            .waiting
            .extract_if(.., |(waits_for, _)| *waits_for == run)
        {
            // Whoever does not wait any more needs no answer.
            drop(waiter.send(outcome.clone()));
        }
        self.last = Some((run, outcome.clone()));
    }

    /// A future of the run's end.
    fn wait_for(&mut self, run: RunId) -> impl Future<Output = Option<RunOutcome>> + use<> {
        let (sender, receiver) = oneshot::channel();
        if self.machine.run() == Some(run) {
            self.waiting.push((run, sender));
        } else if let Some((last, outcome)) = &self.last
            && *last == run
        {
            drop(sender.send(outcome.clone()));
        }
        receiver.map(Result::ok)
    }
}

impl Actor for ConversationActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<SubmitPrompt> for ConversationActor {
    type Result = Result<RunId, SubmitError>;

    fn handle(&mut self, order: SubmitPrompt, ctx: &mut Context<Self>) -> Self::Result {
        let (run, effects) = self.machine.submit(order.content)?;
        self.carry_out(effects, ctx);
        Ok(run)
    }
}

impl Handler<CancelRun> for ConversationActor {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, _: CancelRun, ctx: &mut Context<Self>) -> Self::Result {
        let Some(run) = self.machine.run() else {
            return Box::pin(async { false });
        };
        let end = self.wait_for(run);
        self.advance(Input::CancelRequested, ctx);
        Box::pin(end.map(|_| true))
    }
}

impl Handler<StopRuns> for ConversationActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopRuns, ctx: &mut Context<Self>) -> Self::Result {
        let end = self.machine.run().map(|run| self.wait_for(run));
        self.advance(Input::StopRequested, ctx);
        Box::pin(async {
            if let Some(end) = end {
                end.await;
            }
        })
    }
}

impl Handler<WaitForEnd> for ConversationActor {
    type Result = ResponseFuture<Option<RunOutcome>>;

    fn handle(&mut self, question: WaitForEnd, _: &mut Context<Self>) -> Self::Result {
        Box::pin(self.wait_for(question.run))
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
struct Lost(CallId);

impl Handler<Lost> for ConversationActor {
    type Result = ();

    fn handle(&mut self, Lost(call_id): Lost, ctx: &mut Context<Self>) {
        self.advance(Input::CallLost(call_id), ctx);
    }
}
