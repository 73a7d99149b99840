//! The orders that change a conversation for all clients: its queues, its settings, its past.

use std::rc::Rc;

use harness_protocol::{
    AnswerOrder, ChangeSettings, CompactOrder, ContinueOrder, PromptAnswer, ShellOrder, UndoAnswer,
    UndoOrder, WithdrawAnswer,
};
use harness_tui::{ConversationView, News, SettingChange};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::attach::contact::Contact;
use crate::client::attach::errands::tell;
use crate::client::error::CommandError;
use crate::client::known_models;

/// Takes messages off the queues.
pub(super) async fn withdraw(contact: Rc<Contact>, conversation: String, item: Option<u64>) {
    let withdraw = routes::withdraw(&conversation, item, Some(&contact.name));
    let news = match contact.ask(&withdraw).await {
        Ok(WithdrawAnswer { withdrawn }) => News::Withdrawn {
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

/// Takes back what tools changed in the last run that changed something.
pub(super) async fn undo(contact: Rc<Contact>, conversation: String) {
    let order = UndoOrder {
        by: contact.by(),
        ..UndoOrder::default()
    };
    let answer = contact.ask(&routes::undo(&conversation, &order)).await;
    let news = answer.map(|UndoAnswer { files, notes }| News::Undone {
        conversation,
        files,
        notes,
    });
    tell(&contact, news).await;
}

/// Answers an approval. The order has a key, under which a repetition is the same answer.
pub(super) async fn answer(
    contact: Rc<Contact>,
    conversation: String,
    approval: u64,
    answer: AnswerOrder,
) {
    let answer = AnswerOrder {
        by: contact.by(),
        ..answer
    };
    let route = routes::answer(&conversation, approval, &answer);
    let news = match contact.ask(&route).await {
        Ok(_) => News::Answered {
            conversation,
            approval,
        },
        Err(error) => News::NotAnswered {
            conversation,
            approval,
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Continues without a prompt, or asks for the last reply again. It is not sent twice: it has no key that would let the
/// service recognize a repetition.
pub(super) async fn go_on(contact: Rc<Contact>, conversation: String, is_retry: bool) {
    let order = ContinueOrder { by: contact.by() };
    let route = if is_retry {
        routes::retry(&conversation, &order)
    } else {
        routes::resume(&conversation, &order)
    };
    let answer = contact.ask(&route).await;
    let news = answer.map(|PromptAnswer { run_id }| News::GoesOn { run_id });
    tell(&contact, news).await;
}

/// Gets what is set.
pub(super) async fn settings(contact: Rc<Contact>, conversation: String, view: ConversationView) {
    let answer = contact.ask(&routes::settings(&conversation)).await;
    let news = answer.map(|answer| News::Settings {
        conversation,
        view,
        answer: Box::new(answer),
    });
    tell(&contact, news).await;
}

/// Gets the tokens and the cost.
pub(super) async fn usage(contact: Rc<Contact>, conversation: String) {
    let answer = contact.ask(&routes::usage(&conversation)).await;
    let news = answer.map(|answer| News::Usage {
        conversation,
        answer: Box::new(answer),
    });
    tell(&contact, news).await;
}

/// Sets something.
pub(super) async fn change(contact: Rc<Contact>, conversation: String, change: SettingChange) {
    let changed = async {
        let model = match &change {
            SettingChange::Model(model) => model.clone(),
            SettingChange::Thinking(_) | SettingChange::Mode(_) | SettingChange::Order(_) => None,
        };
        let route = route(&conversation, change, contact.by())?;
        contact.ask(&route).await?;
        // All clients receive an event about it.
        Ok::<_, CommandError>((News::SettingsChanged { conversation }, model))
    };
    let (changed, model) = match changed.await {
        Ok((news, model)) => (Ok(news), model),
        Err(error) => (Err(error), None),
    };
    tell(&contact, changed).await;
    if let Some(model) = model {
        remark_on_model(&contact, &model).await;
    }
}

/// Warns if the API does not list a chosen model.
async fn remark_on_model(contact: &Contact, model: &str) {
    let listed = contact.ask(&known_models::list()).await;
    let listed = listed.inspect_err(|error| log::debug!("no list of models: {error}"));
    if let Some(text) = listed
        .ok()
        .and_then(|listed| known_models::remark(model, &listed))
    {
        contact.tell(News::Remark { text }).await;
    }
}

/// The request that makes a change.
fn route(
    conversation: &str,
    change: SettingChange,
    by: Option<String>,
) -> Result<Route<Value>, CommandError> {
    let (name, value) = match change {
        SettingChange::Model(model) => ("model", serde_json::to_value(model)),
        SettingChange::Thinking(level) => ("thinking", serde_json::to_value(level)),
        SettingChange::Mode(mode) => ("mode", serde_json::to_value(mode)),
        SettingChange::Order(mut order) => {
            order.body["by"] = by.into();
            return Ok(routes::give(conversation, &order));
        }
    };
    let value = value.map_err(|error| CommandError::System {
        reason: error.to_string(),
    })?;
    // A merge patch: what is null is as the service has it.
    let settings = Map::from_iter([(name.to_owned(), value)]);
    let order = ChangeSettings { settings, by };
    Ok(routes::change(conversation, &order).answered_as())
}

/// Runs a command until it ends, or until the client cancels it. Its event carries the result.
pub(super) async fn command(
    contact: Rc<Contact>,
    conversation: String,
    (command, is_hidden): (String, bool),
    ended: oneshot::Receiver<()>,
) {
    let order = ShellOrder {
        command,
        is_hidden,
        by: contact.by(),
    };
    let route = routes::shell(&conversation, &order);
    let reason = tokio::select! {
        answer = contact.ask(&route) => answer.err().map(|error| error.to_string()),
        _ = ended => None,
    };
    contact.tell(News::CommandEnded { reason }).await;
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
        by: contact.by(),
    };
    let limit = contact.pace.summarizing;
    let answer = contact
        .ask(&routes::compact(&conversation, &order, limit))
        .await;
    let news = answer.map(|answer| News::Compacted {
        conversation,
        answer,
    });
    tell(&contact, news).await;
}
