//! Sending a prompt, once or, if its answer is lost, again.

use std::rc::Rc;

use awc::http::Method;
use harness_protocol::{PromptAnswer, PromptOrder};
use harness_tui::News;
use tokio::time::Instant;

use super::contact::Contact;
use crate::client::command::CommandError;
use crate::client::connection::{RequestError, path};
use crate::client::prompt;

/// Sends a prompt and tells what became of it.
pub(super) async fn submit(
    contact: Rc<Contact>,
    conversation: String,
    key: String,
    content: String,
) {
    let order = PromptOrder {
        content,
        key: Some(key.clone()),
        by: Some(contact.name.clone()),
    };
    let sent = send(&contact, &path(&conversation, "/prompt"), &order).await;
    let news = match sent {
        Ok(run_id) => News::Accepted { key, run_id },
        Err(error) => News::NotAccepted {
            key,
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Sends a prompt, again with the same key while nobody knows if it arrived; its run.
async fn send(contact: &Contact, path: &str, order: &PromptOrder) -> Result<u64, CommandError> {
    let mut tries = 0;
    let mut give_up = None;
    loop {
        let sent = contact.order::<PromptAnswer>(Method::POST, path, order);
        let error = match sent.await {
            Ok(answer) => return Ok(answer.run_id),
            Err(error) => error,
        };
        let now = Instant::now();
        let give_up = *give_up.get_or_insert(now + contact.pace.resending);
        let wait = contact.pace.wait(tries);
        if !may_send_again(&error) || now + wait > give_up {
            return Err(error);
        }
        tries += 1;
        tokio::time::sleep(wait).await;
    }
}

/// Whether the prompt may be accepted a little later: its answer was lost, or the service stops
/// and may start again.
fn may_send_again(error: &CommandError) -> bool {
    let is_stopping = matches!(
        error,
        CommandError::Request(RequestError::Refused { status: 503, .. })
    );
    is_stopping || prompt::may_send_again(error)
}
