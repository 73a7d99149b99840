//! Finds files of a conversation's folder by what is known of their names.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;

use super::ask::{Name, open, query};
use super::problem::{HandlerResult, Kind};
use super::shared::HttpShared;
use super::workspace;

/// Default number of files in an answer.
const LIMIT: usize = 20;
/// Maximum number of files in an answer.
const MAX_LIMIT: usize = 100;
/// Maximum length of the searched text, in bytes: the length of a path.
const MAX_QUERY: usize = 4096;

/// A question for files.
#[derive(Debug, Deserialize)]
struct FilesQuery {
    /// Letters of the path, in their order.
    #[serde(default)]
    q: String,
    /// Maximum number of files.
    limit: Option<usize>,
}

/// The files that fit best.
pub(super) async fn find(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let FilesQuery { q, limit } = query(&request)?;
    if q.len() > MAX_QUERY {
        let detail = format!("what is looked for has at most {MAX_QUERY} bytes");
        return Err(Kind::BadRequest.refuse(detail));
    }
    let conversation = open(&shared, &id).await?;
    let folder = workspace::working_folder(&shared, &conversation.journal.header()).to_owned();
    let limit = limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
    let found = shared.files.find(folder, q, limit).await;
    let found = found.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    Ok(HttpResponse::Ok().json(found))
}
