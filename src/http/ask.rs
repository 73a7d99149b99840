//! Asks a conversation, waits for its answer, and turns a missing answer into an HTTP refusal.

use std::time::Duration;

use actix::MailboxError;
use actix_web::{HttpRequest, web};
use harness_actors::ConversationId;
use harness_actors::conversation::ConversationActor;
use harness_actors::conversation::messages::SubmitError;
use harness_actors::directory::OpenedConversation;
use harness_actors::directory::messages::OpenConversation;
use harness_actors::journal::OpenError;
use harness_actors::storage::StorageError;
use serde::de::DeserializeOwned;

use super::problem::{Kind, Refusal};
use super::shared::{HANDLER_TIMEOUT, HttpShared};

/// The id of a conversation in the path.
pub(super) type Name = web::Path<String>;

/// The actors of a conversation.
///
/// # Errors
/// The answer, if there is none or it cannot be opened.
pub(super) async fn open(shared: &HttpShared, id: &str) -> Result<OpenedConversation, Refusal> {
    let order = OpenConversation {
        id: ConversationId::new(id),
    };
    let opened = ask(shared.directory.send(order)).await?;
    opened.map_err(|error| refuse_open(&error, Kind::Unreadable))
}

/// The meaning of an answer that does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// Nothing was to be done.
    Nothing,
    /// An order may have been taken; given again with its key, it is not carried out twice.
    OrderWithKey,
    /// An order may have been taken, and would be carried out twice.
    Order,
}

impl Late {
    /// Of an order that may have a key.
    pub(super) fn keyed(key: Option<&str>) -> Self {
        key.map_or(Self::Order, |_| Self::OrderWithKey)
    }

    /// The answer in place of the one that does not come.
    pub(super) fn refuse(self, error: &MailboxError) -> Refusal {
        let unknown = |what_to_do: &str| {
            let why = match error {
                MailboxError::Timeout => format!("there is no answer within {HANDLER_TIMEOUT:?}"),
                MailboxError::Closed => "what should answer is gone".to_owned(),
            };
            let detail = format!("{why}: it is not known whether it was taken; {what_to_do}");
            Kind::NotKnown.refuse(detail)
        };
        match self {
            Self::Nothing => Kind::Overloaded.refuse(format!("the conversation: {error}")),
            Self::OrderWithKey => unknown("repeat it with its key"),
            Self::Order => unknown("it has no key, so look whether it was before you repeat it"),
        }
    }
}

/// Asks a conversation something that changes nothing. An idle conversation may end between the look-up and the
/// question; then it is looked up again.
///
/// # Errors
/// The answer, if there is none, or if it does not answer.
pub(super) async fn ask_conversation<M>(
    shared: &HttpShared,
    id: &str,
    message: M,
) -> Result<(OpenedConversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    order_to(shared, id, message, Late::Nothing).await
}

/// Gives an order to a conversation, as [`ask_conversation`] asks it something.
///
/// # Errors
/// The answer, if the conversation is not found or does not answer; `late` chooses the kind of the latter.
pub(super) async fn order_to<M>(
    shared: &HttpShared,
    id: &str,
    message: M,
    late: Late,
) -> Result<(OpenedConversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    order_within(HANDLER_TIMEOUT, shared, id, message, late).await
}

/// The same, with another limit of time for the answer.
///
/// # Errors
/// See [`order_to`].
pub(super) async fn order_within<M>(
    limit: Duration,
    shared: &HttpShared,
    id: &str,
    message: M,
    late: Late,
) -> Result<(OpenedConversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    let conversation = open(shared, id).await?;
    give_within(limit, conversation, shared, id, message, late).await
}

/// Gives an order to a conversation that was just opened, as [`order_to`] does: finding it again
/// takes the way to the directory's thread and back.
///
/// # Errors
/// See [`order_to`].
pub(super) async fn give<M>(
    conversation: OpenedConversation,
    shared: &HttpShared,
    id: &str,
    message: M,
    late: Late,
) -> Result<(OpenedConversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    give_within(HANDLER_TIMEOUT, conversation, shared, id, message, late).await
}

/// The same, with another limit of time for the answer.
async fn give_within<M>(
    limit: Duration,
    mut conversation: OpenedConversation,
    shared: &HttpShared,
    id: &str,
    message: M,
    late: Late,
) -> Result<(OpenedConversation, M::Result), Refusal>
where
    ConversationActor: actix::Handler<M>,
    M: actix::Message + Clone + Send + Unpin + 'static,
    M::Result: Send,
{
    let asked = conversation.actor.send(message.clone());
    let mut asked = asked.timeout(limit).await;
    if matches!(asked, Err(MailboxError::Closed)) {
        conversation = open(shared, id).await?;
        asked = conversation.actor.send(message).timeout(limit).await;
    }
    let answer = asked.map_err(|error| late.refuse(&error))?;
    Ok((conversation, answer))
}

/// Waits for an actor's answer to a question.
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
    ask_late(asked, Late::Nothing).await
}

/// Waits for an actor's answer.
///
/// # Errors
/// The answer, if the actor does not answer; `late` chooses its kind.
pub(super) async fn ask_late<A, M>(
    asked: actix::dev::Request<A, M>,
    late: Late,
) -> Result<M::Result, Refusal>
where
    A: actix::Handler<M>,
    A::Context: actix::dev::ToEnvelope<A, M>,
    M: actix::Message + Send + 'static + Unpin,
    M::Result: Send,
{
    let answer = asked.timeout(HANDLER_TIMEOUT).await;
    answer.map_err(|error| late.refuse(&error))
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

/// The answer when what was kept cannot be read.
pub(super) fn refuse_read(error: &StorageError) -> Refusal {
    let kind = match error.is_passing() {
        true => Kind::Overloaded,
        false => Kind::Unreadable,
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

#[cfg(test)]
mod tests {
    use actix::{Actor, AsyncContext as _, Context, Handler, Message, ResponseFuture};
    use actix_web::ResponseError as _;
    use serde_json::Value;

    use super::*;

    struct Slow;

    impl Actor for Slow {
        type Context = Context<Self>;
    }

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Hang;

    impl Handler<Hang> for Slow {
        type Result = ResponseFuture<()>;

        fn handle(&mut self, _: Hang, _: &mut Context<Self>) -> Self::Result {
            Box::pin(std::future::pending())
        }
    }

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Die;

    impl Handler<Die> for Slow {
        type Result = ResponseFuture<()>;

        fn handle(&mut self, _: Die, ctx: &mut Context<Self>) -> Self::Result {
            ctx.run_later(HANDLER_TIMEOUT / 2, |_, ctx| {
                actix::ActorContext::terminate(ctx);
            });
            Box::pin(std::future::pending())
        }
    }

    async fn problem(refusal: Refusal) -> (u16, Value) {
        let answer = refusal.error_response();
        let status = answer.status().as_u16();
        let body = actix_web::body::to_bytes(answer.into_body()).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Spec: [HTTP-99]
    #[actix::test]
    async fn an_order_whose_answer_is_late_is_not_called_refused() {
        tokio::time::pause();
        for (late, status, kind, part) in [
            (Late::Nothing, 503, "overloaded", "conversation"),
            (
                Late::keyed(Some("k")),
                504,
                "not-known",
                "repeat it with its key",
            ),
            (Late::keyed(None), 504, "not-known", "it has no key"),
        ] {
            let hangs = ask_late(Slow.start().send(Hang), late).await;
            let dies = ask_late(Slow.start().send(Die), late).await;
            for refused in [hangs, dies] {
                let (found, problem) = problem(refused.unwrap_err()).await;
                assert_eq!((found, &problem["status"]), (status, &status.into()));
                assert_eq!(problem["type"], format!("urn:harness:problem:{kind}"));
                let detail = problem["detail"].as_str().unwrap();
                assert!(detail.contains(part), "{detail}");
            }
        }
    }
}
