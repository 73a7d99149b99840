//! Shows clients what a check writes while it runs.

use std::time::Duration;

use actix::prelude::*;

use super::actor::WorkflowActor;
use crate::broadcast::messages::Publish;
use crate::ids::CallId;
use crate::send::tell;
use crate::tool::{LiveOutput, Wrote};
use crate::workflow::facts::StepPlace;
use crate::workflow::state::IterationStep;

/// Maximum delay before the output of a check is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(50);

impl WorkflowActor {
    /// The output of a step that clients see while it runs.
    pub(super) fn show_step(
        &mut self,
        at: StepPlace,
        step: IterationStep,
        ctx: &mut Context<Self>,
    ) -> LiveOutput {
        let actor = ctx.address().recipient();
        self.showing
            .open(at, step, |id| LiveOutput::for_call(id, actor))
    }

    /// Shows the rest of a step's output: the step has ended, and its record follows.
    pub(super) fn show_rest(&mut self) {
        while let Some((event, _)) = self.showing.next() {
            tell(&self.broadcast.publish, Publish::Passing(event));
        }
        self.showing.close();
    }

    /// Shows what was written last, a little later, with all that is written until then.
    fn show_soon(&mut self, id: CallId, ctx: &mut Context<Self>) {
        ctx.run_later(SHOWN_EVERY, move |actor, ctx| {
            if !actor.showing.is(&id) {
                return; // Another step is open.
            }
            if let Some((event, has_more)) = actor.showing.next() {
                tell(&actor.broadcast.publish, Publish::Passing(event));
                if has_more {
                    actor.show_soon(id, ctx);
                }
            }
        });
    }
}

impl Handler<Wrote> for WorkflowActor {
    type Result = ();

    fn handle(&mut self, Wrote(id): Wrote, ctx: &mut Context<Self>) {
        self.show_soon(id, ctx);
    }
}
