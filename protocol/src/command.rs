//! A planned action of a tool: a change of files, a command, or a call of a tool of an MCP server.

use serde::{Deserialize, Serialize};

use crate::{FileChange, McpCall};

/// A planned action of a tool, as operators are asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// It changes a file.
    Change(FileChange),
    /// It runs a command.
    Command(CommandPlan),
    /// It calls a tool of an MCP server.
    McpCall(McpCall),
}

/// A command as it will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// The line for the shell.
    pub command: String,
    /// The absolute path of the folder that it starts in.
    pub folder: String,
    /// The access that it asks for.
    pub access: Access,
    /// True if the command may use the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// True if the command runs in the background while the conversation continues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Time limit in seconds; 0 in the background, which has no limit.
    pub timeout_s: u64,
    /// The means that contains it.
    pub backend: Backend,
    /// True if the containment enforces all that `access` and `network` promise, so that a command that only reads
    /// needs no approval.
    pub contained: bool,
    /// The gaps in its containment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// True if the command can read the token of the service, and so could answer approvals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_itself: bool,
    /// The file of a program that it names and that other commands can change, if it has full access or the
    /// network: no rule allows it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeable_program: Option<String>,
    /// The reason why the model wants to run the command, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The access of a command or an MCP server to files and the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read access; only a dedicated folder for temporary files can be written.
    Read,
    /// Read access, and write access to the folder of the conversation.
    #[default]
    Write,
    /// Access without containment of files and network.
    Full,
    /// An access that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

/// The means that contains the commands of tools and MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Separate namespaces, with Landlock where the kernel supports it.
    Namespaces,
    /// Landlock and a filter of system calls.
    Landlock,
    /// Nothing: a command reaches what its user reaches.
    None,
    /// A backend that this version does not know. Never sent.
    #[serde(other)]
    Unknown,
}

impl Access {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Full => "full",
            Self::Unknown => "unknown",
        }
    }
}

impl Backend {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

impl Subject {
    /// The change of a file, if it is one.
    #[must_use]
    pub const fn change(&self) -> Option<&FileChange> {
        match self {
            Self::Change(change) => Some(change),
            Self::Command(_) | Self::McpCall(_) => None,
        }
    }

    /// The command, if it is one.
    #[must_use]
    pub const fn command(&self) -> Option<&CommandPlan> {
        match self {
            Self::Command(command) => Some(command),
            Self::Change(_) | Self::McpCall(_) => None,
        }
    }

    /// The text that an operator judges: the diff, the command, or the input of the call.
    #[must_use]
    pub fn body(&self) -> &str {
        match self {
            Self::Change(change) => &change.diff,
            Self::Command(plan) => &plan.command,
            Self::McpCall(call) => &call.input,
        }
    }

    /// The same without the diff of a change and the input of a call, for records that only name it.
    #[must_use]
    pub fn brief(self) -> Self {
        match self {
            Self::Change(change) => Self::Change(FileChange {
                diff: String::new(),
                ..change
            }),
            command @ Self::Command(_) => command,
            Self::McpCall(call) => Self::McpCall(McpCall {
                input: String::new(),
                ..call
            }),
        }
    }
}
