//! The two files in the state folder: `mcp.json`, which operators write, and `mcp-accepted.json`, which has what they
//! have accepted.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use harness_actors::beneath::{FolderHandle, LinkPolicy};
use harness_actors::mcp::{AcceptedServer, ServerEntry, is_server_name};
use serde_json::{Map, Value, json};

use super::error::McpError;
use crate::serve::folder_rules::state_file;
use crate::state_dir::write_new;
use crate::visible;

/// The configuration, which operators may write by hand.
const CONFIG: &str = "mcp.json";
/// The configuration of a repository, in its folder.
const OF_FOLDER: &str = ".mcp.json";
/// Maximum size of such a file, in bytes.
const MAX_OF_FOLDER: u64 = 1024 * 1024;
/// The servers that were accepted.
const ACCEPTED: &str = "mcp-accepted.json";
/// The member with the servers, by the name that other programs have for it.
const SERVERS: &str = "mcpServers";

/// The configuration, read.
#[derive(Debug, Clone, Default)]
pub(super) struct McpConfig {
    /// The entries that can be used, by name.
    pub(super) entries: BTreeMap<String, ServerEntry>,
    /// The errors of the others, a line each.
    pub(super) problems: Vec<String>,
}

/// The files of a state folder.
#[derive(Debug, Clone)]
pub(super) struct McpFiles {
    config: PathBuf,
    accepted: PathBuf,
}

impl McpFiles {
    pub(super) fn within(home: &Path) -> Self {
        Self {
            config: home.join(CONFIG),
            accepted: home.join(ACCEPTED),
        }
    }

    /// The configuration. One that is no configuration is a problem, and no server is in it. Blocks.
    pub(super) fn config(&self) -> McpConfig {
        match self.document() {
            Ok(document) => read(&document, CONFIG),
            Err(problem) => McpConfig {
                entries: BTreeMap::new(),
                problems: vec![problem.to_string()],
            },
        }
    }

    /// Puts an entry in the configuration, or takes it out; true if it was there. The rest stays. Blocks.
    ///
    /// # Errors
    /// A file that cannot be read or written; it is unchanged then.
    pub(super) fn put(&self, name: &str, entry: Option<Value>) -> Result<bool, McpError> {
        let mut document = self.document()?;
        let servers = document.entry(SERVERS).or_insert_with(|| json!({}));
        let servers = servers.as_object_mut().ok_or_else(|| {
            not_kept(
                "change",
                &self.config,
                format!("{SERVERS} is no object; mend it, or move it away"),
            )
        })?;
        let before = match entry {
            Some(entry) => servers.insert(name.to_owned(), entry),
            None => servers.shift_remove(name),
        };
        replace(&self.config, &Value::Object(document))?;
        Ok(before.is_some())
    }

    /// The servers that were accepted. Blocks.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
    pub(super) fn accepted(&self) -> Result<Vec<AcceptedServer>, McpError> {
        let error = |reason: String| {
            let reason = format!("{}; mend it, or move it away", visible::line(&reason));
            not_kept("read the accepted MCP servers in", &self.accepted, reason)
        };
        let bytes = state_file(&self.accepted).map_err(|refused| error(refused.to_string()))?;
        let Some(bytes) = bytes else {
            return Ok(Vec::new());
        };
        serde_json::from_slice(&bytes).map_err(|wrong| error(wrong.to_string()))
    }

    /// Keeps the servers that were accepted. Blocks.
    ///
    /// # Errors
    /// The disk's error; the file is unchanged then.
    pub(super) fn keep(&self, accepted: &[AcceptedServer]) -> Result<(), McpError> {
        let all = serde_json::to_value(accepted);
        let error = |error: serde_json::Error| not_kept("keep", &self.accepted, error.to_string());
        replace(&self.accepted, &all.map_err(error)?)
    }

    /// The whole configuration.
    fn document(&self) -> Result<Map<String, Value>, McpError> {
        let error = |reason: String| {
            let reason = format!("{}; mend it, or move it away", visible::line(&reason));
            not_kept("read the MCP servers in", &self.config, reason)
        };
        let bytes = state_file(&self.config).map_err(|refused| error(refused.to_string()))?;
        let Some(bytes) = bytes else {
            return Ok(Map::new());
        };
        serde_json::from_slice(&bytes).map_err(|wrong| error(wrong.to_string()))
    }
}

/// The configuration of a folder. It is opened below the folder; what cannot be used is a problem. Blocks.
pub(super) fn config_of_folder(folder: &Path) -> McpConfig {
    let problem = |reason: &dyn Display| {
        let path = folder.join(OF_FOLDER);
        let line = format!(
            "cannot read the MCP servers in {}: {reason}",
            path.display()
        );
        McpConfig {
            entries: BTreeMap::new(),
            problems: vec![visible::line(&line)],
        }
    };
    let handle = match FolderHandle::open(folder) {
        Ok(handle) => handle,
        Err(error) => return problem(&error),
    };
    let file = match handle.open_file(Path::new(OF_FOLDER), LinkPolicy::Inside) {
        Ok(file) => file,
        Err(none) if none.is_absence() => return McpConfig::default(),
        Err(error) => return problem(&error),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(MAX_OF_FOLDER + 1).read_to_end(&mut bytes) {
        return problem(&error);
    }
    if bytes.len() as u64 > MAX_OF_FOLDER {
        return problem(&format!("it has more than {MAX_OF_FOLDER} bytes"));
    }
    match serde_json::from_slice(&bytes) {
        Ok(document) => read(&document, OF_FOLDER),
        Err(error) => problem(&error),
    }
}

/// The entries of a configuration.
fn read(document: &Map<String, Value>, file: &str) -> McpConfig {
    let mut config = McpConfig::default();
    let servers = match document.get(SERVERS) {
        None => return config,
        Some(Value::Object(servers)) => servers,
        Some(_) => {
            config
                .problems
                .push(format!("{SERVERS} in {file} is no object"));
            return config;
        }
    };
    for (name, entry) in servers {
        let parsed = match is_server_name(name) {
            true => ServerEntry::read(entry).map_err(|reason| McpError::BadEntry {
                name: name.clone(),
                reason,
            }),
            false => Err(McpError::BadName { name: name.clone() }),
        };
        match parsed {
            Ok(entry) => drop(config.entries.insert(name.clone(), entry)),
            Err(error) => config.problems.push(visible::line(&error.to_string())),
        }
    }
    config
}

/// Puts a file in place of another, through to the disk.
fn replace(path: &Path, value: &Value) -> Result<(), McpError> {
    let put = || -> io::Result<()> {
        let new = path.with_extension("json.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        write_new(&new, &text)?;
        fs::rename(&new, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    put().map_err(|error| not_kept("write", path, error.to_string()))
}

fn not_kept(doing: &'static str, path: &Path, reason: String) -> McpError {
    McpError::NotKept {
        doing,
        path: path.display().to_string(),
        reason,
    }
}
