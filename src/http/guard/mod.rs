//! Checks before every route: the host that a request is meant for, its origin, and its sender.

use std::rc::Rc;

use actix_web::body::BoxBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{ConnectionType, Method};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest, web};

use self::watched::{AnswerEnd, Answering, watched};
use super::body;
use super::connection::Connection;
use super::problem::{Kind, Refusal};

mod access;
mod token;
mod watched;

pub(crate) use self::access::{AccessRules, AllowedHosts};
pub(crate) use self::token::ServiceToken;
pub(super) use self::token::TokenLease;

/// The one route that needs no token; what it reveals to a stranger is that something answers, and
/// to a nonce the proof that it is the service.
pub(super) const OPEN_ROUTE: &str = "/healthz";

/// The sender of a request. Stored in the extensions of each request that is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// A client that has shown the token.
    TokenHolder,
    /// A process of the owner, which needs no token for most things.
    Known,
    /// A process of the owner that has not shown the token, although the service requires it of every client; only
    /// [`OPEN_ROUTE`] is answered.
    Owner,
    /// Any other client; only [`OPEN_ROUTE`] is answered.
    Stranger,
}

/// Lets only clients through that have shown the token: a command of the model is a process of the owner too.
///
/// # Errors
/// The answer to all others; `doing` begins it.
pub(super) fn require_token(request: &HttpRequest, doing: &str) -> Result<(), Refusal> {
    if request.extensions().get::<Caller>() == Some(&Caller::TokenHolder) {
        return Ok(());
    }
    let detail = format!(
        "{doing} needs the token, also from this machine: what the model runs must not decide for you; \
         send the header `Authorization: Bearer TOKEN`"
    );
    Err(Kind::Unauthorized.refuse(detail))
}

/// Lets a request through to its route, or answers it.
pub(super) async fn guard(
    access: web::Data<AccessRules>,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let watch = request
        .conn_data::<Connection>()
        .map(|connection| Rc::clone(connection.watch()));
    let payload = request.take_payload();
    let has_body = !matches!(payload, Payload::None);
    if let Some(watch) = &watch {
        watch.begun(has_body);
        if watch.is_overused() {
            // The socket ends the connection, and this with it; until then nothing more is answered.
            return std::future::pending().await;
        }
    }
    let connection = request.conn_data::<Connection>();
    let judged = judge(&access, &request, connection).await;
    let payload = watched(payload, watch.clone());
    let answered = match admit(judged, payload, &request).await {
        Ok((caller, payload)) => {
            request.extensions_mut().insert(caller);
            request.set_payload(payload);
            next.call(request).await
        }
        Err(refusal) => Ok(request.error_response(refusal)),
    };
    let end = AnswerEnd(watch);
    let mut response = answered?;
    if end.is_of_stranger() && response.request().path() != OPEN_ROUTE {
        let head = response.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    Ok(response.map_body(|_, body| BoxBody::new(Answering { body, _end: end })))
}

async fn judge(
    access: &AccessRules,
    request: &ServiceRequest,
    connection: Option<&Connection>,
) -> Result<Caller, Refusal> {
    let headers = request.headers();
    if connection.is_some_and(Connection::is_descendant) {
        log::warn!(
            "a process that a tool started was refused {} {}",
            request.method(),
            request.path()
        );
        let detail =
            "what a tool starts may not use the service: it would decide for the operators";
        return Err(Kind::FromTool.refuse(detail));
    }
    if !is_meant_for_us(access, request, connection) {
        let detail = "use the address that the service printed when it started, \
                      or name this host in the setting allowed_hosts";
        return Err(Kind::ForeignHost.refuse(detail));
    }
    if comes_from_a_page(headers) {
        let detail = "requests with an Origin, or from another site, are refused: \
                      no web page may use the service";
        return Err(Kind::ForeignOrigin.refuse(detail));
    }
    let goes_by_user = !is_forwarded(headers);
    let is_owner = goes_by_user
        && connection.is_some_and(|connection| connection.is_local_process_of(access.owner));
    let known = match lease_by(access, headers).await? {
        Some(lease) => {
            request.extensions_mut().insert(lease);
            Some(Caller::TokenHolder)
        }
        None => (is_owner && !access.require_token).then_some(Caller::Known),
    };
    if let Some(known) = known {
        return match connection.is_none_or(|connection| connection.watch().recognize()) {
            true => Ok(known),
            false => Err(Kind::Overloaded.refuse("too many connections are open; close some")),
        };
    }
    if request.path() == OPEN_ROUTE {
        return Ok(if is_owner {
            Caller::Owner
        } else {
            Caller::Stranger
        });
    }
    if goes_by_user
        && !access.require_token
        && connection.is_some_and(Connection::may_be_told_later)
    {
        let detail = "the system does not say now whose connection this is; try again";
        return Err(Kind::Overloaded.refuse(detail));
    }
    if goes_by_user && !access.require_token && connection.is_some_and(Connection::may_descend) {
        log::warn!(
            "a process that a command may have started was refused {} {}",
            request.method(),
            request.path()
        );
        let detail = "what a tool starts may not use the service: it would decide for the operators; \
                      a command runs that can reach the service, and the system does not show that \
                      another process is this client: send the header `Authorization: Bearer TOKEN`; \
                      the token is in the file `token` in the service's state folder";
        return Err(Kind::FromTool.refuse(detail));
    }
    let detail = "send the header `Authorization: Bearer TOKEN`; \
                  the token stands in the file `token` in the service's state folder";
    Err(Kind::Unauthorized.refuse(detail))
}

/// The right of a client by the token. `None` if it does not show it.
async fn lease_by(
    access: &AccessRules,
    headers: &HeaderMap,
) -> Result<Option<TokenLease>, Refusal> {
    let mut shown = headers.get_all(header::AUTHORIZATION);
    match (shown.next(), shown.next()) {
        (Some(only), None) => {
            let lease = access.lease_by(only.as_bytes()).await;
            lease.map_err(|error| Kind::Overloaded.refuse(error.to_string()))
        }
        (None | Some(_), _) => Ok(None),
    }
}

/// Reads the body of a request that has no use for one, which no route would read to its end.
///
/// # Errors
/// The answer, if the request is refused, or if its body cannot be.
async fn admit(
    judged: Result<Caller, Refusal>,
    payload: Payload,
    request: &ServiceRequest,
) -> Result<(Caller, Payload), Refusal> {
    match judged {
        Ok(caller) if matches!(*request.method(), Method::GET | Method::HEAD) => {
            body::discard(payload).await?;
            Ok((caller, Payload::None))
        }
        Ok(caller) => Ok((caller, payload)),
        Err(refusal) => {
            body::hold(payload);
            Err(refusal)
        }
    }
}

/// The headers of a program that forwards the request of another client.
const FORWARDING: [&str; 24] = [
    "forwarded",
    "forwarded-for",
    "via",
    "client-ip",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "x-remote-ip",
    "x-remote-addr",
    "x-original-host",
    "x-original-url",
    "x-original-forwarded-for",
    "x-rewrite-url",
    "x-envoy-external-address",
    "x-azure-clientip",
    "x-vercel-forwarded-for",
    "true-client-ip",
    "fly-client-ip",
    "fastly-client-ip",
    "wl-proxy-client-ip",
    "cdn-loop",
    "cf-connecting-ip",
    "cf-ray",
];

/// True if another program forwards the request: the user of that program does not identify the sender.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        // Some programs write underscores.
        let name = name.replace('_', "-");
        FORWARDING.contains(&&*name) || name.starts_with("x-forwarded")
    })
}

/// Checks the host of the header and, if the request names one, of its target.
fn is_meant_for_us(
    access: &AccessRules,
    request: &ServiceRequest,
    connection: Option<&Connection>,
) -> bool {
    let local = connection.map(Connection::local);
    let mut hosts = request.headers().get_all(header::HOST);
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let header_is_ours = host.is_some_and(|host| access.hosts.take(host, local));
    let target = request.uri().authority();
    let target_is_ours = target.is_none_or(|target| access.hosts.take(target.as_str(), local));
    header_is_ours && hosts.next().is_none() && target_is_ours
}

/// Browsers send `Origin` with what scripts and forms do, and `Sec-Fetch-Site` with everything.
fn comes_from_a_page(headers: &HeaderMap) -> bool {
    let is_ours = |site: &HeaderValue| matches!(site.as_bytes(), b"none" | b"same-origin");
    headers.contains_key(header::ORIGIN) || !headers.get_all("sec-fetch-site").all(is_ours)
}

#[cfg(test)]
mod tests;
