//! The tools that there are, and what a conversation is offered of them.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::Tool;
use harness_actors::conversation::messages::RenewTools;
use harness_protocol::{RenewOrder, ToolEntry, ToolList};

use super::ask::{Name, ask_conversation, refuse_submit};
use super::problem::Answer;
use super::said::name_of;
use super::shared::Shared;
use super::{body, settings};

/// The tools of the service.
pub(super) async fn list(shared: web::Data<Shared>) -> HttpResponse {
    let entry = |tool: &Arc<dyn Tool>| ToolEntry {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
    };
    HttpResponse::Ok().json(ToolList {
        tools: shared.tools.get().iter().map(entry).collect(),
    })
}

/// Offers a conversation the tools that there are now, from the next run on.
pub(super) async fn renew(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    let order: RenewOrder = body::json_or_default(&request, payload).await?;
    let by = name_of(order.by);
    let (_, renewed) = ask_conversation(&shared, &id, RenewTools { by }).await?;
    let view = renewed.map_err(|error| refuse_submit(&error))?;
    Ok(HttpResponse::Ok().json(settings::answer(view)))
}
