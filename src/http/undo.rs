//! Taking back what tools changed.

use actix_web::HttpResponse;
use harness_actors::conversation::messages::{UndoChanges, UndoError};
use harness_protocol::UndoOrder;

use super::ask::{Late, order_to, refuse_submit};
use super::body;
use super::guard::require_token;
use super::problem::{HandlerResult, Kind};
use super::received::Received;
use super::said::name_of;

/// Takes changes back, or tells what that would do.
pub(super) async fn undo(it: Received) -> HandlerResult {
    let order: UndoOrder = body::json_or_default(&it.request, it.payload).await?;
    require_token(&it.request, "to take changes back")?;
    let order = UndoChanges {
        to: order.to,
        dry_run: order.dry_run,
        by: name_of(order.by),
    };
    let (_, undone) = order_to(&it.shared, &it.id, order, Late::Order).await?;
    match undone {
        Ok(answer) => Ok(HttpResponse::Ok().json(answer)),
        Err(error @ UndoError::Nothing) => Err(Kind::NothingToUndo.refuse(error.to_string())),
        Err(UndoError::Order(error)) => Err(refuse_submit(&error)),
    }
}
