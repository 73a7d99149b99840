//! Shows the files that went with prompts.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_web_lab::header::{CacheControl, CacheDirective};
use harness_actors::attachment::{MediaType, is_missing, is_sha256};

use super::ask::refuse_read;
use super::lent;
use super::problem::{HandlerResult, Kind};
use super::shared::HttpShared;

/// A year in seconds: for ever, as caches count.
const YEAR_S: u32 = 31_536_000;

/// Shows a content again, in a way that no browser runs it.
pub(super) async fn read(
    request: HttpRequest,
    sha256: web::Path<String>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let none = || Kind::NoAttachment.refuse("an attachment is named by the SHA-256 in its prompt");
    if !is_sha256(&sha256) {
        return Err(none());
    }
    let turn = lent::turn(&shared).await?;
    let content = shared.attachments.get(&sha256).await.map_err(|error| {
        if is_missing(&error) {
            none()
        } else {
            refuse_read(&error)
        }
    })?;
    let tag = format!("\"{sha256}\"");
    let known = request.headers().get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut answer = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    // A content never changes, so a client that has it need not ask again.
    answer
        .insert_header((header::ETAG, tag))
        .insert_header(CacheControl(vec![
            CacheDirective::Private,
            CacheDirective::MaxAge(YEAR_S),
            CacheDirective::Immutable,
        ]));
    if is_known {
        return Ok(answer.finish());
    }
    let (content_type, disposition) = shown_as(MediaType::detect(&content));
    answer
        .content_type(content_type)
        .insert_header((
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ))
        .insert_header((header::CONTENT_DISPOSITION, disposition));
    Ok(lent::finish(answer, &shared.answers, turn, content).await)
}

/// The type of an answer, and whether a browser may show it by itself.
fn shown_as(kind: Option<MediaType>) -> (String, &'static str) {
    match kind {
        Some(MediaType::Text) => ("text/plain; charset=utf-8".to_owned(), "inline"),
        Some(kind) if kind.is_image() => (kind.to_string(), "inline"),
        Some(kind) => (kind.to_string(), "attachment"),
        None => ("application/octet-stream".to_owned(), "attachment"),
    }
}
