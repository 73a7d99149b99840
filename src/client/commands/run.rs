//! A run that a command starts and shows to its end.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::io::{self, IsTerminal as _};
use std::pin::pin;

use futures_util::future::LocalBoxFuture;
use harness_protocol::{ActivityState, CancelOrder, EndOutcome, Event, PromptAnswer};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom};
use crate::client::api::patience::Patience;
use crate::client::api::{discovery, routes};
use crate::client::commands::asks::{self, AsksMode};
use crate::client::commands::common;
use crate::client::commands::follow::next_event;
use crate::client::commands::order::{Addressed, OrderKey};
use crate::client::commands::stops::Stops;
use crate::client::error::{
    CommandError, EXIT_CANCELLED, EXIT_DENIED, EXIT_LIMITED, EXIT_TIMED_OUT,
};
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::client::run_view::{RunView, ShownEnd, ShownItem};
use crate::config::ClientConfig;

/// How many events are asked for at once when a run is looked for.
const PAGE: usize = 100;

/// The state of a prompt that is being sent.
#[derive(Default)]
struct PromptSending {
    /// True while another run is waited for: nothing was sent then that would have to be cancelled.
    is_waiting: Cell<bool>,
    /// The first stop that came while the answer was on its way.
    stopped: RefCell<Option<CommandError>>,
}

impl PromptSending {
    /// Takes a stop. The error is that the command ends now.
    fn stop(&self, stop: CommandError) -> Result<(), CommandError> {
        let mut stopped = self.stopped.borrow_mut();
        if self.is_waiting.get() || stopped.is_some() {
            return Err(stop);
        }
        *stopped = Some(stop);
        Ok(())
    }

    /// Begins to wait for another run. The error is a stop that has come.
    fn wait(&self, output: &mut Output) -> Result<(), CommandError> {
        if let Some(stop) = self.stopped.take() {
            return Err(stop);
        }
        if !self.is_waiting.replace(true) {
            output.note("harness: a run is going; this is sent at its end");
        }
        Ok(())
    }
}

/// The end of a run.
pub(super) struct FinishedRun {
    /// The exit code that says how it ended.
    pub(super) code: i32,
    /// True if it completed by itself and its last reply is known.
    pub(super) is_whole: bool,
    /// The text of its last reply.
    pub(super) reply: String,
}

/// Runs the prompt.
///
/// # Errors
/// If the prompt cannot be sent or its run cannot be followed.
pub(super) async fn run(
    order: Addressed,
    config: &ClientConfig,
    patience: Patience,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<FinishedRun, CommandError> {
    let mut stops = Stops::new(interrupts, order.ways.timeout);
    let mut follower = tokio::select! {
        follower = attach(&order, config, patience, output) => follower?,
        stop = stops.next() => return Err(stop),
    };
    let sending = PromptSending::default();
    let run_id = {
        let mut sent = pin!(send(
            &order,
            config,
            (patience, &sending),
            &mut follower,
            output
        ));
        loop {
            tokio::select! {
                run_id = &mut sent => break run_id?,
                stop = stops.next() => sending.stop(stop)?,
            }
        }
    };
    let mut is_cancelled = sending.stopped.take().is_some();
    let cancel = || -> LocalBoxFuture<'_, _> { Box::pin(cancel(&order, config, run_id)) };
    let mut cancelling = is_cancelled.then(cancel);
    let mut view = RunView::new(run_id);
    let mut answering: Option<LocalBoxFuture<'_, Result<(), ApiError>>> = None;
    loop {
        let arrival = tokio::select! {
            arrival = next_event(&mut follower, output) => arrival?,
            stop = stops.next() => {
                if std::mem::replace(&mut is_cancelled, true) {
                    return Err(stop);
                }
                cancelling = Some(cancel());
                continue;
            }
            failed = async {
                match &mut answering {
                    Some(answering) => answering.await,
                    None => pending().await,
                }
            } => {
                answering = None;
                if let Err(error) = failed {
                    // Somebody else may have answered: that is told by its event.
                    output.note(&format!("harness: the approval was not denied: {error}"));
                }
                continue;
            }
            failed = async {
                match &mut cancelling {
                    Some(cancelling) => cancelling.await.err(),
                    None => pending().await,
                }
            } => {
                cancelling = None;
                if let Some(error) = failed {
                    output.note(&format!("harness: cannot cancel: {error}"));
                }
                continue;
            }
        };
        let seen = view.take(&arrival.event);
        if order.json && seen.of_the_run {
            output.json(&arrival.with_position())?;
        }
        let fails = seen
            .end
            .is_some_and(|end| exit_code(end, order.is_typed) != 0);
        for shown in seen.shown {
            match shown {
                ShownItem::Text(_) if order.json || order.is_typed => {}
                ShownItem::Text(text) => output.text(&text)?,
                // Why it failed is no remark.
                ShownItem::Note(note) if fails => output.tell(&note),
                ShownItem::Note(note) => output.note(&note),
            }
        }
        if let Some(approval) = seen.asked {
            for line in asks::approval_lines(&order.conversation, &approval) {
                output.tell(&line);
            }
            answering = Some(Box::pin(answer_approval(&order, config, approval.id)));
        }
        if let Some(end) = seen.end {
            if end.outcome == EndOutcome::Cancelled && stops.is_late() {
                output.tell("harness: the time of --timeout is over; the run was cancelled");
                return Ok(finished(EXIT_TIMED_OUT, false, &view));
            }
            let is_whole = end.outcome == EndOutcome::Completed && !is_cancelled;
            return Ok(finished(exit_code(end, order.is_typed), is_whole, &view));
        }
    }
}

fn finished(code: i32, is_whole: bool, view: &RunView) -> FinishedRun {
    FinishedRun {
        code,
        is_whole: is_whole && view.reply().is_some(),
        reply: view.reply().unwrap_or_default().to_owned(),
    }
}

/// Attaches to the conversation, so that nothing of the run is missed.
async fn attach(
    order: &Addressed,
    config: &ClientConfig,
    patience: Patience,
    output: &mut Output,
) -> Result<EventFollower, CommandError> {
    let mut follower = follower_of(order, config, patience, FollowFrom::Now).await?;
    loop {
        let arrival = next_event(&mut follower, output).await?;
        if matches!(arrival.event, Event::Attached { .. }) {
            // It names the conversation.
            if order.json && order.is_new {
                output.json(&arrival.with_position())?;
            }
            return Ok(follower);
        }
    }
}

/// The exit code for the end of a run. A reply that has to fit a schema must be whole.
fn exit_code(end: ShownEnd, is_typed: bool) -> i32 {
    match end.outcome {
        EndOutcome::Error | EndOutcome::Interrupted | EndOutcome::Unknown => 1,
        EndOutcome::Completed if end.is_limited && is_typed => EXIT_LIMITED,
        EndOutcome::Completed if end.is_cut && is_typed => 1,
        EndOutcome::Completed | EndOutcome::Cancelled if end.is_denied => EXIT_DENIED,
        EndOutcome::Completed if end.is_limited => EXIT_LIMITED,
        EndOutcome::Completed => 0,
        EndOutcome::Cancelled => EXIT_CANCELLED,
    }
}

/// Answers an approval, unless an operator is to do that.
async fn answer_approval(
    order: &Addressed,
    config: &ClientConfig,
    id: u64,
) -> Result<(), ApiError> {
    let connection = discovery::find(config).await?;
    let asks = match order.asks {
        Some(asks) => asks,
        None if io::stderr().is_terminal() => AsksMode::Wait,
        None => {
            let snapshot = connection
                .ask(&routes::snapshot(&order.conversation, 1))
                .await?;
            // This command is one of them.
            if snapshot.attached > 1 {
                AsksMode::Wait
            } else {
                AsksMode::Deny
            }
        }
    };
    if let Some(answer) = asks.answer(&order.by) {
        let route = routes::answer(&order.conversation, id, &answer);
        connection.ask(&route).await?;
    }
    Ok(())
}

/// Sends the prompt, again after a break; its run. If the run may be an old one, the follower
/// starts again where it began.
async fn send(
    order: &Addressed,
    config: &ClientConfig,
    (patience, sending): (Patience, &PromptSending),
    follower: &mut EventFollower,
    output: &mut Output,
) -> Result<u64, CommandError> {
    let once = || send_once(order, config);
    let ((connection, run_id), tries) = loop {
        let sent = match order.key {
            OrderKey::None => once().await.map(|sent| (sent, 0)),
            OrderKey::New | OrderKey::Known => common::sent(patience, output, once).await,
        };
        match sent {
            Ok(sent) => break sent,
            Err(error) if error.is_busy() && order.ways.wait => {
                sending.wait(output)?;
                until_ended(follower, output).await?;
                sending.is_waiting.set(false);
            }
            Err(error) if error.is_busy() => return Err(busy(&error)),
            Err(error) => return Err(error.into()),
        }
    };
    if order.key == OrderKey::Known || tries > 0 {
        let start = start_of(&connection, &order.conversation, run_id).await?;
        let behind = FollowFrom::After((start - 1).to_string());
        *follower = follower_of(order, config, patience, behind).await?;
    }
    Ok(run_id)
}

/// Waits until what was going has ended, by its events.
async fn until_ended(
    follower: &mut EventFollower,
    output: &mut Output,
) -> Result<(), CommandError> {
    loop {
        match next_event(follower, output).await?.event {
            Event::RunEnded { .. }
            | Event::Attached { .. }
            | Event::Reset { .. }
            | Event::Compacted { .. }
            | Event::CompactionFailed { .. }
            | Event::Status {
                state: ActivityState::Idle | ActivityState::Error,
                ..
            } => return Ok(()),
            _ => {}
        }
    }
}

/// The refusal of an order while a run is going, with the ways out.
fn busy(error: &ApiError) -> CommandError {
    let reason = format!(
        "{error}; `harness steer` tells the model something now, `harness follow-up` says it at \
         the end, and --wait sends this then"
    );
    CommandError::Busy { reason }
}

async fn follower_of(
    order: &Addressed,
    config: &ClientConfig,
    patience: Patience,
    start: FollowFrom,
) -> Result<EventFollower, ApiError> {
    let follower = EventFollower::new(config, patience, &order.conversation, &order.by, start);
    follower.open().await
}

async fn send_once(
    order: &Addressed,
    config: &ClientConfig,
) -> Result<(ServiceConnection, u64), ApiError> {
    let connection = discovery::find(config).await?;
    let PromptAnswer { run_id } = connection.ask(&order.route).await?;
    Ok((connection, run_id))
}

/// The number of the first record of a run, found from the end of the history.
async fn start_of(
    connection: &ServiceConnection,
    conversation: &str,
    run_id: u64,
) -> Result<u64, CommandError> {
    let snapshot = connection
        .ask(&routes::snapshot(conversation, PAGE))
        .await?;
    let mut page = snapshot.history;
    loop {
        for past in &page.events {
            match past.event {
                Event::User {
                    run_id: Some(run), ..
                }
                | Event::RunStarted { run_id: run, .. }
                    if run == run_id =>
                {
                    return Ok(past.seq.max(1));
                }
                _ => {}
            }
        }
        let before = page.before;
        let Some(end) = before else {
            return Err(CommandError::Contradiction {
                reason: "the run of this key is not in the history any more",
            });
        };
        let before = routes::history_before(conversation, end, PAGE);
        page = connection.ask(&before).await?;
        if page.before.is_some_and(|further| further >= end) {
            return Err(CommandError::SAME_PAGE);
        }
    }
}

async fn cancel(order: &Addressed, config: &ClientConfig, run_id: u64) -> Result<(), ApiError> {
    let connection = discovery::find(config).await?;
    let body = CancelOrder {
        run_id: Some(run_id),
        by: Some(order.by.clone()),
        clear_queue: false,
    };
    // Whether it was still going, its end will tell.
    connection
        .ask(&routes::cancel(&order.conversation, &body))
        .await?;
    Ok(())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "ways_tests.rs"]
mod ways_tests;
