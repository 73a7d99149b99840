//! Approvals: what waits for an operator's answer, and the answers.

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
use harness_actors::conversation::messages::{AnswerApproval, AnswerError, GetOverview};
use harness_actors::directory::messages::ListConversations;
use harness_protocol::{AnswerOrder, Approvals, OpenApproval, Verdict};

use super::ask::{Late, Name, ask, ask_conversation, order_to, refuse_read, refuse_submit};
use super::body;
use super::guard::Caller;
use super::problem::{Answer, Kind, Refusal};
use super::said::name_of;
use super::shared::Shared;

/// How many conversations are looked at together.
const PAGE: usize = 200;

/// What waits in all conversations, the oldest first.
pub(super) async fn all(shared: web::Data<Shared>) -> Answer {
    let mut approvals = Vec::new();
    let mut after = None;
    loop {
        let list = ListConversations {
            after: after.take(),
            limit: PAGE,
            workspace: None,
        };
        let rows = ask(shared.directory.send(list)).await?;
        let rows = rows.map_err(|error| refuse_read(&error))?;
        let is_last = rows.len() < PAGE;
        after = rows.last().map(|row| row.listed.clone());
        for row in rows {
            // One that cannot be read is told by the list of conversations.
            if let Ok((_, overview)) = row.found {
                let conversation = row.listed.id;
                approvals.extend(overview.approval.map(|approval| OpenApproval {
                    conversation,
                    approval: *approval,
                }));
            }
        }
        if is_last {
            break;
        }
    }
    approvals.reverse();
    Ok(HttpResponse::Ok().json(Approvals { approvals }))
}

/// What waits in a conversation.
pub(super) async fn list(id: Name, shared: web::Data<Shared>) -> Answer {
    let (_, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    let open = overview.approval.map(|approval| OpenApproval {
        conversation: id.to_string(),
        approval: *approval,
    });
    let approvals = open.into_iter().collect();
    Ok(HttpResponse::Ok().json(Approvals { approvals }))
}

/// Answers an approval.
pub(super) async fn answer(
    request: HttpRequest,
    payload: web::Payload,
    path: web::Path<(String, String)>,
    shared: web::Data<Shared>,
) -> Answer {
    let (id, approval) = path.into_inner();
    let order: AnswerOrder = body::json(&request, payload).await?;
    let has_token = request.extensions().get::<Caller>() == Some(&Caller::TokenHolder);
    if order.answer == Verdict::Allow && !has_token {
        let detail = "to allow needs the token, also from this machine: \
                      what the model runs must not answer for you";
        return Err(Kind::Unauthorized.refuse(detail));
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
    let (_, answered) = order_to(&shared, &id, order, late).await?;
    let answered = answered.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(answered))
}

fn refuse(error: &AnswerError) -> Refusal {
    let kind = match error {
        AnswerError::Answered { .. } => Kind::ApprovalAnswered,
        AnswerError::Withdrawn { .. } => Kind::ApprovalWithdrawn,
        AnswerError::Unknown { .. } => Kind::NoApproval,
        AnswerError::OtherDigest { .. } => Kind::OtherChange,
        AnswerError::NoScope { .. } | AnswerError::NoVerdict => Kind::BadRequest,
        AnswerError::Order(error) => return refuse_submit(error),
    };
    kind.refuse(error.to_string())
}
