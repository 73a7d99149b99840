//! The short orders to a workflow: `harness workflow pause`, `cancel`, `approve` and so on.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use harness_protocol::{
    AnswerGate, ChangeFeature, Deleted, PauseWorkflow, PlainWorkflowOrder, WorkflowSnapshot,
};

use super::chosen::{Saying, WorkflowArg};
use super::show::line;
use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::output::Output;

/// The examples of every order.
pub(super) const HELP: &str = "\
Examples:
  harness workflow run --wait                  one run, as far as the file says
  harness workflow run w1 --features 3         more of the features
  harness workflow pause --when now            interrupt the attempt
  harness workflow resume --add-tokens 2000000 go on with more
  harness workflow approve                     say yes at the gate that is open
  harness workflow approve w1 --reject --say 'not this way'
  harness workflow retry FEATURE               try a stuck feature again
  harness workflow verify --wait               all checks on what was accepted, without a model
  harness workflow cancel                      end it for good; the branch stays";

/// The flags of `harness workflow pause`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct PauseArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// How soon
    #[arg(long, value_enum, default_value = "iteration")]
    when: PauseTime,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// How soon a workflow pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PauseTime {
    /// At once; the attempt is interrupted, which costs no retry
    Now,
    /// When the attempt has ended
    Attempt,
    /// When the iteration has ended
    Iteration,
}

/// The flags of `harness workflow cancel`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowCancelArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The flags of `harness workflow approve`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowApproveArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// The gate; the one that is open if left out
    #[arg(value_name = "GATE", value_parser = NonEmptyStringValueParser::new())]
    gate: Option<String>,
    /// Say no
    #[arg(long)]
    reject: bool,
    /// A message for the model
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    say: Option<String>,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The flags of `harness workflow retry`, `skip` and `unskip`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP), allow_missing_positional = true)]
pub(crate) struct FeatureArgs {
    /// The workflow.
    #[command(flatten)]
    which: WorkflowArg,
    /// The feature
    #[arg(value_name = "FEATURE", required = true, value_parser = NonEmptyStringValueParser::new())]
    feature: String,
    /// The operator's name.
    #[command(flatten)]
    saying: Saying,
}

/// The flags of `harness workflow delete`.
#[derive(Debug, Args)]
#[command(after_help = asks(HELP))]
pub(crate) struct WorkflowDeleteArgs {
    /// The workflow
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Print the answer of the service as JSON
    #[arg(long)]
    json: bool,
}

/// Pauses a workflow.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn pause(
    pause: &PauseArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let when = match pause.when {
        PauseTime::Now => "now",
        PauseTime::Attempt => "attempt",
        PauseTime::Iteration => "iteration",
    };
    let order = PauseWorkflow {
        when: Some(when.to_owned()),
        by: pause.saying.caller.name(),
    };
    let id = pause.which.find(service).await?;
    let route = routes::pause_workflow(&id, &order);
    send_and_print(route, &pause.saying, service, output).await
}

/// Ends a workflow for good, and waits until nothing of it runs.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn cancel(
    cancel: &WorkflowCancelArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let by = cancel.saying.caller.name();
    let id = cancel.which.find(service).await?;
    let route = routes::cancel_workflow(&id, &PlainWorkflowOrder { by });
    send_and_print(route, &cancel.saying, service, output).await
}

/// Answers a gate.
///
/// # Errors
/// If none is open, another operator answered before, or it cannot be answered.
pub(super) async fn approve(
    approve: &WorkflowApproveArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let id = approve.which.find(service).await?;
    let gate = match &approve.gate {
        Some(gate) => gate.clone(),
        None => {
            let open = service.ask(&routes::workflow(&id)).await?.gate;
            let open = open.ok_or_else(|| CommandError::Usage {
                reason: format!("no gate of the workflow {id} waits for a person"),
            })?;
            open.gate
        }
    };
    let answer = if approve.reject { "reject" } else { "approve" };
    let order = AnswerGate {
        answer: answer.to_owned(),
        comment: approve.say.clone(),
        by: approve.saying.caller.name(),
    };
    let route = routes::answer_gate(&id, &gate, &order);
    send_and_print(route, &approve.saying, service, output).await
}

/// Changes the state of a feature.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn feature(
    action: &str,
    it: &FeatureArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let order = ChangeFeature {
        action: action.to_owned(),
        by: it.saying.caller.name(),
    };
    let id = it.which.find(service).await?;
    let route = routes::change_feature(&id, &it.feature, &order);
    send_and_print(route, &it.saying, service, output).await
}

/// Moves a workflow to the trash. It has to be named.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn delete(
    delete: &WorkflowDeleteArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let route = routes::delete_workflow(&delete.id);
    let lines = |Deleted { trash }: Deleted| vec![format!("moved to {trash}")];
    common::show(route, delete.json, service, output, lines).await
}

/// Gives an order, and prints the workflow after it.
async fn send_and_print(
    route: Route<WorkflowSnapshot>,
    saying: &Saying,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    common::show(route, saying.json, service, output, |it| vec![line(&it)]).await
}
