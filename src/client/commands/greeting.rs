//! The first step of every command: it looks for the service, and warns where this shell differs from it.

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::remarks;
use crate::config::ClientConfig;

/// A remark about the service before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// That it is of another version.
    Version,
    /// Also where it is not what this shell says: the model is about to be told something, in the
    /// folder and with the settings of the service.
    Remarks,
}

/// Looks for the service, and says on standard error what this shell ought to know of it.
///
/// # Errors
/// If there is none that can be talked to.
pub(super) async fn greet(
    greeting: Greeting,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<ServiceConnection, CommandError> {
    let service = discovery::find(config).await?;
    let version = service.info().and_then(remarks::version);
    let differing = match greeting {
        Greeting::Version => Vec::new(),
        Greeting::Remarks => remarks::of_process(&config.home, &service),
    };
    let lines = differing.into_iter().map(|remark| remark.line);
    for line in version.into_iter().chain(lines) {
        output.note(&format!("harness: {line}"));
    }
    Ok(service)
}
