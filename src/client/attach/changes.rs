//! The orders that change a conversation for all clients: its queues, its settings, its past.

use std::rc::Rc;

use harness_protocol::{
    ChangeSettings, CompactAnswer, CompactOrder, ContinueOrder, PromptAnswer, SettingsAnswer,
    WithdrawAnswer,
};
use harness_tui::{Change, News};
use hyper::Method;
use serde_json::{Map, Value};

use crate::client::api::connection::path;
use crate::client::attach::contact::Contact;
use crate::client::attach::errands::tell;
use crate::client::commands::CommandError;

/// Takes messages off the queues.
pub(super) async fn withdraw(contact: Rc<Contact>, conversation: String, item: Option<u64>) {
    let withdrawn = async {
        let of_it = match item {
            Some(item) => path(&conversation, &format!("/queue/{item}")),
            None => path(&conversation, "/queue"),
        };
        let by = [("by", contact.name.clone())];
        let connection = contact.find().await?;
        let answer: WithdrawAnswer = connection.delete_with(&of_it, &by).await?;
        Ok::<_, CommandError>(answer.withdrawn)
    };
    let news = match withdrawn.await {
        Ok(withdrawn) => News::Withdrawn {
            conversation,
            item,
            withdrawn,
        },
        Err(error) => News::NotWithdrawn {
            conversation,
            item,
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Goes on without a prompt, or asks for the last reply again. It is not sent twice: it has no key
/// by which the service would know it.
pub(super) async fn go_on(contact: Rc<Contact>, conversation: String, is_retry: bool) {
    let of_it = if is_retry { "/retry" } else { "/continue" };
    let order = ContinueOrder {
        by: Some(contact.name.clone()),
    };
    let of_it = path(&conversation, of_it);
    let answer = contact.order::<PromptAnswer>(Method::POST, &of_it, &order);
    let news = answer
        .await
        .map(|PromptAnswer { run_id }| News::GoesOn { run_id });
    tell(&contact, news).await;
}

/// Gets what is set.
pub(super) async fn settings(contact: Rc<Contact>, conversation: String) {
    let answer = contact
        .get::<SettingsAnswer>(&path(&conversation, "/settings"), &[])
        .await;
    let news = answer.map(|answer| News::Settings {
        conversation,
        answer: Box::new(answer),
    });
    tell(&contact, news).await;
}

/// Sets something.
pub(super) async fn change(contact: Rc<Contact>, conversation: String, change: Change) {
    let changed = async {
        let order = ChangeSettings {
            settings: patch(change)?,
            by: Some(contact.name.clone()),
        };
        let of_it = path(&conversation, "/settings");
        let answer = contact.order::<SettingsAnswer>(Method::PATCH, &of_it, &order);
        // All clients are told by an event.
        answer.await.map(|_| News::SettingsChanged { conversation })
    };
    tell(&contact, changed.await).await;
}

/// A merge patch: what is null is as the service has it.
fn patch(change: Change) -> Result<Map<String, Value>, CommandError> {
    let (name, value) = match change {
        Change::Model(model) => ("model", serde_json::to_value(model)),
        Change::Thinking(level) => ("thinking", serde_json::to_value(level)),
    };
    let value = value.map_err(|error| CommandError::System {
        reason: error.to_string(),
    })?;
    Ok(Map::from_iter([(name.to_owned(), value)]))
}

/// Replaces the past by a summary.
pub(super) async fn compact(
    contact: Rc<Contact>,
    conversation: String,
    instructions: Option<String>,
) {
    let order = CompactOrder {
        force: true,
        instructions,
        by: Some(contact.name.clone()),
    };
    let of_it = path(&conversation, "/compact");
    let limit = contact.pace.summarizing;
    let answer = contact.long_order::<CompactAnswer>(&of_it, &order, limit);
    let news = answer.await.map(|answer| News::Compacted {
        conversation,
        answer,
    });
    tell(&contact, news).await;
}
