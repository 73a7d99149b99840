//! Runs: continuing without a new prompt, retrying, and cancelling.

use actix_web::HttpResponse;
use harness_actors::RunId;
use harness_actors::conversation::messages::{CancelRun, ContinueRun, Resumption};
use harness_protocol::{CancelAnswer, CancelOrder, ContinueOrder, PromptAnswer};

use super::ask::{Late, give, order_to, refuse_submit};
use super::problem::HandlerResult;
use super::received::Received;
use super::said::name_of;
use super::{body, workspace};

/// Starts a run without a new prompt.
pub(super) async fn go_on(received: Received) -> HandlerResult {
    resume(received, Resumption::Continue).await
}

/// Starts a run without a new prompt, which requests a failed reply again.
pub(super) async fn retry(received: Received) -> HandlerResult {
    resume(received, Resumption::Retry).await
}

async fn resume(it: Received, resumption: Resumption) -> HandlerResult {
    let order: ContinueOrder = body::json_or_default(&it.request, it.payload).await?;
    let by = name_of(order.by);
    let (conversation, _) = workspace::ready(&it.shared, &it.id).await?;
    let order = ContinueRun {
        spending_limit_micro_usd: None,
        resumption,
        by,
        rules: harness_protocol::RunRules::default(),
    };
    let (_, resumed) = give(conversation, &it.shared, &it.id, order, Late::Order).await?;
    let RunId(run_id) = resumed.map_err(|error| refuse_submit(&error))?;
    Ok(HttpResponse::Ok().json(PromptAnswer { run_id }))
}

/// Stops the run of a conversation, and answers when it has stopped.
pub(super) async fn cancel(it: Received) -> HandlerResult {
    let order: CancelOrder = body::lenient(&it.request, it.payload).await?;
    let cancel = CancelRun {
        run: order.run_id.map(RunId),
        by: name_of(order.by),
        clear_queue: order.clear_queue,
    };
    let (_, cancelled) = order_to(&it.shared, &it.id, cancel, Late::Order).await?;
    Ok(HttpResponse::Ok().json(CancelAnswer { cancelled }))
}
