//! The orders that are one question and one answer.

use std::fmt::Display;
use std::rc::Rc;

use harness_actors::Clock;
use harness_protocol::{
    CancelAnswer, CancelOrder, ChangeConversation, Deleted, ForkOrder, HistoryPage,
};
use harness_tui::{FactKind, News};
use serde_json::Map;

use crate::client::api::discovery;
use crate::client::api::error::ApiError;
use crate::client::api::reading::read;
use crate::client::api::routes;
use crate::client::attach::contact::Contact;
use crate::client::error::CommandError;
use crate::client::fact_lines::{self, NO_JOBS};
use crate::client::folder;

/// Number of events on a page of the past.
const PAGE: usize = 200;
/// Number of events at the end of a conversation, among which its last words are.
const PREVIEW_PAGE: usize = 40;
/// Number of conversations on a page of the list; the maximum of the service.
const LIST_PAGE: usize = 200;

/// Sends the answer to the client, or the reason why there is none.
pub(super) async fn tell(contact: &Contact, answer: Result<News, impl Display>) {
    let news = answer.unwrap_or_else(|error| News::Failed {
        reason: error.to_string(),
    });
    contact.tell(news).await;
}

/// Gets a page of the past.
pub(super) async fn older(contact: Rc<Contact>, conversation: String, before: u64) {
    let page = async {
        let page = routes::history_before(&conversation, before, PAGE);
        let page = contact.ask(&page.answered_as()).await?;
        let page = read::<HistoryPage>(page, "/events")?;
        for reason in page.invalid {
            contact.tell(News::Invalid { reason }).await;
        }
        Ok::<_, ApiError>(page.answer)
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
pub(super) async fn fetch_whole(contact: Rc<Contact>, conversation: String, seq: u64) {
    let event = async {
        let page = routes::history_after(&conversation, seq.saturating_sub(1), 1);
        let mut events = contact.ask(&page).await?.events.into_iter();
        let found = events.find_map(|past| (past.seq == seq).then_some(past.event));
        let event = found.ok_or(CommandError::Contradiction {
            reason: "the record cannot be read any more",
        })?;
        Ok::<_, CommandError>(News::Whole {
            conversation,
            seq,
            event: Box::new(event),
        })
    };
    tell(&contact, event.await).await;
}

/// Gets facts about a conversation.
pub(super) async fn facts(contact: Rc<Contact>, conversation: String, kind: FactKind) {
    let lines = async {
        let service = discovery::find(&contact.config).await?;
        Ok::<_, ApiError>(match kind {
            FactKind::Jobs => {
                let now = Clock::system().unix_seconds();
                let mut lines = fact_lines::jobs(&conversation, &service, now).await?;
                lines.push(if lines.is_empty() {
                    NO_JOBS.to_owned()
                } else {
                    "harness jobs stop N ends one".to_owned()
                });
                lines
            }
            FactKind::Rules => {
                let held = service.ask(&routes::rules(&conversation)).await?;
                let mut lines = fact_lines::rules(&held);
                lines.push("harness rules --help says how they are changed".to_owned());
                lines
            }
        })
    };
    let news = lines.await.map(|lines| News::Facts {
        conversation,
        lines,
    });
    tell(&contact, news).await;
}

/// Cancels a run.
pub(super) async fn cancel(
    contact: Rc<Contact>,
    conversation: String,
    run_id: Option<u64>,
    clear_queue: bool,
) {
    let order = CancelOrder {
        run_id,
        by: contact.by(),
        clear_queue,
    };
    let news = match contact.ask(&routes::cancel(&conversation, &order)).await {
        Ok(CancelAnswer { cancelled }) => News::CancelAnswered { cancelled },
        Err(error) => News::NotCancelled {
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Gets the end of a conversation that need not be open.
pub(super) async fn preview(contact: Rc<Contact>, conversation: String, records: u64) {
    let page = routes::history_before(&conversation, records.saturating_add(1), PREVIEW_PAGE);
    let events = async {
        let page = contact.ask(&page.answered_as()).await?;
        let page = read::<HistoryPage>(page, "/events")?.answer;
        Ok::<_, ApiError>(page.events.into_iter().map(|past| past.event).collect())
    };
    let events = events
        .await
        .inspect_err(|error| log::warn!("no end of {conversation}: {error}"))
        .ok();
    let news = News::Previewed {
        conversation,
        events,
    };
    contact.tell(news).await;
}

/// Lists the conversations of a folder, or all of them.
pub(super) async fn list(contact: Rc<Contact>, folder: Option<String>) {
    let listed = async {
        let mut listed = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let cursor_of_it = cursor.as_deref();
            let page = match &folder {
                Some(folder) => routes::conversations_in(folder, LIST_PAGE, cursor_of_it),
                None => routes::conversations(LIST_PAGE, cursor_of_it),
            };
            let page = contact.ask(&page).await?;
            listed.extend(page.conversations);
            if page.next.is_none() {
                let unix_s = Clock::system().unix_seconds();
                contact.tell(News::Time { unix_s }).await;
                return Ok(News::Listed(listed));
            }
            if page.next == cursor {
                return Err(CommandError::SAME_PAGE);
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
        by: contact.by(),
    };
    let renamed = contact.ask(&routes::rename(&conversation, &change)).await;
    if let Err(error) = renamed {
        tell(&contact, Err(error)).await;
    }
}

/// Moves a conversation to the trash.
pub(super) async fn delete(contact: Rc<Contact>, conversation: String) {
    let deleted = contact.ask(&routes::delete(&conversation)).await;
    let news = deleted.map(|Deleted { trash }| News::Deleted {
        conversation,
        trash,
    });
    tell(&contact, news).await;
}

/// Makes a conversation, in that folder if the service knows folders; the id of it.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn create(
    contact: &Contact,
    title: Option<String>,
    folder: Option<String>,
) -> Result<String, ApiError> {
    let service = discovery::find(&contact.config).await?;
    let is_known = service.info().is_some_and(folder::are_known);
    let folder = folder.filter(|_| is_known);
    let order = folder::new_order(title, folder, Map::new(), service.info());
    Ok(service.ask(&routes::create(&order)).await?.id)
}

/// Copies a conversation; the id of the copy.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn fork(
    contact: &Contact,
    conversation: &str,
    seq: Option<u64>,
) -> Result<String, ApiError> {
    let order = ForkOrder {
        seq,
        // Going back continues in a fork, and the other clients see which.
        by: seq.and_then(|_| contact.by()),
        ..ForkOrder::default()
    };
    let fork = routes::fork(conversation, &order);
    Ok(contact.ask(&fork).await?.id)
}
