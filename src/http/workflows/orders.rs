//! The orders to a workflow. Each needs the token: what the model runs must not steer its own work.

use std::time::Duration;

use actix::MailboxError;
use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::workflow::facts::Grants;
use harness_actors::workflow::machine::OperatorOrder;
use harness_actors::workflow::messages::{GiveOrder, RemoveWorkflow};
use harness_actors::workflow::state::PauseWhen;
use harness_protocol::{
    AnswerGate, ChangeFeature, Deleted, PauseWorkflow, PlainWorkflowOrder, ResumeWorkflow,
    RunWorkflow,
};

use super::read::snapshot;
use super::refuse::{refuse, taken};
use crate::http::ask::{Late, Name, ask_late};
use crate::http::body;
use crate::http::guard::require_token;
use crate::http::problem::{HandlerResult, Kind, Refusal};
use crate::http::received::Received;
use crate::http::said::{key_of, name_of};
use crate::http::shared::{HANDLER_TIMEOUT, HttpShared};

/// Millionths of a dollar in a dollar.
const MICRO: f64 = 1_000_000.0;
/// The most dollars that one order grants.
const MAX_USD: f64 = 1_000_000.0;
/// No time limit for a cancel: everything that runs has its own limit.
const UNTIL_IT_HAPPENED: Duration = Duration::MAX;

/// Lets it run.
pub(in crate::http) async fn run(it: Received) -> HandlerResult {
    let order: RunWorkflow = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to run a workflow")?;
    let key = key_of(&it.request, order.key)?;
    let late = Late::keyed(key.as_deref());
    let run = OperatorOrder::Run {
        key,
        max_features: order.max_features,
        max_iterations: order.max_iterations,
    };
    give(&it.shared, &it.id, run, order.by, late).await?;
    Ok(HttpResponse::Accepted().json(snapshot(&it.shared, &it.id).await?))
}

/// Pauses it. The answer is 202 if that has not happened within the usual time: it was taken, and happens at
/// the end of what is under way.
pub(in crate::http) async fn pause(it: Received) -> HandlerResult {
    let order: PauseWorkflow = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to pause a workflow")?;
    let when = pause_when(order.when.as_deref())?;
    let given = send(
        &it.shared,
        &it.id,
        OperatorOrder::Pause(when),
        order.by,
        HANDLER_TIMEOUT,
    );
    let mut answer = match given.await {
        Err(MailboxError::Timeout) => HttpResponse::Accepted(),
        Err(error @ MailboxError::Closed) => return Err(Late::Order.refuse(&error)),
        Ok(given) => {
            taken(given.map_err(|error| refuse(&error))?)?;
            HttpResponse::Ok()
        }
    };
    Ok(answer.json(snapshot(&it.shared, &it.id).await?))
}

/// Resumes a paused workflow.
pub(in crate::http) async fn resume(it: Received) -> HandlerResult {
    let order: ResumeWorkflow = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to resume a workflow")?;
    let resume = OperatorOrder::Resume {
        grants: grants(&order)?,
        retry_stuck: order.retry_stuck,
    };
    done(&it.shared, &it.id, resume, order.by).await
}

/// Ends a workflow permanently; the answer comes when nothing of it runs any longer.
pub(in crate::http) async fn cancel(it: Received) -> HandlerResult {
    let order: PlainWorkflowOrder = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to cancel a workflow")?;
    let given = send(
        &it.shared,
        &it.id,
        OperatorOrder::Cancel,
        order.by,
        UNTIL_IT_HAPPENED,
    );
    let given = given.await.map_err(|error| Late::Order.refuse(&error))?;
    taken(given.map_err(|error| refuse(&error))?)?;
    Ok(HttpResponse::Ok().json(snapshot(&it.shared, &it.id).await?))
}

/// Runs all checks on what was accepted, without a model.
pub(in crate::http) async fn verify(it: Received) -> HandlerResult {
    let order: PlainWorkflowOrder = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to run the checks of a workflow")?;
    give(
        &it.shared,
        &it.id,
        OperatorOrder::Verify,
        order.by,
        Late::Order,
    )
    .await?;
    Ok(HttpResponse::Accepted().json(snapshot(&it.shared, &it.id).await?))
}

/// Answers a gate. The first answer counts.
pub(in crate::http) async fn answer_gate(
    request: HttpRequest,
    payload: web::Payload,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, gate) = path.into_inner();
    let order: AnswerGate = body::json(&request, payload).await?;
    require_token(&request, "to answer a gate")?;
    let answer = OperatorOrder::Gate {
        gate,
        approved: is_approved(&order.answer)?,
        comment: order.comment.filter(|comment| !comment.trim().is_empty()),
    };
    done(&shared, &id, answer, order.by).await
}

/// Retries, skips or unskips a feature.
pub(in crate::http) async fn change_feature(
    request: HttpRequest,
    payload: web::Payload,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, feature) = path.into_inner();
    let order: ChangeFeature = body::json(&request, payload).await?;
    require_token(&request, "to change the state of a feature")?;
    let change = intervention(&order.action, feature)?;
    done(&shared, &id, change, order.by).await
}

/// Moves one that is at rest to the trash.
pub(in crate::http) async fn delete(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    require_token(&request, "to delete a workflow")?;
    let id = id.into_inner();
    let removed = ask_late(shared.workflows.send(RemoveWorkflow { id }), Late::Order).await?;
    let trash = removed.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(Deleted { trash }))
}

/// Gives an order, and answers with the workflow's state after it.
async fn done(
    shared: &HttpShared,
    id: &str,
    order: OperatorOrder,
    by: Option<String>,
) -> HandlerResult {
    give(shared, id, order, by, Late::Order).await?;
    Ok(HttpResponse::Ok().json(snapshot(shared, id).await?))
}

/// Gives an order that is answered at once.
async fn give(
    shared: &HttpShared,
    id: &str,
    order: OperatorOrder,
    by: Option<String>,
    late: Late,
) -> Result<(), Refusal> {
    let given = send(shared, id, order, by, HANDLER_TIMEOUT).await;
    let given = given.map_err(|error| late.refuse(&error))?;
    taken(given.map_err(|error| refuse(&error))?)
}

/// The keeper's answer to an order.
type OrderAnswer = <GiveOrder as actix::Message>::Result;

async fn send(
    shared: &HttpShared,
    id: &str,
    order: OperatorOrder,
    by: Option<String>,
    limit: Duration,
) -> Result<OrderAnswer, MailboxError> {
    let order = GiveOrder {
        id: id.to_owned(),
        order,
        by: name_of(by),
    };
    shared.workflows.send(order).timeout(limit).await
}

fn pause_when(word: Option<&str>) -> Result<PauseWhen, Refusal> {
    match word {
        None | Some("iteration") => Ok(PauseWhen::Iteration),
        Some("attempt") => Ok(PauseWhen::Attempt),
        Some("now") => Ok(PauseWhen::Now),
        Some(other) => Err(Kind::BadRequest.refuse(format!(
            "`when` cannot be {other:?}; it is now, attempt or iteration"
        ))),
    }
}

fn is_approved(word: &str) -> Result<bool, Refusal> {
    match word {
        "approve" => Ok(true),
        "reject" => Ok(false),
        other => Err(Kind::BadRequest.refuse(format!(
            "`answer` cannot be {other:?}; it is approve or reject"
        ))),
    }
}

fn intervention(word: &str, feature: String) -> Result<OperatorOrder, Refusal> {
    match word {
        "retry" => Ok(OperatorOrder::Retry(feature)),
        "skip" => Ok(OperatorOrder::Skip(feature)),
        "unskip" => Ok(OperatorOrder::Unskip(feature)),
        other => Err(Kind::BadRequest.refuse(format!(
            "`action` cannot be {other:?}; it is retry, skip or unskip"
        ))),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was looked whether it is between 0 and the most"
)]
fn grants(order: &ResumeWorkflow) -> Result<Grants, Refusal> {
    let usd = order.add_cost_usd;
    if !(0.0..=MAX_USD).contains(&usd) {
        let detail = format!("`add_cost_usd` cannot be {usd}; it is between 0 and {MAX_USD}");
        return Err(Kind::InvalidOrder.refuse(detail));
    }
    Ok(Grants {
        tokens: order.add_tokens,
        cost_micro_usd: (usd * MICRO).round() as u64,
        active_ms: order.add_active_s.saturating_mul(1_000),
        iterations: order.add_iterations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-88]
    #[test]
    fn what_an_order_says_is_taken_or_refused_with_what_it_can_be() {
        assert_eq!(pause_when(None), Ok(PauseWhen::Iteration));
        assert_eq!(pause_when(Some("now")), Ok(PauseWhen::Now));
        assert_eq!(pause_when(Some("attempt")), Ok(PauseWhen::Attempt));
        let refused = pause_when(Some("later")).unwrap_err().to_string();
        assert!(refused.contains("now, attempt or iteration"), "{refused}");
        assert_eq!(is_approved("approve"), Ok(true));
        assert_eq!(is_approved("reject"), Ok(false));
        assert!(is_approved("yes").is_err());
        let feature = || "add".to_owned();
        assert_eq!(
            intervention("skip", feature()),
            Ok(OperatorOrder::Skip("add".to_owned()))
        );
        assert!(intervention("pass", feature()).is_err());
    }

    /// Spec: [FLOW-88]
    #[test]
    fn what_a_resume_grants_is_counted_in_millionths_and_milliseconds() {
        let order = |add_cost_usd| ResumeWorkflow {
            add_tokens: 5,
            add_cost_usd,
            add_active_s: 2,
            add_iterations: 1,
            ..ResumeWorkflow::default()
        };
        let granted = Grants {
            tokens: 5,
            cost_micro_usd: 1_100_000,
            active_ms: 2_000,
            iterations: 1,
        };
        assert_eq!(grants(&order(1.1)), Ok(granted));
        for wrong in [-0.1, f64::NAN, f64::INFINITY, 2e6] {
            assert!(grants(&order(wrong)).is_err(), "{wrong}");
        }
    }
}
