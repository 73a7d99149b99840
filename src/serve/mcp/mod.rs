//! The MCP servers of the service: what operators have configured and accepted, and the tools that are offered of it.
//!
//! There are those of the state folder, which are offered everywhere, and those of a folder's own `.mcp.json`, which are
//! offered in conversations of that folder. Of both, only what was accepted is ever started: the files are proposals.

mod error;
mod files;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_actors::mcp::{
    AcceptedServer, McpPool, ServerEntry, ServerId, TestedServer, is_server_name, list_digest,
    offered_tools,
};
use harness_actors::tool::{FolderShelves, Registry, ToolShelf};
use harness_actors::{Redaction, Tool, blocking};
use harness_protocol::{McpServer, McpServerList};
use serde_json::Value;

pub(crate) use self::error::McpError;
use self::files::{McpConfig, McpFiles, config_of_folder};

/// The MCP servers of the service. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct McpServers(Arc<ServersState>);

#[derive(Debug)]
struct ServersState {
    files: McpFiles,
    pool: McpPool,
    places: OfferPlaces,
    redaction: Redaction,
    /// Held while the files are read or changed.
    turn: tokio::sync::Mutex<()>,
    known: Mutex<KnownServers>,
}

/// The places where tools are offered.
#[derive(Debug)]
struct OfferPlaces {
    /// The tools of all conversations, and those among them that are the service's own.
    shelf: ToolShelf,
    own: Registry,
    folders: FolderShelves,
}

/// The known facts of the servers.
#[derive(Debug, Default)]
struct KnownServers {
    /// The configurations that were read: that of the state folder, and those of folders.
    configs: BTreeMap<Option<PathBuf>, McpConfig>,
    accepted: Vec<Arc<AcceptedServer>>,
    /// Those whose tools were offered when that was looked at last.
    offered: BTreeSet<ServerId>,
    /// The last test of each server, with the entry that it was started by.
    tested: HashMap<ServerId, (ServerEntry, TestedServer)>,
}

impl KnownServers {
    fn config(&self, folder: Option<&Path>) -> Option<&McpConfig> {
        self.configs.get(&folder.map(Path::to_owned))
    }

    /// The entry of a server that the configuration has now.
    fn entry(&self, id: &ServerId) -> Option<&ServerEntry> {
        self.config(id.folder.as_deref())?.entries.get(&id.name)
    }

    fn accepted(&self, id: &ServerId) -> Option<&Arc<AcceptedServer>> {
        self.accepted.iter().find(|server| server.id() == *id)
    }

    /// The accepted server, if its entry is still the accepted one.
    fn usable(&self, id: &ServerId) -> Option<&Arc<AcceptedServer>> {
        let accepted = self.accepted(id)?;
        let entry = self.entry(id)?;
        let is_accepted = entry.canonical() == accepted.entry.canonical();
        (is_accepted && !entry.is_disabled).then_some(accepted)
    }

    /// The test of the entry that the configuration has now.
    fn test(&self, id: &ServerId) -> Option<&TestedServer> {
        let entry = self.entry(id)?;
        let (by, tested) = self.tested.get(id)?;
        (by.canonical() == entry.canonical()).then_some(tested)
    }

    /// The server that a name means in a folder: one of the state folder before one of the folder.
    fn find(&self, name: &str, folder: &Path) -> Option<ServerId> {
        let ids = [None, Some(folder.to_owned())].map(|folder| ServerId {
            name: name.to_owned(),
            folder,
        });
        ids.into_iter().find(|id| self.entry(id).is_some())
    }

    /// The folders of which a server was accepted.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let folders = self.accepted.iter();
        folders.filter_map(|server| server.folder.clone()).collect()
    }
}

impl McpServers {
    /// The servers of a state folder. None is started. The tools of those that were accepted are put on the shelf, behind
    /// those that are there, and on the shelves of their folders. Blocks.
    ///
    /// # Errors
    /// If it cannot be told what was accepted.
    pub(crate) fn within(
        home: &Path,
        pool: McpPool,
        shelf: ToolShelf,
        folders: FolderShelves,
        redaction: Redaction,
    ) -> Result<Self, McpError> {
        let files = McpFiles::within(home);
        let accepted = files.accepted()?.into_iter().map(Arc::new).collect();
        let mut known = KnownServers {
            accepted,
            ..KnownServers::default()
        };
        known.configs.insert(None, files.config());
        for folder in known.folders() {
            let config = config_of_folder(&folder);
            known.configs.insert(Some(folder), config);
        }
        for problem in known.configs.values().flat_map(|config| &config.problems) {
            log::warn!("{problem}");
        }
        let servers = Self(Arc::new(ServersState {
            files,
            pool,
            places: OfferPlaces {
                own: shelf.get(),
                shelf,
                folders,
            },
            redaction,
            turn: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
        }));
        servers.offer();
        Ok(servers)
    }

    /// The servers of the state folder, and those of a folder. None is started.
    pub(crate) async fn list(&self, folder: &Path) -> McpServerList {
        let _turn = self.0.turn.lock().await;
        if let Err(error) = self.read(folder).await {
            return McpServerList {
                servers: Vec::new(),
                problems: vec![error.to_string()],
            };
        }
        let known = self.known();
        let mut list = McpServerList::default();
        for place in [None, Some(folder)] {
            let Some(config) = known.config(place) else {
                continue;
            };
            list.problems.extend(config.problems.iter().cloned());
            let ids = config.entries.keys().map(|name| ServerId {
                name: name.clone(),
                folder: place.map(Path::to_owned),
            });
            for id in ids {
                if known.find(&id.name, folder).as_ref() == Some(&id) {
                    list.servers.extend(self.view(&known, &id));
                } else {
                    list.problems.push(format!(
                        "the MCP server {} of this folder is hidden by the one in mcp.json",
                        id.name
                    ));
                }
            }
        }
        list
    }

    /// Puts an entry in the configuration of the state folder.
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
        self.read_own().await?;
        let id = ServerId {
            name: name.to_owned(),
            folder: None,
        };
        self.known().tested.remove(&id);
        self.found(&id)
    }

    /// Starts a server in a folder, and finds the tools that it has.
    ///
    /// # Errors
    /// Why they are not found.
    pub(crate) async fn test(&self, name: &str, folder: &Path) -> Result<McpServer, McpError> {
        let (id, entry) = {
            let _turn = self.0.turn.lock().await;
            self.read(folder).await?;
            let known = self.known();
            let id = known.find(name, folder).ok_or_else(|| unknown(name))?;
            let entry = known.entry(&id).cloned().ok_or_else(|| unknown(name))?;
            (id, entry)
        };
        let tested = self.0.pool.test(&id, &entry, folder).await;
        let tested = tested.map_err(|error| McpError::NotStarted {
            reason: self.0.redaction.apply(error.to_string()),
        })?;
        self.known().tested.insert(id.clone(), (entry, tested));
        self.found(&id)
    }

    /// Accepts a server as its last test has shown it.
    ///
    /// # Errors
    /// If it is not what was shown, or cannot be kept.
    pub(crate) async fn accept(
        &self,
        name: &str,
        folder: &Path,
        digest: &str,
    ) -> Result<McpServer, McpError> {
        let _turn = self.0.turn.lock().await;
        self.read(folder).await?;
        let accepted = {
            let known = self.known();
            let id = known.find(name, folder).ok_or_else(|| unknown(name))?;
            let shown = known.entry(&id).zip(known.test(&id));
            let is_meant = |(entry, tested): &(&ServerEntry, &TestedServer)| {
                list_digest(&entry.canonical(), &tested.files, &tested.tools) == digest
            };
            let shown = shown.filter(is_meant);
            let (entry, tested) = shown.ok_or_else(|| McpError::OtherDigest {
                name: name.to_owned(),
            })?;
            AcceptedServer {
                name: id.name,
                folder: id.folder,
                entry: entry.clone(),
                files: tested.files.clone(),
                tools: tested.tools.clone(),
            }
        };
        let id = accepted.id();
        self.keep(&id, Some(accepted)).await?;
        self.found(&id)
    }

    /// Takes a server out of the configuration of the state folder, or forgets that one of a folder was accepted.
    ///
    /// # Errors
    /// If there is none, or the disk's error.
    pub(crate) async fn remove(&self, name: &str, folder: &Path) -> Result<(), McpError> {
        let _turn = self.0.turn.lock().await;
        self.read(folder).await?;
        let id = {
            let known = self.known();
            let is_it = |server: &&Arc<AcceptedServer>| {
                let place = server.folder.as_deref();
                server.name == name && place.is_none_or(|place| place == folder)
            };
            let accepted = || known.accepted.iter().find(is_it).map(|server| server.id());
            known.find(name, folder).or_else(accepted)
        };
        let id = id.ok_or_else(|| unknown(name))?;
        if id.folder.is_none() {
            let (files, own) = (self.0.files.clone(), name.to_owned());
            self.on_disk(move || files.put(&own, None)).await?;
            self.read_own().await?;
        }
        self.keep(&id, None).await
    }

    /// Keeps what was accepted of a server, in place of what was accepted before.
    async fn keep(&self, id: &ServerId, new: Option<AcceptedServer>) -> Result<(), McpError> {
        let mut all = self.known().accepted.clone();
        all.retain(|server| server.id() != *id);
        all.extend(new.map(Arc::new));
        let files = self.0.files.clone();
        let kept: Vec<AcceptedServer> = all.iter().map(|server| (**server).clone()).collect();
        self.on_disk(move || files.keep(&kept)).await?;
        {
            let mut known = self.known();
            known.accepted = all;
            known.tested.remove(id);
        }
        self.0.pool.close(id);
        self.offer();
        Ok(())
    }

    /// Reads the configurations again that hold in a folder, which may have been changed by hand.
    async fn read(&self, folder: &Path) -> Result<(), McpError> {
        let own = folder.to_owned();
        let config = blocking(move || config_of_folder(&own)).await;
        let config = config.map_err(McpError::NoThread)?;
        self.known().configs.insert(Some(folder.to_owned()), config);
        self.read_own().await
    }

    /// Reads the configuration of the state folder again.
    async fn read_own(&self) -> Result<(), McpError> {
        let files = self.0.files.clone();
        let config = blocking(move || files.config()).await;
        let config = config.map_err(McpError::NoThread)?;
        self.known().configs.insert(None, config);
        self.offer();
        Ok(())
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, McpError> + Send + 'static,
    ) -> Result<T, McpError> {
        blocking(work).await.map_err(McpError::NoThread)?
    }

    /// Puts the tools on the shelves that are accepted now.
    fn offer(&self) {
        let mut known = self.known();
        let ids = known.accepted.iter().map(|server| server.id());
        let usable: BTreeSet<ServerId> = ids.filter(|id| known.usable(id).is_some()).collect();
        // What is not offered any more does not run any more.
        for gone in known.offered.difference(&usable) {
            self.0.pool.close(gone);
        }
        known.offered = usable;
        let offered = |folder: Option<&Path>| -> Vec<Arc<dyn Tool>> {
            let ids = known.offered.iter();
            let ids = ids.filter(|id| id.folder.as_deref() == folder);
            let usable = ids.filter_map(|id| known.usable(id));
            let tools = usable.flat_map(|server| offered_tools(server, &self.0.pool).tools);
            tools.collect()
        };
        let places = &self.0.places;
        let own = places.own.iter().cloned();
        set(&places.shelf, own.chain(offered(None)).collect());
        for folder in known.configs.keys().flatten() {
            set(&places.folders.get(folder), offered(Some(folder)));
        }
    }

    fn found(&self, id: &ServerId) -> Result<McpServer, McpError> {
        let known = self.known();
        self.view(&known, id).ok_or_else(|| unknown(&id.name))
    }

    fn known(&self) -> MutexGuard<'_, KnownServers> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set(shelf: &ToolShelf, tools: Vec<Arc<dyn Tool>>) {
    match Registry::new(tools) {
        Ok(registry) => shelf.set(registry),
        Err(error) => log::error!("the tools of MCP servers are not offered: {error}"),
    }
}

fn unknown(name: &str) -> McpError {
    McpError::NoServer {
        name: name.to_owned(),
    }
}
