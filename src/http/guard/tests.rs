//! Clients are let in by the token, the user and the headers of a request.

use actix_web::ResponseError as _;
use actix_web::http::StatusCode;
use actix_web::test::TestRequest;
use harness_actors::Secret;

use super::super::connection::Peer;
use super::*;

const TOKEN: (&str, &str) = ("authorization", "Bearer 0123456789abcdef");
const OWNER: u32 = 1000;

/// The judgement of a request of a process of that user with these headers.
async fn judged(
    require_token: bool,
    peer: Option<Peer>,
    path: &str,
    headers: &[(&'static str, &'static str)],
) -> Result<Caller, StatusCode> {
    let access = AccessRules {
        hosts: AllowedHosts::new(8421, vec![]),
        token: ServiceToken::fixed(Secret::from("0123456789abcdef")),
        require_token,
        owner: OWNER,
    };
    let request = TestRequest::post()
        .uri(path)
        .insert_header(("host", "localhost:8421"));
    let request = headers
        .iter()
        .fold(request, |request, header| request.append_header(*header));
    let request = request.to_srv_request();
    let connection = peer.map(|peer| Connection::from(peer, "127.0.0.1:8421".parse().unwrap()));
    let judged = judge(&access, &request, connection.as_ref()).await;
    judged.map_err(|refusal| refusal.status_code())
}

const NOT_LET_IN: Result<Caller, StatusCode> = Err(StatusCode::UNAUTHORIZED);
const NOT_NOW: Result<Caller, StatusCode> = Err(StatusCode::SERVICE_UNAVAILABLE);

/// Spec: [SEC-05] [SEC-06] [SEC-51]
#[actix_web::test]
async fn who_may_use_the_service() {
    let owner = Some(Peer::Uid(OWNER));
    for (require_token, peer, headers, expected) in [
        (false, owner, &[][..], Ok(Caller::Known)),
        (true, owner, &[], NOT_LET_IN),
        (true, owner, &[TOKEN], Ok(Caller::TokenHolder)),
        (false, Some(Peer::Uid(OWNER + 1)), &[], NOT_LET_IN),
        (false, Some(Peer::Unknown), &[], NOT_LET_IN),
        (false, None, &[], NOT_LET_IN),
        (false, None, &[TOKEN], Ok(Caller::TokenHolder)),
        (false, None, &[TOKEN, TOKEN], NOT_LET_IN),
        (
            false,
            Some(Peer::Unknown),
            &[TOKEN],
            Ok(Caller::TokenHolder),
        ),
        (false, Some(Peer::NotNow), &[], NOT_NOW),
        (false, Some(Peer::NotNow), &[TOKEN], Ok(Caller::TokenHolder)),
        (true, Some(Peer::NotNow), &[], NOT_LET_IN),
    ] {
        let judged = judged(require_token, peer, "/prompt", headers).await;
        assert_eq!(judged, expected, "{require_token} {peer:?} {headers:?}");
    }
    let health = judged(true, Some(Peer::Unknown), OPEN_ROUTE, &[]).await;
    assert_eq!(health, Ok(Caller::Stranger));
    for (require_token, headers, caller) in [
        (false, &[][..], Caller::Known),
        (true, &[], Caller::Owner),
        (true, &[TOKEN], Caller::TokenHolder),
        (false, &[("via", "x")], Caller::Stranger),
    ] {
        let health = judged(require_token, owner, OPEN_ROUTE, headers).await;
        assert_eq!(health, Ok(caller));
    }
}

/// Spec: [SEC-57]
#[actix_web::test]
async fn what_the_service_started_is_refused_on_every_route() {
    let tool = Some(Peer::Descendant);
    for path in [
        "/prompt",
        "/v1/conversations/default/approvals/1",
        OPEN_ROUTE,
    ] {
        for headers in [&[][..], &[TOKEN]] {
            let refused = judged(false, tool, path, headers).await;
            assert_eq!(refused, Err(StatusCode::FORBIDDEN), "{path} {headers:?}");
        }
    }
}

/// Spec: [SEC-510]
#[actix_web::test]
async fn what_a_tool_may_have_started_needs_the_token() {
    let unproven = Some(Peer::Unproven);
    for path in ["/prompt", "/v1/conversations"] {
        let refused = judged(false, unproven, path, &[]).await;
        assert_eq!(refused, Err(StatusCode::FORBIDDEN), "{path}");
        let shown = judged(false, unproven, path, &[TOKEN]).await;
        assert_eq!(shown, Ok(Caller::TokenHolder), "{path}");
        assert_eq!(judged(true, unproven, path, &[]).await, NOT_LET_IN);
    }
    // A client of ours sends the token to a service that has proved itself there.
    let health = judged(false, unproven, OPEN_ROUTE, &[]).await;
    assert_eq!(health, Ok(Caller::Stranger));
}

/// Spec: [SEC-52]
#[actix_web::test]
async fn a_request_that_somebody_hands_on_needs_the_token() {
    let owner = Some(Peer::Uid(OWNER));
    for name in [
        "x-forwarded-for",
        "X-Forwarded-Host",
        "x-forwarded",
        "forwarded",
        "via",
        "x-real-ip",
        "cf-connecting-ip",
    ] {
        let header = (name, "127.0.0.1");
        assert_eq!(judged(false, owner, "/prompt", &[header]).await, NOT_LET_IN);
        let shown = judged(false, owner, "/prompt", &[header, TOKEN]).await;
        assert_eq!(shown, Ok(Caller::TokenHolder), "{name}");
    }
}

/// Spec: [SEC-03]
#[actix_web::test]
async fn each_word_on_the_site_counts() {
    let owner = Some(Peer::Uid(OWNER));
    let site = |value| ("sec-fetch-site", value);
    for (headers, is_taken) in [
        (&[site("none")][..], true),
        (&[site("none"), site("same-origin")], true),
        (&[site("none"), site("cross-site")], false),
        (&[site("cross-site"), site("none")], false),
        (&[site("none, cross-site")], false),
    ] {
        let judged = judged(false, owner, "/prompt", headers).await;
        let expected = if is_taken {
            Ok(Caller::Known)
        } else {
            Err(StatusCode::FORBIDDEN)
        };
        assert_eq!(judged, expected, "{headers:?}");
    }
}
