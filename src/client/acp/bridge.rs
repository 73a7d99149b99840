//! The methods of the Agent Client Protocol, version 1, that an editor calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use harness_protocol::{ChangeSettings, ConversationSummary};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::client::acp::content::editor_prompt;
use crate::client::acp::lines::EditorOutbox;
use crate::client::acp::message::{EditorMessage, RpcError};
use crate::client::acp::options::{SessionOptions, option_change};
use crate::client::acp::service::AcpService;
use crate::client::acp::session::{AcpSession, SessionOrder, SessionStart};
use crate::client::api::routes;
use crate::client::attach::name::client_name;
use crate::client::folder;
use crate::logging::utc::utc;

/// The version of the protocol.
const PROTOCOL_VERSION: u64 = 1;
/// Time limit of what was ordered last when the editor leaves.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);
/// Number of sessions on a page of their list.
const PAGE: usize = 100;

/// The agent's side of the protocol.
pub(super) struct AcpBridge {
    service: Rc<AcpService>,
    outbox: Rc<EditorOutbox>,
    /// The sessions that the editor has opened.
    sessions: RefCell<HashMap<String, OpenSession>>,
    /// True if the editor shows notices.
    has_notices: Cell<bool>,
    /// True if the name of this client was given on the command line.
    is_named: bool,
    tasks: RefCell<JoinSet<()>>,
}

/// A session that the editor has opened.
struct OpenSession {
    folder: String,
    orders: UnboundedSender<SessionOrder>,
}

/// The parameters of `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitializeParams {
    client_capabilities: ClientCapabilities,
    client_info: Option<ClientInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClientCapabilities {
    session: Option<SessionCapabilities>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionCapabilities {
    notices: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct ClientInfo {
    name: String,
    #[serde(default)]
    title: Option<String>,
}

/// The parameters of `session/new`, `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenParams {
    #[serde(default)]
    session_id: Option<String>,
    cwd: String,
    #[serde(default)]
    additional_directories: Option<Vec<String>>,
    #[serde(default)]
    mcp_servers: Option<Vec<NamedServer>>,
}

#[derive(Debug, Deserialize)]
struct NamedServer {
    name: String,
}

/// The way to open a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenWay {
    New,
    Load,
    Resume,
}

/// The parameters of `session/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListParams {
    cwd: Option<String>,
    cursor: Option<String>,
}

/// The parameters of methods that name a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionParams {
    session_id: String,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    mode_id: Value,
    #[serde(default)]
    config_id: String,
    #[serde(default)]
    value: Value,
}

/// The parameters of `$/cancel_request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelRequestParams {
    request_id: Value,
}

impl AcpBridge {
    /// A bridge to the service. `is_named` is true if its name was given on the command line.
    pub(super) fn new(service: AcpService, outbox: Rc<EditorOutbox>, is_named: bool) -> Rc<Self> {
        Rc::new(Self {
            service: Rc::new(service),
            outbox,
            sessions: RefCell::default(),
            has_notices: Cell::default(),
            is_named,
            tasks: RefCell::default(),
        })
    }

    /// Begins to do what a message asks for. Orders for one session keep their order.
    pub(super) fn dispatch(self: &Rc<Self>, message: EditorMessage) {
        match message {
            EditorMessage::Answer { id, result } => self.outbox.answered(&id, result),
            EditorMessage::Notification { method, params } => {
                if let Err(error) = self.notified(&method, params) {
                    log::warn!("{method}: {error:?}");
                }
            }
            EditorMessage::Request { id, method, params } => {
                if let Some(answer) = self.requested(&id, &method, params).transpose() {
                    let bridge = Rc::clone(self);
                    self.spawn(async move { bridge.answer(&id, answer).await });
                }
            }
        }
    }

    /// Answers a line that is no message.
    pub(super) fn refuse(&self, refusal: Value) {
        let outbox = Rc::clone(&self.outbox);
        self.spawn(async move { outbox.send(refusal).await });
    }

    /// Carries out what was ordered last, within a time limit.
    pub(super) async fn leave(&self) {
        for session in self.sessions.borrow().values() {
            // It may have ended.
            drop(session.orders.send(SessionOrder::Leave));
        }
        let mut tasks = self.tasks.take();
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LEAVE_LIMIT, ended).await.is_err() {
            log::warn!("not everything that was ordered last was carried out");
        }
    }

    /// Forgets the tasks that have ended.
    pub(super) fn tidy(&self) {
        let mut tasks = self.tasks.borrow_mut();
        while let Some(ended) = tasks.try_join_next() {
            if let Err(error) = ended {
                log::error!("a request failed: {error}");
            }
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().spawn_local(task);
    }

    async fn answer(&self, id: &Value, answer: Result<Value, RpcError>) {
        match answer {
            Ok(result) => self.outbox.answer(id, &result).await,
            Err(error) => self.outbox.send(error.answer(id)).await,
        }
    }

    fn notified(&self, method: &str, params: Value) -> Result<(), RpcError> {
        match method {
            "session/cancel" => {
                let params: SessionParams = read(params)?;
                self.order(&params.session_id, SessionOrder::Cancel)
            }
            "$/cancel_request" => {
                let CancelRequestParams { request_id } = read(params)?;
                for session in self.sessions.borrow().values() {
                    let order = SessionOrder::CancelRequest(request_id.clone());
                    // A session that has ended has no such request.
                    drop(session.orders.send(order));
                }
                Ok(())
            }
            other => Err(RpcError::unknown_method(other)),
        }
    }

    /// Begins to do what a request asks for. Returns the answer if it is known at once; none if it follows.
    fn requested(
        self: &Rc<Self>,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, RpcError> {
        match method {
            "initialize" => self.initialize(params).map(Some),
            "authenticate" => Err(RpcError::invalid_params("no sign-in is needed")),
            "session/new" => self.open(OpenWay::New, id, params),
            "session/load" => self.open(OpenWay::Load, id, params),
            "session/resume" => self.open(OpenWay::Resume, id, params),
            "session/list" => {
                let params: ListParams = read(params)?;
                let (bridge, id) = (Rc::clone(self), id.clone());
                self.spawn(async move {
                    let listed = bridge.list(params).await;
                    bridge.answer(&id, listed).await;
                });
                Ok(None)
            }
            "session/delete" => {
                let SessionParams { session_id, .. } = read(params)?;
                let (bridge, id) = (Rc::clone(self), id.clone());
                self.spawn(async move {
                    let deleted = bridge.delete(&session_id).await;
                    bridge.answer(&id, deleted).await;
                });
                Ok(None)
            }
            method => {
                self.order_of_session(id, method, params)?;
                Ok(None)
            }
        }
    }

    /// Hands a request to the session that it names.
    fn order_of_session(&self, id: &Value, method: &str, params: Value) -> Result<(), RpcError> {
        let known = [
            "session/prompt",
            "session/close",
            "session/set_mode",
            "session/set_config_option",
        ];
        if !known.contains(&method) {
            return Err(RpcError::unknown_method(method));
        }
        let params: SessionParams = read(params)?;
        let (session, request) = (&params.session_id, id.clone());
        let by = || self.service.by();
        let change = |change: ChangeSettings, wants_options| SessionOrder::Change {
            request: request.clone(),
            change,
            wants_options,
        };
        let order = match method {
            "session/prompt" => {
                let prompt = editor_prompt(params.prompt, &self.folder(session)?)?;
                SessionOrder::Prompt { request, prompt }
            }
            "session/close" => SessionOrder::Close { request },
            "session/set_mode" => change(option_change("mode", &params.mode_id, by())?, false),
            _ => change(option_change(&params.config_id, &params.value, by())?, true),
        };
        let is_last = matches!(order, SessionOrder::Close { .. });
        self.order(session, order)?;
        if is_last {
            self.sessions.borrow_mut().remove(session);
        }
        Ok(())
    }

    fn folder(&self, session: &str) -> Result<String, RpcError> {
        let sessions = self.sessions.borrow();
        let open = sessions.get(session).ok_or_else(|| not_open(session))?;
        Ok(open.folder.clone())
    }

    fn order(&self, session: &str, order: SessionOrder) -> Result<(), RpcError> {
        let sessions = self.sessions.borrow();
        let open = sessions.get(session).ok_or_else(|| not_open(session))?;
        open.orders.send(order).map_err(|_| not_open(session))
    }

    fn initialize(&self, params: Value) -> Result<Value, RpcError> {
        let params: InitializeParams = read(params)?;
        let session = params.client_capabilities.session.unwrap_or_default();
        self.has_notices.set(session.notices.is_some());
        if let Some(ClientInfo { name, title }) = params.client_info
            && !self.is_named
        {
            self.service
                .name
                .replace(client_name(Some(title.unwrap_or(name))));
        }
        Ok(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "harness", "title": "Harness", "version": env!("CARGO_PKG_VERSION")},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
            },
            "authMethods": [],
        }))
    }

    /// Begins to open a session. The answer follows.
    fn open(
        self: &Rc<Self>,
        way: OpenWay,
        id: &Value,
        params: Value,
    ) -> Result<Option<Value>, RpcError> {
        let params: OpenParams = read(params)?;
        if !Path::new(&params.cwd).is_absolute() {
            let reason = format!("cwd: {} is not an absolute path", params.cwd);
            return Err(RpcError::invalid_params(reason));
        }
        if params
            .additional_directories
            .as_ref()
            .is_some_and(|folders| !folders.is_empty())
        {
            let reason = "additionalDirectories: a conversation has one folder, which is cwd";
            return Err(RpcError::invalid_params(reason));
        }
        let (bridge, id) = (Rc::clone(self), id.clone());
        self.spawn(async move {
            if let Err(error) = bridge.open_session(way, &id, params).await {
                bridge.outbox.send(error.answer(&id)).await;
            }
        });
        Ok(None)
    }

    async fn open_session(
        &self,
        way: OpenWay,
        id: &Value,
        params: OpenParams,
    ) -> Result<(), RpcError> {
        let connection = self.service.connection().await?;
        let cwd = folder_path(&params.cwd)?;
        let conversation = match (way, params.session_id) {
            (OpenWay::New, _) => {
                let info = connection.info();
                let order = folder::new_order(None, Some(cwd.clone()), Map::new(), info);
                connection.ask(&routes::create(&order)).await?.id
            }
            (OpenWay::Load | OpenWay::Resume, None) => {
                return Err(RpcError::invalid_params("sessionId is missing"));
            }
            (OpenWay::Load | OpenWay::Resume, Some(session)) => {
                let summary = connection
                    .ask(&routes::snapshot(&session, 1))
                    .await?
                    .summary;
                check_folder(&summary, &cwd)?;
                session
            }
        };
        let settings = connection.ask(&routes::settings(&conversation)).await?;
        let options = SessionOptions::new(&settings.effective, &self.service.models().await);
        // A prompt may follow the answer at once.
        let (orders, to_obey) = unbounded_channel();
        let open = OpenSession {
            folder: cwd.clone(),
            orders: orders.clone(),
        };
        let before = self
            .sessions
            .borrow_mut()
            .insert(conversation.clone(), open);
        if let Some(before) = before {
            // It may have ended.
            drop(
                before
                    .orders
                    .send(SessionOrder::End("the session was opened again")),
            );
        }
        if way == OpenWay::New {
            let result = json!({
                "sessionId": conversation, "modes": options.modes(),
                "configOptions": options.config_options(),
            });
            self.outbox.answer(id, &result).await;
        }
        self.remark_servers(&conversation, &params.mcp_servers.unwrap_or_default())
            .await;
        let start = SessionStart {
            conversation,
            folder: cwd,
            has_past: way != OpenWay::Resume,
            opening: (way != OpenWay::New).then(|| id.clone()),
            options,
            has_notices: self.has_notices.get(),
        };
        let (service, outbox) = (Rc::clone(&self.service), Rc::clone(&self.outbox));
        let session = AcpSession::new(start, service, outbox, orders);
        self.spawn(session.run(to_obey));
        Ok(())
    }

    /// Says that servers of the editor are not used.
    async fn remark_servers(&self, conversation: &str, servers: &[NamedServer]) {
        if servers.is_empty() {
            return;
        }
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        let names = names.join(", ");
        let text = format!(
            "MCP servers of the editor are not used: {names}. `harness mcp add` adds one to the service."
        );
        log::warn!("{text}");
        let update = if self.has_notices.get() {
            json!({"sessionUpdate": "notice", "severity": "warning", "title": text})
        } else {
            json!({
                "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text},
                "messageId": "servers",
            })
        };
        let params = json!({"sessionId": conversation, "update": update});
        self.outbox.notify("session/update", &params).await;
    }

    async fn list(&self, params: ListParams) -> Result<Value, RpcError> {
        let connection = self.service.connection().await?;
        let cursor = params.cursor.as_deref();
        let route = match &params.cwd {
            Some(cwd) => routes::conversations_in(&folder_path(cwd)?, PAGE, cursor),
            None => routes::conversations(PAGE, cursor),
        };
        let page = connection.ask(&route).await?;
        // The protocol wants a folder.
        let listed = page.conversations.into_iter().filter_map(|one| {
            let cwd = one.workspace?;
            let updated = utc(one.active_at.saturating_mul(1000));
            Some(json!({
                "sessionId": one.id, "cwd": cwd, "title": one.title, "updatedAt": updated,
            }))
        });
        let mut result = json!({"sessions": listed.collect::<Vec<_>>()});
        if let Some(next) = page.next {
            result["nextCursor"] = next.into();
        }
        Ok(result)
    }

    async fn delete(&self, session: &str) -> Result<Value, RpcError> {
        let connection = self.service.connection().await?;
        connection.ask(&routes::delete(session)).await?;
        let deleted = self.sessions.borrow_mut().remove(session);
        if let Some(deleted) = deleted {
            // It may have ended.
            drop(
                deleted
                    .orders
                    .send(SessionOrder::End("the session was deleted")),
            );
        }
        Ok(json!({}))
    }
}

fn read<P: DeserializeOwned>(params: Value) -> Result<P, RpcError> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

fn not_open(session: &str) -> RpcError {
    RpcError::no_session(format!(
        "the session {session} is not open: session/load or session/resume opens it"
    ))
}

/// A folder without links, as the service names it.
fn folder_path(cwd: &str) -> Result<String, RpcError> {
    let folder = Path::new(cwd).canonicalize();
    let folder =
        folder.map_err(|error| RpcError::invalid_params(format!("cwd: {cwd}: {error}")))?;
    let folder = folder.into_os_string().into_string();
    folder.map_err(|_| RpcError::invalid_params(format!("cwd: the path of {cwd} is not UTF-8")))
}

/// Checks that a conversation works in the folder that the editor has open.
fn check_folder(summary: &ConversationSummary, cwd: &str) -> Result<(), RpcError> {
    match &summary.workspace {
        Some(folder) if folder != cwd => Err(RpcError::invalid_params(format!(
            "cwd: the session {} works in {folder}, not in {cwd}",
            summary.id
        ))),
        _ => Ok(()),
    }
}
