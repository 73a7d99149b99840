//! Prompting, going on and cancelling.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::attachment::HeldAttachments;
use harness_actors::directory::DEFAULT_CONVERSATION;
use harness_actors::messages::{
    CancelRun, ContinueRun, QueueMessage, Resumption, SubmitError, SubmitPrompt, WouldTake,
};
use harness_actors::{ItemId, RunId};
use harness_protocol::{
    AttachmentOrder, CancelAnswer, CancelOrder, ContinueOrder, PromptAnswer, Queue, QueueAnswer,
};

use super::conversations::{Name, ask_conversation};
use super::problem::{Answer, Kind, Refusal};
use super::server::Shared;
use super::{attachments, body, skills};

/// The header that says the same as `key` in the body.
const KEY_HEADER: &str = "idempotency-key";
/// How long a key may be, in bytes.
const MAX_KEY: usize = 200;
/// How long the name of a client may be, in characters.
const MAX_NAME: usize = 64;

/// Starts a run of the default conversation.
pub(super) async fn prompt(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> Answer {
    submit(&request, payload, DEFAULT_CONVERSATION, &shared).await
}

/// Starts a run of a conversation.
pub(super) async fn conversation_prompt(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    submit(&request, payload, &id, &shared).await
}

async fn submit(request: &HttpRequest, payload: web::Payload, id: &str, shared: &Shared) -> Answer {
    let said = said(request, payload, shared).await?;
    say(shared, id, said, None).await
}

/// What somebody says: now, or when its time has come.
pub(super) struct Said {
    pub(super) content: String,
    pub(super) key: Option<String>,
    pub(super) by: Option<String>,
    pub(super) files: Vec<AttachmentOrder>,
}

/// Reads what is to be said.
///
/// # Errors
/// The answer, if the body or the key cannot be.
pub(super) async fn said(
    request: &HttpRequest,
    payload: web::Payload,
    shared: &Shared,
) -> Result<Said, Refusal> {
    let order = attachments::order(request, payload).await?;
    skills::refresh(shared).await;
    Ok(Said {
        key: key_of(request, order.key)?,
        by: name_of(order.by),
        content: order.content,
        files: order.attachments,
    })
}

/// Says it at once, or when its time has come. Its files are kept only if it would be taken, and
/// go again if it is refused nevertheless.
pub(super) async fn say(shared: &Shared, id: &str, said: Said, queue: Option<Queue>) -> Answer {
    let Said {
        content,
        key,
        by,
        files,
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
        held = attachments::hold(shared, files).await?;
    }
    let attachments = held.give();
    let refused = |error| {
        held.refused();
        refuse_submit(&error)
    };
    let Some(queue) = queue else {
        let prompt = SubmitPrompt {
            content,
            key,
            by,
            attachments,
        };
        let (_, submitted) = ask_conversation(shared, id, prompt).await?;
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
    let (_, queued) = ask_conversation(shared, id, message).await?;
    let ItemId(item) = queued.map_err(refused)?;
    Ok(HttpResponse::Ok().json(QueueAnswer { item }))
}

/// The name of a client, as far as it is shown; nothing if there is nothing to show.
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

/// The answer to an order that a conversation did not take.
pub(super) fn refuse_submit(error: &SubmitError) -> Refusal {
    let kind = match error {
        SubmitError::Empty | SubmitError::Replied => Kind::NothingToContinue,
        // Only a program that builds its own prompts has this; the service does not.
        SubmitError::Prompt(_) => Kind::NoPrompt,
        SubmitError::QueueFull { .. } | SubmitError::QueueTooLarge { .. } => Kind::QueueFull,
        SubmitError::Busy => Kind::Busy,
        SubmitError::Blank => Kind::BadRequest,
        SubmitError::KeyReused => Kind::KeyReused,
        SubmitError::Deleted => Kind::NoConversation,
        SubmitError::NotKept(_) => Kind::NotKept,
        SubmitError::Stopping => Kind::Stopping,
    };
    kind.refuse(error.to_string())
}

/// Starts a run without a new prompt.
pub(super) async fn go_on(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    resume(&request, payload, &id, &shared, Resumption::Continue).await
}

/// Starts a run without a new prompt, that asks anew for a reply that failed.
pub(super) async fn retry(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    resume(&request, payload, &id, &shared, Resumption::Retry).await
}

async fn resume(
    request: &HttpRequest,
    payload: web::Payload,
    id: &str,
    shared: &Shared,
    resumption: Resumption,
) -> Answer {
    let order: ContinueOrder = body::json_or_default(request, payload).await?;
    let by = name_of(order.by);
    skills::refresh(shared).await;
    let (_, resumed) = ask_conversation(shared, id, ContinueRun { resumption, by }).await?;
    let RunId(run_id) = resumed.map_err(|error| refuse_submit(&error))?;
    Ok(HttpResponse::Ok().json(PromptAnswer { run_id }))
}

/// Stops the run of the default conversation, and answers when it has stopped.
pub(super) async fn cancel(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> Answer {
    stop(&request, payload, DEFAULT_CONVERSATION, &shared).await
}

/// Stops the run of a conversation, and answers when it has stopped.
pub(super) async fn conversation_cancel(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    stop(&request, payload, &id, &shared).await
}

async fn stop(request: &HttpRequest, payload: web::Payload, id: &str, shared: &Shared) -> Answer {
    let order: CancelOrder = body::lenient(request, payload).await?;
    let cancel = CancelRun {
        run: order.run_id.map(RunId),
        by: name_of(order.by),
        clear_queue: order.clear_queue,
    };
    let (_, cancelled) = ask_conversation(shared, id, cancel).await?;
    Ok(HttpResponse::Ok().json(CancelAnswer { cancelled }))
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
