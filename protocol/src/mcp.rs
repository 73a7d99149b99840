//! Servers of the Model Context Protocol, whose tools the model can call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Access, Backend};

/// A call of a tool of a server, as operators are asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCall {
    /// The name of the server in the configuration.
    pub server: String,
    /// The name of the tool, as the server has it.
    pub tool: String,
    /// The input of the call, as indented JSON.
    pub input: String,
    /// The access of the server to files.
    pub access: Access,
    /// True if the server may use the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// The means that contains the server.
    pub backend: Backend,
    /// True if the containment enforces all that `access` and `network` promise.
    pub contained: bool,
    /// The gaps in its containment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

/// The answer of `GET /v1/mcp`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct McpServerList {
    /// The servers, by name.
    pub servers: Vec<McpServer>,
    /// The errors of the configuration, a line each. The servers that they are about are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A server of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// The folder whose `.mcp.json` has it, and in which alone it is offered. `None` for one of the state folder's
    /// `mcp.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The program and its arguments, with `${NAME}` in place of variables of the environment.
    pub command: Vec<String>,
    /// The files with code in the folder that the command names, after a test or when they were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The names of the variables that it gets besides those of every command. Values are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Its access to files.
    pub access: Access,
    /// True if it may use the network.
    pub network: bool,
    /// The state of its acceptance.
    pub state: McpState,
    /// The reason why it cannot be used, or of its last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of processes of it that run: one for each folder that it is used in.
    #[serde(default)]
    pub running: usize,
    /// Its name and version by its own account, once it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its tools: those that were accepted, and after a test also those that it has now.
    pub tools: Vec<McpTool>,
    /// The last lines of its standard error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Names what an operator accepts, after a test: the command and the tools. Sent back with the acceptance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The state of a server's acceptance: only tools of accepted servers are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpState {
    /// No operator has accepted it. It is not started.
    New,
    /// Its entry in the configuration is another one than the accepted one. It is not started.
    Changed,
    /// Its tools are offered, and it is started by the first call.
    Accepted,
    /// A state that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpTool {
    /// Its name, as the server has it.
    pub tool: String,
    /// The name by which the model calls it.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON schema of its input, as the server has it. Its descriptions are for the model, too.
    #[serde(default)]
    pub input_schema: Value,
    /// The state of its acceptance.
    pub state: McpToolState,
    /// The reason why it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The state of a tool's acceptance: the model can call accepted tools only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpToolState {
    /// It was accepted.
    Accepted,
    /// The server has it, and no operator has accepted it.
    New,
    /// It was accepted, and its description or its input is another one now. Calls of it fail.
    Changed,
    /// It was accepted, and the server no longer has it.
    Gone,
    /// It is left out: the configuration or the API excludes it.
    LeftOut,
    /// A state that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// Accepts a server as the last test has shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptMcpServer {
    /// The digest of that test.
    pub digest: String,
    /// The folder of that test. `None` for the service's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl McpState {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Accepted => "accepted",
            Self::Unknown => "unknown",
        }
    }
}

impl McpToolState {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::LeftOut => "left out",
            Self::Unknown => "unknown",
        }
    }
}
