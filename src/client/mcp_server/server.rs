//! The calls of the tools.

use std::time::Duration;

use harness_protocol::{
    ActivityState, CancelOrder, ConversationSnapshot, Event, PromptOrder, Queue, words,
};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom, FollowerEvent};
use crate::client::api::patience::Patience;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::mcp_server::report::{ConversationReport, history_text, is_running};
use crate::client::mcp_server::tools::{
    ConversationInput, LAST_EVENTS, ListInput, MAX_EVENTS, MAX_WAIT_S, PromptInput, WAIT_S,
    conversation_tools,
};
use crate::client::starter::ServiceStarter;

/// Number of conversations that are listed.
const LISTED: usize = 20;
/// Number of events that the last reply is looked for in.
const TAIL: usize = 200;

const INSTRUCTIONS: &str = "\
Harness is a coding agent that runs as a service on this machine. `prompt` gives it a task and returns its reply, or its \
state if it takes longer; `wait` waits on. Conversations remain: continue one by its id. Only an operator of this machine \
can answer its approvals, in a terminal or an editor.";

/// The conversations of the service as tools.
pub(super) struct ConversationServer {
    service: ServiceStarter,
    /// The name for the other clients; that of the MCP client if left out.
    name: Option<String>,
}

/// The outcome of a call: the text and the data of its result.
type ToolReport = Result<(String, Value), ToolFailure>;

/// The reason why a tool did not do what it was asked.
struct ToolFailure(String);

impl From<CommandError> for ToolFailure {
    fn from(error: CommandError) -> Self {
        Self(error.to_string())
    }
}

impl From<ApiError> for ToolFailure {
    fn from(error: ApiError) -> Self {
        Self(error.to_string())
    }
}

impl ConversationServer {
    /// The tools of a service. `name` is the name for the other clients; that of the MCP client if left out.
    pub(super) fn new(service: ServiceStarter, name: Option<String>) -> Self {
        Self { service, name }
    }

    async fn call(
        &self,
        name: &str,
        input: Value,
        by: &str,
        cancelled: &CancellationToken,
    ) -> Option<ToolReport> {
        Some(match name {
            "prompt" => match read(input) {
                Ok(input) => self.prompt(input, by, cancelled).await,
                Err(failure) => Err(failure),
            },
            "list_conversations" => match read(input) {
                Ok(input) => self.list(input).await,
                Err(failure) => Err(failure),
            },
            "wait" | "read" | "steer" | "cancel" => match read(input) {
                Ok(input) => self.about(name, input, by, cancelled).await,
                Err(failure) => Err(failure),
            },
            _ => return None,
        })
    }

    async fn about(
        &self,
        name: &str,
        input: ConversationInput,
        by: &str,
        cancelled: &CancellationToken,
    ) -> ToolReport {
        self.service.connection().await?;
        let conversation = input.conversation.as_str();
        match (name, input.text) {
            ("wait", None) => {
                self.settle(conversation, by, input.wait_s, cancelled)
                    .await?;
                self.report(conversation).await
            }
            ("read", None) => {
                let last = input.last.unwrap_or(LAST_EVENTS).min(MAX_EVENTS);
                let snapshot = self.snapshot(conversation, last).await?;
                let text = history_text(&snapshot.history);
                Ok((
                    text.clone(),
                    json!({"conversation": conversation, "events": text}),
                ))
            }
            ("steer", Some(text)) => {
                if !is_running(&self.snapshot(conversation, 1).await?.summary) {
                    let reason = "no run is going in it: `prompt` with its id starts one";
                    return Err(ToolFailure(reason.to_owned()));
                }
                let order = order(text, by);
                let route = routes::queue(conversation, Queue::Steer, &order);
                let item = self.service.ask(&route).await?.item;
                let text = "It is read before the next request to the model.".to_owned();
                Ok((text, json!({"conversation": conversation, "item": item})))
            }
            ("cancel", None) => {
                let order = CancelOrder {
                    by: Some(by.to_owned()),
                    ..CancelOrder::default()
                };
                let route = routes::cancel(conversation, &order);
                let is_cancelled = self.service.ask(&route).await?.cancelled;
                let text = match is_cancelled {
                    true => "The run was cancelled.",
                    false => "No run was going.",
                };
                Ok((
                    text.to_owned(),
                    json!({"conversation": conversation, "cancelled": is_cancelled}),
                ))
            }
            _ => Err(ToolFailure(format!(
                "{name} takes other arguments: see its input schema"
            ))),
        }
    }

    async fn prompt(
        &self,
        input: PromptInput,
        by: &str,
        cancelled: &CancellationToken,
    ) -> ToolReport {
        let connection = self.service.connection().await?;
        let conversation = match (input.conversation, input.folder) {
            (Some(conversation), None) => conversation,
            (Some(_), Some(_)) => {
                let reason = "a conversation keeps its folder: name the conversation or a folder";
                return Err(ToolFailure(reason.to_owned()));
            }
            (None, folder) => {
                let folder = match folder {
                    Some(folder) => folder,
                    None => folder::here()?,
                };
                let order = folder::new_order(None, Some(folder), Map::new(), connection.info());
                let made = connection.ask(&routes::create(&order)).await;
                made.map_err(ApiError::from)?.id
            }
        };
        let order = order(input.text, by);
        let route = routes::prompt(&conversation, &order);
        self.service
            .ask(&route)
            .await
            .map_err(|error| match error.is_busy() {
                true => ToolFailure(format!(
                    "{error}; `wait` waits for its end, and `steer` tells it something"
                )),
                false => error.into(),
            })?;
        self.settle(&conversation, by, input.wait_s, cancelled)
            .await?;
        self.report(&conversation).await
    }

    async fn list(&self, input: ListInput) -> ToolReport {
        let connection = self.service.connection().await?;
        let route = match &input.folder {
            Some(folder) => routes::conversations_in(folder, LISTED, None),
            None => routes::conversations(LISTED, None),
        };
        let page = connection.ask(&route).await.map_err(ApiError::from)?;
        let lines = page.conversations.iter().map(|one| {
            let title = one.title.as_deref().unwrap_or("without a title");
            let folder = one.workspace.as_deref().unwrap_or_default();
            format!(
                "{} {title} ({}) {folder}",
                one.id,
                words::conversation_state(one)
            )
        });
        let listed = page.conversations.iter().map(|one| {
            json!({
                "conversation": one.id, "title": one.title, "folder": one.workspace,
                "state": words::conversation_state(one), "is_running": is_running(one),
            })
        });
        let listed = json!({"conversations": listed.collect::<Vec<_>>()});
        Ok((lines.collect::<Vec<_>>().join("\n"), listed))
    }

    async fn snapshot(
        &self,
        conversation: &str,
        tail: usize,
    ) -> Result<ConversationSnapshot, ApiError> {
        self.service
            .ask(&routes::snapshot(conversation, tail))
            .await
    }

    async fn report(&self, conversation: &str) -> ToolReport {
        let report = ConversationReport::new(&self.snapshot(conversation, TAIL).await?);
        Ok((report.text(), json!(report)))
    }

    /// Waits until no run is going or an operator is asked, for so many seconds.
    async fn settle(
        &self,
        conversation: &str,
        by: &str,
        wait_s: Option<u64>,
        cancelled: &CancellationToken,
    ) -> Result<(), ToolFailure> {
        let limit = Duration::from_secs(wait_s.unwrap_or(WAIT_S).min(MAX_WAIT_S));
        let (config, from) = (&self.service.config, FollowFrom::Snapshot(1));
        let mut follower = EventFollower::new(config, Patience::default(), conversation, by, from);
        let settled = async {
            loop {
                match follower.next().await? {
                    FollowerEvent::Snapshot { snapshot, .. } => {
                        if !is_running(&snapshot.summary) || !snapshot.approvals.is_empty() {
                            return Ok(());
                        }
                    }
                    FollowerEvent::Event(arrival) if is_settled(&arrival.event) => return Ok(()),
                    FollowerEvent::Down { wait, .. } => tokio::time::sleep(wait).await,
                    FollowerEvent::Event(_)
                    | FollowerEvent::Found(_)
                    | FollowerEvent::Invalid { .. }
                    | FollowerEvent::Workflow { .. }
                    | FollowerEvent::Up => {}
                }
            }
        };
        tokio::select! {
            settled = settled => settled.map_err(|error: ApiError| error.into()),
            () = tokio::time::sleep(limit) => Ok(()),
            // The run continues.
            () = cancelled.cancelled() => Err(ToolFailure("cancelled; the run continues".to_owned())),
        }
    }
}

/// True if no run is going after an event, or if an operator is asked.
fn is_settled(event: &Event) -> bool {
    match event {
        Event::RunEnded { .. } | Event::ApprovalAsked { .. } => true,
        Event::Attached { state, .. } => {
            matches!(state, ActivityState::Idle | ActivityState::Error)
        }
        _ => false,
    }
}

fn order(content: String, by: &str) -> PromptOrder {
    PromptOrder {
        content,
        by: Some(by.to_owned()),
        ..PromptOrder::default()
    }
}

fn read<I: DeserializeOwned>(input: Value) -> Result<I, ToolFailure> {
    serde_json::from_value(input).map_err(|error| ToolFailure(format!("the arguments: {error}")))
}

impl ServerHandler for ConversationServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new("harness", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(conversation_tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context
            .peer
            .peer_info()
            .map(|info| info.client_info.name.clone());
        let by = self.name.clone().or(client);
        let by = by.unwrap_or_else(|| "mcp".to_owned());
        let input = Value::Object(request.arguments.unwrap_or_default());
        let called = self.call(&request.name, input, &by, &context.ct).await;
        let report = called.ok_or_else(|| {
            let reason = format!("there is no tool {}", request.name);
            ErrorData::invalid_params(reason, None)
        })?;
        let result = match report {
            Ok((text, data)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(data);
                result
            }
            Err(ToolFailure(reason)) => CallToolResult::error(vec![ContentBlock::text(reason)]),
        };
        Ok(result.into())
    }
}
