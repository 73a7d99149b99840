//! A received request about one conversation.

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use futures_util::future::LocalBoxFuture;
use harness_actors::directory::DEFAULT_CONVERSATION;
use serde::Deserialize;

use super::shared::HttpShared;

/// The arguments of a handler that changes a conversation.
pub(super) struct Received {
    pub(super) request: HttpRequest,
    /// The unread body.
    pub(super) payload: web::Payload,
    /// The conversation that the path names, or the default one.
    pub(super) id: String,
    pub(super) shared: web::Data<HttpShared>,
}

#[derive(Deserialize)]
struct NamedPath {
    id: Option<String>,
}

impl FromRequest for Received {
    type Error = actix_web::Error;
    type Future = LocalBoxFuture<'static, Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        type Parts = (
            HttpRequest,
            web::Payload,
            web::Path<NamedPath>,
            web::Data<HttpShared>,
        );
        let parts = Parts::from_request(request, payload);
        Box::pin(async move {
            let (request, payload, path, shared) = parts.await?;
            let named = path.into_inner().id;
            Ok(Self {
                request,
                payload,
                id: named.unwrap_or_else(|| DEFAULT_CONVERSATION.to_owned()),
                shared,
            })
        })
    }
}
