//! `harness mcp add`: puts a server into the configuration, starts it for a test, asks, and accepts it.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use harness_protocol::Access;
use serde_json::{Map, Value};

use super::accept::{AcceptDecision, AskOperator, accepted_tools, accepting};
use super::trial;
use super::view::{all_tool_lines, server_lines};
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::config::parse_duration;
use crate::visible;

const ADD_HELP: &str = "\
Examples:
  harness mcp add git -- uvx mcp-server-git
  harness mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  harness mcp add docs --access read --no-network -- docs-server ~/docs
  harness mcp add tracker --env 'TOKEN=${TRACKER_TOKEN}' -- tracker-mcp --stdio
  harness mcp add git --yes -- uvx mcp-server-git    in a script, without a question

Everything after `--` is the command. It is written into mcp.json in the state folder, in place of an entry with this
name. ${NAME} and ${NAME:-default} are filled in from the environment of the service each time it starts the server.";

/// The flags of `harness mcp add`.
#[derive(Debug, Args)]
#[command(after_help = accepting(ADD_HELP))]
pub(crate) struct McpAddArgs {
    /// The name of the server
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// A variable that the server gets besides those of every command; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Its access to files; `write` if left out
    #[arg(long, value_enum, value_name = "ACCESS")]
    access: Option<AccessFlag>,
    /// Keep the server off the network
    #[arg(long)]
    no_network: bool,
    /// Maximum time of one call in seconds, or such as 90s or 5m
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    timeout: Option<Duration>,
    /// Accept its tools without a question; needed where there is no terminal, and with --json
    #[arg(short, long)]
    yes: bool,
    /// Print the answer of the service as JSON
    #[arg(long)]
    json: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The access of a server to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessFlag {
    /// Read as commands do, and write only temporary files
    Read,
    /// Write in the conversation's folder, too
    Write,
    /// Read and write all that your account can, without containment
    Full,
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("a variable is NAME=VALUE"),
    }
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let duration = parse_duration(text).filter(|duration| duration.as_millis() > 0);
    duration.ok_or("it must be a number of seconds, or a duration such as 90s or 5m")
}

impl McpAddArgs {
    /// The entry, as mcp.json has it. What the command line does not say is left out.
    fn entry(&self) -> Value {
        let mut words = self.command.iter().cloned();
        let mut entry = Map::new();
        entry.insert("command".to_owned(), words.next().into());
        let arguments: Vec<String> = words.collect();
        if !arguments.is_empty() {
            entry.insert("args".to_owned(), arguments.into());
        }
        if !self.env.is_empty() {
            let variable = |(name, value): &(String, String)| (name.clone(), value.clone().into());
            let variables: Map<String, Value> = self.env.iter().map(variable).collect();
            entry.insert("env".to_owned(), variables.into());
        }
        if let Some(access) = self.access {
            let access = match access {
                AccessFlag::Read => Access::Read,
                AccessFlag::Write => Access::Write,
                AccessFlag::Full => Access::Full,
            };
            entry.insert("access".to_owned(), access.name().into());
        }
        if self.no_network {
            entry.insert("network".to_owned(), false.into());
        }
        if let Some(timeout) = self.timeout {
            let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            entry.insert("timeout".to_owned(), milliseconds.into());
        }
        Value::Object(entry)
    }
}

/// Adds a server, tests it, and accepts it if the operator does; the exit code.
///
/// # Errors
/// If it cannot be added, there was no test, or the service does not accept it.
pub(super) async fn run(
    add: &McpAddArgs,
    service: &ServiceConnection,
    ask: AskOperator<'_>,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let folder = folder::here_if_known(service)?;
    let put = routes::put_mcp_server(&add.name, &add.entry());
    service.ask(&put).await?;
    let name = visible::line(&add.name);
    let tested = trial::start(&add.name, folder.as_deref(), service, output).await;
    if !matches!(tested, Ok(Some(_))) {
        output.note(&format!(
            "harness: the entry of {name} stays: `harness mcp test {name}` tries again, `harness mcp remove {name}` takes it back"
        ));
    }
    let Some(tested) = tested? else {
        return Ok(1);
    };
    let server = &tested.server;
    if !add.json {
        let lines = server_lines(server, service).into_iter();
        for line in lines.chain(all_tool_lines(server)) {
            output.line(&line)?;
        }
    }
    let question = match accepted_tools(server) {
        0 => format!("accept {name} without tools?"),
        1 => "accept this tool?".to_owned(),
        count => format!("accept these {count} tools?"),
    };
    let decision = AcceptDecision {
        question: &question,
        is_given: add.yes,
        as_json: add.json,
    };
    decision.carry_out(tested, service, ask, output).await
}
