//! Why the service could not run.

use std::net::SocketAddr;

use derive_more::{Display, Error, From};
use harness_actors::ConfigError as HarnessError;

use crate::config::SettingError;
use crate::serve::folder_rules::RulesFileError;
use crate::serve::mcp::McpError;
use crate::serve::pricing::PricesFileError;
use crate::state_dir::StateError;

/// Why the service could not run.
#[derive(Debug, Display, Error, From)]
pub(crate) enum ServiceError {
    /// A setting cannot be used.
    Config(SettingError),
    /// The state folder cannot be used.
    State(StateError),
    /// The conversations cannot be set up.
    Harness(HarnessError),
    /// The rules of folders cannot be had.
    Rules(RulesFileError),
    /// It cannot be told which MCP servers were accepted.
    Mcp(McpError),
    /// The prices of the operator cannot be used.
    Prices(PricesFileError),
    /// The address cannot be had.
    #[display(
        "cannot listen on {address}: {source}; choose another with --bind and --port (port 0 takes a free one)"
    )]
    #[from(skip)]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The HTTP server ended without having been asked to.
    #[display("the service failed: its HTTP server ended; see the log")]
    ServerEnded,
    /// The system refused something else.
    #[display("the service failed: {_0}")]
    Io(std::io::Error),
}

impl ServiceError {
    /// The exit code: 2 for wrong use, 1 for a failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Config(_) | Self::Harness(_) | Self::Prices(_) => 2,
            Self::State(_)
            | Self::Rules(_)
            | Self::Mcp(_)
            | Self::Listen { .. }
            | Self::ServerEnded
            | Self::Io(_) => 1,
        }
    }
}
