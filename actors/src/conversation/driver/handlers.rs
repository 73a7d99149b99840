//! What others may ask of a conversation: prompting, cancelling, stopping, looking.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use harness_protocol::Queue;
use tokio::sync::oneshot;

use super::actor::{ConversationActor, Order, State};
use super::outbox::Step;
use crate::conversation::machine::{
    CompactOrder, Effect, Input, Machine, Message, Prompt, Submitted, listed,
};
use crate::conversation::messages::{
    CancelRun, ChangeError, ChangeSettings, CompactConversation, CompactError, Compacted,
    ContinueRun, EndIfIdle, GetOverview, GetSettings, IsRunning, MakeWay, Overview, QueueMessage,
    RenameConversation, RenewTools, RetireIfIdle, RunOutcome, SettingsView, StopRuns, SubmitError,
    SubmitPrompt, WaitForEnd, WithdrawMessages, WouldTake,
};
use crate::conversation::past::glance;
use crate::ids::{ItemId, RunId};
use crate::storage::StorageError;

impl ConversationActor {
    /// Gives an order to the machine; answers when what came of it is on record.
    fn order<T: 'static>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(T, Vec<Effect>), SubmitError> + 'static,
        ctx: &mut Context<Self>,
    ) -> ResponseFuture<Result<T, SubmitError>> {
        if self.ended {
            return Box::pin(async { Err(SubmitError::Deleted) });
        }
        let (answer, receiver) = oneshot::channel();
        let order: Order = Box::new(move |actor, alive, ctx| {
            let worked = match alive {
                Ok(()) => work(actor),
                Err(error) => Err(SubmitError::NotKept(error.to_string())),
            };
            match worked {
                Ok((value, effects)) => {
                    actor.carry_out(effects, ctx);
                    let answer = |_: &Self, kept: Result<(), _>| {
                        // The receiver may be gone; nothing to do then.
                        drop(answer.send(kept.map(|()| value)));
                    };
                    actor.outbox.push(Step::Answer(Box::new(answer)));
                    actor.proceed(ctx);
                }
                Err(error) => drop(answer.send(Err(error))),
            }
        });
        self.with_machine(order, ctx);
        Box::pin(receiver.map(|answer| answer.unwrap_or_else(|_| Err(gone()))))
    }

    /// The machine, as an order finds it.
    fn ready(&mut self) -> Result<&mut Machine, SubmitError> {
        self.machine().ok_or_else(gone)
    }

    /// Whether there is room for what an order brings.
    fn check_room(&self, bytes: usize) -> Result<(), SubmitError> {
        let room = self.downstream.journal.room(bytes as u64);
        room.map_err(|error| SubmitError::NotKept(error.to_string()))
    }

    /// Whether a message would be taken. One that was taken before needs no room.
    fn would_take(
        &mut self,
        queue: Option<Queue>,
        content: &str,
        key: Option<&str>,
    ) -> Result<(), SubmitError> {
        let machine = self.ready()?;
        if key.is_some_and(|key| machine.ledger().keyed(key).is_some()) {
            return Ok(());
        }
        machine.would_take(queue, content)?;
        self.check_room(content.len())
    }

    /// A run that was not kept may have had the same number.
    fn forget_end_of(&mut self, run: RunId) {
        self.last.take_if(|(last, _)| *last == run);
    }

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        let is_reviving = matches!(self.state, State::Reviving(_));
        let is_compacting = match &self.state {
            State::Alive(machine) => machine.is_compacting(),
            State::Dormant | State::Reviving(_) => false,
        };
        self.run().is_none() && self.outbox.is_empty() && !is_reviving && !is_compacting
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

/// What a dropped answer means: the actor died before it could answer.
fn gone() -> SubmitError {
    SubmitError::NotKept("the conversation ended".to_owned())
}

impl Handler<SubmitPrompt> for ConversationActor {
    type Result = ResponseFuture<Result<RunId, SubmitError>>;

    fn handle(&mut self, order: SubmitPrompt, ctx: &mut Context<Self>) -> Self::Result {
        let SubmitPrompt {
            content,
            key,
            by,
            attachments,
        } = order;
        let prompt = Prompt {
            content,
            key,
            by,
            attachments,
        };
        let submit = move |actor: &mut Self| {
            actor.would_take(None, &prompt.content, prompt.key.as_deref())?;
            match actor.ready()?.submit(prompt)? {
                Submitted::Started(run, effects) => {
                    actor.forget_end_of(run);
                    Ok((run, effects))
                }
                Submitted::Repeated(run) => Ok((run, vec![])),
            }
        };
        self.order(submit, ctx)
    }
}

impl Handler<ContinueRun> for ConversationActor {
    type Result = ResponseFuture<Result<RunId, SubmitError>>;

    fn handle(&mut self, order: ContinueRun, ctx: &mut Context<Self>) -> Self::Result {
        let resume = move |actor: &mut Self| {
            actor.check_room(0)?;
            let (run, effects) = actor.ready()?.resume(order.resumption, order.by)?;
            actor.forget_end_of(run);
            Ok((run, effects))
        };
        self.order(resume, ctx)
    }
}

impl Handler<QueueMessage> for ConversationActor {
    type Result = ResponseFuture<Result<ItemId, SubmitError>>;

    fn handle(&mut self, order: QueueMessage, ctx: &mut Context<Self>) -> Self::Result {
        let QueueMessage {
            queue,
            content,
            key,
            by,
            attachments,
        } = order;
        let message = Message {
            queue,
            content,
            key,
            by,
            attachments,
        };
        let enqueue = move |actor: &mut Self| {
            actor.would_take(Some(queue), &message.content, message.key.as_deref())?;
            actor.ready()?.queue(message)
        };
        self.order(enqueue, ctx)
    }
}

impl Handler<WouldTake> for ConversationActor {
    type Result = ResponseFuture<Result<(), SubmitError>>;

    fn handle(&mut self, question: WouldTake, ctx: &mut Context<Self>) -> Self::Result {
        let WouldTake {
            queue,
            content,
            key,
        } = question;
        let look = move |actor: &mut Self| {
            let would = actor.would_take(queue, &content, key.as_deref());
            would.map(|()| ((), vec![]))
        };
        self.order(look, ctx)
    }
}

impl Handler<WithdrawMessages> for ConversationActor {
    type Result = ResponseFuture<Result<Vec<ItemId>, SubmitError>>;

    fn handle(&mut self, order: WithdrawMessages, ctx: &mut Context<Self>) -> Self::Result {
        let WithdrawMessages { item, by } = order;
        self.order(move |actor| Ok(actor.ready()?.withdraw(item, by)), ctx)
    }
}

impl Handler<RenameConversation> for ConversationActor {
    type Result = ResponseFuture<Result<(), SubmitError>>;

    fn handle(&mut self, order: RenameConversation, ctx: &mut Context<Self>) -> Self::Result {
        let RenameConversation { title, by } = order;
        let rename = move |actor: &mut Self| {
            actor.check_room(title.len())?;
            Ok(((), actor.ready()?.rename(title, by)))
        };
        self.order(rename, ctx)
    }
}

impl Handler<ChangeSettings> for ConversationActor {
    type Result = ResponseFuture<Result<SettingsView, ChangeError>>;

    fn handle(&mut self, order: ChangeSettings, ctx: &mut Context<Self>) -> Self::Result {
        let ChangeSettings { patch, by } = order;
        // A refusal is an answer here: nothing of it goes on record.
        let bytes = serde_json::to_vec(&patch).map_or(0, |patch| patch.len());
        let change = move |actor: &mut Self| {
            actor.check_room(bytes)?;
            let machine = actor.ready()?;
            Ok(match machine.change(patch, by) {
                Ok(effects) => (Ok(machine.settings_view()), effects),
                Err(error) => (Err(error), vec![]),
            })
        };
        let changed = self.order(change, ctx);
        Box::pin(changed.map(|changed| changed.unwrap_or_else(|e| Err(ChangeError::Order(e)))))
    }
}

impl Handler<GetSettings> for ConversationActor {
    type Result = ResponseFuture<Result<SettingsView, StorageError>>;

    fn handle(&mut self, _: GetSettings, _: &mut Context<Self>) -> Self::Result {
        if let State::Alive(machine) = &self.state {
            let view = machine.settings_view();
            return Box::pin(async { Ok(view) });
        }
        let journal = Arc::clone(&self.downstream.journal);
        let planner = self.planner.clone();
        Box::pin(async move {
            let glance = glance(&*journal).await?;
            let own = glance.ledger.settings().unwrap_or(&planner.made_with);
            let tools = listed(glance.ledger.totals(), &planner.tools);
            Ok(planner.view(own, tools))
        })
    }
}

impl Handler<RenewTools> for ConversationActor {
    type Result = ResponseFuture<Result<SettingsView, SubmitError>>;

    fn handle(&mut self, RenewTools { by }: RenewTools, ctx: &mut Context<Self>) -> Self::Result {
        let tools = self.planner.tools.get().definitions();
        let bytes = serde_json::to_vec(&tools).map_or(0, |tools| tools.len());
        let renew = move |actor: &mut Self| {
            actor.check_room(bytes)?;
            actor.ready()?.renew_tools(by)
        };
        self.order(renew, ctx)
    }
}

impl Handler<CompactConversation> for ConversationActor {
    type Result = ResponseFuture<Result<Compacted, CompactError>>;

    fn handle(&mut self, order: CompactConversation, ctx: &mut Context<Self>) -> Self::Result {
        let CompactConversation {
            force,
            instructions,
            by,
        } = order;
        let order = CompactOrder {
            force,
            instructions,
            by,
        };
        let (ended, ending) = oneshot::channel();
        let compact = move |actor: &mut Self| {
            actor.check_room(0)?;
            let effects = actor.ready()?.compact(order)?;
            let is_under_way = effects.is_some();
            if is_under_way {
                actor.compacting.push(ended);
            }
            Ok((is_under_way, effects.unwrap_or_default()))
        };
        let begun = self.order(compact, ctx);
        Box::pin(async {
            if !begun.await.map_err(CompactError::Order)? {
                return Ok(Compacted::default());
            }
            let lost = |_| Err(CompactError::Order(gone()));
            ending.await.unwrap_or_else(lost)
        })
    }
}

impl Handler<CancelRun> for ConversationActor {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, order: CancelRun, ctx: &mut Context<Self>) -> Self::Result {
        let CancelRun {
            run,
            by,
            clear_queue,
        } = order;
        let is_meant = |going: &RunId| run.is_none_or(|meant| meant == *going);
        let cancel = Input::CancelRequested {
            by: by.clone(),
            clear_queue,
        };
        if let Some(going) = self.run().filter(is_meant) {
            let end = self.wait_for(going);
            self.advance(cancel, ctx);
            return Box::pin(end.map(|_| true));
        }
        let is_compacting = match &self.state {
            State::Alive(machine) => machine.is_compacting(),
            State::Dormant | State::Reviving(_) => false,
        };
        if run.is_some() && clear_queue {
            // That run has ended; what waits is not to be said nevertheless.
            let clear = move |actor: &mut Self| Ok(actor.ready()?.withdraw(None, by));
            return Box::pin(self.order(clear, ctx).map(|_| false));
        }
        if run.is_some() || !(is_compacting || clear_queue) {
            return Box::pin(async { false });
        }
        let cancel = move |actor: &mut Self| Ok((is_compacting, actor.ready()?.handle(cancel)));
        Box::pin(self.order(cancel, ctx).map(|done| done.unwrap_or(false)))
    }
}

impl Handler<StopRuns> for ConversationActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopRuns, ctx: &mut Context<Self>) -> Self::Result {
        self.stopping = true;
        let end = self.run().map(|run| self.wait_for(run));
        self.advance(Input::StopRequested, ctx);
        let (settled, settling) = oneshot::channel();
        let settle: Order = Box::new(move |actor, _, ctx| {
            // The receiver may be gone; nothing to do then.
            let answer = |_: &Self, _| settled.send(()).unwrap_or_default();
            actor.outbox.push(Step::Answer(Box::new(answer)));
            actor.proceed(ctx);
        });
        match &mut self.state {
            // A journal that is being replaced is not to be left half way.
            State::Reviving(orders) => orders.push(settle),
            State::Dormant | State::Alive(_) => settle(self, Ok(()), ctx),
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
                self.outbox.push(Step::Answer(Box::new(answer)));
                self.proceed(ctx);
            }
            State::Alive(_) | State::Dormant | State::Reviving(_) => {
                self.answer_with_glance(answer);
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
