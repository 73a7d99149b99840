//! The tools of a server as the model calls them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use harness_protocol::{McpCall, Subject};
use serde_json::Value;

use super::accepted::AcceptedServer;
use super::connection::ServerCall;
use super::definition::{OfferedTool, ToolDefinition};
use super::pool::McpPool;
use crate::blocking;
use crate::reply::Object;
use crate::secret::Redaction;
use crate::tool::{
    Cancellation, EffectError, MAX_TEXT_BYTES, PlanFuture, PlannedAction, Tool, ToolContext,
    ToolError, ToolFuture, ToolOutcome, capped,
};

/// The tools of a server, and those that cannot be offered.
#[derive(Default)]
pub struct OfferedTools {
    /// In the order of their names.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Those that are left out.
    pub left_out: Vec<LeftOutTool>,
}

/// A tool that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutTool {
    /// Its name, as the server has it.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

/// The tools of a server for the model, which start it in that pool.
#[must_use]
pub fn offered_tools(server: &Arc<AcceptedServer>, pool: &McpPool) -> OfferedTools {
    let mut offered = OfferedTools::default();
    let mut seen = HashSet::new();
    for (definition, name) in server.tools.iter().zip(server.names()) {
        let shaped = if !server.entry.admits(&definition.tool) {
            Err("the configuration leaves it out".to_owned())
        } else if !seen.insert(name.clone()) {
            Err("the server has another one of that name".to_owned())
        } else {
            definition.offered(&name)
        };
        match shaped {
            Ok(shape) => offered.tools.push(Arc::new(ServerTool {
                shape,
                definition: definition.clone(),
                server: Arc::clone(server),
                pool: pool.clone(),
            })),
            Err(reason) => offered.left_out.push(LeftOutTool {
                tool: definition.tool.clone(),
                reason,
            }),
        }
    }
    offered.tools.sort_by(|a, b| a.name().cmp(b.name()));
    offered
}

/// A tool of a server.
struct ServerTool {
    shape: OfferedTool,
    /// The accepted definition.
    definition: ToolDefinition,
    server: Arc<AcceptedServer>,
    pool: McpPool,
}

impl ServerTool {
    fn limit(&self) -> Option<Duration> {
        self.server.entry.timeout
    }

    async fn planned(
        &self,
        input: Object,
        context: ToolContext,
    ) -> Result<PlannedAction, ToolError> {
        let (access, network) = (self.server.entry.access, self.server.entry.network);
        let (launcher, folder) = (
            Arc::clone(self.pool.launcher()),
            Arc::clone(&context.folder),
        );
        let look = move || launcher.containment(access, network, &folder);
        let contained = blocking(look)
            .await
            .map_err(|error| ToolError(error.to_string()))?
            .map_err(ToolError)?;
        let shown = serde_json::to_string_pretty(&Value::Object(input.clone()));
        let subject = Subject::McpCall(McpCall {
            server: self.server.name.clone(),
            tool: self.definition.tool.clone(),
            input: shown.map_err(|error| ToolError(error.to_string()))?,
            access,
            network,
            backend: contained.backend,
            contained: contained.is_held && !contained.answers_itself,
            gaps: contained.gaps,
        });
        let call = ServerCall {
            tool: self.definition.tool.clone(),
            accepted: self.definition.digest(),
            input,
            output: context.output,
            cancellation: context.cancellation,
            limit: self.limit(),
        };
        let redaction = context.redaction;
        let (pool, server, folder) = (self.pool.clone(), Arc::clone(&self.server), context.folder);
        let effect = async move {
            let answer = pool.call(&server, &folder, call).await;
            match answer {
                Ok((text, false)) => Ok(ToolOutcome::from(Ok(bounded(&text, &redaction)))),
                Ok((text, true)) => Ok(ToolOutcome::failed(&bounded(&text, &redaction))),
                Err(error) => Err(EffectError::Failed(ToolError(error.to_string()))),
            }
        };
        Ok(PlannedAction::new(subject, effect))
    }
}

/// The part of a result that the model is shown.
fn bounded(text: &str, redaction: &Redaction) -> String {
    let shown = capped(text, MAX_TEXT_BYTES, redaction);
    if !shown.is_cut {
        return shown.text;
    }
    let (part, all) = (shown.text.len(), text.len());
    format!("{}\n[cut: the first {part} of {all} bytes]", shown.text)
}

impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.shape.name
    }

    fn description(&self) -> &str {
        &self.shape.description
    }

    fn input_schema(&self) -> Value {
        Value::Object(self.shape.input_schema.clone())
    }

    fn bounds_itself(&self) -> bool {
        self.limit().is_some()
    }

    fn execute(&self, _: Object, _: Cancellation) -> ToolFuture<'_> {
        Box::pin(async { Err("a tool of an MCP server is only called by its plan".into()) })
    }

    fn plan(&self, input: Object, context: ToolContext) -> PlanFuture<'_> {
        Box::pin(async move { self.planned(input, context).await.map(Some) })
    }
}
