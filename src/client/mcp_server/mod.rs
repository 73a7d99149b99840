//! The service as an MCP server over standard input and output: other agents prompt, steer, cancel, read and wait.

mod report;
mod server;
mod tools;

use std::env;

use env_logger::Target;
use harness_actors::Redaction;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use crate::client::error::CommandError;
use crate::client::mcp_server::server::ConversationServer;
use crate::client::starter::ServiceStarter;
use crate::logging::log_setup;

/// The filter of the log, unless `RUST_LOG` gives one.
const LOG_FILTER: &str = "warn";

/// Answers an MCP client until it closes standard input; the exit code. `name` is the name for the other clients.
///
/// # Errors
/// If the client does not begin as the protocol says.
pub(super) async fn run(
    service: ServiceStarter,
    name: Option<String>,
) -> Result<i32, CommandError> {
    let filter = env::var("RUST_LOG").unwrap_or_else(|_| LOG_FILTER.to_owned());
    let redaction = Redaction::new(service.config.secrets.clone());
    log_setup::start(&filter, Target::Stderr, redaction);
    let server = ConversationServer::new(service, name);
    let failed = |error: &dyn std::error::Error| CommandError::System {
        reason: format!("the MCP client: {error}"),
    };
    let running = server.serve(stdio()).await;
    let running = running.map_err(|error| failed(&error))?;
    running.waiting().await.map_err(|error| failed(&error))?;
    Ok(0)
}
