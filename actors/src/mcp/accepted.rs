//! A server that an operator has accepted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::definition::ToolDefinition;
use super::entry::ServerEntry;
use super::names::tool_names;

/// A server, by its name and the folder in which its entry was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId {
    /// Its name.
    pub name: String,
    /// The folder of the entry. `None` for the operator's own configuration.
    pub folder: Option<PathBuf>,
}

/// A server that an operator has accepted: how it is started, and the tools that it had then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptedServer {
    /// Its name in the configuration.
    pub name: String,
    /// The folder in which its entry was found, and in which alone it is offered. `None` for one of the operator's own
    /// configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The entry that starts it.
    pub entry: ServerEntry,
    /// The code in the conversation's folder that the entry names, with the SHA-256 of each file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Its tools, as it described them.
    pub tools: Vec<ToolDefinition>,
}

impl AcceptedServer {
    /// Tells it from servers of the same name in other folders.
    #[must_use]
    pub fn id(&self) -> ServerId {
        ServerId {
            name: self.name.clone(),
            folder: self.folder.clone(),
        }
    }

    /// The names by which the model calls the tools, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let tools: Vec<&str> = self.tools.iter().map(|tool| &*tool.tool).collect();
        tool_names(&self.name, &tools)
    }
}
