//! A server that runs, and what is said with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ListToolsRequest, NumberOrString, PaginatedRequestParams,
    ProgressNotificationParam, ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::{ClientHandler, ServiceExt as _};
use serde_json::{Map, Value};
use tokio::net::unix::pipe;

use super::call::McpCallError;
use super::definition::ToolDefinition;
use super::process::{ServerPipes, ServerProcess};
use super::text::result_text;
use crate::reply::Object;
use crate::tool::{Cancellation, LiveOutput};

/// Time that is waited for the reason of a process that closed its output.
const REASON_TIME: Duration = Duration::from_millis(500);
/// Maximum time for the list of tools of a server that runs.
const LIST_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of pages of a list of tools.
const MAX_PAGES: usize = 50;
/// Maximum number of tools of a server.
const MAX_TOOLS: usize = 500;
/// Number of the last lines of its standard error that are in an error.
const TOLD_LINES: usize = 5;

/// A server that runs. It ends when this is dropped.
pub(super) struct ServerConnection {
    /// The canonical entry that it was started with.
    pub(super) entry: String,
    name: String,
    running: RunningService<RoleClient, ServerListener>,
    listener: ServerListener,
    process: ServerProcess,
    tools: tokio::sync::Mutex<Vec<ToolDefinition>>,
}

/// One call of a tool.
pub(super) struct ServerCall {
    pub(super) tool: String,
    /// The digest of the definition that was accepted.
    pub(super) accepted: String,
    pub(super) input: Object,
    pub(super) output: LiveOutput,
    pub(super) cancellation: Cancellation,
    /// The limit of this server for one call.
    pub(super) limit: Option<Duration>,
}

/// Hears what a server says by itself.
#[derive(Clone, Default)]
struct ServerListener {
    /// True if the server said that its tools are others.
    is_stale: Arc<AtomicBool>,
    /// The outputs of the calls that run, by the token of their progress.
    outputs: Arc<Mutex<HashMap<NumberOrString, LiveOutput>>>,
}

impl ServerListener {
    fn outputs(&self) -> MutexGuard<'_, HashMap<NumberOrString, LiveOutput>> {
        let outputs = self.outputs.lock();
        outputs.unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for ServerListener {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("harness", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let output = self.outputs().get(&progress.progress_token.0).cloned();
        if let (Some(output), Some(message)) = (output, progress.message) {
            output.write(&format!("{message}\n"));
        }
    }
}

impl ServerConnection {
    /// Speaks with a process that was started, until it has listed its tools, for as long as `limit`.
    ///
    /// # Errors
    /// Why it cannot be used, with the last lines of its standard error. It is ended then.
    pub(super) async fn open(
        name: &str,
        entry: String,
        (process, pipes): (ServerProcess, ServerPipes),
        limit: Duration,
    ) -> Result<Self, (McpCallError, Vec<String>)> {
        let listener = ServerListener::default();
        let start = async {
            let running = listener.clone().serve(transport(pipes)?).await;
            let running = running.map_err(|error| error.to_string())?;
            let tools = list_tools(running.peer()).await?;
            Ok::<_, String>((running, tools))
        };
        let started = match tokio::time::timeout(limit, start).await {
            Ok(started) => started,
            Err(_) => Err(format!("it did not answer within {limit:?}")),
        };
        match started {
            Ok((running, tools)) => Ok(Self {
                entry,
                name: name.to_owned(),
                running,
                listener,
                process,
                tools: tokio::sync::Mutex::new(tools),
            }),
            Err(reason) => {
                let error = McpCallError::NotStarted {
                    server: name.to_owned(),
                    reason: with_end(&process, reason).await,
                };
                Err((error, process.log()))
            }
        }
    }

    /// The tools that it has, by its last list.
    pub(super) async fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.lock().await.clone()
    }

    /// Its name and version, by its own account.
    pub(super) fn version(&self) -> Option<String> {
        let info = self.running.peer().peer_info()?;
        let server = info.server_info.as_ref()?;
        Some(format!("{} {}", server.name, server.version))
    }

    /// The last lines of its standard error.
    pub(super) fn log(&self) -> Vec<String> {
        self.process.log()
    }

    /// True while it can be called.
    pub(super) fn is_open(&self) -> bool {
        !self.running.peer().is_transport_closed() && self.process.end().is_none()
    }

    /// Calls a tool, if it is still the accepted one. Tells the result as text, and whether it is an error.
    ///
    /// # Errors
    /// Why there is no result.
    pub(super) async fn call(&self, call: ServerCall) -> Result<(String, bool), McpCallError> {
        self.check(&call).await?;
        let params = CallToolRequestParams::new(call.tool).with_arguments(call.input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let peer = self.running.peer();
        let options = PeerRequestOptions::no_options();
        let mut handle = match peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => return Err(self.failed(&error).await),
        };
        let token = handle.progress_token.0.clone();
        self.listener.outputs().insert(token.clone(), call.output);
        let limit = call.limit.unwrap_or(Duration::MAX);
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => Ok(answer.unwrap_or(Err(ServiceError::TransportClosed))),
            () = call.cancellation.cancelled() => Err(McpCallError::Cancelled),
            () = tokio::time::sleep(limit) => Err(McpCallError::TimedOut {
                server: self.name.clone(),
                limit,
            }),
        };
        self.listener.outputs().remove(&token);
        match answer {
            Ok(Ok(result)) => Ok(result_text(&result_value(result))),
            // The server says no; it is as well as before.
            Ok(Err(ServiceError::McpError(error))) => Ok((error.message.into_owned(), true)),
            Ok(Err(error)) => Err(self.failed(&error).await),
            Err(unanswered) => {
                if let Err(error) = handle.cancel(Some(unanswered.to_string())).await {
                    log::debug!("an MCP server is not told of a cancelled call: {error}");
                }
                Err(unanswered)
            }
        }
    }

    /// Checks that a tool is the one that was accepted.
    async fn check(&self, call: &ServerCall) -> Result<(), McpCallError> {
        let mut tools = self.tools.lock().await;
        if self.listener.is_stale.swap(false, Ordering::Relaxed) {
            let listing = list_tools(self.running.peer());
            let listed = match tokio::time::timeout(LIST_LIMIT, listing).await {
                Ok(listed) => listed,
                Err(_) => Err(format!("it did not list its tools within {LIST_LIMIT:?}")),
            };
            match listed {
                Ok(listed) => *tools = listed,
                Err(reason) => {
                    self.listener.is_stale.store(true, Ordering::Relaxed);
                    let server = self.name.clone();
                    return Err(McpCallError::Failed { server, reason });
                }
            }
        }
        let (server, tool) = (self.name.clone(), call.tool.clone());
        match tools.iter().find(|tool| tool.tool == call.tool) {
            None => Err(McpCallError::Gone { server, tool }),
            Some(now) if now.digest() != call.accepted => {
                Err(McpCallError::Changed { server, tool })
            }
            Some(_) => Ok(()),
        }
    }

    async fn failed(&self, error: &ServiceError) -> McpCallError {
        McpCallError::Failed {
            server: self.name.clone(),
            reason: with_end(&self.process, error.to_string()).await,
        }
    }

    /// Ends it: it may end by itself first.
    pub(super) async fn close(self) {
        let Self {
            running, process, ..
        } = self;
        if let Err(error) = running.cancel().await {
            log::debug!("the connection to an MCP server ended badly: {error}");
        }
        process.close().await;
    }
}

/// The two ends of the pipes as the library takes them.
fn transport(pipes: ServerPipes) -> Result<(pipe::Receiver, pipe::Sender), String> {
    let told = |error: std::io::Error| error.to_string();
    let output = pipe::Receiver::from_owned_fd(pipes.output.into()).map_err(told)?;
    let input = pipe::Sender::from_owned_fd(pipes.input.into()).map_err(told)?;
    Ok((output, input))
}

/// All tools of a server, in its order.
async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<ToolDefinition>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut request = ListToolsRequest::default();
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        request.params = Some(params);
        let result = peer
            .send_request(ClientRequest::ListToolsRequest(request))
            .await;
        let page = result_value(result.map_err(|error| error.to_string())?);
        let listed = page.get("tools").and_then(Value::as_array);
        let listed = listed.ok_or("its list of tools is none")?;
        tools.extend(listed.iter().filter_map(ToolDefinition::from_listed));
        if tools.len() > MAX_TOOLS {
            return Err(format!("it has more than {MAX_TOOLS} tools"));
        }
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {MAX_PAGES} pages"))
}

/// A result as it came.
fn result_value(result: ServerResult) -> Value {
    if let ServerResult::CustomResult(custom) = result {
        return custom.0;
    }
    serde_json::to_value(result).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// A reason with how the process ended, if it has, and the last lines of its standard error.
async fn with_end(process: &ServerProcess, reason: String) -> String {
    let mut text = match process.wait(REASON_TIME).await {
        Some(end) => end,
        None => reason,
    };
    let log = process.log();
    let last = &log[log.len().saturating_sub(TOLD_LINES)..];
    if !last.is_empty() {
        text.push_str("; its last lines: ");
        text.push_str(&last.join(" | "));
    }
    text
}
