//! The reasons for which a call of a server's tool brings no result.

use derive_more::{Display, Error};

/// The reason for which a call of a server's tool brings no result, in words for the model and for operators.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum McpCallError {
    /// The server could not be started.
    #[display("the MCP server {server} did not start: {reason}")]
    NotStarted {
        /// Its name.
        server: String,
        /// The failure, with the last lines of its standard error.
        reason: String,
    },
    /// It ended, or said something that is no answer.
    #[display("the MCP server {server} failed: {reason}")]
    Failed {
        /// Its name.
        server: String,
        /// The failure, with the last lines of its standard error.
        reason: String,
    },
    /// The tool is another one than the one that was accepted.
    #[display(
        "not called: the MCP server {server} describes its tool {tool} otherwise than when it was accepted; an \
         operator has to accept it: harness mcp accept {server}"
    )]
    Changed {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// The server no longer has the tool.
    #[display("not called: the MCP server {server} has no tool {tool} any more")]
    Gone {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// The answer did not come in time.
    #[display("the MCP server {server} did not answer within {limit:?}")]
    TimedOut {
        /// The server's name.
        server: String,
        /// The limit.
        limit: std::time::Duration,
    },
    /// It was cancelled.
    #[display("cancelled by user")]
    Cancelled,
}
