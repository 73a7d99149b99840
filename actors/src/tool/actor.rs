//! Runs tools. A few calls run at once in the whole service; the others wait for their turn.

use std::any::Any;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt as _;
use harness_protocol::{FileChange, Subject};
use tokio::time::Instant;

use super::cap::MAX_RESULT_BYTES;
use super::change::keep_change;
use super::live::{LiveOutput, Wrote};
use super::messages::{CancelTool, RunTool, ToolEvent};
use super::plan::{EffectError, digest};
use super::seen::SeenFiles;
use super::waiting::{MAX_WAITING, WaitingCalls};
use super::{
    ApprovedContents, BeforeStore, Cancellation, ExtentNote, Launching, Outputs, Registry, Tool,
    ToolCall, ToolContext, ToolError, ToolOutcome,
};
use crate::blocking;
use crate::ids::CallId;
use crate::reply::Object;
use crate::secret::Redaction;
use crate::send::tell;

/// How long a cancelled tool has to stop by itself.
const GRACE: Duration = Duration::from_secs(2);

/// How long what a call writes may wait to be shown.
const SHOWN_EVERY: Duration = Duration::from_millis(50);
/// How long a tool may take that bounds itself: a day.
const MAX_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// How many calls run at once: each may be a program that takes a processor and memory.
const MAX_AT_ONCE: usize = 8;

/// Runs the tools of all conversations of the service.
pub struct ToolActor {
    limit: Duration,
    redaction: Redaction,
    closed: Arc<[PathBuf]>,
    before: Option<BeforeStore>,
    outputs: Option<Outputs>,
    approved: ApprovedContents,
    launcher: Launching,
    calls: HashMap<CallId, RunningTool>,
    waiting: WaitingCalls,
}

/// A call that is under way.
struct RunningTool {
    future: SpawnHandle,
    cancellation: Cancellation,
    output: LiveOutput,
    began: Instant,
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
            closed: Arc::default(),
            before: None,
            outputs: None,
            approved: ApprovedContents::default(),
            launcher: Launching::default(),
            calls: HashMap::new(),
            waiting: WaitingCalls::default(),
        }
    }

    /// Closes files and folders to the tools, whatever name leads there.
    #[must_use]
    pub fn closing(self, closed: Arc<[PathBuf]>) -> Self {
        Self { closed, ..self }
    }

    /// Keeps the contents of files before tools change them.
    #[must_use]
    pub fn keeping(self, before: Option<BeforeStore>) -> Self {
        Self { before, ..self }
    }

    /// Keeps the outputs of commands that are too long to be shown.
    #[must_use]
    pub fn keeping_outputs(self, outputs: Option<Outputs>) -> Self {
        Self { outputs, ..self }
    }

    /// Starts programs by that launcher.
    #[must_use]
    pub fn launching(self, launcher: Launching) -> Self {
        Self { launcher, ..self }
    }

    /// Begins calls that wait while there is room.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        while self.calls.len() < MAX_AT_ONCE
            && let Some(order) = self.waiting.next(self.calls.keys())
        {
            self.run(order, ctx);
        }
    }

    fn run(&mut self, order: RunTool, ctx: &mut Context<Self>) {
        let RunTool {
            call_id,
            call,
            allowed,
            keep,
            tools,
            folder,
            command_folder,
            jobs,
            seen,
            reply_to,
        } = order;
        let cancellation = Cancellation::new();
        let output = LiveOutput::for_call(call_id.clone(), ctx.address().recipient());
        let context = ToolContext {
            output: output.clone(),
            seen: SeenFiles::from_before(seen),
            approved: self.approved.clone(),
            extent: ExtentNote::default(),
            closed: Arc::clone(&self.closed),
            before: self.before.clone(),
            outputs: self.outputs.clone(),
            launcher: self.launcher.clone(),
            call_id: call.id.clone(),
            conversation: call_id.conversation.clone(),
            folder,
            command_folder,
            jobs,
            cancellation: cancellation.clone(),
            redaction: self.redaction.for_conversation(&call_id.conversation),
        };
        let limit = self.limit;
        let work = async move {
            match keep {
                Some(change) => ToolCallEnd::Outcome(kept(*change, context).await),
                None => run(tools, call, allowed, limit, context).await,
            }
        };
        let id = call_id.clone();
        let future = ctx.spawn(work.into_actor(self).map(move |end, actor, ctx| {
            actor.end(id, end);
            actor.begin(ctx);
        }));
        let running = RunningTool {
            future,
            cancellation,
            output,
            began: Instant::now(),
            reply_to,
        };
        self.calls.insert(call_id, running);
    }

    /// Shows the next piece of what a call has written, a moment from now: what comes together is
    /// shown together.
    fn show_soon(&self, call_id: CallId, ctx: &mut Context<Self>) {
        ctx.run_later(SHOWN_EVERY, move |actor, ctx| {
            let Some(call) = actor.calls.get(&call_id) else {
                return; // Its result says the rest.
            };
            let redaction = actor.redaction.for_conversation(&call_id.conversation);
            let Some(piece) = call.output.next(&redaction) else {
                return;
            };
            let output = ToolEvent::Output {
                call_id: call_id.clone(),
                offset: piece.offset,
                text: piece.text,
            };
            tell(&call.reply_to, output);
            if piece.has_more {
                actor.show_soon(call_id, ctx);
            }
        });
    }

    fn end(&mut self, call_id: CallId, end: ToolCallEnd) {
        match end {
            ToolCallEnd::Outcome(outcome) => self.finish(call_id, outcome),
            ToolCallEnd::Planned(subject, folder_inode) => {
                let is_cancelled = |call: &RunningTool| call.cancellation.is_cancelled();
                if self.calls.get(&call_id).is_some_and(is_cancelled) {
                    self.finish(call_id, ToolOutcome::failed("cancelled by user"));
                } else if let Some(call) = self.calls.remove(&call_id) {
                    let planned = ToolEvent::Planned {
                        call_id,
                        subject,
                        folder_inode,
                    };
                    tell(&call.reply_to, planned);
                }
            }
        }
    }

    fn finish(&mut self, call_id: CallId, outcome: ToolOutcome) {
        let Some(call) = self.calls.remove(&call_id) else {
            return; // It was given up, and that was its end.
        };
        // What was changed or started is told, also of a call that was cancelled too late.
        let has_done =
            !outcome.changes.is_empty() || !outcome.proposals.is_empty() || outcome.job.is_some();
        let is_void = call.cancellation.is_cancelled() && !has_done;
        let outcome = if is_void {
            ToolOutcome::failed("cancelled by user")
        } else {
            let redaction = self.redaction.for_conversation(&call_id.conversation);
            ToolOutcome {
                result: bounded(outcome.result, &redaction),
                ..outcome
            }
        };
        let outcome = ToolOutcome {
            took: Some(call.began.elapsed()),
            ..outcome
        };
        tell(&call.reply_to, ToolEvent::Finished { call_id, outcome });
    }
}

impl Actor for ToolActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // The calls of one reply come at once.
        ctx.set_mailbox_capacity(MAX_WAITING);
    }
}

impl Handler<RunTool> for ToolActor {
    type Result = ();

    fn handle(&mut self, order: RunTool, ctx: &mut Context<Self>) {
        if self.waiting.is_full() {
            let outcome = ToolOutcome::failed(&format!(
                "{MAX_WAITING} tool calls wait already, so this one was not run; call it again when others \
                 have ended"
            ));
            let call_id = order.call_id;
            tell(&order.reply_to, ToolEvent::Finished { call_id, outcome });
            return;
        }
        self.waiting.push(order);
        self.begin(ctx);
    }
}

impl Handler<Wrote> for ToolActor {
    type Result = ();

    fn handle(&mut self, Wrote(call_id): Wrote, ctx: &mut Context<Self>) {
        self.show_soon(call_id, ctx);
    }
}

impl Handler<CancelTool> for ToolActor {
    type Result = ();

    fn handle(&mut self, order: CancelTool, ctx: &mut Context<Self>) {
        if let Some(waiting) = self.waiting.remove(&order.call_id) {
            let outcome = ToolOutcome::failed("cancelled by user");
            let call_id = waiting.call_id;
            tell(&waiting.reply_to, ToolEvent::Finished { call_id, outcome });
            return;
        }
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
                actor.begin(ctx);
            }
        });
    }
}

/// Makes a change that an operator keeps.
async fn kept(change: FileChange, context: ToolContext) -> ToolOutcome {
    let kept = keep_change(change, context).await;
    kept.unwrap_or_else(|error| Err(error).into())
}

async fn run(
    registry: Registry,
    call: ToolCall,
    allowed: Option<String>,
    limit: Duration,
    context: ToolContext,
) -> ToolCallEnd {
    let Some(tool) = registry.get(&call.name) else {
        let reason = format!("unknown tool: {}", call.name);
        return ToolCallEnd::Outcome(ToolOutcome::failed(&reason));
    };
    if let Some(reason) = &call.input_error {
        return ToolCallEnd::Outcome(ToolOutcome::failed(reason));
    }
    let stop = context.cancellation.child_token();
    let _stop_at_end = stop.clone().drop_guard();
    let context = ToolContext {
        cancellation: stop,
        ..context
    };
    let folder = Arc::clone(&context.folder);
    let limit = if tool.bounds_itself() {
        MAX_LIMIT
    } else {
        limit
    };
    // A panic while the future is made counts like one while it runs.
    let work = AssertUnwindSafe(work(&*tool, call.input, allowed, context));
    let outcome = match tokio::time::timeout(limit, work.catch_unwind()).await {
        Ok(Ok(Err(_))) if is_gone(&folder).await => ToolOutcome::failed(&format!(
            "the folder of this conversation is gone: {}",
            folder.display()
        )),
        Ok(Ok(Ok(end))) => return end,
        Ok(Ok(Err(error))) => Err(error).into(),
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
    ToolCallEnd::Outcome(outcome)
}

/// The end of a call.
enum ToolCallEnd {
    /// The tool returned or failed.
    Outcome(ToolOutcome),
    /// It would do this, in a folder with that inode.
    Planned(Box<Subject>, Option<u64>),
}

/// Runs a tool. One that plans does what is allowed, or tells what it would do.
async fn work(
    tool: &dyn Tool,
    input: Object,
    allowed: Option<String>,
    context: ToolContext,
) -> Result<ToolCallEnd, ToolError> {
    let Some(planned) = tool.plan(input.clone(), context.clone()).await? else {
        let (seen, extent) = (context.seen.clone(), context.extent.clone());
        let result = tool.execute_in(input, context).await?;
        return Ok(ToolCallEnd::Outcome(ToolOutcome {
            seen: seen.take(),
            extent: extent.take().map(Box::new),
            ..Ok(result).into()
        }));
    };
    if allowed != Some(digest(&planned.subject)) {
        return Ok(ask_about(planned.subject, context.folder).await);
    }
    let folder = Arc::clone(&context.folder);
    match planned.carry_out().await {
        Ok(outcome) => Ok(ToolCallEnd::Outcome(outcome)),
        Err(EffectError::Failed(error)) => Err(error),
        Err(EffectError::Changed) => match tool.plan(input, context).await? {
            Some(planned) => Ok(ask_about(planned.subject, folder).await),
            None => Err("the file was changed meanwhile; nothing was done".into()),
        },
    }
}

/// The end of a call that waits for a decision: rules go by the present folder.
async fn ask_about(subject: Subject, folder: Arc<Path>) -> ToolCallEnd {
    let look = move || std::fs::metadata(folder);
    let found = blocking(look).await.ok().and_then(Result::ok);
    ToolCallEnd::Planned(Box::new(subject), found.map(|found| found.ino()))
}

/// Whether there is no folder there. A tool that failed for that would name something in it.
async fn is_gone(folder: &Arc<Path>) -> bool {
    let folder = Arc::clone(folder);
    let look = move || std::fs::metadata(folder);
    let found = blocking(look).await;
    found.is_ok_and(|found| found.is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

/// A result without what must not be seen, and not longer than any may be.
fn bounded(result: String, redaction: &Redaction) -> String {
    let size = result.len();
    if size <= MAX_RESULT_BYTES {
        return redaction.apply(result);
    }
    // However large it is, only what is shown of it is looked at, and what a secret may reach over.
    let looked_at = result.floor_char_boundary(MAX_RESULT_BYTES + redaction.reach());
    let kept = redaction.apply_to_start(&result[..looked_at], MAX_RESULT_BYTES);
    format!("{kept}… [cut: {MAX_RESULT_BYTES} of {size} bytes]")
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
