//! A text for a conversation, and the name of its sender: the part that the bodies of prompts,
//! queued messages, skills and templates share.

use std::path::PathBuf;

use actix_web::{HttpRequest, HttpResponse};
use harness_actors::attachment::HeldAttachments;
use harness_actors::conversation::messages::{QueueMessage, SubmitPrompt, WouldTake};
use harness_actors::directory::OpenedConversation;
use harness_actors::model::ReplySchema;
use harness_actors::{ItemId, RunId};
use harness_protocol::{AttachmentOrder, PromptAnswer, Queue, QueueAnswer, RunRules};

use super::ask::{Late, ask_conversation, give, refuse_submit};
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::shared::HttpShared;
use super::{rule_text, upload, workspace};

/// The header with the same meaning as `key` in the body.
const KEY_HEADER: &str = "idempotency-key";
/// Maximum length of a key, in bytes.
const MAX_KEY: usize = 200;
/// Maximum length of a client's name, in characters.
const MAX_NAME: usize = 64;

/// A text for a conversation: for now, or for its time.
pub(super) struct SubmittedText {
    /// The conversation, which was just opened.
    pub(super) conversation: OpenedConversation,
    /// Its folder.
    pub(super) folder: PathBuf,
    pub(super) content: String,
    pub(super) key: Option<String>,
    pub(super) by: Option<String>,
    pub(super) files: Vec<AttachmentOrder>,
    /// Its rules for the changes in its run.
    pub(super) rules: RunRules,
    /// The schema that the replies of its run are to fit.
    pub(super) schema: Option<ReplySchema>,
}

/// Reads a message, and submits it at once or to a queue.
pub(super) async fn submit(received: Received, queue: Option<Queue>) -> HandlerResult {
    let Received {
        request,
        payload,
        id,
        shared,
    } = received;
    let order = upload::order(&request, payload).await?;
    let rules = RunRules {
        mode: order.mode,
        allow: order.allow,
        deny: order.deny,
    };
    if queue.is_some() && !rules.is_empty() {
        let detail =
            "a message that waits has no mode and no rules of its own: they are a prompt's";
        return Err(Kind::BadRequest.refuse(detail));
    }
    if queue.is_some() && order.schema.is_some() {
        let detail = "a message that waits has no schema of its own: it is a prompt's";
        return Err(Kind::BadRequest.refuse(detail));
    }
    let schema = order.schema.map(ReplySchema::new).transpose();
    let schema = schema
        .map_err(|error| Kind::BadRequest.refuse(format!("the schema cannot be sent: {error}")))?;
    let rules = rule_text::of_prompt(&request, &shared.tools.get(), rules)?;
    let (conversation, folder) = workspace::ready(&shared, &id).await?;
    let said = SubmittedText {
        conversation,
        folder,
        key: key_of(&request, order.key)?,
        by: name_of(order.by),
        content: order.content,
        files: order.attachments,
        rules,
        schema,
    };
    say(&shared, &id, said, queue).await
}

/// Submits a message at once or to a queue. Its files are stored only if it would be accepted, and are removed if it is
/// refused nevertheless.
pub(super) async fn say(
    shared: &HttpShared,
    id: &str,
    said: SubmittedText,
    queue: Option<Queue>,
) -> HandlerResult {
    let SubmittedText {
        conversation,
        folder,
        content,
        key,
        by,
        files,
        rules,
        schema,
    } = said;
    let mut held = HeldAttachments::none(&shared.attachments);
    if !files.is_empty() {
        let question = WouldTake {
            queue,
            content: content.clone(),
            key: key.clone(),
        };
        let (_, would) = ask_conversation(shared, id, question).await?;
        would.map_err(|error| refuse_submit(&error))?;
        held = upload::hold(shared, &folder, files).await?;
    }
    let attachments = held.give();
    let late = Late::keyed(key.as_deref());
    let refused = |error| {
        held.refused();
        refuse_submit(&error)
    };
    let Some(queue) = queue else {
        let prompt = SubmitPrompt {
            spending_limit_micro_usd: None,
            content,
            key,
            by,
            attachments,
            rules,
            schema,
        };
        let (_, submitted) = give(conversation, shared, id, prompt, late).await?;
        let RunId(run_id) = submitted.map_err(refused)?;
        return Ok(HttpResponse::Ok().json(PromptAnswer { run_id }));
    };
    let message = QueueMessage {
        queue,
        content,
        key,
        by,
        attachments,
    };
    let (_, queued) = give(conversation, shared, id, message, late).await?;
    let ItemId(item) = queued.map_err(refused)?;
    Ok(HttpResponse::Ok().json(QueueAnswer { item }))
}

/// The name of a client in the form that is shown. `None` if it has no visible characters.
pub(super) fn name_of(by: Option<String>) -> Option<String> {
    let shown = by?
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_NAME)
        .collect();
    Some(shown).filter(|shown: &String| !shown.is_empty())
}

/// The key of a prompt, from the body or the header.
pub(super) fn key_of(
    request: &HttpRequest,
    key: Option<String>,
) -> Result<Option<String>, Refusal> {
    let header = match request.headers().get(KEY_HEADER) {
        Some(value) => {
            let refusal = || Kind::BadRequest.refuse("Idempotency-Key must be ASCII");
            Some(value.to_str().map_err(|_| refusal())?.to_owned())
        }
        None => None,
    };
    if let (Some(key), Some(header)) = (&key, &header)
        && key != header
    {
        let detail = "the body has another key than the header Idempotency-Key";
        return Err(Kind::BadRequest.refuse(detail));
    }
    let key = key.or(header);
    if key
        .as_ref()
        .is_some_and(|key| key.is_empty() || key.len() > MAX_KEY)
    {
        let detail = format!("a key has 1 to {MAX_KEY} bytes");
        return Err(Kind::BadRequest.refuse(detail));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [HTTP-58]
    #[test]
    fn a_name_has_nothing_in_it_that_cannot_be_shown() {
        let shown = |name: &str| name_of(Some(name.to_owned()));
        assert_eq!(shown("ana\u{1b}[2J\n"), Some("ana[2J".to_owned()));
        assert_eq!(shown(&"ü".repeat(65)), Some("ü".repeat(64)));
        assert_eq!(shown("\u{7}"), None);
        assert_eq!(shown(""), None);
        assert_eq!(name_of(None), None);
    }
}
