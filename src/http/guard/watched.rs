//! The bodies of a request and of its answer, which notify their connection when they end.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;

use super::super::connection::ConnectionWatch;

/// A body that notifies its connection when it is complete.
pub(super) fn watched(payload: Payload, watch: Option<Rc<ConnectionWatch>>) -> Payload {
    match (payload, watch) {
        (payload @ Payload::None, _) | (payload, None) => payload,
        (payload, Some(watch)) => Payload::Stream {
            payload: Box::pin(WatchedPayload { payload, watch }),
        },
    }
}

struct WatchedPayload {
    payload: Payload,
    watch: Rc<ConnectionWatch>,
}

impl Stream for WatchedPayload {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.payload).poll_next(cx);
        if matches!(next, Poll::Ready(None)) {
            self.watch.body_ended();
        }
        next
    }
}

/// Notes the end of an answer when it is dropped.
pub(super) struct AnswerEnd(pub(super) Option<Rc<ConnectionWatch>>);

impl AnswerEnd {
    pub(super) fn is_of_stranger(&self) -> bool {
        self.0.as_ref().is_some_and(|watch| !watch.is_known())
    }
}

impl Drop for AnswerEnd {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            watch.answered();
        }
    }
}

/// The body of an answer, dropped by the server when it was handed over.
pub(super) struct Answering {
    pub(super) body: BoxBody,
    pub(super) _end: AnswerEnd,
}

impl MessageBody for Answering {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
