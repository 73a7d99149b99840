//! `/v1/conversations`: making, listing, renaming, forking and deleting.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::ConversationId;
use harness_actors::conversation::messages::{NoteBranch, RenameConversation};
use harness_actors::directory::messages::{
    ConversationRow, CreateConversation, ForkConversation, ForkError, ListConversations,
    MadeConversation, RemoveConversation, RemoveError,
};
use harness_actors::journal::ListedJournal;
use harness_protocol::{
    ChangeConversation, ConversationPage, ConversationState, ConversationSummary, Deleted,
    ForkOrder, TokenUsage,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ask::{
    Late, Name, ask, ask_late, order_to, query, refuse_open, refuse_read, refuse_submit,
};
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::name_of;
use super::shared::HttpShared;
use super::summary::{overview, summary};
use super::{body, settings, workspace};

/// Default number of conversations on a page of the list.
const PAGE: usize = 50;
/// Maximum number of conversations on a page of the list.
const MAX_PAGE: usize = 200;
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 200;

/// The requested part of the list.
#[derive(Debug, Clone, Default, Deserialize)]
struct ListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    workspace: Option<String>,
}

/// The parts of a new conversation: [`harness_protocol::NewConversation`] before its settings are
/// looked at one by one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrder {
    title: Option<String>,
    workspace: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
}

/// Makes a conversation.
pub(super) async fn create(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let order: NewOrder = body::json_or_default(&request, payload).await?;
    settings::check_authority(&request, &order.settings, &shared.tools.get())?;
    let workspace = match order.workspace {
        None => None,
        Some(path) => Some(workspace::choose(&request, &shared, &path).await?),
    };
    let create = CreateConversation {
        id: None,
        title: order.title.as_deref().map(checked_title).transpose()?,
        settings: settings::first(order.settings, &shared.tools.get(), &shared.key_sources)?,
        workspace,
    };
    let made = ask_late(shared.directory.send(create), Late::Order).await?;
    made.map(|made| created(&shared, &made))
        .map_err(|error| refuse_open(&error, Kind::NotKept))
}

/// Lists the conversations, the last active first.
pub(super) async fn list(request: HttpRequest, shared: web::Data<HttpShared>) -> HandlerResult {
    let ListQuery {
        limit,
        cursor,
        workspace,
    } = query(&request)?;
    let limit = limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let list = ListConversations {
        after: cursor.as_deref().map(parse_cursor).transpose()?,
        limit,
        workspace: match workspace {
            None => None,
            Some(path) => Some(workspace::named(path).await?),
        },
    };
    let rows = ask(shared.directory.send(list)).await?;
    let rows = rows.map_err(|error| refuse_read(&error))?;
    let last = rows.last().filter(|_| rows.len() == limit);
    Ok(HttpResponse::Ok().json(ConversationPage {
        next: last.map(|row| cursor_of(&row.listed)),
        conversations: rows
            .into_iter()
            .map(|row| listed_summary(&shared, row))
            .collect(),
    }))
}

/// Gives a conversation another title.
pub(super) async fn change(it: Received) -> HandlerResult {
    let order: ChangeConversation = body::json(&it.request, it.payload).await?;
    let rename = RenameConversation {
        title: checked_title(&order.title)?,
        by: name_of(order.by),
    };
    let (conversation, renamed) = order_to(&it.shared, &it.id, rename, Late::Order).await?;
    renamed.map_err(|error| refuse_submit(&error))?;
    let overview = overview(&conversation).await?;
    Ok(HttpResponse::Ok().json(summary(
        &it.shared,
        &conversation.journal.header(),
        &overview,
    )))
}

/// Moves a conversation to the trash.
pub(super) async fn delete(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let id = ConversationId::new(&id);
    let remove = shared.directory.send(RemoveConversation { id });
    match ask_late(remove, Late::Order).await? {
        Ok(trash) => Ok(HttpResponse::Ok().json(Deleted { trash })),
        Err(error @ RemoveError::Busy) => Err(Kind::Busy.refuse(error.to_string())),
        Err(RemoveError::Open(error)) => Err(refuse_open(&error, Kind::NotKept)),
    }
}

/// Makes a conversation that begins like another.
pub(super) async fn fork(it: Received) -> HandlerResult {
    let Received {
        request,
        payload,
        id,
        shared,
    } = it;
    let order: ForkOrder = body::json_or_default(&request, payload).await?;
    let fork = ForkConversation {
        id: ConversationId::new(&id),
        seq: order.seq,
        title: order.title.as_deref().map(checked_title).transpose()?,
    };
    match ask_late(shared.directory.send(fork), Late::Order).await? {
        Ok(made) => {
            if let (Some(by), Some(from)) = (name_of(order.by), &made.header.forked_from) {
                let branch = NoteBranch {
                    conversation: made.header.conversation.to_string(),
                    behind: from.seq,
                    by: Some(by),
                };
                // The fork exists: a missing note in its origin is no reason to refuse it.
                if let Err(error) = note_branch(&shared, &id, branch).await {
                    log::warn!("a branch of {id} is not told: {error}");
                }
            }
            Ok(created(&shared, &made))
        }
        Err(error @ ForkError::NoSuchRecord { .. }) => {
            Err(Kind::BadRequest.refuse(error.to_string()))
        }
        Err(ForkError::Open(error)) => Err(refuse_open(&error, Kind::NotKept)),
    }
}

async fn note_branch(shared: &HttpShared, id: &str, branch: NoteBranch) -> Result<(), Refusal> {
    let (_, noted) = order_to(shared, id, branch, Late::Order).await?;
    noted.map_err(|error| refuse_submit(&error))
}

fn created(
    shared: &HttpShared,
    MadeConversation { header, overview }: &MadeConversation,
) -> HttpResponse {
    let location = format!("/v1/conversations/{}", header.conversation);
    HttpResponse::Created()
        .insert_header(("location", location))
        .json(summary(shared, header, overview))
}

fn listed_summary(shared: &HttpShared, row: ConversationRow) -> ConversationSummary {
    let ConversationRow { listed, found } = row;
    match found {
        Ok((header, overview)) => summary(shared, &header, &overview),
        Err(error) => ConversationSummary {
            id: listed.id,
            title: None,
            workspace: None,
            state: ConversationState::Unreadable,
            run_id: None,
            prompts: 0,
            turns: 0,
            records: 0,
            usage: TokenUsage::default(),
            created_at: 0,
            active_at: listed.changed_at / 1_000_000_000,
            jobs: 0,
            error: Some(error),
            failure: None,
        },
    }
}

fn cursor_of(listed: &ListedJournal) -> String {
    format!("{}-{}", listed.changed_at, listed.id)
}

fn parse_cursor(cursor: &str) -> Result<ListedJournal, Refusal> {
    let parts = cursor.split_once('-');
    let listed = parts.and_then(|(changed_at, id)| {
        Some(ListedJournal {
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
