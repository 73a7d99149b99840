//! Reading request bodies: JSON only, bounded in size and time.

use std::time::Duration;

use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, web};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::problem::{Kind, Refusal};

/// How large a body may be, in bytes, unless its route takes files.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(8);
/// How long the body of a refused request is held.
const HELD_AFTER_REFUSAL: Duration = Duration::from_secs(2);

/// Reads a JSON object.
pub(super) async fn json<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<T, Refusal> {
    let (order, _) = json_within(request, payload, MAX_BODY_BYTES).await?;
    Ok(order)
}

/// Reads a JSON object of at most so many bytes; tells how many it had.
pub(super) async fn json_within<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: web::Payload,
    max_bytes: usize,
) -> Result<(T, usize), Refusal> {
    if let Some(refusal) = wrong_type(request.headers()) {
        hold(payload);
        return Err(refusal);
    }
    let bytes = bytes(request, payload, max_bytes).await?;
    // A list would be taken for the object's fields in their order.
    if !is_object(&bytes) {
        return Err(Kind::BadRequest.refuse("the body is not a JSON object"));
    }
    Ok((parse(&bytes)?, bytes.len()))
}

/// Reads a JSON object that may be left out.
pub(super) async fn json_or_default<T: DeserializeOwned + Default>(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<T, Refusal> {
    match optional(request, payload).await? {
        Some(bytes) if is_object(&bytes) => parse(&bytes),
        Some(_) => Err(Kind::BadRequest.refuse("the body is not a JSON object")),
        None => Ok(T::default()),
    }
}

/// Reads the body of a route that needs none: nothing, an object whose fields may say more, or any
/// other JSON, which says nothing.
pub(super) async fn lenient<T: DeserializeOwned + Default>(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<T, Refusal> {
    match optional(request, payload).await? {
        Some(bytes) if is_object(&bytes) => parse(&bytes),
        Some(bytes) => parse::<serde::de::IgnoredAny>(&bytes).map(|_| T::default()),
        None => Ok(T::default()),
    }
}

async fn optional(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<Option<Vec<u8>>, Refusal> {
    let bytes = bytes(request, payload, MAX_BODY_BYTES).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    match wrong_type(request.headers()) {
        Some(refusal) => Err(refusal),
        None => Ok(Some(bytes)),
    }
}

fn is_object(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{')
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Kind::BadRequest.refuse(format!("the body is not as expected: {error}")))
}

/// A web page can send other content types to any site without being asked; JSON it cannot.
fn wrong_type(headers: &HeaderMap) -> Option<Refusal> {
    let mut types = headers.get_all(header::CONTENT_TYPE);
    let value = types.next().and_then(|value| value.to_str().ok());
    if value.is_some_and(is_json) && types.next().is_none() {
        return None;
    }
    let detail = "send the header `Content-Type: application/json`";
    Some(Kind::UnsupportedMediaType.refuse(detail).closing())
}

fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    is_json
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
                value.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            Some(_) | None => true,
        })
}

async fn bytes(
    request: &HttpRequest,
    mut payload: web::Payload,
    max_bytes: usize,
) -> Result<Vec<u8>, Refusal> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        hold(payload);
        let detail = "send the body without a content encoding";
        return Err(Kind::UnsupportedMediaType.refuse(detail).closing());
    }
    let read = match tokio::time::timeout(BODY_TIMEOUT, read(&mut payload, max_bytes)).await {
        Ok(read) => read,
        Err(_) => {
            let detail = format!("a body must arrive within {BODY_TIMEOUT:?}");
            Err(Kind::BodyTimeout.refuse(detail).closing())
        }
    };
    if read.is_err() {
        hold(payload);
    }
    read
}

/// Keeps the body of a refused request for a moment. The server reads a body that nobody holds to
/// its end, however long that takes; one that is held makes it close the connection after the
/// answer.
pub(super) fn hold(payload: impl Sized + 'static) {
    actix_web::rt::spawn(async move {
        tokio::time::sleep(HELD_AFTER_REFUSAL).await;
        drop(payload);
    });
}

async fn read(payload: &mut web::Payload, max_bytes: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            let detail = format!("the body could not be read: {error}");
            Kind::BadRequest.refuse(detail).closing()
        })?;
        if bytes.len() + chunk.len() > max_bytes {
            let detail = format!("a body may have {max_bytes} bytes");
            return Err(Kind::BodyTooLarge.refuse(detail).closing());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [HTTP-07]
    #[test]
    fn only_json_in_utf_8_is_json() {
        for (content_type, taken) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; x=y", true),
            ("application/json;charset=utf-16", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=json", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            assert_eq!(is_json(content_type), taken, "{content_type}");
        }
    }
}
