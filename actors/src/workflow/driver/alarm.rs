//! Tells the machine the time when it wants to know it.

use std::time::Duration;

use actix::prelude::*;

use super::actor::WorkflowActor;
use crate::workflow::machine::Input;

/// The longest sleep: a clock that is set, or a machine that slept, is noticed then.
const LONGEST: Duration = Duration::from_secs(60);
/// The shortest sleep.
const SHORTEST: Duration = Duration::from_millis(10);

/// The sleep that is under way.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<(u64, SpawnHandle)>);

impl WorkflowActor {
    /// Sleeps until the time that the machine waits for, if there is one.
    pub(super) fn set_alarm(&mut self, ctx: &mut Context<Self>) {
        let due = self.machine.alarm();
        if self.alarm.0.map(|(due, _)| due) == due {
            return;
        }
        if let Some((_, handle)) = self.alarm.0.take() {
            ctx.cancel_future(handle);
        }
        let Some(due) = due else {
            return;
        };
        let sleep = due.saturating_sub(self.parts.clock.unix_millis());
        let sleep = Duration::from_millis(sleep).clamp(SHORTEST, LONGEST);
        let handle = ctx.run_later(sleep, |actor, ctx| {
            actor.alarm.0 = None;
            let has_room = actor.parts.room.has_for(&actor.id);
            actor.advance(Input::Time { has_room }, ctx);
        });
        self.alarm.0 = Some((due, handle));
    }
}
