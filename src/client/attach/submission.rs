//! Sending a prompt or a message for a queue, once or, if its answer is lost, again.

use std::path::PathBuf;
use std::rc::Rc;

use harness_actors::blocking;
use harness_protocol::{AttachmentOrder, PromptAnswer, PromptOrder, Queue, QueueAnswer};
use harness_tui::{News, PromptFile, Recipe};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::client::api::connection::RequestError;
use crate::client::api::error::ApiError;
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::attach::contact::Contact;
use crate::client::prompt_files::{self, PromptFileError};
use crate::client::recipe_order::RecipeOrder;

/// A text, and the files that go with it.
type TextWithFiles = (String, Vec<PromptFile>);

/// Sends a prompt and reports the outcome.
pub(super) async fn submit(
    contact: Rc<Contact>,
    conversation: String,
    key: String,
    said: TextWithFiles,
) {
    let order = match prompt_order(&contact, &key, said).await {
        Ok(order) => order,
        Err(reason) => return contact.tell(News::NotAccepted { key, reason }).await,
    };
    let sent = send(&contact, &routes::prompt(&conversation, &order)).await;
    tell(&contact, key, sent, accepted).await;
}

/// Sends a message to a queue and reports the outcome.
pub(super) async fn queue(
    contact: Rc<Contact>,
    conversation: String,
    queue: Queue,
    key: String,
    said: TextWithFiles,
) {
    let order = match prompt_order(&contact, &key, said).await {
        Ok(order) => order,
        Err(reason) => return contact.tell(News::NotAccepted { key, reason }).await,
    };
    let sent = send(&contact, &routes::queue(&conversation, queue, &order)).await;
    let queued = |key, QueueAnswer { item }| News::Queued { key, item };
    tell(&contact, key, sent, queued).await;
}

/// Sends a prompt that the service makes of a skill or template and a text, and reports the outcome.
pub(super) async fn expand(
    contact: Rc<Contact>,
    conversation: String,
    recipe: Recipe,
    key: String,
    (name, text): (String, String),
) {
    let order = RecipeOrder::new(recipe, name, text, (&key, &contact.name));
    let sent = send(&contact, &order.route(&conversation)).await;
    tell(&contact, key, sent, accepted).await;
}

/// The body of a prompt; files on this machine are read. The error is the reason why one cannot be.
async fn prompt_order(
    contact: &Contact,
    key: &str,
    (content, files): TextWithFiles,
) -> Result<PromptOrder, String> {
    let attachments = match files.is_empty() {
        true => Vec::new(),
        false => {
            let read = blocking(move || attachments(files)).await;
            read.map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?
        }
    };
    Ok(PromptOrder {
        content,
        key: Some(key.to_owned()),
        by: contact.by(),
        attachments,
        ..PromptOrder::default()
    })
}

/// The files in the form that the service takes: it reads those in the folder of the conversation itself. Blocks.
fn attachments(files: Vec<PromptFile>) -> Result<Vec<AttachmentOrder>, PromptFileError> {
    let here = files.iter().filter_map(|file| match file {
        PromptFile::Here(path) => Some(PathBuf::from(path)),
        PromptFile::Below(_) => None,
    });
    let mut here = prompt_files::read(&here.collect::<Vec<_>>())?.into_iter();
    let orders = files.into_iter().filter_map(|file| match file {
        PromptFile::Here(_) => here.next(),
        PromptFile::Below(path) => Some(AttachmentOrder {
            path: Some(path),
            ..AttachmentOrder::default()
        }),
    });
    Ok(orders.collect())
}

fn accepted(key: String, PromptAnswer { run_id }: PromptAnswer) -> News {
    News::Accepted { key, run_id }
}

/// Reports the outcome of the prompt with that key.
async fn tell<A>(
    contact: &Contact,
    key: String,
    sent: Result<A, ApiError>,
    news: impl FnOnce(String, A) -> News,
) {
    let news = match sent {
        Ok(answer) => news(key, answer),
        Err(error) => News::NotAccepted {
            key,
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Sends a prompt, again with the same key while its arrival is uncertain. Returns the answer.
async fn send<A: DeserializeOwned>(contact: &Contact, route: &Route<A>) -> Result<A, ApiError> {
    let mut tries = 0;
    let mut give_up = None;
    loop {
        let error = match contact.ask(route).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let now = Instant::now();
        let give_up = *give_up.get_or_insert(now + contact.pace.resending);
        let wait = contact.pace.patience.wait(tries);
        if !may_send_again(&error) || now + wait > give_up {
            return Err(error);
        }
        tries += 1;
        tokio::time::sleep(wait).await;
    }
}

/// True if the prompt may be accepted a little later: its answer was lost, or the service stops and may start again.
fn may_send_again(error: &ApiError) -> bool {
    let is_stopping = matches!(
        error,
        ApiError::Request(RequestError::Refused { status: 503, .. })
    );
    is_stopping || error.may_send_again()
}
