//! What a conversation wants to be done.

use harness_protocol::State;

use super::publication::Publication;
use crate::ids::{CallId, RunId};
use crate::messages::RunOutcome;
use crate::reply::{Block, BlockKind};
use crate::tool::ToolCall;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Show this to every client.
    Publish(Publication),
    /// Ask the model, with the history as it is now.
    CallModel(CallId),
    /// Drop a call of the model.
    CancelModel(CallId),
    /// Run a tool.
    RunTool(CallId, ToolCall),
    /// Stop a tool.
    CancelTool(CallId),
    /// Tell who waits for it that the run has ended.
    EndRun(RunId, RunOutcome),
}

/// Shows a state.
pub(super) fn status(state: State, message: &str) -> Effect {
    Effect::Publish(Publication::Status(state, message.to_owned()))
}

/// Shows a block.
pub(super) fn shown(block: &Block, partial: bool) -> Vec<Effect> {
    match block.kind() {
        BlockKind::Text(text) => vec![Effect::Publish(Publication::Text {
            content: text.to_owned(),
            partial,
        })],
        BlockKind::Thinking { thinking, .. } if !thinking.is_empty() => {
            vec![Effect::Publish(Publication::Reasoning(thinking.to_owned()))]
        }
        BlockKind::ToolCall { id, name, input } => vec![
            status(State::RunningTool, name),
            Effect::Publish(Publication::ToolCall {
                id: id.to_owned(),
                name: name.to_owned(),
                input: input.clone(),
            }),
        ],
        BlockKind::Thinking { .. }
        | BlockKind::RedactedThinking
        | BlockKind::ServerToolCall { .. }
        | BlockKind::ServerToolResult { .. }
        | BlockKind::Unknown => vec![],
    }
}
