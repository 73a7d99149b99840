//! Orders to a conversation that need nothing but the conversation.

use actix::Handler;
use actix_web::HttpResponse;
use harness_actors::conversation::ConversationActor;
use harness_actors::conversation::messages::GivenOrder;
use harness_protocol::{Order, RenewTools};

use super::ask::{Late, order_to, refuse_submit};
use super::body;
use super::guard::require_token;
use super::problem::HandlerResult;
use super::received::Received;
use super::said::name_of;

/// Offers a conversation the tools that there are now.
pub(super) async fn renew_tools(it: Received) -> HandlerResult {
    require_token(
        &it.request,
        "to offer the model tools that change something",
    )?;
    give::<RenewTools>(it).await
}

/// Gives an order to a conversation.
async fn give<O: Order>(it: Received) -> HandlerResult
where
    ConversationActor: Handler<GivenOrder<O>>,
{
    let mut order: O = body::json_or_default(&it.request, it.payload).await?;
    let by = order.by();
    *by = name_of(by.take());
    let (_, taken) = order_to(&it.shared, &it.id, GivenOrder(order), Late::Order).await?;
    let answer = taken.map_err(|error| refuse_submit(&error))?;
    Ok(HttpResponse::Ok().json(answer))
}
