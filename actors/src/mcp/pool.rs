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

use super::accepted::AcceptedServer;
use super::call::McpCallError;
use super::connection::{ServerCall, ServerConnection};
use super::definition::ToolDefinition;
use super::entry::ServerEntry;
use super::process::ServerProcess;
use crate::secret::{Redaction, Secret};
use crate::start_thread;
use crate::tool::{LaunchOrder, Launcher, TempFolder, environment, server_reach};

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
}

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
    slots: Mutex<BTreeMap<(String, PathBuf), Arc<ConnectionSlot>>>,
    facts: Mutex<HashMap<String, ServerFacts>>,
}

/// The place of one process.
#[derive(Default)]
struct ConnectionSlot(tokio::sync::Mutex<Option<HeldConnection>>);

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
    /// Why they cannot be found.
    pub async fn test(
        &self,
        name: &str,
        entry: &ServerEntry,
        folder: &Path,
    ) -> Result<TestedServer, McpCallError> {
        let connection = self.start(name, entry, folder, TEST_LIMIT).await?;
        let tested = TestedServer {
            tools: connection.tools().await,
            version: connection.version(),
            log: connection.log(),
        };
        self.note(name, &connection);
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
        let name = &server.name;
        let cancelled = call.cancellation.clone();
        let connection = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(McpCallError::Cancelled),
            connection = self.connected(server, folder) => connection,
        };
        let connection = connection?;
        // On that thread it goes on when its caller is gone, for as long as it takes to tell the server.
        let runtime = self.runtime().map_err(|error| not_started(name, &error))?;
        let (pool, name) = (self.clone(), name.clone());
        let calling = runtime.spawn(async move {
            let answer = connection.call(call).await;
            pool.note(&name, &connection);
            if let Err(error) = &answer {
                pool.note_failure(&name, error, connection.log());
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
    pub fn running(&self, name: &str) -> usize {
        let slots = lock(&self.0.slots);
        let own = slots.iter().filter(|((server, _), _)| server == name);
        own.filter(|(_, slot)| slot.is_open()).count()
    }

    /// The facts about a server from its last process.
    #[must_use]
    pub fn facts(&self, name: &str) -> ServerFacts {
        lock(&self.0.facts).get(name).cloned().unwrap_or_default()
    }

    /// Ends the processes of a server. Calls that run fail.
    pub fn close(&self, name: &str) {
        let mut slots = lock(&self.0.slots);
        let own = slots.extract_if(.., |(server, _), _| server == name);
        let own: Vec<Arc<ConnectionSlot>> = own.map(|(_, slot)| slot).collect();
        drop(slots);
        lock(&self.0.facts).remove(name);
        let Ok(runtime) = self.runtime() else {
            return; // Without that thread none runs.
        };
        for slot in own {
            runtime.spawn(async move { drop(slot.0.lock().await.take()) });
        }
    }

    /// The connection to a server in a folder. Those who want the same one wait for one start.
    async fn connected(
        &self,
        server: &AcceptedServer,
        folder: &Path,
    ) -> Result<Arc<ServerConnection>, McpCallError> {
        let key = (server.name.clone(), folder.to_owned());
        let slot = Arc::clone(lock(&self.0.slots).entry(key).or_default());
        let mut held = slot.0.lock().await;
        if let Some(held) = &mut *held
            && held.connection.is_open()
            && held.connection.entry == server.entry.canonical()
        {
            held.used = Instant::now();
            return Ok(Arc::clone(&held.connection));
        }
        // What is left of the one before ends first.
        drop(held.take());
        let connection = self.start(&server.name, &server.entry, folder, START_LIMIT);
        let connection = Arc::new(connection.await?);
        self.note(&server.name, &connection);
        *held = Some(HeldConnection {
            connection: Arc::clone(&connection),
            used: Instant::now(),
        });
        Ok(connection)
    }

    /// Starts a process and speaks with it until it can be called. It is ended if this is dropped before.
    async fn start(
        &self,
        name: &str,
        entry: &ServerEntry,
        folder: &Path,
        limit: Duration,
    ) -> Result<ServerConnection, McpCallError> {
        let started = self.started(name, entry, folder, limit).await;
        started.map_err(|(error, log)| {
            let error = with_hint(error, entry);
            self.note_failure(name, &error, log);
            error
        })
    }

    async fn started(
        &self,
        name: &str,
        entry: &ServerEntry,
        folder: &Path,
        limit: Duration,
    ) -> Result<ServerConnection, (McpCallError, Vec<String>)> {
        let (parts, work, at) = (self.0.parts.clone(), entry.clone(), folder.to_owned());
        let starting = crate::blocking(move || start_process(&parts, &work, &at)).await;
        let started = starting
            .map_err(|error| (not_started(name, &error), Vec::new()))?
            .map_err(|error| (not_started(name, &error), Vec::new()))?;
        let runtime = self.runtime();
        let runtime = runtime.map_err(|error| (not_started(name, &error), Vec::new()))?;
        let (own, entry) = (name.to_owned(), entry.canonical());
        let opening = async move { ServerConnection::open(&own, entry, started, limit).await };
        let opening = AbortOnDropHandle::new(runtime.spawn(opening));
        let opened = opening.await;
        opened.map_err(|error| (not_started(name, &error), Vec::new()))?
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

    fn note(&self, name: &str, connection: &ServerConnection) {
        let facts = ServerFacts {
            version: connection.version(),
            error: None,
            log: connection.log(),
        };
        lock(&self.0.facts).insert(name.to_owned(), facts);
    }

    /// Notes the failure of a server, for operators.
    fn note_failure(&self, name: &str, error: &McpCallError, log: Vec<String>) {
        if *error != McpCallError::Cancelled {
            let mut facts = lock(&self.0.facts);
            let facts = facts.entry(name.to_owned()).or_default();
            facts.error = Some(error.to_string());
            facts.log = log;
        }
    }
}

impl ConnectionSlot {
    /// True if its process runs; also while one starts.
    fn is_open(&self) -> bool {
        match self.0.try_lock() {
            Ok(held) => held.as_ref().is_some_and(|held| held.connection.is_open()),
            Err(_) => true,
        }
    }
}

/// Ends the processes that are not used any more. Runs on the thread of servers.
fn close_idle(pool: &PoolState) {
    let slots: Vec<Arc<ConnectionSlot>> = lock(&pool.slots).values().cloned().collect();
    for slot in slots {
        let Ok(mut held) = slot.0.try_lock() else {
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
) -> io::Result<(ServerProcess, super::process::ServerPipes)> {
    parts
        .launcher
        .containment(entry.access, entry.network, folder)
        .map_err(io::Error::other)?;
    let expanded = entry.expanded(&variable).map_err(io::Error::other)?;
    let secrets = expanded.secrets.into_iter().map(Secret::from);
    parts.redaction.add_all(secrets);
    let temp = TempFolder::new()?;
    let mut environment = environment(std::env::vars(), &parts.passed, temp.path());
    for (name, value) in expanded.environment {
        environment.retain(|(other, _)| *other != name);
        environment.push((name, value));
    }
    let (writable, protected) = server_reach(folder, &parts.launcher.writable());
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
        writable,
        protected,
        copies: Vec::new(),
        closed: Arc::clone(&parts.closed),
    };
    ServerProcess::start(Arc::clone(&parts.launcher), order, temp)
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
fn variable(name: &str) -> Option<String> {
    let is_own = name.starts_with("HARNESS_") || name.starts_with("ANTHROPIC_");
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
