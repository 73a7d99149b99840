//! Commands that operators run in a conversation's folder.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use harness_actors::ConversationId;
use harness_actors::conversation::messages::NoteCommand;
use harness_actors::tool::{Cancellation, EffectError, Tool, ToolContext, ToolError, ToolOutcome};
use harness_protocol::{ShellAnswer, ShellOrder};
use serde_json::{Map, Value};

use super::ask::{Late, order_to, refuse_submit};
use super::guard::require_token;
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::name_of;
use super::shared::HttpShared;
use super::{body, workspace};

/// The tool that runs commands.
const TOOL: &str = "bash";
/// Time limit of a command, in seconds.
const LIMIT_S: u64 = 600;

/// Ends the command when the client that waits for it goes away.
struct EndAtDrop(Cancellation);

impl Drop for EndAtDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs a command as the tool does, without asking, and answers when it has ended and is on record.
pub(super) async fn run(it: Received) -> HandlerResult {
    let order: ShellOrder = body::json(&it.request, it.payload).await?;
    require_token(&it.request, "to run a command")?;
    if order.command.trim().is_empty() {
        return Err(Kind::BadRequest.refuse("the command is blank"));
    }
    let (_, folder) = workspace::ready(&it.shared, &it.id).await?;
    let cancellation = Cancellation::new();
    let conversation = ConversationId::new(&it.id);
    let mut context = ToolContext::new(cancellation.clone()).in_folder(&folder);
    context.redaction = it.shared.redaction.for_conversation(&conversation);
    context.closed = Arc::clone(&it.shared.closed);
    context.conversation = conversation;
    let (shared, id) = (it.shared, it.id);
    // A separate task: the command is recorded even if the client disconnects.
    let end = EndAtDrop(cancellation);
    let ran = actix_web::rt::spawn(run_and_note(shared, id, context, order));
    let ran = ran.await;
    drop(end);
    let answer = ran.map_err(|error| {
        Kind::NotKnown.refuse(format!("the command is gone: {error}; it may have run"))
    })??;
    Ok(HttpResponse::Ok().json(answer))
}

async fn run_and_note(
    shared: web::Data<HttpShared>,
    id: String,
    context: ToolContext,
    order: ShellOrder,
) -> Result<ShellAnswer, Refusal> {
    let tool =
        shared.tools.get().get(TOOL).ok_or_else(|| {
            Kind::BadRequest.refuse("this service has no tool that runs commands")
        })?;
    let redaction = context.redaction.clone();
    let mut input = Map::new();
    input.insert("command".to_owned(), Value::from(order.command.clone()));
    input.insert("timeout_s".to_owned(), Value::from(LIMIT_S));
    let (result, is_error) = match carried_out(&*tool, input, context).await {
        Ok(outcome) => (outcome.result, outcome.is_error),
        Err(error) => (error.to_string(), true),
    };
    let note = NoteCommand {
        command: redaction.apply(order.command),
        result: redaction.apply(result),
        is_error,
        is_hidden: order.is_hidden,
        by: name_of(order.by),
    };
    let answer = ShellAnswer {
        result: note.result.clone(),
        is_error,
    };
    let (_, noted) = order_to(&shared, &id, note, Late::Order).await?;
    noted.map_err(|error| refuse_submit(&error))?;
    Ok(answer)
}

async fn carried_out(
    tool: &dyn Tool,
    input: Map<String, Value>,
    context: ToolContext,
) -> Result<ToolOutcome, EffectError> {
    let planned = tool.plan(input, context).await?;
    let planned = planned.ok_or_else(|| ToolError::from("there is nothing to run"))?;
    planned.carry_out().await
}
