//! Reading request bodies: JSON only, bounded in size and time, each and all together.

use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage as _, HttpRequest, web};
use futures_util::StreamExt as _;
use harness_actors::within;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::names;
use super::problem::{Kind, Refusal};

/// Maximum size of a body in bytes, except on routes that take files.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of bytes that are read of a body without meaning.
const MAX_DISCARDED: usize = 64 * 1024;
/// Time limit for the arrival of a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(8);
/// Time for which the body of a refused request is held.
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

/// Reads the body of a route that needs none: nothing, an object with optional fields, or any other JSON, which is
/// ignored.
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
    let unexpected = |what: String| {
        let detail = format!("the body is not as expected: {what}");
        Kind::BadRequest.refuse(detail)
    };
    let parsed = serde_json::from_slice(bytes).map_err(|error| unexpected(error.to_string()))?;
    match names::repeated(bytes) {
        Some(name) => Err(unexpected(format!("an object has two members {name:?}"))),
        None => Ok(parsed),
    }
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

/// Limits the bytes of bodies that the service holds at once, until their requests are answered. Small bodies have a
/// separate share, so that a prompt is taken while other clients send files.
#[derive(Debug)]
pub(super) struct Bodies {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// Maximum size of a small body, in bytes.
const SMALL: usize = 256 * 1024;
/// Maximum number of bytes of all small bodies together.
const MAX_SMALL: usize = 16 * 1024 * 1024;
/// Maximum number of bytes of all other bodies together: one of the largest size, or several smaller ones. Parsing a
/// body takes up to twice as much again for a moment.
const MAX_LARGE: usize = 40 * 1024 * 1024;

impl Default for Bodies {
    fn default() -> Self {
        Self {
            small: Arc::new(Semaphore::new(MAX_SMALL)),
            large: Arc::new(Semaphore::new(MAX_LARGE)),
        }
    }
}

/// The room that one body has; free again when its request is answered.
struct BodyRoom<'b> {
    bodies: &'b Bodies,
    /// Number of bytes that it has room for.
    bytes: usize,
    held: Option<OwnedSemaphorePermit>,
}

impl BodyRoom<'_> {
    /// Makes room for a body of that many bytes.
    ///
    /// # Errors
    /// The answer, if there is none now.
    fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let (share, most) = if bytes <= SMALL {
            (&self.bodies.small, MAX_SMALL)
        } else {
            (&self.bodies.large, MAX_LARGE)
        };
        let moves = self.bytes <= SMALL && bytes > SMALL;
        let more = if moves { bytes } else { bytes - self.bytes };
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let more = Arc::clone(share)
            .try_acquire_many_owned(more)
            .map_err(|_| {
                let detail = format!(
                    "bodies of {most} bytes are held already, which is the most; try again"
                );
                Kind::Overloaded.refuse(detail).closing()
            })?;
        match &mut self.held {
            Some(held) if !moves => held.merge(more),
            held => *held = Some(more),
        }
        self.bytes = bytes;
        Ok(())
    }
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
    let unlimited = Bodies::default();
    let bodies = request.app_data::<web::Data<Bodies>>();
    let mut room = BodyRoom {
        bodies: bodies.map_or(&unlimited, |bodies| bodies),
        bytes: 0,
        held: None,
    };
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let reading = read(&mut payload, declared.unwrap_or(0), max_bytes, &mut room);
    let read = match within(BODY_TIMEOUT, reading).await {
        Some(read) => read,
        None => Err(late()),
    };
    if read.is_err() {
        hold(payload);
    } else if let Some(held) = room.held {
        request.extensions_mut().insert(held);
    }
    read
}

/// Reads a body without meaning to its end.
///
/// # Errors
/// The answer, if it is late or too large.
pub(super) async fn discard(mut payload: Payload) -> Result<(), Refusal> {
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(chunk)) = payload.next().await {
            bytes += chunk.len();
            if bytes > MAX_DISCARDED {
                let detail = "this request takes no body";
                return Err(Kind::BodyTooLarge.refuse(detail).closing());
            }
        }
        Ok(())
    };
    let discarded = within(BODY_TIMEOUT, reading).await;
    let discarded = discarded.unwrap_or_else(|| Err(late()));
    if discarded.is_err() {
        hold(payload);
    }
    discarded
}

fn late() -> Refusal {
    let detail = format!("a body must arrive within {BODY_TIMEOUT:?}");
    Kind::BodyTimeout.refuse(detail).closing()
}

/// Keeps the body of a refused request for a moment. The server reads a dropped body to its end, however long that
/// takes; a body that is still held makes it close the connection after the answer.
pub(super) fn hold(payload: impl Sized + 'static) {
    actix_web::rt::spawn(async move {
        tokio::time::sleep(HELD_AFTER_REFUSAL).await;
        drop(payload);
    });
}

async fn read(
    payload: &mut web::Payload,
    declared: usize,
    max_bytes: usize,
    room: &mut BodyRoom<'_>,
) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        let detail = format!("a body may have {max_bytes} bytes");
        Kind::BodyTooLarge.refuse(detail).closing()
    };
    if declared > max_bytes {
        return Err(too_large());
    }
    room.grow(declared)?;
    let mut bytes = Vec::with_capacity(declared);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            let detail = format!("the body could not be read: {error}");
            Kind::BadRequest.refuse(detail).closing()
        })?;
        if bytes.len() + chunk.len() > max_bytes {
            return Err(too_large());
        }
        room.grow(bytes.len() + chunk.len())?;
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

    /// Spec: [HTTP-84]
    #[test]
    fn bodies_have_room_for_so_many_bytes_and_small_ones_have_their_own() {
        let bodies = Bodies::default();
        let room = || BodyRoom {
            bodies: &bodies,
            bytes: 0,
            held: None,
        };
        let mut large = room();
        large.grow(SMALL).unwrap();
        assert_eq!(bodies.small.available_permits(), MAX_SMALL - SMALL);
        large.grow(MAX_LARGE - 1).unwrap();
        assert_eq!(bodies.small.available_permits(), MAX_SMALL);
        assert_eq!(bodies.large.available_permits(), 1);
        let mut other = room();
        other.grow(SMALL).unwrap();
        let refused = other.grow(SMALL + 1).unwrap_err().to_string();
        assert!(refused.contains("41943040 bytes are held"), "{refused}");
        large.grow(MAX_LARGE).unwrap();
        drop(large);
        other.grow(SMALL + 1).unwrap();
        other.grow(SMALL + 2).unwrap();
        drop(other);
        assert_eq!(bodies.large.available_permits(), MAX_LARGE);
        assert_eq!(bodies.small.available_permits(), MAX_SMALL);
    }
}
