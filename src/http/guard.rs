//! Stands before every route: whom a request is meant for, where it comes from, and who sent it.

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, web};

use super::access::Access;
use super::body;
use super::connection::Connection;
use super::problem::{Kind, Refusal};

/// The one route that needs no token; what it reveals to a stranger is that something answers, and
/// to a nonce the proof that it is the service.
pub(super) const OPEN_ROUTE: &str = "/healthz";

/// Who sent a request. Stands among the extensions of each one that comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// One of those who may use the service.
    Known,
    /// Anybody; only [`OPEN_ROUTE`] is answered.
    Stranger,
}

/// Lets a request through to its route, or answers it.
pub(super) async fn guard(
    access: web::Data<Access>,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut response = match judge(&access, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.call(request).await?
        }
        Err(refusal) => {
            body::hold(request.take_payload());
            request.error_response(refusal)
        }
    };
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    Ok(response)
}

fn judge(access: &Access, request: &ServiceRequest) -> Result<Caller, Refusal> {
    let connection = request.conn_data::<Connection>();
    let headers = request.headers();
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
    let is_owner = || connection.is_some_and(|peer| peer.is_local_process_of(access.owner));
    let shows_token = || {
        let mut shown = headers.get_all(header::AUTHORIZATION);
        let first = shown.next();
        first.is_some_and(|value| access.is_shown_by(value.as_bytes())) && shown.next().is_none()
    };
    if shows_token() || (!access.require_token && is_owner()) {
        return Ok(Caller::Known);
    }
    if request.path() == OPEN_ROUTE {
        return Ok(Caller::Stranger);
    }
    let detail = "send the header `Authorization: Bearer TOKEN`; \
                  the token stands in the file `token` in the service's state folder";
    Err(Kind::Unauthorized.refuse(detail))
}

/// Checks the host of the header and, if the request names one, of its target.
fn is_meant_for_us(
    access: &Access,
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
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    headers.contains_key(header::ORIGIN) || !matches!(site, None | Some(b"none" | b"same-origin"))
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError as _;
    use actix_web::http::StatusCode;
    use actix_web::test::TestRequest;
    use harness_actors::Secret;

    use super::super::access::AllowedHosts;
    use super::*;

    /// Spec: [SEC-05] [SEC-06]
    #[test]
    fn a_client_whose_user_cannot_be_told_needs_the_token() {
        let access = Access {
            hosts: AllowedHosts::new(8421, vec![]),
            token: Secret::from("0123456789abcdef"),
            require_token: false,
            owner: 0,
        };
        let status = |headers: &[(&'static str, &'static str)]| {
            let request = TestRequest::post().insert_header(("host", "localhost:8421"));
            let request = headers
                .iter()
                .fold(request, |request, header| request.append_header(*header));
            judge(&access, &request.to_srv_request())
                .err()
                .map(|refusal| refusal.status_code())
        };
        assert_eq!(status(&[]), Some(StatusCode::UNAUTHORIZED));
        let token = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(status(&[token]), None);
        assert_eq!(status(&[token, token]), Some(StatusCode::UNAUTHORIZED));
    }
}
