//! A server that an operator has accepted.

use serde::{Deserialize, Serialize};

use super::definition::ToolDefinition;
use super::entry::ServerEntry;
use super::names::tool_names;

/// A server that an operator has accepted: how it is started, and the tools that it had then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptedServer {
    /// Its name in the configuration.
    pub name: String,
    /// The entry that starts it.
    pub entry: ServerEntry,
    /// Its tools, as it described them.
    pub tools: Vec<ToolDefinition>,
}

impl AcceptedServer {
    /// The names by which the model calls the tools, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let tools: Vec<&str> = self.tools.iter().map(|tool| &*tool.tool).collect();
        tool_names(&self.name, &tools)
    }
}
