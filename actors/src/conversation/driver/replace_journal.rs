//! Compaction for good: the journal is replaced by one that begins with a summary.

use std::sync::Arc;

use actix::prelude::*;

use super::actor::{ConversationActor, ResidentState};
use crate::broadcast::messages::Publish;
use crate::conversation::machine::Machine;
use crate::conversation::messages::{CompactError, Compacted, SubmitError};
use crate::conversation::past::{Rewritten, rewrite};
use crate::send::tell;

impl ConversationActor {
    /// From now on orders wait: the new journal is made of the records so far.
    pub(super) fn hold_orders(&mut self) {
        self.calls = self.machine().map_or(self.calls, Machine::calls);
        self.state = ResidentState::Reviving(Vec::new());
    }

    /// Replaces the journal. The orders that wait are carried out then, by a machine that is read
    /// back from the new one.
    pub(super) fn rewrite(
        &self,
        compacted: Compacted,
        by: Option<String>,
        ctx: &mut Context<Self>,
    ) {
        let journal = Arc::clone(&self.downstream.journal);
        let rewriting = rewrite(journal, self.handed, by, self.clock.unix_millis());
        let rewriting = rewriting.into_actor(self);
        ctx.spawn(rewriting.map(move |rewritten, actor, ctx| {
            let result = match rewritten {
                Ok(rewritten) => Ok(actor.rewritten(compacted, rewritten)),
                Err(error) => {
                    let reason = error.to_string();
                    log::error!("conversation {}: {reason}", actor.id);
                    Err(CompactError::Order(SubmitError::NotKept(reason)))
                }
            };
            actor.end_compaction(&result);
            actor.take_held_orders(ctx);
        }));
    }

    /// Carries out the orders that waited for the journal to be replaced.
    pub(super) fn take_held_orders(&mut self, ctx: &mut Context<Self>) {
        match std::mem::replace(&mut self.state, ResidentState::Dormant) {
            ResidentState::Reviving(orders) => {
                for order in orders {
                    self.with_machine(order, ctx);
                }
            }
            state @ (ResidentState::Dormant | ResidentState::Alive(_)) => self.state = state,
        }
    }

    fn rewritten(&mut self, compacted: Compacted, rewritten: Option<Rewritten>) -> Compacted {
        let Some(Rewritten { position, archive }) = rewritten else {
            // It was done before.
            return Compacted {
                compacted: false,
                ..compacted
            };
        };
        self.position = position;
        self.handed = position.seq;
        tell(&self.downstream.publish, Publish::Rewritten { position });
        Compacted {
            archive: Some(archive),
            ..compacted
        }
    }

    /// Tells who waits for it how a compaction ended.
    pub(super) fn end_compaction(&mut self, result: &Result<Compacted, CompactError>) {
        for waiter in self.compacting.drain(..) {
            // The receiver may be gone; nothing to do then.
            drop(waiter.send(result.clone()));
        }
    }
}
