//! The servers that run: one process for each server and folder, started by the first call, and ended when it is not
//! used any more.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness_protocol::Access;
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::accepted::{AcceptedServer, ServerId};
use super::call::McpCallError;
use super::connection::{ServerCall, ServerConnection};
use super::definition::ToolDefinition;
use super::entry::ServerEntry;
use super::folder_files::folder_files;
use super::process::{ServerPipes, ServerProcess};
use crate::secret::{Redaction, Secret};
use crate::start_thread;
use crate::tool::{LaunchOrder, Launcher, TempFolder, environment, keep_search_path, server_reach};

/// Time after which a server is ended that is not called.
pub(super) const IDLE: Duration = Duration::from_mins(10);
/// Maximum time until a server has listed its tools, when one of them is called.
const START_LIMIT: Duration = Duration::from_secs(30);
/// The same when an operator tests it: it may be downloaded first.
const TEST_LIMIT: Duration = Duration::from_secs(60);
/// Number of looks for unused servers there are in that time.
const LOOKS: u32 = 10;

/// The parts that servers are started with.
#[derive(Clone)]
pub struct PoolParts {
    /// Starts their processes, contained.
    pub launcher: Arc<dyn Launcher>,
    /// The variables of the service's own environment that they get besides those of every command.
    pub passed: Vec<String>,
    /// Learns the secrets that they are started with.
    pub redaction: Redaction,
    /// Files and folders that are closed to them.
    pub closed: Arc<[PathBuf]>,
    /// The variables of the service's environment that hold its own secrets, besides those that begin with `HARNESS_` and
    /// `ANTHROPIC_`.
    pub own_variables: Vec<String>,
}

/// Code in a folder, with the SHA-256 of each file.
type FolderFiles = BTreeMap<String, String>;

/// The servers that run. Clones share them.
#[derive(Clone)]
pub struct McpPool(Arc<PoolState>);

struct PoolState {
    parts: PoolParts,
    idle: Duration,
    /// The thread that servers are spoken with on, once one was started.
    runtime: Mutex<Option<Handle>>,
    /// Ends that thread.
    stop: CancellationToken,
    slots: Mutex<BTreeMap<(ServerId, PathBuf), Arc<ConnectionSlot>>>,
    facts: Mutex<HashMap<ServerId, ServerFacts>>,
}

/// The place of one process.
#[derive(Default)]
struct ConnectionSlot {
    held: tokio::sync::Mutex<Option<HeldConnection>>,
    /// Ends what runs here, and what starts, for good.
    closed: CancellationToken,
}

struct HeldConnection {
    connection: Arc<ServerConnection>,
    used: Instant,
}

/// The facts about a server from its last process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its name and version, by its own account.
    pub version: Option<String>,
    /// Its last failure; none if the last call was answered.
    pub error: Option<String>,
    /// The last lines of its standard error.
    pub log: Vec<String>,
}

/// A server that was started to see its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct TestedServer {
    /// The code in the folder that it was started from, with the SHA-256 of each file.
    pub files: BTreeMap<String, String>,
    /// The tools that it has.
    pub tools: Vec<ToolDefinition>,
    /// Its name and version, by its own account.
    pub version: Option<String>,
    /// The last lines of its standard error.
    pub log: Vec<String>,
}

impl fmt::Debug for McpPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpPool").finish_non_exhaustive()
    }
}

impl Drop for PoolState {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl McpPool {
    /// A pool in which no server runs.
    #[must_use]
    pub fn new(parts: PoolParts) -> Self {
        Self::with_idle(parts, IDLE)
    }

    pub(super) fn with_idle(parts: PoolParts, idle: Duration) -> Self {
        Self(Arc::new(PoolState {
            parts,
            idle,
            runtime: Mutex::default(),
            stop: CancellationToken::new(),
            slots: Mutex::default(),
            facts: Mutex::default(),
        }))
    }

    pub(super) fn launcher(&self) -> &Arc<dyn Launcher> {
        &self.0.parts.launcher
    }

    /// Starts a server in a folder, finds its tools, and ends it.
    ///
    /// # Errors
    /// The reason for which the server did not list its tools.
    pub async fn test(
        &self,
        id: &ServerId,
        entry: &ServerEntry,
        folder: &Path,
    ) -> Result<TestedServer, McpCallError> {
        let (connection, files) = self.start(id, entry, folder, None, TEST_LIMIT).await?;
        let tested = TestedServer {
            files,
            tools: connection.tools().await,
            version: connection.version(),
            log: connection.log(),
        };
        self.note(id, &connection);
        if let Ok(runtime) = self.runtime() {
            runtime.spawn(connection.close());
        }
        Ok(tested)
    }

    /// Calls a tool of a server, which is started if it does not run in that folder.
    pub(super) async fn call(
        &self,
        server: &AcceptedServer,
        folder: &Path,
        call: ServerCall,
    ) -> Result<(String, bool), McpCallError> {
        let id = server.id();
        let cancelled = call.cancellation.clone();
        let slot = self.slot(&id, folder);
        let connection = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(McpCallError::Cancelled),
            () = slot.closed.cancelled() => return Err(removed(server)),
            connection = self.connected(&slot, server, folder) => connection,
        };
        let connection = connection?;
        // On that thread it goes on when its caller is gone, for as long as it takes to tell the server.
        let runtime = self
            .runtime()
            .map_err(|error| not_started(&server.name, &error))?;
        let pool = self.clone();
        let gone = removed(server);
        let calling = runtime.spawn(async move {
            let answer = tokio::select! {
                biased;
                () = slot.closed.cancelled() => {
                    connection.end();
                    return Err(gone);
                }
                answer = connection.call(call) => answer,
            };
            pool.note(&id, &connection);
            if let Err(error) = &answer {
                pool.note_failure(&id, error, connection.log());
            }
            answer
        });
        calling.await.unwrap_or_else(|error| {
            Err(McpCallError::Failed {
                server: server.name.clone(),
                reason: error.to_string(),
            })
        })
    }

    /// Number of processes of a server that run.
    #[must_use]
    pub fn running(&self, id: &ServerId) -> usize {
        let slots = lock(&self.0.slots);
        let own = slots.iter().filter(|((server, _), _)| server == id);
        own.filter(|(_, slot)| slot.is_open()).count()
    }

    /// The facts about a server from its last process.
    #[must_use]
    pub fn facts(&self, id: &ServerId) -> ServerFacts {
        lock(&self.0.facts).get(id).cloned().unwrap_or_default()
    }

    /// Ends the processes of a server. Calls that run fail.
    pub fn close(&self, id: &ServerId) {
        let mut slots = lock(&self.0.slots);
        let own = slots.extract_if(.., |(server, _), _| server == id);
        let own: Vec<Arc<ConnectionSlot>> = own.map(|(_, slot)| slot).collect();
        drop(slots);
        lock(&self.0.facts).remove(id);
        let runtime = lock(&self.0.runtime).clone();
        for slot in own {
            // A call that runs, or starts the server, ends it; and this one what nobody calls.
            slot.closed.cancel();
            if let Some(runtime) = &runtime {
                runtime.spawn(async move {
                    if let Some(held) = slot.held.lock().await.take() {
                        held.connection.end();
                    }
                });
            }
        }
    }

    /// The place of a server's process in a folder.
    fn slot(&self, id: &ServerId, folder: &Path) -> Arc<ConnectionSlot> {
        let key = (id.clone(), folder.to_owned());
        Arc::clone(lock(&self.0.slots).entry(key).or_default())
    }

    /// The connection to a server in a folder. Those who want the same one wait for one start.
    async fn connected(
        &self,
        slot: &ConnectionSlot,
        server: &AcceptedServer,
        folder: &Path,
    ) -> Result<Arc<ServerConnection>, McpCallError> {
        let mut held = slot.held.lock().await;
        if let Some(held) = &mut *held
            && held.connection.is_open()
            && held.connection.entry == server.entry.canonical()
        {
            held.used = Instant::now();
            return Ok(Arc::clone(&held.connection));
        }
        // What is left of the one before ends first.
        drop(held.take());
        let (id, files) = (server.id(), Some(&server.files));
        let connection = self.start(&id, &server.entry, folder, files, START_LIMIT);
        let connection = Arc::new(connection.await?.0);
        self.note(&id, &connection);
        *held = Some(HeldConnection {
            connection: Arc::clone(&connection),
            used: Instant::now(),
        });
        Ok(connection)
    }

    /// Starts a process and speaks with it until it can be called. It is ended if this is dropped before. Tells also the
    /// code in the folder that it was started from, which has to be that of `accepted`, if that is given.
    async fn start(
        &self,
        id: &ServerId,
        entry: &ServerEntry,
        folder: &Path,
        accepted: Option<&FolderFiles>,
        limit: Duration,
    ) -> Result<(ServerConnection, FolderFiles), McpCallError> {
        let started = self.started(&id.name, entry, folder, accepted, limit).await;
        started.map_err(|(error, log)| {
            let error = with_hint(error, entry);
            self.note_failure(id, &error, log);
            error
        })
    }

    async fn started(
        &self,
        name: &str,
        entry: &ServerEntry,
        folder: &Path,
        accepted: Option<&FolderFiles>,
        limit: Duration,
    ) -> Result<(ServerConnection, FolderFiles), (McpCallError, Vec<String>)> {
        let bare = |error: &dyn ToString| {
            let reason = error.to_string();
            let server = name.to_owned();
            (McpCallError::NotStarted { server, reason }, Vec::new())
        };
        let (parts, work, at) = (self.0.parts.clone(), entry.clone(), folder.to_owned());
        let accepted = accepted.cloned();
        let start = move || start_process(&parts, &work, &at, accepted.as_ref());
        let starting = crate::blocking(start).await;
        let (started, files) = starting
            .map_err(|error| bare(&error))?
            .map_err(|error| bare(&error))?;
        let runtime = self.runtime().map_err(|error| bare(&error))?;
        let (own, entry) = (name.to_owned(), entry.canonical());
        let opening = async move { ServerConnection::open(&own, entry, started, limit).await };
        let opening = AbortOnDropHandle::new(runtime.spawn(opening));
        let opened = opening.await.map_err(|error| bare(&error))?;
        opened.map(|connection| (connection, files))
    }

    /// The thread that servers are spoken with on: what floods it harms no conversation.
    fn runtime(&self) -> io::Result<Handle> {
        let mut runtime = lock(&self.0.runtime);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.clone());
        }
        let own = Builder::new_current_thread().enable_all().build()?;
        let handle = own.handle().clone();
        let (stop, pool, idle) = (self.0.stop.clone(), Arc::downgrade(&self.0), self.0.idle);
        start_thread("mcp", move || {
            own.block_on(async move {
                let mut looks = tokio::time::interval(idle / LOOKS);
                loop {
                    tokio::select! {
                        () = stop.cancelled() => return,
                        _ = looks.tick() => match pool.upgrade() {
                            Some(pool) => close_idle(&pool),
                            None => return,
                        },
                    }
                }
            });
        })?;
        *runtime = Some(handle.clone());
        Ok(handle)
    }

    fn note(&self, id: &ServerId, connection: &ServerConnection) {
        let facts = ServerFacts {
            version: connection.version(),
            error: None,
            log: connection.log(),
        };
        lock(&self.0.facts).insert(id.clone(), facts);
    }

    /// Notes the failure of a server, for operators.
    fn note_failure(&self, id: &ServerId, error: &McpCallError, log: Vec<String>) {
        if *error != McpCallError::Cancelled {
            let mut facts = lock(&self.0.facts);
            let facts = facts.entry(id.clone()).or_default();
            facts.error = Some(error.to_string());
            facts.log = log;
        }
    }
}

impl ConnectionSlot {
    /// True if its process runs; also while one starts.
    fn is_open(&self) -> bool {
        match self.held.try_lock() {
            Ok(held) => held.as_ref().is_some_and(|held| held.connection.is_open()),
            Err(_) => true,
        }
    }
}

/// The answer of a server that operators have removed or changed while it was called.
fn removed(server: &AcceptedServer) -> McpCallError {
    McpCallError::Failed {
        server: server.name.clone(),
        reason: "an operator has changed or removed it".to_owned(),
    }
}

/// Ends the processes that are not used any more. Runs on the thread of servers.
fn close_idle(pool: &PoolState) {
    let slots: Vec<Arc<ConnectionSlot>> = lock(&pool.slots).values().cloned().collect();
    for slot in slots {
        let Ok(mut held) = slot.held.try_lock() else {
            continue; // It is used right now.
        };
        let is_unused = |held: &mut HeldConnection| held.used.elapsed() >= pool.idle;
        let Some(unused) = held.take_if(is_unused) else {
            continue;
        };
        match Arc::try_unwrap(unused.connection) {
            Ok(connection) => drop(tokio::spawn(connection.close())),
            // A call runs.
            Err(connection) => {
                *held = Some(HeldConnection {
                    connection,
                    used: Instant::now(),
                });
            }
        }
    }
    // Folders that are never used again leave nothing.
    let is_used = |slot: &Arc<ConnectionSlot>| Arc::strong_count(slot) > 1 || slot.is_open();
    lock(&pool.slots).retain(|_, slot| is_used(slot));
}

/// Starts the process of a server. Blocks.
fn start_process(
    parts: &PoolParts,
    entry: &ServerEntry,
    folder: &Path,
    accepted: Option<&FolderFiles>,
) -> io::Result<((ServerProcess, ServerPipes), FolderFiles)> {
    parts
        .launcher
        .containment(entry.access, entry.network, folder)
        .map_err(io::Error::other)?;
    let variable = |name: &str| variable(name, &parts.own_variables);
    let expanded = entry.expanded(&variable).map_err(io::Error::other)?;
    let files = folder_files(&expanded.program, folder)?;
    if let Some(accepted) = accepted {
        check_files(&files, accepted)?;
    }
    let secrets = expanded.secrets.into_iter().map(Secret::from);
    parts.redaction.add_all(secrets);
    let temp = TempFolder::new()?;
    let own = std::env::vars_os();
    let own =
        own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut environment = environment(own, &parts.passed, temp.path());
    if entry.network || entry.access == Access::Full {
        keep_search_path(&mut environment, folder, parts.launcher.writable());
    }
    for (name, value) in expanded.environment {
        environment.retain(|(other, _)| *other != name);
        environment.push((name, value));
    }
    let reach = server_reach(folder, &parts.launcher.writable());
    let order = LaunchOrder {
        program: expanded.program,
        environment,
        conversation: None,
        folder: folder.to_owned(),
        workspace: folder.to_owned(),
        temp: temp.path().to_owned(),
        access: entry.access,
        network: entry.network,
        has_pipes: true,
        writable: reach.writable,
        protected: reach.protected,
        copies: Vec::new(),
        closed: Arc::clone(&parts.closed),
    };
    let started = ServerProcess::start(Arc::clone(&parts.launcher), order, temp)?;
    Ok((started, files))
}

/// Checks that the code in a folder is what was accepted.
fn check_files(now: &FolderFiles, accepted: &FolderFiles) -> io::Result<()> {
    // A file that is in another folder than this is none that the model can change here.
    let changed = now
        .iter()
        .find(|(name, hash)| accepted.get(*name) != Some(hash));
    match changed {
        None => Ok(()),
        Some((name, _)) => Err(io::Error::other(format!(
            "its file {name} is not the accepted one; an operator has to accept it: harness mcp accept"
        ))),
    }
}

/// The error with a hint, where the program of a server is there and the server does not see it.
fn with_hint(error: McpCallError, entry: &ServerEntry) -> McpCallError {
    let program = Path::new(&entry.command);
    let is_there = program.is_absolute() && program.exists() && entry.access != Access::Full;
    if let McpCallError::NotStarted { server, reason } = &error
        && is_there
        && reason.contains("No such file")
    {
        return McpCallError::NotStarted {
            server: server.clone(),
            reason: format!(
                "{reason}; it is there, and a contained server does not see it: name its folder in sandbox_write"
            ),
        };
    }
    error
}

/// A variable of the service's environment, but for those that are its own secrets.
fn variable(name: &str, own: &[String]) -> Option<String> {
    let is_own = ["HARNESS_", "ANTHROPIC_"]
        .iter()
        .any(|start| name.starts_with(start))
        || own.iter().any(|own| own == name);
    std::env::var(name).ok().filter(|_| !is_own)
}

fn not_started(server: &str, reason: &impl ToString) -> McpCallError {
    McpCallError::NotStarted {
        server: server.to_owned(),
        reason: reason.to_string(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
