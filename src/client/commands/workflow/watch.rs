//! `harness workflow watch`, and what `run --wait` does: follows a workflow until it is at rest.

use std::future::pending;

use clap::Args;
use futures_util::future::LocalBoxFuture;
use harness_protocol::{Event, PauseWorkflow, PlainWorkflowOrder};
use serde_json::Value;

use super::chosen::WorkflowArg;
use super::rest::{LastRun, RestLine, may_rest, rest};
use super::show::record_line;
use super::step_lines::StepLines;
use crate::cli::exit_codes::rests;
use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom, seq};
use crate::client::api::patience::Patience;
use crate::client::api::stream::Arrival;
use crate::client::api::{discovery, routes};
use crate::client::commands::follow::next_event;
use crate::client::error::{CommandError, EXIT_CANCELLED};
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::config::ClientConfig;

const HELP: &str = "\
Examples:
  harness workflow watch                       what happens from now on
  harness workflow watch w1 --after 0          everything
  harness workflow watch --output              with what the running checks write
  harness workflow watch --json | jq .record   as JSON Lines

Ctrl-C ends the command, and not the workflow.";

/// How the other clients see this command.
pub(super) const NAME: &str = "harness-workflow";

/// The flags of `harness workflow watch`.
#[derive(Debug, Args)]
#[command(after_help = rests(HELP))]
pub(crate) struct WorkflowWatchArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// Begin right behind this position or record number; 0 is the beginning
    #[arg(long, value_name = "POSITION")]
    after: Option<String>,
    /// Print what the running checks write, too
    #[arg(long)]
    output: bool,
    /// Print JSON Lines, one record a line
    #[arg(long)]
    json: bool,
}

/// The workflow that is watched.
#[derive(Debug)]
pub(super) struct WatchedWorkflow {
    /// The workflow.
    pub(super) id: String,
    /// The position behind which it begins.
    pub(super) after: String,
    /// Whether records are printed as JSON.
    pub(super) json: bool,
    /// Whether what the running checks write is printed, too.
    pub(super) output: bool,
    /// The operator who asks for a pause at Ctrl-C; none if that ends the command alone.
    pub(super) pauses: Option<String>,
}

/// Watches a workflow; the exit code says how it rests.
///
/// # Errors
/// If it cannot be followed.
pub(super) async fn run(
    watch: &WorkflowWatchArgs,
    service: &ServiceConnection,
    (config, patience): (&ClientConfig, Patience),
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let id = watch.which.find(service).await?;
    let after = match &watch.after {
        Some(place) => place.clone(),
        None => service.ask(&routes::workflow(&id)).await?.position,
    };
    let watched = WatchedWorkflow {
        id,
        after,
        json: watch.json,
        output: watch.output,
        pauses: None,
    };
    until_rest(&watched, config, patience, interrupts, output).await
}

/// Prints what happens until the workflow is at rest; the exit code says how it rests.
///
/// # Errors
/// If it cannot be followed, or with Ctrl-C.
pub(super) async fn until_rest(
    it: &WatchedWorkflow,
    config: &ClientConfig,
    patience: Patience,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let name = it.pauses.as_deref().unwrap_or(NAME);
    let start = FollowFrom::After(it.after.clone());
    let follower = EventFollower::of_workflow(config, patience, &it.id, name, start);
    let mut follower = follower.open().await?;
    let mut presses = 0;
    let mut ordering: Option<LocalBoxFuture<'_, Result<(), ApiError>>> = None;
    let mut seen = WatchPosition::default();
    loop {
        let arrival = tokio::select! {
            arrival = next_event(&mut follower, output) => arrival?,
            () = interrupts.next() => {
                presses += 1;
                let Some(by) = it.pauses.as_ref().filter(|_| presses < 3) else {
                    return Err(CommandError::Stopped);
                };
                ordering = Some(at_interrupt(it, config, by, presses, output));
                continue;
            }
            ordered = async {
                match &mut ordering {
                    Some(ordering) => ordering.await,
                    None => pending().await,
                }
            } => {
                ordering = None;
                if let Err(error) = ordered {
                    output.note(&format!("harness: {error}"));
                }
                continue;
            }
        };
        if print_arrival(arrival, it, &mut seen, output)? {
            seen.rest = look(it, config, &seen.run).await?;
        }
        if let Some((RestLine { code, line }, _)) =
            seen.rest.as_ref().filter(|rest| seen.is_all(rest))
        {
            output.note(&format!("harness: {line}"));
            return Ok(if presses > 0 { EXIT_CANCELLED } else { *code });
        }
    }
}

/// The position up to which the stream was read.
#[derive(Debug, Default)]
struct WatchPosition {
    /// The number of the last record.
    last: Option<u64>,
    /// The words about the last run.
    run: LastRun,
    /// How the workflow rests, and the position that it has there.
    rest: Option<(RestLine, String)>,
    /// The lines of the check that runs.
    lines: StepLines,
}

impl WatchPosition {
    fn up_to(&mut self, position: &str) {
        self.last = seq(position).max(self.last);
    }

    /// Whether nothing is left to print of what made it rest: the last records of a run come together.
    fn is_all(&self, (_, position): &(RestLine, String)) -> bool {
        let (Some(last), Some(end)) = (self.last, seq(position)) else {
            return true;
        };
        last >= end
    }
}

/// Prints a record, and notes what it says of the run. Tells whether the workflow may be at rest now.
fn print_arrival(
    arrival: Arrival,
    it: &WatchedWorkflow,
    seen: &mut WatchPosition,
    output: &mut Output,
) -> Result<bool, CommandError> {
    if let Some(position) = &arrival.position {
        seen.up_to(position);
    }
    let may_be = match &arrival.event {
        // Everything before was sent; or there was a break, or a new start, and nobody knows what was missed.
        Event::Attached { position, .. } => {
            seen.up_to(position);
            return Ok(true);
        }
        Event::Workflow { record, .. } => {
            seen.run.note(record);
            seen.lines.end();
            let kind = record.get("type").and_then(Value::as_str);
            kind.is_some_and(may_rest)
        }
        Event::StepOutput {
            step, offset, text, ..
        } if it.output && !it.json => {
            for line in seen.lines.take(step, *offset, text) {
                output.line(&line)?;
            }
            return Ok(false);
        }
        Event::StepOutput { .. } if it.output => false,
        _ => return Ok(false),
    };
    if it.json {
        output.json(&arrival.with_position())?;
    } else if let Some(line) = record_line(&arrival.event) {
        output.line(&line)?;
    }
    Ok(may_be)
}

/// How the workflow rests, and its position there; none while it works. A service that is away is asked again once it is back, with the stream.
async fn look(
    it: &WatchedWorkflow,
    config: &ClientConfig,
    last: &LastRun,
) -> Result<Option<(RestLine, String)>, CommandError> {
    let asked = async {
        let service = discovery::find(config).await?;
        let found: Result<_, RequestError> = service.ask(&routes::workflow(&it.id)).await;
        Ok::<_, ApiError>(found?)
    };
    match asked.await {
        Ok(snapshot) => Ok(rest(&snapshot, last).map(|rest| (rest, snapshot.position))),
        Err(ApiError::Request(refused)) if !refused.is_passing() => Err(refused.into()),
        Err(_) => Ok(None),
    }
}

/// The first press of Ctrl-C asks for a pause, the second cancels.
fn at_interrupt<'w>(
    it: &'w WatchedWorkflow,
    config: &'w ClientConfig,
    by: &'w str,
    presses: u32,
    output: &mut Output,
) -> LocalBoxFuture<'w, Result<(), ApiError>> {
    let by = Some(by.to_owned());
    if presses == 1 {
        output.note("harness: asks for a pause; Ctrl-C again cancels the workflow");
        let order = PauseWorkflow {
            when: Some("now".to_owned()),
            by,
        };
        return Box::pin(async move {
            let service = discovery::find(config).await?;
            service.ask(&routes::pause_workflow(&it.id, &order)).await?;
            Ok(())
        });
    }
    output.note("harness: cancels the workflow; Ctrl-C again leaves it at that");
    let order = PlainWorkflowOrder { by };
    Box::pin(async move {
        let service = discovery::find(config).await?;
        let route = routes::cancel_workflow(&it.id, &order);
        service.ask(&route).await?;
        Ok(())
    })
}
