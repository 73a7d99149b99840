//! Asks a conversation, waits for its answer, and says in HTTP why there is none.

use std::time::Duration;

use actix::MailboxError;
use actix_web::{HttpRequest, web};
use harness_actors::ConversationId;
use harness_actors::conversation::ConversationActor;
use harness_actors::conversation::messages::SubmitError;
use harness_actors::directory::Conversation;
use harness_actors::directory::messages::OpenConversation;
use harness_actors::journal::OpenError;
use serde::de::DeserializeOwned;

use super::problem::{Kind, Refusal};
use super::shared::{HANDLER_TIMEOUT, Shared};

/// The id of a conversation in the path.
pub(super) type Name = web::Path<String>;

/// The actors of a conversation.
///
/// # Errors
/// The answer, if there is none or it cannot be opened.
pub(super) async fn open(shared: &Shared, id: &str) -> Result<Conversation, Refusal> {
    let order = OpenConversation {
        id: ConversationId::new(id),
    };
    let opened = ask(shared.directory.send(order)).await?;
    opened.map_err(|error| refuse_open(&error, Kind::Unreadable))
}

/// Asks a conversation. One that is idle may end between being found and being asked; then it is
/// found anew.
///
/// # Errors
/// The answer, if there is none, or if it does not answer.
pub(super) async fn ask_conversation<M>(
    shared: &Shared,
    id: &str,
    message: M,
) -> Result<(Conversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    ask_within(HANDLER_TIMEOUT, shared, id, message).await
}

/// The same, with another limit of time for the answer.
///
/// # Errors
/// The answer, if there is none, or if it does not answer.
pub(super) async fn ask_within<M>(
    limit: Duration,
    shared: &Shared,
    id: &str,
    message: M,
) -> Result<(Conversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    let mut conversation = open(shared, id).await?;
    let mut asked = conversation
        .actor
        .send(message.clone())
        .timeout(limit)
        .await;
    if matches!(asked, Err(MailboxError::Closed)) {
        conversation = open(shared, id).await?;
        asked = conversation.actor.send(message).timeout(limit).await;
    }
    let answer = asked.map_err(|error| unanswered(&error))?;
    Ok((conversation, answer))
}

/// The answer when a conversation does not give one.
fn unanswered(error: &MailboxError) -> Refusal {
    Kind::Overloaded.refuse(format!("the conversation: {error}"))
}

/// Waits for an actor's answer.
///
/// # Errors
/// The answer, if it does not come.
pub(super) async fn ask<A, M>(asked: actix::dev::Request<A, M>) -> Result<M::Result, Refusal>
where
    A: actix::Handler<M>,
    A::Context: actix::dev::ToEnvelope<A, M>,
    M: actix::Message + Send + 'static + Unpin,
    M::Result: Send,
{
    let answer = asked.timeout(HANDLER_TIMEOUT).await;
    answer.map_err(|error| unanswered(&error))
}

/// The query of a request.
///
/// # Errors
/// The answer, if it cannot be read.
pub(super) fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Refusal> {
    web::Query::from_query(request.query_string())
        .map(web::Query::into_inner)
        .map_err(|error| Kind::BadRequest.refuse(format!("the query is not as expected: {error}")))
}

/// The answer when a conversation cannot be had. `storage` is what a failure of the storage means: whether it could not be read or written.
pub(super) fn refuse_open(error: &OpenError, storage: Kind) -> Refusal {
    let kind = match error {
        OpenError::NotFound { .. } => Kind::NoConversation,
        OpenError::Exists { .. } => Kind::Busy,
        OpenError::Unreadable { .. } | OpenError::Newer { .. } => Kind::Unreadable,
        OpenError::Stopping => Kind::Stopping,
        OpenError::TooMany { .. } => Kind::Overloaded,
        OpenError::Storage(error) if error.is_passing() => Kind::Overloaded,
        OpenError::Storage(_) => storage,
    };
    kind.refuse(error.to_string())
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
