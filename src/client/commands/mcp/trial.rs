//! `harness mcp test`: starts a server for a test, and explains why one failed.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::{McpServer, McpState, McpToolState};
use serde_json::Value;

use super::view::{all_tool_lines, server_lines};
use crate::cli::exit_codes::exits;
use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

const TEST_HELP: &str = "\
Examples:
  harness mcp test git                         start it for this folder, and show its tools
  harness mcp test git --workspace ~/project   for another folder
  harness mcp test git --json                  everything, also descriptions that are too long to show

What you accepted stays accepted, and nothing else is accepted.";

/// The kind of problem of a test that failed.
const NOT_STARTED: &str = "mcp-not-started";
/// Maximum number of lines of a server's standard error that are shown.
const MAX_LOG_LINES: usize = 20;
/// Maximum number of characters of one of these lines.
const MAX_LOG_LINE: usize = 200;

/// The flags of every command that starts one server.
#[derive(Debug, Args)]
pub(super) struct McpTrialArgs {
    /// The name of the server
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) name: String,
    /// The folder that it is started for; this one if left out
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The flags of `harness mcp test`.
#[derive(Debug, Args)]
#[command(after_help = exits(TEST_HELP, "it started", "the test failed, or no service runs", None))]
pub(crate) struct McpTestArgs {
    /// The server and its folder.
    #[command(flatten)]
    trial: McpTrialArgs,
}

/// A server after a test.
pub(super) struct ServerTrial {
    /// The server, as the service sent it.
    pub(super) raw: Value,
    /// The server, as this version knows it.
    pub(super) server: McpServer,
    /// The folder that it was started for. `None` for the service's own.
    pub(super) folder: Option<String>,
}

impl McpTrialArgs {
    /// Starts the server for a test. `None` if the test failed; the operator has read why then.
    ///
    /// # Errors
    /// If there was no test.
    pub(super) async fn start(
        &self,
        service: &ServiceConnection,
        output: &mut Output,
    ) -> Result<Option<ServerTrial>, CommandError> {
        let folder = match &self.workspace {
            Some(path) => Some(real_folder(path)?),
            None => folder::here_if_known(service)?,
        };
        start(&self.name, folder.as_deref(), service, output).await
    }
}

/// Tests a server and shows it; the exit code.
///
/// # Errors
/// If there was no test.
pub(super) async fn run(
    test: &McpTestArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let Some(ServerTrial { raw, server, .. }) = test.trial.start(service, output).await? else {
        return Ok(1);
    };
    if test.trial.json {
        output.json(&raw)?;
        return Ok(0);
    }
    let lines = server_lines(&server, service);
    for line in lines.into_iter().chain(all_tool_lines(&server)) {
        output.line(&line)?;
    }
    if differs(&server) {
        let name = &server.name;
        output.note(&format!(
            "harness: `harness mcp accept {name}` accepts this"
        ));
    }
    Ok(0)
}

/// True if the server or one of its tools is not as an operator accepted it.
pub(super) fn differs(server: &McpServer) -> bool {
    let differs = |state: McpToolState| match state {
        McpToolState::New | McpToolState::Changed | McpToolState::Gone => true,
        McpToolState::Accepted | McpToolState::LeftOut | McpToolState::Unknown => false,
    };
    server.state != McpState::Accepted || server.tools.iter().any(|tool| differs(tool.state))
}

/// Starts a server for a test. `None` if the test failed; the operator has read why then.
///
/// # Errors
/// If there was no test.
pub(super) async fn start(
    name: &str,
    folder: Option<&str>,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<Option<ServerTrial>, CommandError> {
    let route = routes::test_mcp_server(name, folder).answered_as();
    let raw: Value = match service.ask(&route).await {
        Ok(raw) => raw,
        Err(error) if error.is_of_kind(NOT_STARTED) => {
            explain(name, folder, &error, service, output).await;
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let server = common::parsed(raw.clone())?;
    Ok(Some(ServerTrial {
        raw,
        server,
        folder: folder.map(str::to_owned),
    }))
}

/// Tells why a test failed: the reason, the end of the server's standard error, and a usual cause.
async fn explain(
    name: &str,
    folder: Option<&str>,
    error: &RequestError,
    service: &ServiceConnection,
    output: &mut Output,
) {
    output.tell(&format!("harness: {error}"));
    // The rest only helps: without it, the reason is still there.
    let Ok(list) = service.ask(&routes::mcp_servers(folder)).await else {
        return;
    };
    let Some(server) = list.servers.into_iter().find(|server| server.name == name) else {
        return;
    };
    // The lines of an earlier process would mislead; the reason has the last lines of this one.
    let reason = error.to_string();
    let log = server.log.as_slice();
    if log.last().is_some_and(|last| reason.contains(last)) {
        output.note("harness: the last lines of its standard error:");
        for line in &log[log.len().saturating_sub(MAX_LOG_LINES)..] {
            output.note(&format!("  {}", visible::cut(line, MAX_LOG_LINE)));
        }
    }
    if !server.network {
        output.note(
            "harness: it has no network (`--no-network`), which may be the cause: npx and uvx load a server that way",
        );
    }
}

/// A folder as the service can use it.
///
/// # Errors
/// If it does not exist, or its name is not UTF-8.
fn real_folder(path: &Path) -> Result<String, CommandError> {
    let refused = |reason: String| CommandError::System {
        reason: format!("cannot use {}: {reason}", path.display()),
    };
    let real = path.canonicalize();
    let real = real.map_err(|error| refused(error.to_string()))?;
    let real = real.into_os_string().into_string();
    real.map_err(|_| refused("its name is not UTF-8".to_owned()))
}
