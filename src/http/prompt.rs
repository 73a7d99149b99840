//! Prompts: what is said now, and starts a run.

use actix_web::{HttpRequest, web};
use harness_actors::directory::DEFAULT_CONVERSATION;

use super::ask::Name;
use super::problem::Answer;
use super::said::{said, say};
use super::shared::Shared;

/// Starts a run of the default conversation.
pub(super) async fn prompt(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> Answer {
    submit(&request, payload, DEFAULT_CONVERSATION, &shared).await
}

/// Starts a run of a conversation.
pub(super) async fn conversation_prompt(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    submit(&request, payload, &id, &shared).await
}

async fn submit(request: &HttpRequest, payload: web::Payload, id: &str, shared: &Shared) -> Answer {
    let said = said(request, payload, shared, id).await?;
    say(shared, id, said, None).await
}
