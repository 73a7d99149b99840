//! Approvals that wait for an operator: who is asked, and for how long.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use harness_protocol::Approval;

use super::actor::ConversationActor;
use crate::blocking;
use crate::conversation::machine::{Input, Machine};
use crate::conversation::messages::{AnswerApproval, RulesChanged};

impl ConversationActor {
    /// Asks the approver, and ends the approval if no operator answers in time.
    pub(super) fn ask(&self, approval: &Approval, ctx: &mut Context<Self>) {
        let limit = self.machine().and_then(Machine::approval_timeout);
        if let Some(seconds) = limit {
            ctx.notify_later(Expired(approval.id), Duration::from_secs(seconds));
        }
        let answering = self.downstream.approver.answer(&self.id, approval);
        let (approval, to) = (approval.clone(), ctx.address());
        actix::spawn(async move {
            if let Some(answer) = answering.await {
                let id = approval.id;
                let order = answer.to(&approval);
                // The operators' answer may have come first.
                if let Ok(Err(error)) = to.send(AnswerApproval { id, order }).await {
                    log::warn!("the approver's answer was not taken: {error}");
                }
            }
        });
    }

    /// Asks about what waited when the service ended.
    pub(super) fn ask_again(&self, ctx: &mut Context<Self>) {
        let waiting = self
            .machine()
            .filter(|machine| machine.waits_for_approval());
        if let Some(open) = waiting.and_then(|machine| machine.ledger().open_approval()) {
            self.ask(&open, ctx);
        }
    }
}

/// No operator answered an approval in time. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
struct Expired(u64);

impl Handler<Expired> for ConversationActor {
    type Result = ();

    fn handle(&mut self, Expired(id): Expired, ctx: &mut Context<Self>) {
        self.advance(Input::ApprovalExpired(id), ctx);
    }
}

impl Handler<RulesChanged> for ConversationActor {
    type Result = ();

    fn handle(&mut self, _: RulesChanged, ctx: &mut Context<Self>) {
        let folder = Arc::clone(&self.planner.folder);
        let looking = blocking(move || std::fs::metadata(folder));
        ctx.spawn(looking.into_actor(self).map(|found, actor, ctx| {
            let inode = found.ok().and_then(Result::ok).map(|found| found.ino());
            let order = move |actor: &mut Self, _, ctx: &mut Context<Self>| {
                actor.advance(Input::RulesChanged(inode), ctx);
            };
            actor.with_machine(Box::new(order), ctx);
        }));
    }
}
