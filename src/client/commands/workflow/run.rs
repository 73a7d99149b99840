//! `harness workflow run` and `resume`: lets a workflow work, and shows the result.

use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::{PlainWorkflowOrder, ResumeWorkflow, RunWorkflow, WorkflowSnapshot};
use serde_json::Value;

use super::chosen::{Saying, WorkflowArg};
use super::order::HELP;
use super::show::line;
use super::watch::{NAME, WatchedWorkflow, until_rest};
use crate::cli::exit_codes::rests;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::error::ApiError;
use crate::client::api::patience::Patience;
use crate::client::api::route::Route;
use crate::client::api::{discovery, routes};
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::config::{ClientConfig, parse_duration};

/// The flags of `harness workflow run`.
#[derive(Debug, Args)]
#[command(after_help = rests(HELP))]
pub(crate) struct WorkflowRunArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// Take at most N features
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    features: Option<u32>,
    /// Take at most N iterations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// Print what happens until the workflow is at rest; Ctrl-C asks for a pause, twice cancels
    #[arg(long)]
    wait: bool,
    /// Names the order: one that was given before with this key is not given again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    key: Option<String>,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The flags of `harness workflow resume`.
#[derive(Debug, Args)]
#[command(after_help = rests(HELP))]
pub(crate) struct ResumeArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// Tokens that it may use besides
    #[arg(long, value_name = "N", default_value_t = 0)]
    add_tokens: u64,
    /// US dollars
    #[arg(long, value_name = "USD", default_value_t = 0.0)]
    add_cost_usd: f64,
    /// Time of work, such as 30m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    add_active: Option<Duration>,
    /// Iterations
    #[arg(long, value_name = "N", default_value_t = 0)]
    add_iterations: u32,
    /// Try stuck features again
    #[arg(long)]
    retry_stuck: bool,
    /// Print what happens until the workflow is at rest; Ctrl-C asks for a pause, twice cancels
    #[arg(long)]
    wait: bool,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The flags of `harness workflow verify`.
#[derive(Debug, Args)]
#[command(after_help = rests(HELP))]
pub(crate) struct VerifyArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// Print what happens until all checks have run; ends with 1 if one is not as it has to be
    #[arg(long)]
    wait: bool,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("it must be a duration such as 30s, 10m or 2h")
}

/// How the service is found again, and how often it is tried.
pub(super) type ServiceWay<'c> = (&'c ClientConfig, Patience);

/// Lets a workflow run; the exit code.
///
/// # Errors
/// If it does not, or cannot be followed.
pub(super) async fn run(
    run: &WorkflowRunArgs,
    service: &ServiceConnection,
    way: ServiceWay<'_>,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let id = run.which.find(service).await?;
    let order = RunWorkflow {
        max_features: run.features,
        max_iterations: run.iterations,
        key: Some(run.key.clone().unwrap_or_else(common::new_key)),
        by: run.saying.caller.name(),
    };
    let route = routes::run_workflow(&id, &order);
    let wait = WaitArgs {
        id: &id,
        saying: &run.saying,
        waits: run.wait,
        has_key: true,
    };
    ordered(wait, route, service, way, interrupts, output).await
}

/// Resumes a paused workflow. Returns the exit code.
///
/// # Errors
/// If it does not, or cannot be followed.
pub(super) async fn resume(
    resume: &ResumeArgs,
    service: &ServiceConnection,
    way: ServiceWay<'_>,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let id = resume.which.find(service).await?;
    let order = ResumeWorkflow {
        add_tokens: resume.add_tokens,
        add_cost_usd: resume.add_cost_usd,
        add_active_s: resume.add_active.map_or(0, |time| time.as_secs()),
        add_iterations: resume.add_iterations,
        retry_stuck: resume.retry_stuck,
        by: resume.saying.caller.name(),
    };
    let route = routes::resume_workflow(&id, &order);
    let wait = WaitArgs {
        id: &id,
        saying: &resume.saying,
        waits: resume.wait,
        has_key: false,
    };
    ordered(wait, route, service, way, interrupts, output).await
}

/// Runs all checks on what was accepted; the exit code.
///
/// # Errors
/// If that cannot be done, or not be followed.
pub(super) async fn verify(
    verify: &VerifyArgs,
    service: &ServiceConnection,
    way: ServiceWay<'_>,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let by = verify.saying.caller.name();
    let id = verify.which.find(service).await?;
    let route = routes::verify_workflow(&id, &PlainWorkflowOrder { by });
    let wait = WaitArgs {
        id: &id,
        saying: &verify.saying,
        waits: verify.wait,
        has_key: false,
    };
    ordered(wait, route, service, way, interrupts, output).await
}

/// The step behind an order.
#[derive(Clone, Copy)]
struct WaitArgs<'c> {
    id: &'c str,
    saying: &'c Saying,
    /// Whether what happens is shown to its end.
    waits: bool,
    /// Whether the order may be sent again while it is not known whether it was taken. What is granted twice
    /// counts twice.
    has_key: bool,
}

/// Gives an order, and shows the result if that is wanted.
async fn ordered(
    wait: WaitArgs<'_>,
    route: Route<WorkflowSnapshot>,
    service: &ServiceConnection,
    (config, patience): ServiceWay<'_>,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let WaitArgs {
        id, saying, waits, ..
    } = wait;
    // Looked at first, nothing of the run is missed.
    let after = service.ask(&routes::workflow(id)).await?.position;
    let route = route.answered_as::<Value>();
    let once = async || -> Result<Value, ApiError> {
        let service = discovery::find(config).await?;
        Ok(service.ask(&route).await?)
    };
    let sending = async {
        match wait.has_key {
            true => Ok(common::sent(patience, output, once).await?.0),
            false => once().await,
        }
    };
    let raw = tokio::select! {
        raw = sending => raw?,
        () = interrupts.next() => return Err(CommandError::Stopped),
    };
    if !waits {
        common::print(raw, saying.json, output, |it| vec![line(&it)])?;
        return Ok(0);
    }
    let by = saying.caller.name().unwrap_or_else(|| NAME.to_owned());
    let watched = WatchedWorkflow {
        id: id.to_owned(),
        after,
        json: saying.json,
        output: false,
        pauses: Some(by),
    };
    until_rest(&watched, config, patience, interrupts, output).await
}
