//! Runs: going on without a new prompt, asking again, and cancelling.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::RunId;
use harness_actors::conversation::messages::{CancelRun, ContinueRun, Resumption};
use harness_actors::directory::DEFAULT_CONVERSATION;
use harness_protocol::{CancelAnswer, CancelOrder, ContinueOrder, PromptAnswer};

use super::ask::{Late, Name, order_to, refuse_submit};
use super::problem::Answer;
use super::said::name_of;
use super::shared::Shared;
use super::{body, workspace};

/// Starts a run without a new prompt.
pub(super) async fn go_on(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    resume(&request, payload, &id, &shared, Resumption::Continue).await
}

/// Starts a run without a new prompt, that asks anew for a reply that failed.
pub(super) async fn retry(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    resume(&request, payload, &id, &shared, Resumption::Retry).await
}

async fn resume(
    request: &HttpRequest,
    payload: web::Payload,
    id: &str,
    shared: &Shared,
    resumption: Resumption,
) -> Answer {
    let order: ContinueOrder = body::json_or_default(request, payload).await?;
    let by = name_of(order.by);
    workspace::ready(shared, id).await?;
    let resume = ContinueRun { resumption, by };
    let (_, resumed) = order_to(shared, id, resume, Late::Order).await?;
    let RunId(run_id) = resumed.map_err(|error| refuse_submit(&error))?;
    Ok(HttpResponse::Ok().json(PromptAnswer { run_id }))
}

/// Stops the run of the default conversation, and answers when it has stopped.
pub(super) async fn cancel(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> Answer {
    stop(&request, payload, DEFAULT_CONVERSATION, &shared).await
}

/// Stops the run of a conversation, and answers when it has stopped.
pub(super) async fn conversation_cancel(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    stop(&request, payload, &id, &shared).await
}

async fn stop(request: &HttpRequest, payload: web::Payload, id: &str, shared: &Shared) -> Answer {
    let order: CancelOrder = body::lenient(request, payload).await?;
    let cancel = CancelRun {
        run: order.run_id.map(RunId),
        by: name_of(order.by),
        clear_queue: order.clear_queue,
    };
    let (_, cancelled) = order_to(shared, id, cancel, Late::Order).await?;
    Ok(HttpResponse::Ok().json(CancelAnswer { cancelled }))
}
