//! `harness mcp list` and `harness mcp remove`: the servers of the configuration.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::{McpServer, McpServerList, McpState, McpTool, McpToolState};
use serde_json::Value;

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{self, JsonFlag};
use crate::client::commands::table::{MAX_NAME, table};
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

/// The name of the list in the answer.
const MEMBER: &str = "servers";
/// The line in place of a table without servers.
const NO_SERVERS: &str = "no MCP servers; `harness mcp add NAME -- COMMAND` adds one";
/// Maximum number of characters of an error in the table, and of a reason.
const MAX_ERROR: usize = 120;

const REMOVE_HELP: &str = "\
Examples:
  harness mcp remove git";

/// The flags of `harness mcp remove`.
#[derive(Debug, Args)]
#[command(after_help = exits(REMOVE_HELP, "removed", "failed, there is no such server, or no service runs", None))]
pub(crate) struct McpRemoveArgs {
    /// The name of the server
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The form of the answer.
    #[command(flatten)]
    form: JsonFlag,
}

/// Prints the servers.
///
/// # Errors
/// If the service does not list them, or they cannot be printed.
pub(super) async fn run(
    as_json: bool,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let folder = folder::here_if_known(service)?;
    let listed = routes::mcp_servers(folder.as_deref()).answered_as();
    let raw: Value = service.ask(&listed).await?;
    let list: McpServerList = common::parsed(raw.clone())?;
    if as_json {
        output.json(&common::items(raw, MEMBER))?;
    } else {
        for line in lines(&list.servers) {
            output.line(&line)?;
        }
    }
    for problem in &list.problems {
        output.note(&format!("harness: {problem}"));
    }
    Ok(())
}

/// Removes a server.
///
/// # Errors
/// If there is no such server, or the service cannot remove it.
pub(super) async fn remove(
    remove: &McpRemoveArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let folder = folder::here_if_known(service)?;
    let removed = routes::remove_mcp_server(&remove.name, folder.as_deref()).answered_as();
    let raw: Value = service.ask(&removed).await?;
    if remove.form.json {
        return Ok(output.json(&common::items(raw, MEMBER))?);
    }
    Ok(output.line(&format!("removed {}", visible::line(&remove.name)))?)
}

/// A table of the servers, then the tools that the model cannot call.
fn lines(servers: &[McpServer]) -> Vec<String> {
    if servers.is_empty() {
        return vec![NO_SERVERS.to_owned()];
    }
    let header = ["NAME", "STATE", "TOOLS", "RUNNING", "ERROR"].map(str::to_owned);
    let rows = servers.iter().map(|server| {
        let is_accepted = |tool: &&McpTool| was_accepted(tool.state);
        let error = server.error.as_deref().unwrap_or_default();
        [
            visible::short(&server.name, MAX_NAME),
            server.state.name().to_owned(),
            server.tools.iter().filter(is_accepted).count().to_string(),
            server.running.to_string(),
            visible::short(error, MAX_ERROR),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    let mut lines = table(&rows, &[2, 3]);
    for server in servers {
        lines.extend(not_offered(server));
        let tools = server.tools.iter();
        lines.extend(tools.filter_map(|tool| not_callable(server, tool)));
    }
    lines
}

/// True if an operator accepted the tool.
fn was_accepted(state: McpToolState) -> bool {
    match state {
        McpToolState::Accepted | McpToolState::Changed | McpToolState::Gone => true,
        McpToolState::New | McpToolState::LeftOut | McpToolState::Unknown => false,
    }
}

/// The next step with a server that is not accepted.
fn not_offered(server: &McpServer) -> Option<String> {
    let name = visible::line(&server.name);
    let reason = match server.state {
        McpState::New => "is not accepted",
        McpState::Changed => "is another one than was accepted",
        McpState::Accepted | McpState::Unknown => return None,
    };
    Some(format!(
        "{name} {reason}, so its tools are not offered: harness mcp accept {name}"
    ))
}

/// The reason why the model cannot call a tool. `None` if it can.
fn not_callable(server: &McpServer, tool: &McpTool) -> Option<String> {
    let name = visible::line(&server.name);
    let tool_name = visible::short(&tool.tool, MAX_NAME);
    let text = match tool.state {
        McpToolState::LeftOut => {
            let reason = tool.reason.as_deref().unwrap_or("no reason is known");
            format!("is left out: {}", visible::short(reason, MAX_ERROR))
        }
        McpToolState::Changed => {
            format!("was changed by the server, and calls of it fail: harness mcp accept {name}")
        }
        McpToolState::Gone => {
            format!("was removed by the server, and calls of it fail: harness mcp accept {name}")
        }
        McpToolState::New if server.state == McpState::Accepted => {
            format!("is new and not offered: harness mcp accept {name}")
        }
        McpToolState::New | McpToolState::Accepted | McpToolState::Unknown => return None,
    };
    Some(format!("{name}.{tool_name} {text}"))
}
