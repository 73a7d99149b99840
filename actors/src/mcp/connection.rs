//! A server that runs, and what is said with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ListToolsRequest, NumberOrString, PaginatedRequestParams, PingRequest,
    ProgressNotificationParam, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, RoleClient,
    RunningService, ServiceError,
};
use rmcp::{ClientHandler, ServiceExt as _};
use serde_json::{Map, Value};

use super::call::McpCallError;
use super::definition::ToolDefinition;
use super::process::{ServerPipes, ServerProcess};
use super::text::result_text;
use super::transport::BoundedTransport;
use crate::reply::Object;
use crate::tool::{Cancellation, LiveOutput};

/// Time that is waited for the reason of a process that closed its output.
const REASON_TIME: Duration = Duration::from_millis(500);
/// Maximum time for the list of tools of a server that runs.
const LIST_LIMIT: Duration = Duration::from_secs(10);
/// Time in which a server takes a word about a call that is over.
const TELL_TIME: Duration = Duration::from_secs(1);
/// Time in which a server answers that a call made wait.
const PING_TIME: Duration = Duration::from_secs(2);
/// Maximum length of a reason that a server gives, in bytes.
const MAX_REASON: usize = 2048;
/// Maximum length of a server's name and version, in bytes.
const MAX_VERSION: usize = 128;
/// Maximum size of the list of a server's tools, in bytes.
const MAX_LIST: usize = 4 * 1024 * 1024;
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
    /// Initializes the protocol with a process that was started, and lists its tools, within `limit`.
    ///
    /// # Errors
    /// The reason for which the server cannot be used, and the last lines of its standard error. Its process has been
    /// ended then.
    pub(super) async fn open(
        name: &str,
        entry: String,
        (process, pipes): (ServerProcess, ServerPipes),
        limit: Duration,
    ) -> Result<Self, (McpCallError, Vec<String>)> {
        let listener = ServerListener::default();
        let start = async {
            let transport = BoundedTransport::new(pipes).map_err(|error| error.to_string())?;
            let running = listener.clone().serve(transport).await;
            // The reason is looked for while its input is open: many servers end with it.
            let running = match running {
                Ok(running) => running,
                Err(error) => return Err(start_reason(&process, &error).await),
            };
            check_version(running.peer())?;
            let tools = match list_tools(running.peer()).await {
                Ok(tools) => tools,
                Err(ListError::Refused(reason)) => return Err(reason),
                Err(ListError::Lost(reason)) => return Err(ended_or(&process, reason).await),
            };
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
                let log = process.log();
                let error = McpCallError::NotStarted {
                    server: name.to_owned(),
                    reason: with_log(&reason, &log),
                };
                Err((error, log))
            }
        }
    }

    /// Ends it at once. Calls that run fail.
    pub(super) fn end(&self) {
        self.process.end_now();
    }

    /// The tools that it has, by its last list.
    pub(super) async fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.lock().await.clone()
    }

    /// Its name and version, by its own account.
    pub(super) fn version(&self) -> Option<String> {
        let info = self.running.peer().peer_info()?;
        let server = info.server_info.as_ref()?;
        let version = format!("{} {}", server.name, server.version);
        Some(cut(&version, MAX_VERSION).to_owned())
    }

    /// The last lines of its standard error.
    pub(super) fn log(&self) -> Vec<String> {
        self.process.log()
    }

    /// True while it can be called.
    pub(super) fn is_open(&self) -> bool {
        !self.running.peer().is_transport_closed() && self.process.runs()
    }

    /// Calls a tool, if it is still the accepted one. Tells the result as text, and whether it is an error.
    ///
    /// # Errors
    /// The reason for which the call brought no result.
    pub(super) async fn call(&self, call: ServerCall) -> Result<(String, bool), McpCallError> {
        tokio::select! {
            biased;
            () = call.cancellation.cancelled() => return Err(McpCallError::Cancelled),
            checked = self.check(&call) => checked?,
        }
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
            Ok(Ok(ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_))) => {
                Err(self.failed_by("it asks for something that is not supported yet"))
            }
            Ok(Ok(result)) => Ok(result_text(&result_value(result))),
            // The server says no; it is as well as before.
            Ok(Err(ServiceError::McpError(error))) => {
                Ok((cut(&error.message, MAX_REASON).to_owned(), true))
            }
            Ok(Err(error)) => Err(self.failed(&error).await),
            Err(unanswered) => {
                let telling = handle.cancel(Some(unanswered.to_string()));
                let is_told = matches!(tokio::time::timeout(TELL_TIME, telling).await, Ok(Ok(())));
                // A slow server is kept. The next call starts one again that neither reads nor answers.
                let is_over = matches!(unanswered, McpCallError::TimedOut { .. });
                if !is_told || (is_over && !self.answers().await) {
                    self.end();
                }
                Err(unanswered)
            }
        }
    }

    /// True if it still answers.
    async fn answers(&self) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = self.running.peer().send_request(ping);
        match tokio::time::timeout(PING_TIME, answer).await {
            // That it knows no ping is an answer, too.
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Checks that a tool is the one that was accepted.
    async fn check(&self, call: &ServerCall) -> Result<(), McpCallError> {
        let mut tools = self.tools.lock().await;
        if self.listener.is_stale.swap(false, Ordering::Relaxed) {
            // What is dropped or fails here is looked at again.
            let again = StaleAgain(Some(&self.listener.is_stale));
            let listing = list_tools(self.running.peer());
            let listed = match tokio::time::timeout(LIST_LIMIT, listing).await {
                Ok(Ok(listed)) => Ok(listed),
                Ok(Err(ListError::Refused(reason) | ListError::Lost(reason))) => Err(reason),
                Err(_) => Err(format!("it did not list its tools within {LIST_LIMIT:?}")),
            };
            match listed {
                Ok(listed) => *tools = listed,
                Err(reason) => {
                    self.end();
                    return Err(self.failed_by(&reason));
                }
            }
            again.settle();
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

    /// The failure of a call by the connection. Where the connection is lost the server is ended, so that the next call
    /// starts it again.
    async fn failed(&self, error: &ServiceError) -> McpCallError {
        let lost = if matches!(error, ServiceError::TransportSend(_)) {
            "it reads its input no more"
        } else if matches!(error, ServiceError::TransportClosed) {
            "it closed its output, or reads its input no more"
        } else {
            return self.failed_by(&error.to_string());
        };
        let reason = ended_or(&self.process, lost.to_owned()).await;
        self.end();
        self.failed_by(&reason)
    }

    fn failed_by(&self, reason: &str) -> McpCallError {
        McpCallError::Failed {
            server: self.name.clone(),
            reason: with_log(reason, &self.process.log()),
        }
    }

    /// Ends it: it may end by itself first.
    pub(super) async fn close(self) {
        let Self {
            running, process, ..
        } = self;
        // One that does not read holds up the end of the connection.
        let ended = tokio::time::timeout(TELL_TIME, running.cancel()).await;
        log::debug!(
            "the connection to an MCP server has ended: {}",
            ended.is_ok()
        );
        process.close().await;
    }
}

/// Notes again that the tools may be others, unless that is settled.
struct StaleAgain<'s>(Option<&'s AtomicBool>);

impl StaleAgain<'_> {
    fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for StaleAgain<'_> {
    fn drop(&mut self) {
        if let Some(is_stale) = self.0 {
            is_stale.store(true, Ordering::Relaxed);
        }
    }
}

/// The reason for which there is no list of tools.
enum ListError {
    /// The server said something else.
    Refused(String),
    /// It said nothing any more.
    Lost(String),
}

/// Checks the version of the protocol that the server has chosen.
fn check_version(peer: &Peer<RoleClient>) -> Result<(), String> {
    let info = peer.peer_info().ok_or("it did not say who it is")?;
    match ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) {
        true => Ok(()),
        false => Err(format!(
            "it speaks version {} of the protocol, which is not known",
            cut(&info.protocol_version.to_string(), MAX_VERSION)
        )),
    }
}

/// The reason for which a server could not be spoken with.
async fn start_reason(process: &ServerProcess, error: &ClientInitializeError) -> String {
    if let ClientInitializeError::JsonRpcError(error) = error {
        return format!("it refused to start: {}", cut(&error.message, MAX_REASON));
    }
    ended_or(process, cut(&error.to_string(), MAX_REASON).to_owned()).await
}

/// All tools of a server, in its order.
async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<ToolDefinition>, ListError> {
    let mut tools = Vec::new();
    let (mut cursor, mut bytes) = (None, 0);
    for _ in 0..MAX_PAGES {
        let mut request = ListToolsRequest::default();
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        request.params = Some(params);
        let result = peer.send_request(ClientRequest::ListToolsRequest(request));
        let page = match result.await {
            Ok(result) => result_value(result),
            Err(ServiceError::McpError(error)) => {
                let reason = cut(&error.message, MAX_REASON);
                return Err(ListError::Refused(format!("it lists no tools: {reason}")));
            }
            Err(error) => return Err(ListError::Lost(error.to_string())),
        };
        let Some(listed) = page.get("tools").and_then(Value::as_array) else {
            return Err(ListError::Refused("its list of tools is none".to_owned()));
        };
        bytes += page.to_string().len();
        tools.extend(listed.iter().filter_map(ToolDefinition::from_listed));
        if tools.len() > MAX_TOOLS || bytes > MAX_LIST {
            return Err(ListError::Refused(format!(
                "it has more than {MAX_TOOLS} tools, or a list of more than {MAX_LIST} bytes"
            )));
        }
        let next = page.get("nextCursor").and_then(Value::as_str);
        cursor = next.map(str::to_owned);
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(ListError::Refused(format!(
        "its list of tools has more than {MAX_PAGES} pages"
    )))
}

/// A result as JSON.
fn result_value(result: ServerResult) -> Value {
    if let ServerResult::CustomResult(custom) = result {
        return custom.0;
    }
    serde_json::to_value(result).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// The end of the process, if there is one by now, in place of the reason of the connection.
async fn ended_or(process: &ServerProcess, reason: String) -> String {
    process.wait(REASON_TIME).await.unwrap_or(reason)
}

/// A reason with the last lines of a server's standard error.
fn with_log(reason: &str, log: &[String]) -> String {
    let reason = cut(reason, MAX_REASON);
    match &log[log.len().saturating_sub(TOLD_LINES)..] {
        [] => reason.to_owned(),
        last => format!("{reason}; its last lines: {}", last.join(" | ")),
    }
}

/// The beginning of a text of a server.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
