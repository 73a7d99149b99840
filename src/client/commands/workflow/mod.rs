//! The commands of `harness workflow` that need the running service.

mod apply;
mod chosen;
mod create;
mod order;
mod past;
mod rest;
mod run;
mod show;
mod step_lines;
mod used;
mod watch;

use clap::Subcommand;

use crate::client::api::patience::Patience;
use crate::client::commands::greeting::{Greeting, greet};
use crate::client::error::CommandError;
use crate::client::interrupts::{Interrupts, until_interrupted};
use crate::client::output::Output;
use crate::config::ClientConfig;

/// Questions and orders about workflows to the running service.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Show what a file would do, ask, and make a workflow of it
    New(create::WorkflowNewArgs),
    /// List the workflows
    List(show::WorkflowListArgs),
    /// Show how a workflow is, or what was tried in it
    #[command(visible_alias = "status")]
    Show(show::WorkflowShowArgs),
    /// Print the whole output of a check
    Output(past::WorkflowOutputArgs),
    /// Let a workflow run
    Run(run::WorkflowRunArgs),
    /// Print what happens, one record a line, until the workflow is at rest
    Watch(watch::WorkflowWatchArgs),
    /// Pause a workflow
    Pause(order::PauseArgs),
    /// Let a paused workflow go on
    Resume(run::ResumeArgs),
    /// End a workflow for good
    Cancel(order::WorkflowCancelArgs),
    /// Answer the gate that waits for a person
    Approve(order::WorkflowApproveArgs),
    /// Show what the changed file of a workflow would change, ask, and let it count
    Apply(apply::ApplyArgs),
    /// Try a feature again
    Retry(order::FeatureArgs),
    /// Leave a feature out
    Skip(order::FeatureArgs),
    /// Open a feature again that was left out
    Unskip(order::FeatureArgs),
    /// Run all checks on what was accepted, without a model
    Verify(run::VerifyArgs),
    /// Print what has happened, one record a line
    Log(show::WorkflowLogArgs),
    /// Move a workflow that is at rest to the trash
    Delete(order::WorkflowDeleteArgs),
}

/// Carries out a command; the exit code.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    command: &WorkflowCommand,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    use WorkflowCommand as It;
    let service = &greet(Greeting::Version, config, output).await?;
    let way = (config, Patience::default());
    match command {
        // Ctrl-C ends it while it asks.
        It::New(it) => create::run(it, service, &crate::workflow::ask, output).await,
        It::Apply(it) => apply::run(it, service, &crate::workflow::ask, output).await,
        It::Run(it) => run::run(it, service, way, &mut Interrupts::of_process()?, output).await,
        It::Resume(it) => {
            run::resume(it, service, way, &mut Interrupts::of_process()?, output).await
        }
        It::Verify(it) => {
            run::verify(it, service, way, &mut Interrupts::of_process()?, output).await
        }
        It::Watch(it) => watch::run(it, service, way, &mut Interrupts::of_process()?, output).await,
        It::List(it) => until_interrupted(show::list(it, service, output)).await,
        It::Show(it) => until_interrupted(show::show(it, service, output)).await,
        It::Output(it) => until_interrupted(past::output(it, service, output)).await,
        It::Log(it) => until_interrupted(show::log(it, service, output)).await,
        It::Pause(it) => until_interrupted(order::pause(it, service, output)).await,
        It::Cancel(it) => until_interrupted(order::cancel(it, service, output)).await,
        It::Approve(it) => until_interrupted(order::approve(it, service, output)).await,
        It::Retry(it) => until_interrupted(order::feature("retry", it, service, output)).await,
        It::Skip(it) => until_interrupted(order::feature("skip", it, service, output)).await,
        It::Unskip(it) => until_interrupted(order::feature("unskip", it, service, output)).await,
        It::Delete(it) => until_interrupted(order::delete(it, service, output)).await,
    }
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
