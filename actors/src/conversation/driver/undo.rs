//! Taking back what tools changed. Orders wait meanwhile, so that no run begins.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use harness_protocol::{UndoAnswer, UndoOutcome, UndoTo, UndoneFile};
use tokio::sync::oneshot;

use super::actor::{ConversationActor, HeldOrder, ResidentState};
use super::outbox::OutboxStep;
use crate::blocking;
use crate::conversation::machine::{Machine, Undone};
use crate::conversation::messages::{SubmitError, UndoChanges, UndoError};
use crate::conversation::past::{Changes, Meant};
use crate::tool::{SeenBefore, sweep_beside};

/// Where the answer goes.
type UndoAnswerSender = oneshot::Sender<Result<UndoAnswer, UndoError>>;

/// A finished undo: the record that it goes back to, and the answer to the operator.
struct FinishedUndo {
    behind: u64,
    answer: UndoAnswer,
}

impl Handler<UndoChanges> for ConversationActor {
    type Result = ResponseFuture<Result<UndoAnswer, UndoError>>;

    fn handle(&mut self, order: UndoChanges, ctx: &mut Context<Self>) -> Self::Result {
        let gone = || SubmitError::NotKept("the conversation ended".to_owned());
        if self.ended {
            return Box::pin(async { Err(SubmitError::Deleted.into()) });
        }
        let (answer, receiver) = oneshot::channel();
        let held: HeldOrder = Box::new(move |actor, alive, ctx| {
            let alive = alive.map_err(|error| SubmitError::NotKept(error.to_string()));
            let may = alive.and_then(|()| actor.machine().map_or(Err(gone()), Machine::check_undo));
            match may {
                Ok(()) => actor.undo(order, answer, ctx),
                // The receiver may be gone; nothing to do then.
                Err(refusal) => drop(answer.send(Err(refusal.into()))),
            }
        });
        self.with_machine(held, ctx);
        Box::pin(receiver.map(move |answer| answer.unwrap_or_else(|_| Err(gone().into()))))
    }
}

impl ConversationActor {
    /// Removes what a killed service left beside files that the conversation knows: an undo or a change that was cut
    /// off. Nothing waits for it.
    pub(super) fn sweep_left_over(&self, seen: SeenBefore, ctx: &mut Context<Self>) {
        if seen.is_empty() {
            return;
        }
        let sweeping = blocking(move || sweep_beside(&seen)).into_actor(self);
        ctx.spawn(sweeping.map(|swept, actor, _| {
            if let Err(error) = swept {
                log::warn!("the folders of {} are not swept: {error}", actor.id);
            }
        }));
    }

    fn undo(&mut self, order: UndoChanges, answer: UndoAnswerSender, ctx: &mut Context<Self>) {
        let state = std::mem::replace(&mut self.state, ResidentState::Reviving(Vec::new()));
        let working = self.take_back(order.to, order.dry_run);
        ctx.spawn(working.into_actor(self).map(move |done, actor, ctx| {
            // A journal that took no more has ended the machine meanwhile.
            let is_held = matches!(actor.state, ResidentState::Reviving(_));
            let orders = match is_held {
                true => match std::mem::replace(&mut actor.state, state) {
                    ResidentState::Reviving(orders) => orders,
                    ResidentState::Alive(_) | ResidentState::Dormant => Vec::new(),
                },
                false => Vec::new(),
            };
            actor.end_undo(&order, done, answer, ctx);
            for order in orders {
                actor.with_machine(order, ctx);
            }
        }));
    }

    /// Finds the changes and takes them back.
    fn take_back(
        &self,
        to: Option<UndoTo>,
        is_dry: bool,
    ) -> impl Future<Output = Result<FinishedUndo, UndoError>> + use<> {
        let (journal, end) = (Arc::clone(&self.downstream.journal), self.handed);
        let undo = self.downstream.undo.clone();
        async move {
            let changes = Changes::read(&*journal, end).await;
            let changes = changes.map_err(|error| SubmitError::NotKept(error.to_string()))?;
            let meant = changes.behind(to).ok_or(UndoError::Nothing)?;
            let Meant {
                behind,
                changes,
                notes,
            } = meant;
            let work = blocking(move || undo.take_back(&changes, is_dry)).await;
            let files = work.map_err(|error| SubmitError::NotKept(error.to_string()))?;
            let answer = UndoAnswer { files, notes };
            Ok(FinishedUndo { behind, answer })
        }
    }

    fn end_undo(
        &mut self,
        order: &UndoChanges,
        done: Result<FinishedUndo, UndoError>,
        answer: UndoAnswerSender,
        ctx: &mut Context<Self>,
    ) {
        let FinishedUndo {
            behind,
            answer: told,
        } = match done {
            Ok(done) => done,
            // The receiver may be gone; nothing to do then.
            Err(error) => return drop(answer.send(Err(error))),
        };
        let is_back = |file: &UndoneFile| file.outcome != UndoOutcome::Conflict;
        // An undo that has only notes is recorded, so that the next one is about an earlier run.
        let is_done = told.files.is_empty() || told.files.iter().any(is_back);
        if order.dry_run || !is_done {
            return drop(answer.send(Ok(told)));
        }
        let undone = Undone {
            behind,
            files: told.files.clone(),
            by: order.by.clone(),
        };
        let effects = match &mut self.state {
            ResidentState::Alive(machine) => machine.undone(undone),
            ResidentState::Dormant | ResidentState::Reviving(_) => {
                let lost = SubmitError::NotKept("the journal took no more meanwhile".to_owned());
                return drop(answer.send(Err(lost.into())));
            }
        };
        self.carry_out(effects, ctx);
        let told = |_: &Self, kept: Result<(), SubmitError>| {
            let kept = kept.map(|()| told);
            drop(answer.send(kept.map_err(UndoError::from)));
        };
        self.outbox.push(OutboxStep::Answer(Box::new(told)));
        self.proceed(ctx);
    }
}
