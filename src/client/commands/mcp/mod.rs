//! `harness mcp`: the MCP servers whose tools the model can call.

mod accept;
mod add;
mod list;
mod serve;
mod trial;
mod view;

use clap::{Args, Subcommand};

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::commands::greeting::{Greeting, greet};
use crate::client::commands::mcp::accept::{AskOperator, McpAcceptArgs};
use crate::client::commands::mcp::add::McpAddArgs;
use crate::client::commands::mcp::list::McpRemoveArgs;
use crate::client::commands::mcp::serve::McpServeArgs;
use crate::client::commands::mcp::trial::McpTestArgs;
use crate::client::error::CommandError;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::client::question::{is_at_terminal, is_confirmed};
use crate::config::ClientConfig;

const MCP_HELP: &str = "\
Examples:
  harness mcp                                  the servers, and the tools that the model cannot call
  harness mcp add git -- uvx mcp-server-git    add one, start it for a test, and accept its tools
  harness mcp test git                         start it and show its tools
  harness mcp accept git                       accept what is new or changed
  harness mcp remove git
  harness mcp --json | jq -r '.items[].name'

A server is started, and its tools are offered, only after you accepted its entry and its tools. The entries are
in mcp.json in the state folder. Conversations that begin later are offered the tools, others after
`harness tools --renew`.";

/// The flags of `harness mcp`.
#[derive(Debug, Args)]
#[command(after_help = exits(MCP_HELP, "done", "failed, not accepted, or no service runs", None))]
pub(crate) struct McpArgs {
    /// The flags of the list.
    #[command(flatten)]
    list: WithoutSubcommand<McpListArgs>,
    /// The action; lists the servers if left out.
    #[command(subcommand)]
    action: Option<McpAction>,
}

/// The actions on MCP servers.
#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// List the servers and the tools that the model cannot call
    List(McpListArgs),
    /// Add a server, start it for a test, and accept its tools
    Add(McpAddArgs),
    /// Start a server and show its tools; accepts nothing
    Test(McpTestArgs),
    /// Start a server, show what changed since it was accepted, and accept it
    Accept(McpAcceptArgs),
    /// Remove a server from the configuration
    Remove(McpRemoveArgs),
    /// Be an MCP server itself, whose tools are the conversations of the service
    #[command(after_help = exits(serve::HELP, "the client closed standard input", "failed", None))]
    Serve(McpServeArgs),
}

/// The flags of `harness mcp list`.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Print a JSON object with `items`, a server each
    #[arg(long)]
    json: bool,
}

/// Carries out a command; the exit code.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    mcp: &McpArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    if let Some(McpAction::Serve(it)) = &mcp.action {
        return serve::run(it, config).await;
    }
    let service = greet(Greeting::Version, config, output).await?;
    let ask = |question: &str| is_at_terminal().then(|| is_confirmed(question));
    let work = carry_out(mcp, &service, &ask, output);
    if matches!(mcp.action, Some(McpAction::Add(_) | McpAction::Accept(_))) {
        // Ctrl-C ends the program while it asks.
        return work.await;
    }
    let mut interrupts = Interrupts::of_process()?;
    tokio::select! {
        done = work => done,
        () = interrupts.next() => Err(CommandError::Stopped),
    }
}

async fn carry_out(
    mcp: &McpArgs,
    service: &ServiceConnection,
    ask: AskOperator<'_>,
    output: &mut Output,
) -> Result<i32, CommandError> {
    match &mcp.action {
        None => list::run(mcp.list.json, service, output).await?,
        Some(McpAction::List(it)) => list::run(it.json, service, output).await?,
        Some(McpAction::Remove(it)) => list::remove(it, service, output).await?,
        Some(McpAction::Add(it)) => return add::run(it, service, ask, output).await,
        Some(McpAction::Test(it)) => return trial::run(it, service, output).await,
        Some(McpAction::Accept(it)) => return accept::run(it, service, ask, output).await,
        // It has no need of a service that runs already.
        Some(McpAction::Serve(_)) => {}
    }
    Ok(0)
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
