//! An alarm of an actor: one sleep at a time, until the time that its machine waits for.

use std::time::Duration;

use actix::prelude::*;

/// The longest sleep: a clock that is set, or a machine that slept, is noticed then.
const LONGEST: Duration = Duration::from_secs(60);
/// The shortest sleep.
const SHORTEST: Duration = Duration::from_millis(10);

/// The sleep that is under way: its end in Unix milliseconds, and its handle.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<(u64, SpawnHandle)>);

impl Alarm {
    /// Replaces the sleep by one until `due`, after which `wake` is called once. `None` ends the sleep. Both times are in
    /// Unix milliseconds. A sleep until the same time continues.
    pub(super) fn set<A: Actor<Context = Context<A>>>(
        &mut self,
        due: Option<u64>,
        now: u64,
        ctx: &mut Context<A>,
        wake: fn(&mut A, &mut Context<A>),
    ) {
        if self.0.map(|(due, _)| due) == due {
            return;
        }
        if let Some((_, handle)) = self.0.take() {
            ctx.cancel_future(handle);
        }
        let Some(due) = due else {
            return;
        };
        let sleep = Duration::from_millis(due.saturating_sub(now)).clamp(SHORTEST, LONGEST);
        let handle = ctx.run_later(sleep, wake);
        self.0 = Some((due, handle));
    }

    /// Notes that the sleep has ended.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
