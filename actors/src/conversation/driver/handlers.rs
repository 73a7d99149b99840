//! The handlers of a conversation's messages: prompting, cancelling, stopping, looking.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use harness_protocol::SettingsAnswer;
use tokio::sync::oneshot;

use super::actor::{ConversationActor, HeldOrder, ResidentState};
use super::outbox::OutboxStep;
use crate::conversation::machine::{ConversationOrder, Input, Machine, OrderResult, listed};
use crate::conversation::messages::{
    CancelRun, CompactConversation, CompactError, Compacted, EndIfIdle, GetOverview, GetSettings,
    IsRunning, MakeWay, Overview, RetireIfIdle, RunOutcome, StopRuns, SubmitError, WaitForEnd,
    WaitForReply,
};
use crate::conversation::past::glance;
use crate::ids::RunId;
use crate::storage::StorageError;

impl ConversationActor {
    /// Gives an order to the machine and answers when its records are written. `taken` runs as soon as
    /// the machine takes the order.
    fn order<O: ConversationOrder>(
        &mut self,
        order: O,
        taken: impl FnOnce(&mut Self) + 'static,
        ctx: &mut Context<Self>,
    ) -> ResponseFuture<Result<O::Answer, O::Refusal>> {
        if self.ended {
            return Box::pin(async { Err(SubmitError::Deleted.into()) });
        }
        let (answer, receiver) = oneshot::channel();
        let order: HeldOrder = Box::new(move |actor, alive, ctx| {
            let alive = alive.map_err(|error| SubmitError::NotKept(error.to_string()).into());
            match alive.and_then(|()| actor.ask_machine(order)) {
                Ok((value, effects)) => {
                    taken(actor);
                    actor.carry_out(effects, ctx);
                    let answer = |_: &Self, kept: Result<(), SubmitError>| {
                        // The receiver may be gone; nothing to do then.
                        drop(answer.send(kept.map(|()| value).map_err(O::Refusal::from)));
                    };
                    actor.outbox.push(OutboxStep::Answer(Box::new(answer)));
                    actor.proceed(ctx);
                }
                Err(refusal) => drop(answer.send(Err(refusal))),
            }
        });
        self.with_machine(order, ctx);
        Box::pin(receiver.map(|answer| answer.unwrap_or_else(|_| Err(gone().into()))))
    }

    fn ask_machine<O: ConversationOrder>(&mut self, order: O) -> OrderResult<O> {
        let ResidentState::Alive(machine) = &mut self.state else {
            return Err(gone().into());
        };
        let journal = &self.downstream.journal;
        let check_room = |bytes| {
            let room = journal.room(bytes as u64);
            room.map_err(|error| SubmitError::NotKept(error.to_string()))
        };
        let taken = machine.order(order, check_room)?;
        // A run that was not kept may have had the same number as one that begins.
        let run = machine.run();
        self.last.take_if(|(last, _)| Some(*last) == run);
        Ok(taken)
    }

    fn is_compacting(&self) -> bool {
        self.machine().is_some_and(Machine::is_compacting)
    }

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        let is_reviving = matches!(self.state, ResidentState::Reviving(_));
        let is_working = self.run().is_some() || self.is_compacting();
        !is_working && self.outbox.is_empty() && !is_reviving
    }

    pub(super) fn answer_with_glance(
        &self,
        answer: oneshot::Sender<Result<Overview, StorageError>>,
    ) {
        let journal = Arc::clone(&self.downstream.journal);
        let looking = async move {
            drop(answer.send(glance(&*journal).await.map(Overview::from)));
        };
        // A task of its own: the actor may be let go before the answer is there.
        actix::spawn(looking);
    }
}

/// The refusal of an order whose actor died before it could answer.
fn gone() -> SubmitError {
    SubmitError::NotKept("the conversation ended".to_owned())
}

impl<O> Handler<O> for ConversationActor
where
    O: ConversationOrder
        + Message<
            Result = Result<<O as ConversationOrder>::Answer, <O as ConversationOrder>::Refusal>,
        >,
{
    type Result = ResponseFuture<Result<O::Answer, O::Refusal>>;

    fn handle(&mut self, order: O, ctx: &mut Context<Self>) -> Self::Result {
        self.order(order, |_| {}, ctx)
    }
}

impl Handler<GetSettings> for ConversationActor {
    type Result = ResponseFuture<Result<SettingsAnswer, StorageError>>;

    fn handle(&mut self, _: GetSettings, _: &mut Context<Self>) -> Self::Result {
        if let Some(machine) = self.machine() {
            let view = machine.settings_view();
            return Box::pin(async { Ok(view) });
        }
        let journal = Arc::clone(&self.downstream.journal);
        let planner = self.planner.clone();
        Box::pin(async move {
            let glance = glance(&*journal).await?;
            let own = glance.ledger.settings().unwrap_or(&planner.made_with);
            let tools = listed(
                glance.ledger.totals(),
                &planner.tools,
                planner.defaults.is_vendor,
            );
            Ok(planner.view(own, tools))
        })
    }
}

impl Handler<CompactConversation> for ConversationActor {
    type Result = ResponseFuture<Result<Compacted, CompactError>>;

    fn handle(&mut self, order: CompactConversation, ctx: &mut Context<Self>) -> Self::Result {
        let (ended, ending) = oneshot::channel();
        let begun = self.order(order, |actor| actor.compacting.push(ended), ctx);
        Box::pin(async {
            begun.await.map_err(CompactError::Order)?;
            let lost = |_| Err(CompactError::Order(gone()));
            ending.await.unwrap_or_else(lost)
        })
    }
}

impl Handler<CancelRun> for ConversationActor {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, order: CancelRun, ctx: &mut Context<Self>) -> Self::Result {
        let is_meant = |going: &RunId| order.run.is_none_or(|meant| meant == *going);
        if let Some(going) = self.run().filter(is_meant) {
            let end = self.wait_for(going);
            self.advance(Input::CancelRequested(order), ctx);
            return Box::pin(end.map(|_| true));
        }
        let may_stop = order.run.is_none() && self.is_compacting();
        // One that is not open may wait for an operator's answer.
        if self.machine().is_some() && !may_stop && !order.clear_queue {
            return Box::pin(async { false });
        }
        let cancelled = self.order(order, |_| {}, ctx);
        Box::pin(cancelled.map(|stops| stops.unwrap_or(false)))
    }
}

impl Handler<StopRuns> for ConversationActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopRuns, ctx: &mut Context<Self>) -> Self::Result {
        self.stopping = true;
        // One that waits for an operator's answer does not end.
        let waits = self.machine().is_some_and(Machine::waits_for_approval);
        let end = self.run().filter(|_| !waits);
        let end = end.map(|run| self.wait_for(run));
        self.advance(Input::StopRequested, ctx);
        let (settled, settling) = oneshot::channel();
        let settle: HeldOrder = Box::new(move |actor, _, ctx| {
            // The receiver may be gone; nothing to do then.
            let answer = |_: &Self, _| settled.send(()).unwrap_or_default();
            actor.outbox.push(OutboxStep::Answer(Box::new(answer)));
            actor.proceed(ctx);
        });
        match &mut self.state {
            // A journal that is being replaced is not to be left half way.
            ResidentState::Reviving(orders) => orders.push(settle),
            ResidentState::Dormant | ResidentState::Alive(_) => settle(self, Ok(()), ctx),
        }
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

impl Handler<WaitForReply> for ConversationActor {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, question: WaitForReply, _: &mut Context<Self>) -> Self::Result {
        if self.run() != Some(question.run) && !self.outbox.ends(question.run) {
            return Box::pin(async { false });
        }
        let (counted, receiver) = oneshot::channel();
        self.replying.push(counted);
        // An error means that the actor is gone, and its run with it.
        Box::pin(async { receiver.await.unwrap_or_default() })
    }
}

impl Handler<GetOverview> for ConversationActor {
    type Result = ResponseFuture<Result<Overview, StorageError>>;

    fn handle(&mut self, _: GetOverview, ctx: &mut Context<Self>) -> Self::Result {
        let (answer, receiver) = oneshot::channel();
        let is_known = self.active_at > 0 || !self.outbox.is_empty();
        match self.machine().filter(|_| is_known) {
            Some(machine) => {
                let ledger = machine.ledger();
                let overview = Overview {
                    position: self.position,
                    status: ledger.status().clone(),
                    run: ledger.run(),
                    is_running: machine.run().is_some(),
                    approval: ledger.open_approval(),
                    rules: ledger.rules(),
                    unfinished: ledger.unfinished().to_vec(),
                    totals: ledger.totals().clone(),
                    active_at: self.active_at,
                };
                let answer = move |actor: &Self, kept: Result<(), _>| match kept {
                    Ok(()) => {
                        let overview = Overview {
                            position: actor.position,
                            active_at: actor.active_at,
                            ..overview
                        };
                        drop(answer.send(Ok(overview)));
                    }
                    Err(_) => actor.answer_with_glance(answer),
                };
                self.outbox.push(OutboxStep::Answer(Box::new(answer)));
                self.proceed(ctx);
            }
            None => self.answer_with_glance(answer),
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

impl Handler<IsRunning> for ConversationActor {
    type Result = bool;

    fn handle(&mut self, _: IsRunning, _: &mut Context<Self>) -> bool {
        self.run().is_some()
    }
}

impl Handler<MakeWay> for ConversationActor {
    type Result = bool;

    fn handle(&mut self, _: MakeWay, ctx: &mut Context<Self>) -> bool {
        let makes_way = self.is_idle() && !self.attendance.is_followed();
        if makes_way {
            ctx.stop();
        }
        makes_way
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
