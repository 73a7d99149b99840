//! `/v1/conversations`: making, listing, renaming, forking and deleting.

use actix::MailboxError;
use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::ConversationId;
use harness_actors::conversation::ConversationActor;
use harness_actors::directory::Conversation;
use harness_actors::journal::{Listed, OpenError};
use harness_actors::messages::{
    CreateConversation, ForkConversation, ForkError, ListConversations, Made, OpenConversation,
    RemoveConversation, RemoveError, RenameConversation, Row,
};
use harness_protocol::{
    ChangeConversation, ConversationPage, ConversationState, Deleted, ForkOrder, Summary, Usage,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::body;
use super::problem::{Answer, Kind, Refusal};
use super::said::{name_of, refuse_submit};
use super::server::{HANDLER_TIMEOUT, Shared};
use super::settings;
use super::snapshot::{overview, summary, summary_of};

/// The id of a conversation in the path.
pub(super) type Name = web::Path<String>;

/// How many conversations a page of the list holds unless it is asked for another number.
const PAGE: usize = 50;
/// How many it holds at most.
const MAX_PAGE: usize = 200;
/// How long a title may be, in characters.
const MAX_TITLE: usize = 200;

/// Which part of the list is wanted.
#[derive(Debug, Clone, Default, Deserialize)]
struct ListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// What a new conversation is to have: [`harness_protocol::NewConversation`] before its settings
/// are looked at one by one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrder {
    title: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
}

/// Makes a conversation.
pub(super) async fn create(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> Answer {
    let order: NewOrder = body::json_or_default(&request, payload).await?;
    let create = CreateConversation {
        title: order.title.as_deref().map(checked_title).transpose()?,
        settings: settings::first(order.settings, &shared.tools, &shared.key_sources)?,
    };
    let made = ask(shared.directory.send(create)).await?;
    made.map(created)
        .map_err(|error| refuse_open(&error, Kind::NotKept))
}

/// Lists the conversations, the last active first.
pub(super) async fn list(request: HttpRequest, shared: web::Data<Shared>) -> Answer {
    let ListQuery { limit, cursor } = query(&request)?;
    let limit = limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let list = ListConversations {
        after: cursor.as_deref().map(parse_cursor).transpose()?,
        limit,
    };
    let rows = ask(shared.directory.send(list)).await?;
    let rows = rows.map_err(|error| Kind::Unreadable.refuse(error.to_string()))?;
    let last = rows.last().filter(|_| rows.len() == limit);
    Ok(HttpResponse::Ok().json(ConversationPage {
        next: last.map(|row| cursor_of(&row.listed)),
        conversations: rows.into_iter().map(listed_summary).collect(),
    }))
}

/// Gives a conversation another title.
pub(super) async fn change(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    let order: ChangeConversation = body::json(&request, payload).await?;
    let rename = RenameConversation {
        title: checked_title(&order.title)?,
        by: name_of(order.by),
    };
    let (conversation, renamed) = ask_conversation(&shared, &id, rename).await?;
    renamed.map_err(|error| refuse_submit(&error))?;
    let overview = overview(&conversation).await?;
    Ok(HttpResponse::Ok().json(summary(conversation.journal.header(), &overview)))
}

/// Moves a conversation to the trash.
pub(super) async fn delete(id: Name, shared: web::Data<Shared>) -> Answer {
    let id = ConversationId::new(&id);
    match ask(shared.directory.send(RemoveConversation { id })).await? {
        Ok(trash) => Ok(HttpResponse::Ok().json(Deleted { trash })),
        Err(error @ RemoveError::Busy) => Err(Kind::Busy.refuse(error.to_string())),
        Err(RemoveError::Open(error)) => Err(refuse_open(&error, Kind::NotKept)),
    }
}

/// Makes a conversation that begins like another.
pub(super) async fn fork(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    let order: ForkOrder = body::json_or_default(&request, payload).await?;
    let fork = ForkConversation {
        id: ConversationId::new(&id),
        seq: order.seq,
        title: order.title.as_deref().map(checked_title).transpose()?,
    };
    match ask(shared.directory.send(fork)).await? {
        Ok(made) => Ok(created(made)),
        Err(error @ ForkError::NoSuchRecord { .. }) => {
            Err(Kind::BadRequest.refuse(error.to_string()))
        }
        Err(ForkError::Open(error)) => Err(refuse_open(&error, Kind::NotKept)),
    }
}

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
    let conversation = open(shared, id).await?;
    let asked = conversation.actor.send(message.clone());
    match asked.timeout(HANDLER_TIMEOUT).await {
        Ok(answer) => Ok((conversation, answer)),
        Err(MailboxError::Closed) => {
            let conversation = open(shared, id).await?;
            let answer = ask(conversation.actor.send(message)).await?;
            Ok((conversation, answer))
        }
        Err(MailboxError::Timeout) => Err(unanswered(&MailboxError::Timeout)),
    }
}

/// The answer when a conversation does not give one.
pub(super) fn unanswered(error: &MailboxError) -> Refusal {
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

/// `storage` is what a failure of the storage means: whether it could not be read or written.
fn refuse_open(error: &OpenError, storage: Kind) -> Refusal {
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

fn created(Made { header, overview }: Made) -> HttpResponse {
    let location = format!("/v1/conversations/{}", header.conversation);
    HttpResponse::Created()
        .insert_header(("location", location))
        .json(summary(header, &overview))
}

fn listed_summary(row: Row) -> Summary {
    let Row { listed, found } = row;
    match found {
        Ok((title, created_at, overview)) => summary_of(listed.id, title, created_at, &overview),
        Err(error) => Summary {
            id: listed.id,
            title: None,
            state: ConversationState::Unreadable,
            run_id: None,
            prompts: 0,
            turns: 0,
            records: 0,
            usage: Usage::default(),
            created_at: 0,
            active_at: listed.changed_at / 1_000_000_000,
            error: Some(error),
        },
    }
}

fn cursor_of(listed: &Listed) -> String {
    format!("{}-{}", listed.changed_at, listed.id)
}

fn parse_cursor(cursor: &str) -> Result<Listed, Refusal> {
    let parts = cursor.split_once('-');
    let listed = parts.and_then(|(changed_at, id)| {
        Some(Listed {
            changed_at: changed_at.parse().ok()?,
            id: id.to_owned(),
        })
    });
    listed.ok_or_else(|| {
        Kind::BadRequest.refuse("the cursor is none that a list gave; begin without one")
    })
}

fn checked_title(title: &str) -> Result<String, Refusal> {
    let title = title.trim().to_owned();
    let length = title.chars().count();
    if length == 0 || length > MAX_TITLE || title.chars().any(char::is_control) {
        let detail =
            format!("a title has 1 to {MAX_TITLE} characters on one line; this one has {length}");
        return Err(Kind::BadRequest.refuse(detail));
    }
    Ok(title)
}
