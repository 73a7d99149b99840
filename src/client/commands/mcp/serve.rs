//! `harness mcp serve`: the service as an MCP server.

use clap::Args;

use crate::client::commands::common::CallerArgs;
use crate::client::error::CommandError;
use crate::client::mcp_server;
use crate::client::starter::ServiceStarter;
use crate::config::ClientConfig;

pub(super) const HELP: &str = "\
Examples:
  harness mcp serve                            answer an MCP client over standard input and output
  claude mcp add harness -- /path/to/harness mcp serve
  codex mcp add harness -- /path/to/harness mcp serve

Another agent gives tasks with the tool prompt and waits for the reply; steer, cancel, read, wait and
list_conversations are about conversations that are there. The service is started if none runs. Approvals are
answered by you, in a terminal, an editor or with `harness approve`, and by no tool.";

/// The flags of `harness mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// If a service has to be started, let it talk to the model built into the program
    #[arg(long)]
    demo: bool,
    /// The name of the MCP client for the other clients.
    #[command(flatten)]
    caller: CallerArgs,
}

/// Answers an MCP client until it closes standard input; the exit code.
///
/// # Errors
/// If the client does not begin as the protocol says.
pub(super) async fn run(args: &McpServeArgs, config: &ClientConfig) -> Result<i32, CommandError> {
    let starter = ServiceStarter::new(config, args.demo);
    mcp_server::run(starter, args.caller.name()).await
}
