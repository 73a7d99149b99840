//! One attempt at a call: send the request, read the stream, assemble the reply.

use std::cell::RefCell;
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use awc::ClientResponse;
use awc::body::SizedStream;
use awc::error::{ConnectError, PayloadError, SendRequestError};
use awc::http::StatusCode;
use awc::http::header::{self, HeaderMap};
use bytes::Bytes;
use futures_util::stream::LocalBoxStream;
use futures_util::{Stream, StreamExt as _, stream};
use harness_protocol::DeltaKind;
use serde_json::Value;
use sse_core::MessageEvent;

use super::assemble::{Assembler, Step};
use super::client::ApiClient;
use super::connector::no_connection;
use super::error::quote;
use super::retry::{self, Advice, Hints};
use super::sse::SseLines;
use super::{MAX_REQUEST_BYTES, ModelError, Transport, TransportRequest};
use crate::clock::Clock;
use crate::limit::within;
use crate::reply::{Block, Object, ReplyEnd};
use crate::secret::Redaction;

/// How much of an error's body is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// How long reading an error's body may take.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the rest of a finished answer may take to arrive.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What is said where there was a connection, for which the HTTP client has no words.
const CLOSED: &str = "the server closed the connection before it answered";

/// Why an attempt gave no reply.
#[derive(Debug)]
pub(super) struct AttemptError {
    pub(super) error: ModelError,
    pub(super) advice: Advice,
    /// Whether the stream had begun.
    pub(super) in_stream: bool,
    /// Whether there was a connection to the API.
    pub(super) reached: bool,
}

impl AttemptError {
    pub(super) fn before_stream(error: ModelError) -> Self {
        Self {
            advice: retry::advice_for(&error),
            error,
            in_stream: false,
            reached: true,
        }
    }

    /// The request was not sent, or not answered.
    fn unsent(error: &SendRequestError, client: &ApiClient) -> Self {
        Self {
            reached: is_closed(error) || !matches!(error, SendRequestError::Connect(_)),
            ..Self::before_stream(unsent(error, client))
        }
    }

    fn in_stream(error: ModelError) -> Self {
        Self {
            advice: retry::advice_for(&error),
            error,
            in_stream: true,
            reached: true,
        }
    }
}

/// What an attempt brings while it goes on.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// A piece of an open block, as in [`Step::Delta`].
    Delta {
        index: u64,
        kind: DeltaKind,
        offset: u64,
        text: String,
    },
    /// A finished block, with its place in the reply.
    Block(u64, Block),
}

/// The assembler of the attempt that is under way, where a cancel can look at it.
pub(super) type SharedAssembler = Rc<RefCell<Assembler>>;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) model: Arc<str>,
    /// In pieces that are sent one after the other.
    pub(super) body: Vec<Bytes>,
}

/// Makes one attempt. What it brings goes to `emit` as it comes.
pub(super) async fn attempt(
    client: &ApiClient,
    clock: Clock,
    Prepared { model, body }: Prepared,
    assembler: &SharedAssembler,
    emit: impl FnMut(Piece),
) -> Result<ReplyEnd, AttemptError> {
    assembler.replace(Assembler::default());
    let size: usize = body.iter().map(Bytes::len).sum();
    if size > MAX_REQUEST_BYTES {
        return Err(AttemptError::before_stream(ModelError::TooLarge {
            bytes: size,
            limit: MAX_REQUEST_BYTES,
        }));
    }
    let answer = if let Some(transport) = client.transport() {
        let request = TransportRequest {
            model,
            credential: client.credential(),
            body: body.concat().into(),
        };
        send_through(transport, request, client.settings().head_timeout).await?
    } else {
        send(client, clock, size, body).await?
    };

    read_reply(answer, client.settings().idle_timeout, assembler, emit)
        .await
        .map_err(AttemptError::in_stream)
}

/// The bytes of a reply as they come.
type Answer = LocalBoxStream<'static, Result<Bytes, ModelError>>;

/// Sends a request over HTTP.
async fn send(
    client: &ApiClient,
    clock: Clock,
    size: usize,
    body: Vec<Bytes>,
) -> Result<Answer, AttemptError> {
    let pieces = stream::iter(body.into_iter().map(Ok::<_, io::Error>));
    let sent = client
        .post("/v1/messages")
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::ACCEPT, "text/event-stream"))
        .send_body(SizedStream::new(size as u64, pieces));
    let limit = client.settings().head_timeout;
    let head = within(limit, sent)
        .await
        .ok_or_else(|| AttemptError::before_stream(ModelError::NoAnswer { limit }))?
        .map_err(|error| AttemptError::unsent(&error, client))?;
    let answer = expect_stream(head, clock, client.redaction()).await?;
    Ok(answer
        .map(|chunk| chunk.map_err(|error| broken(&error)))
        .boxed_local())
}

/// Sends a request in another way.
async fn send_through(
    transport: &dyn Transport,
    request: TransportRequest,
    limit: Duration,
) -> Result<Answer, AttemptError> {
    match within(limit, transport.send(request)).await {
        Some(Ok(answer)) => Ok(answer.boxed_local()),
        Some(Err(error)) => Err(AttemptError::before_stream(error)),
        None => Err(AttemptError::before_stream(ModelError::NoAnswer { limit })),
    }
}

/// What a break inside an answer is called.
fn broken(error: &PayloadError) -> ModelError {
    let reason = if let PayloadError::Incomplete(Some(cause)) = error {
        cause.to_string()
    } else {
        error.to_string()
    };
    ModelError::Connection { reason }
}

/// Reads the stream of a reply to its end, as long as it does not fall silent.
async fn read_reply(
    mut answer: impl Stream<Item = Result<Bytes, ModelError>> + Unpin + 'static,
    idle_timeout: Duration,
    assembler: &SharedAssembler,
    mut emit: impl FnMut(Piece),
) -> Result<ReplyEnd, ModelError> {
    let mut lines = SseLines::default();
    let broken = loop {
        let mut chunk = match within(idle_timeout, answer.next()).await {
            Some(Some(Ok(chunk))) => chunk,
            Some(Some(Err(error))) => break error,
            Some(None) => break ModelError::Truncated,
            None => {
                let limit = idle_timeout;
                break ModelError::Stalled { limit };
            }
        };
        while let Some(event) = lines.next(&mut chunk)? {
            if let Some(end) = take(&event, assembler, &mut emit)? {
                drain(answer);
                return Ok(end);
            }
        }
    };
    // The data of the last event may stand there without its blank line.
    let last = lines.unfinished().filter(is_message_stop);
    let end = last.map(|event| take(&event, assembler, &mut emit));
    end.transpose()?.flatten().ok_or(broken)
}

/// Takes one event of the stream; the reply's end if it is that.
fn take(
    event: &MessageEvent,
    assembler: &SharedAssembler,
    emit: &mut impl FnMut(Piece),
) -> Result<Option<ReplyEnd>, ModelError> {
    let step = assembler.borrow_mut().take(&event.event, &event.data)?;
    Ok(match step {
        Step::Nothing => None,
        Step::Delta {
            index,
            kind,
            offset,
            text,
        } => {
            emit(Piece::Delta {
                index,
                kind,
                offset,
                text,
            });
            None
        }
        Step::Block(index, block) => {
            emit(Piece::Block(index, block));
            None
        }
        Step::Finished(blocks, end) => {
            for (index, block) in blocks {
                emit(Piece::Block(index, block));
            }
            Some(end)
        }
    })
}

fn is_message_stop(event: &MessageEvent) -> bool {
    serde_json::from_str::<Object>(&event.data)
        .is_ok_and(|event| event.get("type").and_then(Value::as_str) == Some("message_stop"))
}

/// Reads what is left of a finished answer, so that the server need not see its client leave.
fn drain(mut answer: impl Stream<Item = Result<Bytes, ModelError>> + Unpin + 'static) {
    actix::spawn(async move {
        let rest = async { while let Some(Ok(_)) = answer.next().await {} };
        if within(DRAIN_TIMEOUT, rest).await.is_none() {
            log::debug!("an answer went on after its end; its connection is closed");
        }
    });
}

/// Passes an answer that is an event stream, and turns any other into its error.
async fn expect_stream<S>(
    mut answer: ClientResponse<S>,
    clock: Clock,
    redaction: &Redaction,
) -> Result<ClientResponse<S>, AttemptError>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin + 'static,
{
    let status = answer.status();
    if status.is_redirection() {
        return Err(AttemptError::before_stream(ModelError::Redirected {
            status: status.as_u16(),
            location: quote(
                text(answer.headers(), "location")
                    .unwrap_or("nowhere")
                    .as_bytes(),
                redaction,
            ),
        }));
    }
    if !status.is_success() {
        let body = match encoding(answer.headers()) {
            Some(encoding) => format!("(a body encoded as {encoding})").into_bytes(),
            None => start_of_body(&mut answer).await,
        };
        return Err(error_answer(
            status,
            answer.headers(),
            &body,
            clock,
            redaction,
        ));
    }
    let content_type = text(answer.headers(), "content-type");
    let refused = match (content_type, encoding(answer.headers())) {
        (_, Some(encoding)) => Some(format!("content encoded as {encoding}")),
        // Servers that leave the type out are given the benefit of the doubt.
        (None, None) => None,
        (Some(content_type), None) => {
            let essence = content_type.split(';').next().unwrap_or_default().trim();
            (!essence.eq_ignore_ascii_case("text/event-stream")).then(|| content_type.to_owned())
        }
    };
    match refused {
        Some(content) => Err(AttemptError::before_stream(ModelError::NotAStream {
            content: quote(content.as_bytes(), redaction),
        })),
        None => Ok(answer),
    }
}

/// The first bytes of an error's body, as far as they came in time.
async fn start_of_body(
    body: &mut (impl Stream<Item = Result<Bytes, PayloadError>> + Unpin),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < MAX_ERROR_BYTES
            && let Some(Ok(chunk)) = body.next().await
        {
            bytes.extend_from_slice(&chunk);
        }
    };
    if within(ERROR_TIMEOUT, read).await.is_none() {
        log::debug!("the body of an error did not end in time");
    }
    bytes.truncate(MAX_ERROR_BYTES);
    bytes
}

fn error_answer(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    clock: Clock,
    redaction: &Redaction,
) -> AttemptError {
    let hints = Hints {
        should_retry: text(headers, "x-should-retry"),
        retry_after_ms: text(headers, "retry-after-ms"),
        retry_after: text(headers, "retry-after"),
    };
    let advice = retry::advice(
        status.as_u16(),
        &String::from_utf8_lossy(body),
        hints,
        clock.now(),
    );
    let request_id = text(headers, "request-id").map(ToOwned::to_owned);
    AttemptError {
        error: ModelError::of_answer_without(status.as_u16(), body, request_id, redaction),
        advice,
        in_stream: false,
        reached: true,
    }
}

/// How the body is encoded, if it is: no encoding was asked for, and none is undone.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    text(headers, "content-encoding").filter(|name| !name.eq_ignore_ascii_case("identity"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether there was a connection, which the server closed.
fn is_closed(error: &SendRequestError) -> bool {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "it is awc's, and grows: other errors are of other kinds"
    )]
    let broken = match error {
        SendRequestError::Connect(ConnectError::Disconnected) => return true,
        SendRequestError::Send(error) => Some(error),
        SendRequestError::Response(error) => error.source().and_then(|cause| cause.downcast_ref()),
        _ => None,
    };
    broken.map(io::Error::kind).is_some_and(|kind| {
        matches!(
            kind,
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                // TLS without its end.
                | ErrorKind::UnexpectedEof
                // The decoder's word for half a head.
                | ErrorKind::Other
        )
    })
}

/// Whether the error is this program's own words and not the system's.
fn is_own(error: &io::Error) -> bool {
    error.kind() == ErrorKind::TimedOut && error.get_ref().is_some()
}

/// Why a request was not answered.
pub(super) fn unsent(error: &SendRequestError, client: &ApiClient) -> ModelError {
    let limit = client.settings().connect_timeout;
    let reason = if matches!(error, SendRequestError::Connect(ConnectError::Timeout)) {
        no_connection(limit)
    } else if let SendRequestError::Connect(ConnectError::Io(own)) = error
        && is_own(own)
    {
        // Of the connector itself; awc's words around it would say it twice.
        own.to_string()
    } else if is_closed(error) {
        CLOSED.to_owned()
    } else {
        error.to_string()
    };
    ModelError::Connection { reason }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
