//! `GET /healthz` and `GET /v1/service`: that a service answers, which one it is, and what it is.

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
use harness_actors::directory::messages::CountRuns;
use harness_protocol::{Health, ServiceInfo};
use serde::Deserialize;

use super::ask::{ask, query};
use super::guard::Caller;
use super::problem::{HandlerResult, Kind};
use super::shared::{HttpShared, ServiceAbout};
use crate::proof::is_nonce;

#[derive(Debug, Default, Deserialize)]
struct HealthQuery {
    nonce: Option<String>,
}

/// Reports that the service answers. With a nonce, any client gets the proof that this is the service of its
/// `service.json`. The epoch is reported only to the owner and to clients that may use the service; clients older than
/// 0.2 rely on it.
pub(super) async fn healthz(request: HttpRequest, shared: web::Data<HttpShared>) -> HandlerResult {
    let asked: HealthQuery = query(&request)?;
    let ServiceAbout { info, proof } = &*shared.about;
    if asked.nonce.as_deref().is_some_and(|nonce| !is_nonce(nonce)) {
        let detail = "a nonce has 32 to 128 hexadecimal digits";
        return Err(Kind::BadRequest.refuse(detail));
    }
    let caller = request.extensions().get().copied();
    let is_known = matches!(
        caller,
        Some(Caller::TokenHolder | Caller::Known | Caller::Owner)
    );
    Ok(HttpResponse::Ok().json(Health {
        status: "ok".to_owned(),
        epoch: is_known.then(|| info.epoch.clone()),
        proof: asked.nonce.map(|nonce| proof.prove(&nonce, &info.address)),
    }))
}

/// Describes the service and its load.
pub(super) async fn service(shared: web::Data<HttpShared>) -> HandlerResult {
    let runs = ask(shared.directory.send(CountRuns)).await?;
    let free = shared.subscribers.available_permits();
    Ok(HttpResponse::Ok().json(ServiceInfo {
        clients: shared.max_subscribers.saturating_sub(free),
        runs,
        jobs: shared.jobs.count(),
        sandbox: (shared.contained_by)()
            .unwrap_or("not known yet")
            .to_owned(),
        ..shared.about.info.clone()
    }))
}
