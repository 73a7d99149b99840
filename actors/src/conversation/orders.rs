//! What others may ask of a conversation: prompting, cancelling, stopping, looking.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use tokio::sync::oneshot;

use super::actor::{ConversationActor, Order, State};
use super::input::Input;
use super::machine::{Prompt, Submitted};
use super::outbox::Step;
use super::revival::glance;
use crate::ids::RunId;
use crate::journal::StorageError;
use crate::messages::{
    CancelRun, EndIfIdle, GetOverview, Overview, RenameConversation, RetireIfIdle, RunOutcome,
    StopRuns, SubmitError, SubmitPrompt, WaitForEnd,
};

impl ConversationActor {
    pub(super) fn submit(
        &mut self,
        prompt: Prompt,
        answer: oneshot::Sender<Result<RunId, SubmitError>>,
        ctx: &mut Context<Self>,
    ) {
        let submitted = match self.machine() {
            Some(machine) => machine.submit(prompt),
            None => Err(SubmitError::NotKept("the conversation is gone".to_owned())),
        };
        match submitted {
            Ok(Submitted::Started(run, effects)) => {
                // A prompt that was not kept may have had the same number.
                self.last.take_if(|(last, _)| *last == run);
                self.carry_out(effects, ctx);
                self.outbox.push(Step::Accept(answer, run));
            }
            Ok(Submitted::Repeated(run)) => self.outbox.push(Step::Accept(answer, run)),
            Err(error) => drop(answer.send(Err(error))),
        }
        self.proceed(ctx);
    }

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        let is_reviving = matches!(self.state, State::Reviving(_));
        self.run().is_none() && self.outbox.is_empty() && !is_reviving
    }

    pub(super) fn answer_with_glance(
        &self,
        answer: oneshot::Sender<Result<Overview, StorageError>>,
        ctx: &mut Context<Self>,
    ) {
        let journal = Arc::clone(&self.downstream.journal);
        let looking = async move {
            drop(answer.send(glance(&*journal).await.map(Overview::from)));
        };
        ctx.spawn(looking.into_actor(self));
    }
}

/// What a dropped answer means: the actor died before it could answer.
fn gone() -> SubmitError {
    SubmitError::NotKept("the conversation ended".to_owned())
}

impl Handler<SubmitPrompt> for ConversationActor {
    type Result = ResponseFuture<Result<RunId, SubmitError>>;

    fn handle(&mut self, order: SubmitPrompt, ctx: &mut Context<Self>) -> Self::Result {
        if self.ended {
            return Box::pin(async { Err(SubmitError::Deleted) });
        }
        let SubmitPrompt { content, key, by } = order;
        let prompt = Prompt { content, key, by };
        let (answer, receiver) = oneshot::channel();
        let submit: Order = Box::new(move |actor, alive, ctx| match alive {
            Ok(()) => actor.submit(prompt, answer, ctx),
            Err(error) => drop(answer.send(Err(SubmitError::NotKept(error.to_string())))),
        });
        self.with_machine(submit, ctx);
        Box::pin(receiver.map(|answer| answer.unwrap_or_else(|_| Err(gone()))))
    }
}

impl Handler<RenameConversation> for ConversationActor {
    type Result = ResponseFuture<Result<(), SubmitError>>;

    fn handle(&mut self, order: RenameConversation, ctx: &mut Context<Self>) -> Self::Result {
        if self.ended {
            return Box::pin(async { Err(SubmitError::Deleted) });
        }
        let (answer, receiver) = oneshot::channel();
        let rename: Order = Box::new(move |actor, alive, ctx| {
            if let Err(error) = alive {
                drop(answer.send(Err(SubmitError::NotKept(error.to_string()))));
                return;
            }
            let effects = actor
                .machine()
                .map(|machine| machine.rename(order.title, order.by));
            actor.carry_out(effects.unwrap_or_default(), ctx);
            actor.outbox.push(Step::Renamed(answer));
            actor.proceed(ctx);
        });
        self.with_machine(rename, ctx);
        Box::pin(receiver.map(|answer| answer.unwrap_or_else(|_| Err(gone()))))
    }
}

impl Handler<CancelRun> for ConversationActor {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, order: CancelRun, ctx: &mut Context<Self>) -> Self::Result {
        let is_meant = |run: &RunId| order.run.is_none_or(|meant| meant == *run);
        let Some(run) = self.run().filter(is_meant) else {
            return Box::pin(async { false });
        };
        let end = self.wait_for(run);
        self.advance(Input::CancelRequested { by: order.by }, ctx);
        Box::pin(end.map(|_| true))
    }
}

impl Handler<StopRuns> for ConversationActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopRuns, ctx: &mut Context<Self>) -> Self::Result {
        self.stopping = true;
        let end = self.run().map(|run| self.wait_for(run));
        self.advance(Input::StopRequested, ctx);
        let (settled, settling) = oneshot::channel();
        self.outbox.push(Step::Settled(settled));
        self.proceed(ctx);
        Box::pin(async {
            if let Some(end) = end {
                end.await;
            }
            // An error means that the actor is gone, and nothing waits any more.
            settling.await.unwrap_or_default();
        })
    }
}

impl Handler<WaitForEnd> for ConversationActor {
    type Result = ResponseFuture<Option<RunOutcome>>;

    fn handle(&mut self, question: WaitForEnd, _: &mut Context<Self>) -> Self::Result {
        let is_last = matches!(&self.last, Some((last, _)) if *last == question.run);
        let is_known = self.run() == Some(question.run) || self.outbox.ends(question.run);
        if !is_known && !is_last {
            return Box::pin(async { None });
        }
        Box::pin(self.wait_for(question.run))
    }
}

impl Handler<GetOverview> for ConversationActor {
    type Result = ResponseFuture<Result<Overview, StorageError>>;

    fn handle(&mut self, _: GetOverview, ctx: &mut Context<Self>) -> Self::Result {
        let (answer, receiver) = oneshot::channel();
        match &self.state {
            State::Alive(machine) if self.active_at > 0 || !self.outbox.is_empty() => {
                let ledger = machine.ledger();
                let overview = Overview {
                    position: self.position,
                    status: ledger.status().clone(),
                    run: ledger.run(),
                    is_running: machine.run().is_some(),
                    totals: ledger.totals().clone(),
                    active_at: self.active_at,
                };
                let step = Step::Overview(answer, Box::new(overview));
                self.outbox.push(step);
                self.proceed(ctx);
            }
            State::Alive(_) | State::Dormant | State::Reviving(_) => {
                self.answer_with_glance(answer, ctx);
            }
        }
        let id = self.id.to_string();
        Box::pin(receiver.map(|answer| {
            answer.unwrap_or_else(|_| {
                Err(StorageError {
                    doing: "look at".to_owned(),
                    path: id,
                    reason: "the conversation ended".to_owned(),
                })
            })
        }))
    }
}

impl Handler<EndIfIdle> for ConversationActor {
    type Result = bool;

    fn handle(&mut self, _: EndIfIdle, _: &mut Context<Self>) -> bool {
        self.ended |= self.is_idle();
        self.ended
    }
}

impl Handler<RetireIfIdle> for ConversationActor {
    type Result = bool;

    fn handle(&mut self, _: RetireIfIdle, ctx: &mut Context<Self>) -> bool {
        let is_idle = self.is_idle() && !self.attendance.is_followed();
        let was_idle = std::mem::replace(&mut self.was_idle, is_idle);
        let retires = is_idle && was_idle;
        if retires {
            ctx.stop();
        }
        retires
    }
}
