//! `harness acp`: the agent of an editor.

use clap::Args;

use crate::client::acp;
use crate::client::commands::common::CallerArgs;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::starter::{ServiceStarter, only_start};
use crate::config::ClientConfig;

pub(super) const HELP: &str = "\
Examples:
  harness acp                                  speak the Agent Client Protocol, version 1, with an editor
  harness acp --demo                           the same, with the demo if no service runs

Editors start it themselves and want the whole path of the program. In the settings of Zed:
  \"agent_servers\": {\"Harness\": {\"type\": \"custom\", \"command\": \"/path/to/harness\", \"args\": [\"acp\"]}}

Sessions are conversations of the service, which is started if none runs. They continue when the editor is
closed, and terminals can attach to them.";

/// The flags of `harness acp`.
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// If a service has to be started, let it talk to the model built into the program
    #[arg(long)]
    demo: bool,
    /// Start a service if none runs, and end
    #[arg(long, hide = true)]
    only_start: bool,
    /// The name of the editor for the other clients.
    #[command(flatten)]
    caller: CallerArgs,
}

/// Speaks with an editor until it closes standard input; the exit code.
///
/// # Errors
/// If the system has no threads for it, or if a service was to be started and does not run in the end.
pub(super) async fn run(
    args: &AcpArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    if args.only_start {
        only_start(config, args.demo, output).await?;
        return Ok(0);
    }
    let starter = ServiceStarter::new(config, args.demo);
    acp::run(starter, args.caller.name()).await
}
