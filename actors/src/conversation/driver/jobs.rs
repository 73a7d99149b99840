//! Jobs: their ends are put on record, also while no client asks.

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use tokio::sync::oneshot;

use super::actor::{ConversationActor, HeldOrder, ResidentState};
use super::outbox::OutboxStep;
use crate::conversation::machine::{Input, Machine};
use crate::conversation::messages::NoteJobs;
use crate::journal::{NewRecord, Record};

impl ConversationActor {
    /// Puts on record how jobs have ended. What is not known any more was lost with a service; that is put
    /// on record when something else is.
    pub(super) fn note_jobs(&mut self, ctx: &mut Context<Self>) {
        let open = self.machine().map(Machine::ledger);
        let open: Vec<u64> = open.map_or_else(Vec::new, |ledger| ledger.open_jobs().collect());
        if open.is_empty() {
            return;
        }
        let ended = self.downstream.jobs.ended(&self.id, &open);
        if !ended.is_empty() {
            self.advance(Input::JobsEnded(ended), ctx);
        }
    }

    /// Tells the jobs that run which files calls and undo changed.
    pub(super) fn note_changes(&self, records: &[NewRecord]) {
        for new in records {
            let jobs = &self.downstream.jobs;
            if let Record::FilesChanged { changes, .. } = &new.record {
                jobs.note_changes(&changes.iter().map(|change| &*change.path));
            } else if let Record::Undone { files, .. } = &new.record {
                jobs.note_changes(&files.iter().map(|file| &*file.path));
            }
        }
    }
}

impl Handler<NoteJobs> for ConversationActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: NoteJobs, ctx: &mut Context<Self>) -> Self::Result {
        let is_asleep = matches!(self.state, ResidentState::Dormant);
        if self.ended || (self.stopping && is_asleep) {
            // The next one that opens it finds that they are gone.
            return Box::pin(async {});
        }
        let (noted, noting) = oneshot::channel();
        let order: HeldOrder = Box::new(move |actor, _, ctx| {
            actor.note_jobs(ctx);
            // The receiver may be gone; nothing to do then.
            let answer = |_: &Self, _| noted.send(()).unwrap_or_default();
            actor.outbox.push(OutboxStep::Answer(Box::new(answer)));
            actor.proceed(ctx);
        });
        self.with_machine(order, ctx);
        Box::pin(noting.map(Result::unwrap_or_default))
    }
}
