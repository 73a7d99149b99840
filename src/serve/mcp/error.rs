//! The reasons for which a server of the configuration is not changed or used.

use derive_more::{Display, Error};
use harness_actors::BlockingError;

/// The reason for which a server of the configuration is not changed or used, in one line.
#[derive(Debug, Display, Error)]
pub(crate) enum McpError {
    /// The configuration has none of that name.
    #[display("there is no MCP server {name:?}; harness mcp list shows those that there are")]
    NoServer {
        /// The name.
        name: String,
    },
    /// A name that no server can have.
    #[display(
        "{name:?} is no name for an MCP server: it has 1 to 32 letters, digits, - and single _ inside"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// An entry that cannot be used.
    #[display("the MCP server {name}: {reason}")]
    BadEntry {
        /// The server's name.
        name: String,
        /// The error in it.
        reason: String,
    },
    /// It did not show its tools.
    #[display("{reason}")]
    NotStarted {
        /// The reason, without secrets.
        reason: String,
    },
    /// The tools that would be accepted are not those that were shown.
    #[display(
        "the MCP server {name} was not tested, or is another one since; test it, and accept the digest of that test"
    )]
    OtherDigest {
        /// The server's name.
        name: String,
    },
    /// A file in the state folder cannot be read or written.
    #[display("cannot {doing} {path}: {reason}")]
    NotKept {
        /// The action that failed.
        doing: &'static str,
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// There is no thread for it.
    #[display("{_0}")]
    NoThread(BlockingError),
}
