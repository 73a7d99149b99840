//! Runs tools. A conversation asks for one at a time; conversations do not wait for each other.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt as _;

use super::cap::{self, MAX_RESULT_BYTES};
use super::{Cancellation, Registry, ToolCall, ToolOutcome};
use crate::ids::CallId;
use crate::messages::{CancelTool, RunTool, ToolEvent, reply};
use crate::secret::Redaction;

/// How many orders may wait for the actor.
const MAILBOX: usize = 1024;
/// How long a cancelled tool has to stop by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the tools of all conversations of the service.
pub struct ToolActor {
    limit: Duration,
    redaction: Redaction,
    calls: HashMap<CallId, RunningTool>,
}

/// A call that is under way.
struct RunningTool {
    future: SpawnHandle,
    cancellation: Cancellation,
    reply_to: Recipient<ToolEvent>,
}

impl ToolActor {
    /// An actor that lets each tool take as long as `limit`. What must not be seen
    /// is taken out of their results: a tool may read the very file that holds it.
    #[must_use]
    pub fn new(limit: Duration, redaction: Redaction) -> Self {
        Self {
            limit,
            redaction,
            calls: HashMap::new(),
        }
    }

    fn finish(&mut self, call_id: CallId, outcome: ToolOutcome) {
        let Some(call) = self.calls.remove(&call_id) else {
            return; // It was given up, and that was its end.
        };
        let outcome = if call.cancellation.is_cancelled() {
            ToolOutcome::failed("cancelled by user")
        } else {
            ToolOutcome {
                result: self.redaction.apply(outcome.result),
                ..outcome
            }
        };
        reply(&call.reply_to, ToolEvent::Finished { call_id, outcome });
    }
}

impl Actor for ToolActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<RunTool> for ToolActor {
    type Result = ();

    fn handle(&mut self, order: RunTool, ctx: &mut Context<Self>) {
        let RunTool {
            call_id,
            call,
            tools,
            reply_to,
        } = order;
        let cancellation = Cancellation::new();
        let work = run(tools, call, self.limit, cancellation.clone());
        let id = call_id.clone();
        let future = ctx.spawn(
            work.into_actor(self)
                .map(move |outcome, actor, _| actor.finish(id, outcome)),
        );
        let running = RunningTool {
            future,
            cancellation,
            reply_to,
        };
        self.calls.insert(call_id, running);
    }
}

impl Handler<CancelTool> for ToolActor {
    type Result = ();

    fn handle(&mut self, order: CancelTool, ctx: &mut Context<Self>) {
        let Some(call) = self.calls.get(&order.call_id) else {
            return; // It has ended, and its end is on the way.
        };
        call.cancellation.cancel();
        let future = call.future;
        ctx.run_later(GRACE, move |actor, ctx| {
            if actor.calls.contains_key(&order.call_id) {
                log::warn!("tool call {} did not stop by itself", order.call_id);
                ctx.cancel_future(future);
                actor.finish(order.call_id, ToolOutcome::failed("cancelled by user"));
            }
        });
    }
}

async fn run(
    registry: Registry,
    call: ToolCall,
    limit: Duration,
    cancellation: Cancellation,
) -> ToolOutcome {
    let Some(tool) = registry.get(&call.name) else {
        return bounded(ToolOutcome::failed(&format!("unknown tool: {}", call.name)));
    };
    let stop = cancellation.child_token();
    let _stop_at_end = stop.clone().drop_guard();
    // A panic while the future is made counts like one while it runs.
    let work = AssertUnwindSafe(async { tool.execute(call.input, stop).await });
    let outcome = match tokio::time::timeout(limit, work.catch_unwind()).await {
        Ok(Ok(result)) => result.into(),
        Ok(Err(panic)) => {
            let reason = panic_text(&*panic);
            log::error!("the tool {} panicked: {reason}", call.name);
            ToolOutcome::failed(&format!("the tool {} panicked: {reason}", call.name))
        }
        Err(_) => ToolOutcome::failed(&format!(
            "the tool {} took longer than {limit:?}",
            call.name
        )),
    };
    bounded(outcome)
}

fn bounded(mut outcome: ToolOutcome) -> ToolOutcome {
    if outcome.result.len() > MAX_RESULT_BYTES {
        let size = outcome.result.len();
        let kept = cap::start_of(&outcome.result, MAX_RESULT_BYTES);
        outcome.result = format!("{kept}… [cut: {MAX_RESULT_BYTES} of {size} bytes]");
    }
    outcome
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
