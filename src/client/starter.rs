//! The way to the service for programs that others have started, such as editors: a service is started where none runs.

use std::io;
use std::process::Stdio;

use serde::de::DeserializeOwned;
use tokio::process::Command;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery::{self, DiscoveryError};
use crate::client::api::error::ApiError;
use crate::client::api::route::Route;
use crate::client::background;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::config::ClientConfig;

/// The flag by which this program starts a service and ends.
pub(super) const ONLY_START: &str = "--only-start";

/// The way to the service of a state folder.
#[derive(Debug, Clone)]
pub(super) struct ServiceStarter {
    /// The configuration of the client.
    pub(super) config: ClientConfig,
    /// True if a service that is started is the demo.
    is_demo: bool,
}

impl ServiceStarter {
    /// The way to the service of a state folder. `is_demo` is true if one that is started is the demo.
    pub(super) fn new(config: &ClientConfig, is_demo: bool) -> Self {
        Self {
            config: config.clone(),
            is_demo,
        }
    }

    /// The running service; starts one if there is none.
    ///
    /// # Errors
    /// If there is none in the end.
    pub(super) async fn connection(&self) -> Result<ServiceConnection, CommandError> {
        match discovery::find(&self.config).await {
            Err(DiscoveryError::None { .. }) => {
                self.start().await?;
                Ok(discovery::find(&self.config).await?)
            }
            found => Ok(found?),
        }
    }

    /// Asks the running service.
    ///
    /// # Errors
    /// If there is no usable answer; an order may have been carried out.
    pub(super) async fn ask<A: DeserializeOwned>(&self, route: &Route<A>) -> Result<A, ApiError> {
        Ok(discovery::find(&self.config).await?.ask(route).await?)
    }

    /// Starts a service by a process of its own that ends then: editors end all descendants of what they have started, and
    /// the service is to continue.
    async fn start(&self) -> Result<(), CommandError> {
        let system = |error: io::Error| CommandError::System {
            reason: format!("cannot start the service: {error}"),
        };
        let program = std::env::current_exe().map_err(system)?;
        let mut starter = Command::new(program);
        starter
            .args(["acp", ONLY_START, "--home"])
            .arg(&self.config.home);
        if self.is_demo {
            starter.arg("--demo");
        }
        let started = starter
            .stdin(Stdio::null())
            .output()
            .await
            .map_err(system)?;
        if started.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&started.stderr);
        let reason = reason.trim().trim_start_matches("harness: ").to_owned();
        Err(CommandError::System { reason })
    }
}

/// Starts a service if none runs, as the process that [`ServiceStarter`] starts does.
///
/// # Errors
/// If none runs in the end.
pub(super) async fn only_start(
    config: &ClientConfig,
    is_demo: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let serve = background::serve(&config.home, is_demo)?;
    background::start_told(config, serve, output).await?;
    Ok(())
}
