//! The MCP servers of the service: what operators have configured and accepted, and the tools that are offered of it.

mod error;
mod files;
mod view;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_actors::mcp::{
    AcceptedServer, McpPool, ServerEntry, TestedServer, is_server_name, list_digest, offered_tools,
};
use harness_actors::tool::{Registry, ToolShelf};
use harness_actors::{Redaction, Tool, blocking};
use harness_protocol::{McpServer, McpServerList};
use serde_json::Value;

pub(crate) use self::error::McpError;
use self::files::{McpConfig, McpFiles};

/// The MCP servers of the service. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct McpServers(Arc<ServersState>);

#[derive(Debug)]
struct ServersState {
    files: McpFiles,
    pool: McpPool,
    /// The tools of all conversations, and those among them that are the service's own.
    shelf: ToolShelf,
    own: Registry,
    redaction: Redaction,
    /// Held while the files are read or changed.
    turn: tokio::sync::Mutex<()>,
    known: Mutex<KnownServers>,
}

/// The known facts of the servers.
#[derive(Debug, Default)]
struct KnownServers {
    config: McpConfig,
    accepted: Vec<Arc<AcceptedServer>>,
    /// The last test of each server, with the entry that it was started by.
    tested: HashMap<String, (ServerEntry, TestedServer)>,
}

impl KnownServers {
    /// The accepted server of a name, if its entry is still the accepted one.
    fn usable(&self, name: &str) -> Option<&Arc<AcceptedServer>> {
        let accepted = self.accepted.iter().find(|server| server.name == name)?;
        let entry = self.config.entries.get(name)?;
        let is_accepted = entry.canonical() == accepted.entry.canonical();
        (is_accepted && !entry.is_disabled).then_some(accepted)
    }
}

impl McpServers {
    /// The servers of a state folder. None is started. The tools of those that were accepted are put on the shelf, behind
    /// those that are there. Blocks.
    ///
    /// # Errors
    /// If it cannot be told what was accepted.
    pub(crate) fn within(
        home: &Path,
        pool: McpPool,
        shelf: ToolShelf,
        redaction: Redaction,
    ) -> Result<Self, McpError> {
        let files = McpFiles::within(home);
        let config = files.config();
        for problem in &config.problems {
            log::warn!("{problem}");
        }
        let accepted = files.accepted()?.into_iter().map(Arc::new).collect();
        let servers = Self(Arc::new(ServersState {
            files,
            pool,
            own: shelf.get(),
            shelf,
            redaction,
            turn: tokio::sync::Mutex::default(),
            known: Mutex::new(KnownServers {
                config,
                accepted,
                tested: HashMap::new(),
            }),
        }));
        servers.offer();
        Ok(servers)
    }

    /// All servers of the configuration. None is started.
    pub(crate) async fn list(&self) -> McpServerList {
        let _turn = self.0.turn.lock().await;
        if let Err(error) = self.read().await {
            return McpServerList {
                servers: Vec::new(),
                problems: vec![error.to_string()],
            };
        }
        let known = self.known();
        let names = known.config.entries.keys();
        McpServerList {
            servers: names.filter_map(|name| self.view(&known, name)).collect(),
            problems: known.config.problems.clone(),
        }
    }

    /// Puts an entry in the configuration.
    ///
    /// # Errors
    /// An entry that cannot be used, or the disk's error.
    pub(crate) async fn put(&self, name: &str, entry: Value) -> Result<McpServer, McpError> {
        if !is_server_name(name) {
            return Err(McpError::BadName {
                name: name.to_owned(),
            });
        }
        let _turn = self.0.turn.lock().await;
        ServerEntry::read(&entry).map_err(|reason| McpError::BadEntry {
            name: name.to_owned(),
            reason,
        })?;
        let (files, own) = (self.0.files.clone(), name.to_owned());
        self.on_disk(move || files.put(&own, Some(entry))).await?;
        self.read().await?;
        self.known().tested.remove(name);
        self.found(name)
    }

    /// Starts a server in a folder, and finds the tools that it has.
    ///
    /// # Errors
    /// Why they are not found.
    pub(crate) async fn test(&self, name: &str, folder: &Path) -> Result<McpServer, McpError> {
        let entry = {
            let _turn = self.0.turn.lock().await;
            self.read().await?;
            let found = self.known().config.entries.get(name).cloned();
            found.ok_or_else(|| self.unknown(name))?
        };
        let tested = self.0.pool.test(name, &entry, folder).await;
        let tested = tested.map_err(McpError::NotStarted)?;
        let own = name.to_owned();
        self.known().tested.insert(own, (entry, tested));
        self.found(name)
    }

    /// Accepts a server as its last test has shown it.
    ///
    /// # Errors
    /// If it is not what was shown, or cannot be kept.
    pub(crate) async fn accept(&self, name: &str, digest: &str) -> Result<McpServer, McpError> {
        let _turn = self.0.turn.lock().await;
        self.read().await?;
        let accepted = {
            let known = self.known();
            let Some(entry) = known.config.entries.get(name) else {
                return Err(self.unknown(name));
            };
            let tested = known.tested.get(name);
            let tested = tested.filter(|(by, _)| by.canonical() == entry.canonical());
            let tested =
                tested.filter(|(by, tested)| list_digest(&by.canonical(), &tested.tools) == digest);
            let Some((entry, tested)) = tested else {
                return Err(McpError::OtherDigest {
                    name: name.to_owned(),
                });
            };
            AcceptedServer {
                name: name.to_owned(),
                entry: entry.clone(),
                tools: tested.tools.clone(),
            }
        };
        self.keep(name, Some(accepted)).await?;
        self.found(name)
    }

    /// Takes a server out of the configuration, and forgets what was accepted of it.
    ///
    /// # Errors
    /// If there is none, or the disk's error.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), McpError> {
        let _turn = self.0.turn.lock().await;
        let (files, own) = (self.0.files.clone(), name.to_owned());
        let was_there = self.on_disk(move || files.put(&own, None)).await?;
        let was_accepted = self
            .known()
            .accepted
            .iter()
            .any(|server| server.name == name);
        if !was_there && !was_accepted {
            return Err(self.unknown(name));
        }
        self.read().await?;
        self.keep(name, None).await
    }

    /// Keeps what was accepted of a server, in place of what was accepted before.
    async fn keep(&self, name: &str, new: Option<AcceptedServer>) -> Result<(), McpError> {
        let mut all = self.known().accepted.clone();
        all.retain(|server| server.name != name);
        all.extend(new.map(Arc::new));
        let files = self.0.files.clone();
        let kept: Vec<AcceptedServer> = all.iter().map(|server| (**server).clone()).collect();
        self.on_disk(move || files.keep(&kept)).await?;
        {
            let mut known = self.known();
            known.accepted = all;
            known.tested.remove(name);
        }
        self.0.pool.close(name);
        self.offer();
        Ok(())
    }

    /// Reads the configuration again, which may have been changed by hand.
    async fn read(&self) -> Result<(), McpError> {
        let files = self.0.files.clone();
        let config = blocking(move || files.config()).await;
        self.known().config = config.map_err(McpError::NoThread)?;
        self.offer();
        Ok(())
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, McpError> + Send + 'static,
    ) -> Result<T, McpError> {
        blocking(work).await.map_err(McpError::NoThread)?
    }

    /// Puts the tools on the shelf that are accepted now.
    fn offer(&self) {
        let known = self.known();
        let names = known.config.entries.keys();
        let usable = names.filter_map(|name| known.usable(name));
        let offered = usable.flat_map(|server| offered_tools(server, &self.0.pool).tools);
        let own = self.0.own.iter().cloned();
        let tools: Vec<Arc<dyn Tool>> = own.chain(offered).collect();
        match Registry::new(tools) {
            Ok(registry) => self.0.shelf.set(registry),
            Err(error) => log::error!("the tools of MCP servers are not offered: {error}"),
        }
    }

    fn found(&self, name: &str) -> Result<McpServer, McpError> {
        let known = self.known();
        self.view(&known, name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> McpError {
        McpError::NoServer {
            name: name.to_owned(),
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownServers> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
