//! Messages that wait to be said: queueing them, looking at them, withdrawing them.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::ItemId;
use harness_actors::conversation::messages::{GetOverview, WithdrawMessages};
use harness_actors::journal::Totals;
use harness_protocol::{Queue, QueueItem, QueueList, WithdrawAnswer};
use serde::Deserialize;

use super::ask::{Late, Name, ask_conversation, open, order_to, query, refuse_read, refuse_submit};
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::{name_of, submit};
use super::shared::HttpShared;

/// The name of the client that withdraws something. Not in a body: not every client can send one
/// with a `DELETE`.
#[derive(Debug, Clone, Default, Deserialize)]
struct WithdrawQuery {
    by: Option<String>,
}

/// Queues a message for the next model request.
pub(super) async fn steer(received: Received) -> HandlerResult {
    submit(received, Some(Queue::Steer)).await
}

/// Queues a message for the end of the run.
pub(super) async fn follow_up(received: Received) -> HandlerResult {
    submit(received, Some(Queue::FollowUp)).await
}

/// The queued messages.
pub(super) async fn list(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let (_, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    Ok(HttpResponse::Ok().json(QueueList {
        items: in_order(&overview.totals),
    }))
}

/// The queued messages, in the order in which they are said: steering first, each in the order in
/// which it came.
pub(super) fn in_order(totals: &Totals) -> Vec<QueueItem> {
    let mut items = totals.queue.clone();
    items.sort_by_key(|item| match item.queue {
        Queue::Steer => 0,
        Queue::FollowUp => 1,
    });
    items
}

/// Withdraws all that waits.
pub(super) async fn clear(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let withdrawn = withdraw(&request, &id, &shared, None).await?;
    Ok(HttpResponse::Ok().json(WithdrawAnswer { withdrawn }))
}

/// Withdraws one message.
pub(super) async fn remove(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, item) = path.into_inner();
    // A name that no message can have is as good as one of a message that was said.
    let withdrawn = match item.parse() {
        Ok(number) => withdraw(&request, &id, &shared, Some(ItemId(number))).await?,
        Err(_) => {
            drop(open(&shared, &id).await?);
            Vec::new()
        }
    };
    if withdrawn.is_empty() {
        let detail = format!("no message {item:?} waits; it was said or withdrawn, or never came");
        return Err(Kind::NoItem.refuse(detail));
    }
    Ok(HttpResponse::Ok().json(WithdrawAnswer { withdrawn }))
}

async fn withdraw(
    request: &HttpRequest,
    id: &str,
    shared: &HttpShared,
    item: Option<ItemId>,
) -> Result<Vec<u64>, Refusal> {
    let WithdrawQuery { by } = query(request)?;
    let by = name_of(by);
    let withdraw = WithdrawMessages { item, by };
    let (_, withdrawn) = order_to(shared, id, withdraw, Late::Order).await?;
    let withdrawn = withdrawn.map_err(|error| refuse_submit(&error))?;
    Ok(withdrawn.into_iter().map(|ItemId(item)| item).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(item: u64, queue: Queue) -> QueueItem {
        QueueItem {
            item,
            queue,
            content: String::new(),
            attachments: Vec::new(),
            key: None,
            by: None,
        }
    }

    /// Spec: [HTTP-61]
    #[test]
    fn steering_waits_in_front_and_each_queue_is_in_order() {
        let totals = Totals {
            queue: vec![
                waiting(1, Queue::FollowUp),
                waiting(2, Queue::Steer),
                waiting(3, Queue::FollowUp),
                waiting(4, Queue::Steer),
            ],
            ..Totals::default()
        };
        let order: Vec<u64> = in_order(&totals).iter().map(|item| item.item).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }
}
