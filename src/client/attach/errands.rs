//! The orders that are one question and one answer.

use std::rc::Rc;

use harness_protocol::{
    CancelAnswer, CancelOrder, ChangeConversation, ConversationPage, Deleted, Event, ForkOrder,
    History, NewConversation, Settings, Summary,
};
use harness_tui::News;
use hyper::Method;

use crate::client::api::connection::path;
use crate::client::api::reading::read;
use crate::client::attach::contact::Contact;
use crate::client::commands::CommandError;

/// How many events a page of the past has.
const PAGE: usize = 200;
/// How many conversations a page of the list has; the most that the service gives.
const LIST_PAGE: usize = 200;

/// Tells the answer, or why there is none.
pub(super) async fn tell(contact: &Contact, answer: Result<News, CommandError>) {
    let news = answer.unwrap_or_else(|error| News::Failed {
        reason: error.to_string(),
    });
    contact.tell(news).await;
}

/// Gets a page of the past.
pub(super) async fn older(contact: Rc<Contact>, conversation: String, before: u64) {
    let page = async {
        let query = [("before", before.to_string()), ("limit", PAGE.to_string())];
        let page = contact
            .get(&path(&conversation, "/history"), &query)
            .await?;
        let page = read::<History>(page, "/events")?;
        for reason in page.invalid {
            contact.tell(News::Invalid { reason }).await;
        }
        Ok::<_, CommandError>(page.answer)
    };
    let page = page
        .await
        .inspect_err(|error| log::warn!("no page before {before}: {error}"));
    let news = News::Older {
        page: page.ok().map(Box::new),
        conversation,
        before,
    };
    contact.tell(news).await;
}

/// Gets one event in full.
pub(super) async fn whole(contact: Rc<Contact>, conversation: String, seq: u64) {
    let event = async {
        let after = seq.saturating_sub(1).to_string();
        let query = [("after", after), ("limit", "1".to_owned())];
        let page: History = contact
            .get(&path(&conversation, "/history"), &query)
            .await?;
        let found: Option<Event> = page
            .events
            .into_iter()
            .find_map(|past| (past.seq == seq).then_some(past.event));
        let event = found.ok_or(CommandError::Contradiction {
            reason: "the record cannot be read any more",
        })?;
        Ok(News::Whole {
            conversation,
            seq,
            event: Box::new(event),
        })
    };
    tell(&contact, event.await).await;
}

/// Cancels a run.
pub(super) async fn cancel(
    contact: Rc<Contact>,
    conversation: String,
    run_id: Option<u64>,
    clear_queue: bool,
) {
    let cancelled = async {
        let order = CancelOrder {
            run_id,
            by: Some(contact.name.clone()),
            clear_queue,
        };
        let cancel = path(&conversation, "/cancel");
        let answer: CancelAnswer = contact.order(Method::POST, &cancel, &order).await?;
        Ok::<_, CommandError>(answer.cancelled)
    };
    let news = match cancelled.await {
        Ok(cancelled) => News::CancelAnswered { cancelled },
        Err(error) => News::NotCancelled {
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Lists all conversations.
pub(super) async fn list(contact: Rc<Contact>) {
    let listed = async {
        let connection = contact.find().await?;
        let mut listed = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = vec![("limit", LIST_PAGE.to_string())];
            query.extend(cursor.iter().map(|cursor| ("cursor", cursor.clone())));
            let page: ConversationPage = connection.get("/v1/conversations", &query).await?;
            listed.extend(page.conversations);
            if page.next.is_none() {
                return Ok(News::Listed(listed));
            }
            if page.next == cursor {
                return Err(CommandError::Contradiction {
                    reason: "the service answers with the same page again and again",
                });
            }
            cursor = page.next;
        }
    };
    tell(&contact, listed.await).await;
}

/// Gives a conversation another title. The events of the conversation tell that it has it.
pub(super) async fn rename(contact: Rc<Contact>, conversation: String, title: String) {
    let change = ChangeConversation {
        title,
        by: Some(contact.name.clone()),
    };
    let path = path(&conversation, "");
    let renamed = contact.order::<Summary>(Method::PATCH, &path, &change);
    if let Err(error) = renamed.await {
        tell(&contact, Err(error)).await;
    }
}

/// Moves a conversation to the trash.
pub(super) async fn delete(contact: Rc<Contact>, conversation: String) {
    let deleted = async {
        let connection = contact.find().await?;
        let deleted: Deleted = connection.delete(&path(&conversation, "")).await?;
        Ok(News::Deleted {
            conversation,
            trash: deleted.trash,
        })
    };
    tell(&contact, deleted.await).await;
}

/// Makes a conversation; the id of it.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn create(
    contact: &Contact,
    title: Option<String>,
) -> Result<String, CommandError> {
    let order = NewConversation {
        title,
        settings: Settings::default(),
    };
    let made: Summary = contact
        .order(Method::POST, "/v1/conversations", &order)
        .await?;
    Ok(made.id)
}

/// Copies a conversation; the id of the copy.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn fork(contact: &Contact, conversation: &str) -> Result<String, CommandError> {
    let fork = path(conversation, "/fork");
    let made: Summary = contact
        .order(Method::POST, &fork, &ForkOrder::default())
        .await?;
    Ok(made.id)
}
