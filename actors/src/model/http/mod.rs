//! The way to the Messages API over HTTP.

mod connector;

use std::error::Error as _;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::time::Duration;

use awc::body::SizedStream;
use awc::error::{ConnectError, PayloadError, SendRequestError};
use awc::http::header::{self, HeaderMap};
use awc::http::{StatusCode, Version};
use awc::{Client, ClientRequest, ClientResponse, Connector};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};

use self::connector::{ApiConnector, no_connection};
use super::answer::{AttemptError, ReplyBytes};
use super::error::quote;
use super::extras::{self, ExtraSet};
use super::retry::{self, Hints};
use super::settings::ApiAccess;
use super::version::ApiVersion;
use super::{Credential, ModelError, ModelSettings};
use crate::clock::Clock;
use crate::limit::within;
use crate::secret::Redaction;

/// The header that names the version of the API.
const VERSION: &str = "anthropic-version";
/// The header that names the betas of a request.
const BETAS: &str = "anthropic-beta";
/// Maximum number of calls at the same time.
const MAX_CONNECTIONS: usize = 4096;
/// Maximum size of a JSON document that is read as a whole, in bytes.
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum size of an error's body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Time limit for reading an error's body.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);
/// The message for a broken connection, for which the HTTP client has no words.
const CLOSED: &str = "the server closed the connection before it answered";

/// The connections of one arbiter.
#[derive(Clone)]
pub(super) struct Http(Client);

impl Http {
    /// Makes it.
    pub(super) fn new(settings: &ModelSettings) -> Self {
        // HTTP/1.1 only: a call then owns its connection, and dropping the call closes it.
        let connector = Connector::new()
            .connector(ApiConnector::new(settings.connect_timeout))
            // The connector has its limit itself.
            .timeout(Duration::MAX)
            .handshake_timeout(settings.connect_timeout)
            .limit(MAX_CONNECTIONS)
            .max_http_version(Version::HTTP_11);
        // Redirects off: awc would send the key on to another host.
        let client = Client::builder()
            .connector(connector)
            // A limit of awc looks at its clock before it looks at the socket.
            .disable_timeout()
            .disable_redirects()
            .add_default_header((
                header::USER_AGENT,
                concat!("harness/", env!("CARGO_PKG_VERSION")),
            ))
            .finish();
        Self(client)
    }

    /// Sends a request for a reply.
    pub(super) async fn send(
        &self,
        access: &ApiAccess<'_>,
        clock: Clock,
        (version, extras): (ApiVersion, &ExtraSet),
        size: usize,
        body: Vec<Bytes>,
    ) -> Result<ReplyBytes, AttemptError> {
        let pieces = stream::iter(body.into_iter().map(Ok::<_, io::Error>));
        let request = self
            .0
            .post(format!("{}/v1/messages", access.settings.base_url));
        let mut request = authorized(request, &access.credential);
        if let Some(names) = extras::header(extras) {
            request = request.insert_header((BETAS, names));
        }
        let sent = request
            .insert_header((VERSION, version.date()))
            .insert_header((header::CONTENT_TYPE, "application/json"))
            .insert_header((header::ACCEPT, "text/event-stream"))
            .send_body(SizedStream::new(size as u64, pieces));
        let limit = access.settings.head_timeout;
        let head = within(limit, sent)
            .await
            .ok_or_else(|| AttemptError::before_stream(ModelError::NoAnswer { limit }))?
            .map_err(|error| AttemptError::unsent(&error, access.settings))?;
        let answer = expect_stream(head, clock, access.redaction).await?;
        let server = server(&access.settings.base_url);
        Ok(answer
            .map(move |chunk| chunk.map_err(|error| broken(&error, &server)))
            .boxed_local())
    }

    /// Reads a document about models.
    pub(super) async fn document(
        &self,
        access: &ApiAccess<'_>,
        path: &str,
    ) -> Result<Vec<u8>, ModelError> {
        let request = self.0.get(format!("{}{path}", access.settings.base_url));
        let sent = authorized(request, &access.credential)
            .insert_header((VERSION, access.settings.first_version().date()))
            .send()
            .await;
        let mut answer = sent.map_err(|error| unsent(&error, access.settings))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(ModelError::Api {
                status: status.as_u16(),
                kind: status.canonical_reason().unwrap_or("error").to_owned(),
                message: "the models cannot be listed".to_owned(),
                request_id: None,
            });
        }
        let body = answer.body().limit(MAX_DOCUMENT_BYTES).await;
        let body = body.map_err(|error| no_way(&error, &server(&access.settings.base_url)))?;
        Ok(body.to_vec())
    }
}

/// Each request has its own connection: no connection is left open after a cancel, and none that
/// the server closed in the meantime is used again, which awc does not notice in time.
fn authorized(request: ClientRequest, credential: &Credential) -> ClientRequest {
    let request = request.force_close();
    match credential {
        credential if credential.is_none() => request,
        Credential::ApiKey(key) => request.insert_header(("x-api-key", key.expose())),
        Credential::Bearer(token) => request.bearer_auth(token.expose()),
    }
}

impl AttemptError {
    /// The request was not sent, or not answered.
    fn unsent(error: &SendRequestError, settings: &ModelSettings) -> Self {
        Self {
            reached: is_closed(error) || !matches!(error, SendRequestError::Connect(_)),
            ..Self::before_stream(unsent(error, settings))
        }
    }
}

/// The error for a break inside an answer.
pub(super) fn broken(error: &PayloadError, server: &str) -> ModelError {
    if let PayloadError::Incomplete(Some(cause)) = error {
        no_way(cause, server)
    } else {
        no_way(error, server)
    }
}

/// The error for a connection to a server that failed.
fn no_way(reason: &impl Display, server: &str) -> ModelError {
    ModelError::Connection {
        reason: format!("{reason} ({server})"),
    }
}

/// The URL of the API without the parts of it that often are secrets: its user, its query and its fragment.
fn server(base_url: &str) -> String {
    let end = base_url.find(['?', '#']).unwrap_or(base_url.len());
    let url = &base_url[..end];
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (None, Some((_, host))) => format!("…@{host}"),
        (_, None) => url.to_owned(),
    }
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

/// The first bytes of an error's body that came in time.
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

/// The encoding of the body, if it has one: the request asks for none, and this client decodes none.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    text(headers, "content-encoding").filter(|name| !name.eq_ignore_ascii_case("identity"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// True if the server closed a connection that was open.
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

/// True if the error has the words of this program, not of the system.
fn is_own(error: &io::Error) -> bool {
    error.kind() == ErrorKind::TimedOut && error.get_ref().is_some()
}

/// The reason why a request was not answered.
fn unsent(error: &SendRequestError, settings: &ModelSettings) -> ModelError {
    let limit = settings.connect_timeout;
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
    no_way(&reason, &server(&settings.base_url))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-635]
    #[test]
    fn a_server_is_named_without_what_may_be_secret_in_its_url() {
        for (url, named) in [
            ("https://api.anthropic.com", "https://api.anthropic.com"),
            ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
            ("https://me:pa/ss@host/a", "https://…@host/a"),
            ("https://host/a?key=secret", "https://host/a"),
            ("https://me:x@host#secret", "https://…@host"),
            ("me:x@host", "…@host"),
        ] {
            assert_eq!(server(url), named);
            let error = no_way(&"refused", &server(url));
            let told = format!("connection failed: refused ({named})");
            assert_eq!(error.to_string(), told);
        }
    }
}
