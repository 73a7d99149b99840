//! Approvals: what waits for an operator's answer, and the answers.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::conversation::messages::{AnswerApproval, AnswerError, GetOverview};
use harness_protocol::{AnswerOrder, Answered, Approvals, Scope, Verdict};

use super::ask::{Late, Name, ask_conversation, order_to, refuse_read, refuse_submit};
use super::guard::require_token;
use super::problem::{HandlerResult, Kind, Refusal};
use super::said::name_of;
use super::shared::HttpShared;
use super::summary::open_approval;
use super::waiting::waiting;
use super::{body, rules, workspace};

/// The open approvals of all conversations, the oldest first.
pub(super) async fn all(shared: web::Data<HttpShared>) -> HandlerResult {
    let waiting = waiting(&shared).await?.into_iter();
    let approvals = waiting.map(|(_, open)| open).collect();
    Ok(HttpResponse::Ok().json(Approvals { approvals }))
}

/// The open approvals of a conversation.
pub(super) async fn list(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let (conversation, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    let open = open_approval(&shared, &conversation.journal.header(), &overview);
    let approvals = open.into_iter().collect();
    Ok(HttpResponse::Ok().json(Approvals { approvals }))
}

/// Answers an approval.
pub(super) async fn answer(
    request: HttpRequest,
    payload: web::Payload,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, approval) = path.into_inner();
    let order: AnswerOrder = body::json(&request, payload).await?;
    if order.answer == Verdict::Allow {
        require_token(&request, "to allow")?;
    }
    let Ok(number) = approval.parse() else {
        let detail = format!("there is no approval {approval:?} in this conversation");
        return Err(Kind::NoApproval.refuse(detail));
    };
    let late = Late::keyed(order.key.as_deref());
    let order = AnswerApproval {
        id: number,
        order: AnswerOrder {
            by: name_of(order.by),
            ..order
        },
    };
    let (conversation, answered) = order_to(&shared, &id, order, late).await?;
    let answered = answered.map_err(|error| refuse(&error))?;
    if let Answered {
        answer: Verdict::Allow,
        scope: Scope::Workspace,
        rule: Some(rule),
        by,
        ..
    } = &answered
    {
        let header = conversation.journal.header();
        let folder = workspace::working_folder(&shared, &header);
        rules::allow_in_folder(&shared, folder, rule.clone(), by.clone()).await?;
    }
    Ok(HttpResponse::Ok().json(answered))
}

fn refuse(error: &AnswerError) -> Refusal {
    let kind = match error {
        AnswerError::Answered { .. } => Kind::ApprovalAnswered,
        AnswerError::Withdrawn { .. } => Kind::ApprovalWithdrawn,
        AnswerError::Unknown { .. } => Kind::NoApproval,
        AnswerError::OtherDigest { .. } => Kind::OtherChange,
        AnswerError::NoScope { .. } | AnswerError::NoVerdict | AnswerError::TooManyRules => {
            Kind::BadRequest
        }
        AnswerError::Order(error) => return refuse_submit(error),
    };
    kind.refuse(error.to_string())
}
