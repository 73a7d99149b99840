//! The agent of an editor, by the Agent Client Protocol over standard input and output: each session is a
//! conversation of the service.

mod bridge;
mod calls;
mod content;
mod diff;
mod errands;
mod lines;
mod message;
mod messages;
mod options;
mod pending;
mod permission;
mod run_end;
mod service;
mod session;
mod stream_block;
mod tool_call;
mod view;

use std::env;
use std::rc::Rc;

use env_logger::Target;
use harness_actors::Redaction;
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;

use crate::client::acp::bridge::AcpBridge;
use crate::client::acp::lines::{EditorLine, EditorOutbox, read_lines};
use crate::client::acp::message::{EditorMessage, RpcError};
use crate::client::acp::service::AcpService;
use crate::client::attach::name::client_name;
use crate::client::error::CommandError;
use crate::client::starter::ServiceStarter;
use crate::logging::log_setup;

/// The filter of the log, unless `RUST_LOG` gives one.
const LOG_FILTER: &str = "warn";

/// Speaks with an editor until it closes standard input; the exit code. `name` is the name for the other clients; the one
/// that the editor gives itself if left out.
///
/// # Errors
/// If the system has no threads for it.
pub(super) async fn run(
    starter: ServiceStarter,
    name: Option<String>,
) -> Result<i32, CommandError> {
    let filter = env::var("RUST_LOG").unwrap_or_else(|_| LOG_FILTER.to_owned());
    log_setup::start(
        &filter,
        Target::Stderr,
        Redaction::new(starter.config.secrets.clone()),
    );
    let no_thread = |error: std::io::Error| CommandError::System {
        reason: format!("no thread can be started: {error}"),
    };
    let (broken, mut is_broken) = unbounded_channel();
    let outbox = Rc::new(EditorOutbox::new(broken).map_err(no_thread)?);
    let mut lines = read_lines().map_err(no_thread)?;
    let is_named = name.is_some();
    let name = client_name(Some(name.unwrap_or_else(|| "editor".to_owned())));
    let service = AcpService::new(starter, name);
    let bridge = AcpBridge::new(service, Rc::clone(&outbox), is_named);
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            Some(()) = is_broken.recv() => None,
        };
        let message = match line {
            None => break,
            Some(EditorLine::Bytes(line)) => EditorMessage::read(&line),
            Some(EditorLine::TooLong) => {
                Err(RpcError::invalid_params("the line is too long").answer(&Value::Null))
            }
        };
        match message {
            Ok(message) => bridge.dispatch(message),
            Err(refusal) => bridge.refuse(refusal),
        }
        bridge.tidy();
    }
    // Runs continue; what was ordered and sent last is carried out and written.
    bridge.leave().await;
    outbox.close().await;
    Ok(0)
}
