//! `harness mcp accept`: starts a server, shows what changed since it was accepted, asks, and accepts it.

use clap::Args;
use harness_protocol::{AcceptMcpServer, McpServer, McpState, McpTool, McpToolState};
use serde_json::Value;

use super::trial::{McpTrialArgs, ServerTrial, differs};
use super::view::{server_lines, tool_lines};
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;
use crate::workflow::summary::count;

const ACCEPT_HELP: &str = "\
Examples:
  harness mcp accept git                       start it for this folder, show what changed, and ask
  harness mcp accept git --yes                 accept what there is, without a question

To accept a server allows its entry in mcp.json to be started, and its tools to be offered to the model with their
names, descriptions and inputs as they are now.";

/// The help of a command that accepts a server.
pub(super) fn accepting(examples: &str) -> String {
    exits(
        examples,
        "accepted, or nothing was left to accept",
        "not accepted, the test failed, or no service runs",
        None,
    )
}

/// Asks the operator a question. `None` if there is no terminal.
pub(super) type AskOperator<'a> = &'a dyn Fn(&str) -> Option<bool>;

/// The flags of `harness mcp accept`.
#[derive(Debug, Args)]
#[command(after_help = accepting(ACCEPT_HELP))]
pub(crate) struct McpAcceptArgs {
    /// The server and its folder.
    #[command(flatten)]
    trial: McpTrialArgs,
    /// Do not ask; needed where there is no terminal, and with --json
    #[arg(short, long)]
    yes: bool,
}

/// Accepts a server, after a test and a question; the exit code.
///
/// # Errors
/// If there was no test, or the service does not accept it.
pub(super) async fn run(
    accept: &McpAcceptArgs,
    service: &ServiceConnection,
    ask: AskOperator<'_>,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let trial = &accept.trial;
    let Some(tested) = trial.start(service, output).await? else {
        return Ok(1);
    };
    let server = &tested.server;
    let name = visible::line(&server.name);
    if !differs(server) {
        match trial.json {
            true => output.json(&tested.raw)?,
            false => output.line(&format!("{name} has not changed since it was accepted"))?,
        }
        return Ok(0);
    }
    if !trial.json {
        let lines = server_lines(server, service).into_iter();
        for line in lines.chain(changed_lines(server)) {
            output.line(&line)?;
        }
    }
    let tools = count(accepted_tools(server), "tool");
    let decision = AcceptDecision {
        question: &format!("accept {name} with {tools}?"),
        is_given: accept.yes,
        as_json: trial.json,
    };
    decision.carry_out(tested, service, ask, output).await
}

/// The differences between a server and what an operator accepted of it.
fn changed_lines(server: &McpServer) -> Vec<String> {
    let is_news = |tool: &&McpTool| match tool.state {
        McpToolState::New | McpToolState::Changed | McpToolState::Gone => true,
        McpToolState::Accepted | McpToolState::LeftOut | McpToolState::Unknown => false,
    };
    let lines = |tool: &McpTool| tool_lines(tool, server);
    let mut lines: Vec<String> = server
        .tools
        .iter()
        .filter(is_news)
        .flat_map(lines)
        .collect();
    if lines.is_empty() {
        lines.push(match server.state {
            McpState::New => "  it has no tools".to_owned(),
            McpState::Changed | McpState::Accepted | McpState::Unknown => {
                "  its entry in the configuration changed, its tools did not".to_owned()
            }
        });
    }
    lines
}

/// Number of tools that the model can call once the server is accepted.
pub(super) fn accepted_tools(server: &McpServer) -> usize {
    let is_there = |tool: &&McpTool| match tool.state {
        McpToolState::Accepted | McpToolState::New | McpToolState::Changed => true,
        McpToolState::Gone | McpToolState::LeftOut | McpToolState::Unknown => false,
    };
    server.tools.iter().filter(is_there).count()
}

/// The decision of an operator about a server after a test.
pub(super) struct AcceptDecision<'d> {
    /// The question at a terminal.
    pub(super) question: &'d str,
    /// True if the command line accepts it.
    pub(super) is_given: bool,
    /// True if the answer is printed as JSON. No question is asked then, since the server was not shown.
    pub(super) as_json: bool,
}

impl AcceptDecision<'_> {
    /// Accepts the server if the operator does; the exit code.
    ///
    /// # Errors
    /// If the service does not accept it, or the result cannot be printed.
    pub(super) async fn carry_out(
        self,
        tested: ServerTrial,
        service: &ServiceConnection,
        ask: AskOperator<'_>,
        output: &mut Output,
    ) -> Result<i32, CommandError> {
        let ServerTrial {
            raw,
            server,
            folder,
        } = tested;
        let name = visible::line(&server.name);
        let answer = match (self.is_given, self.as_json) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => ask(self.question),
        };
        match answer {
            Some(true) => {}
            Some(false) => {
                let way_back = match server.workspace {
                    None => format!("; `harness mcp remove {name}` takes its entry back"),
                    Some(_) => String::new(),
                };
                output.tell(&format!("harness: {name} is not accepted{way_back}"));
                return Ok(1);
            }
            None => {
                if self.as_json {
                    output.json(&raw)?;
                }
                output.tell(&format!(
                    "harness: {name} is not accepted, since there is no terminal to ask at: `harness mcp accept {name} --yes` accepts it"
                ));
                return Ok(1);
            }
        }
        let digest = server.digest.ok_or(CommandError::Contradiction {
            reason: "the service tested the server and did not say what there is to accept",
        })?;
        let order = AcceptMcpServer {
            digest,
            workspace: folder,
        };
        let route = routes::accept_mcp_server(&server.name, &order).answered_as();
        let raw: Value = service.ask(&route).await?;
        let lines = |server: McpServer| vec![accepted_line(&server)];
        common::print(raw, self.as_json, output, lines)?;
        Ok(0)
    }
}

fn accepted_line(server: &McpServer) -> String {
    let name = visible::line(&server.name);
    let tools = count(accepted_tools(server), "tool");
    format!(
        "{name} is accepted with {tools}: conversations that begin now are offered them, others after `harness tools --renew`"
    )
}
