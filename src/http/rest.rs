//! `POST /prompt`, `POST /cancel` and `GET /healthz`.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::RunId;
use harness_actors::messages::{CancelRun, SubmitError, SubmitPrompt};
use harness_protocol::{CancelAnswer, Health, PromptAnswer, PromptOrder};

use super::body;
use super::problem::Kind;
use super::server::{HANDLER_TIMEOUT, Shared};

/// Starts a run.
pub(super) async fn prompt(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> HttpResponse {
    match body::json(&request, payload).await {
        Ok(order) => submit(order, &shared).await,
        Err(refusal) => refusal,
    }
}

async fn submit(PromptOrder { content }: PromptOrder, shared: &Shared) -> HttpResponse {
    let order = SubmitPrompt { content };
    let submitted = shared
        .conversation
        .send(order)
        .timeout(HANDLER_TIMEOUT)
        .await;
    match submitted {
        Ok(Ok(RunId(run_id))) => HttpResponse::Ok().json(PromptAnswer { run_id }),
        Ok(Err(error)) => {
            let kind = match error {
                SubmitError::Busy => Kind::Busy,
                SubmitError::Blank => Kind::BadRequest,
                SubmitError::Stopping => Kind::Stopping,
            };
            kind.answer(error.to_string())
        }
        Err(error) => Kind::Overloaded.answer(format!("the conversation: {error}")),
    }
}

/// Stops the run that is going, and answers when it has stopped.
pub(super) async fn cancel(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> HttpResponse {
    if let Err(refusal) = body::empty(&request, payload).await {
        return refusal;
    }
    let cancelling = shared.conversation.send(CancelRun).timeout(HANDLER_TIMEOUT);
    match cancelling.await {
        Ok(cancelled) => HttpResponse::Ok().json(CancelAnswer { cancelled }),
        Err(error) => Kind::Overloaded.answer(format!("the conversation: {error}")),
    }
}

/// Says that the service answers, and nothing else.
pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(Health {
        status: "ok".to_owned(),
    })
}
