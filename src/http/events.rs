//! `GET /events`: the conversation's events as they happen.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_web_lab::header::{CacheControl, CacheDirective};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use harness_actors::broadcast::Subscription;
use harness_actors::messages::{Subscribe, SubscribeError};
use tokio::time::{Instant, Interval, interval_at};

use super::problem::Kind;
use super::server::{HANDLER_TIMEOUT, Shared};

/// Sent at once, so that a client knows that it is attached, with how long it should wait before
/// it attaches again. It is one block that begins as a comment, for clients that know no `retry`.
const OPENING: &[u8] = b": connected\nretry: 1000\n\n";
const HEARTBEAT: &[u8] = b": heartbeat\n\n";
const LAGGED: &[u8] = b": too much waited for this client, attach again\nretry: 1000\n\n";
const STOPPED: &[u8] = b": the service is stopping\nretry: 1000\n\n";

/// Attaches a client.
pub(super) async fn events(request: HttpRequest, shared: web::Data<Shared>) -> HttpResponse {
    if !accepts_event_stream(&request) {
        let detail = "the route answers with text/event-stream; accept that";
        return Kind::NotAcceptable.answer(detail);
    }
    let subscribing = shared.broadcast.send(Subscribe).timeout(HANDLER_TIMEOUT);
    let subscription = match subscribing.await {
        Ok(Ok(subscription)) => subscription,
        Ok(Err(error @ SubscribeError::Full { .. })) => {
            return Kind::Overloaded.answer(error.to_string());
        }
        Ok(Err(error @ SubscribeError::Closed)) => return Kind::Stopping.answer(error.to_string()),
        Err(error) => return Kind::Overloaded.answer(format!("the broadcaster: {error}")),
    };
    let period = shared.heartbeat;
    let stream = EventStream {
        subscription,
        heartbeat: interval_at(Instant::now() + period, period),
        opened: false,
        ended: false,
    };
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header(CacheControl(vec![
            CacheDirective::NoStore,
            CacheDirective::Extension("no-transform".to_owned(), None),
        ]))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream)
}

fn accepts_event_stream(request: &HttpRequest) -> bool {
    let Some(accept) = request.headers().get(header::ACCEPT) else {
        return true;
    };
    let accept = accept.to_str().unwrap_or_default().to_ascii_lowercase();
    accept.split(',').any(|range| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        matches!(essence, "text/event-stream" | "text/*" | "*/*")
    })
}

/// The body of one client's answer.
struct EventStream {
    subscription: Subscription,
    heartbeat: Interval,
    opened: bool,
    ended: bool,
}

impl Stream for EventStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let frame = |bytes| Poll::Ready(Some(Ok(Bytes::from_static(bytes))));
        if !std::mem::replace(&mut self.opened, true) {
            return frame(OPENING);
        }
        if self.ended {
            return Poll::Ready(None);
        }
        match self.subscription.poll_next_unpin(cx) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(Ok(event))),
            Poll::Ready(None) => {
                self.ended = true;
                return frame(if self.subscription.has_lagged() {
                    LAGGED
                } else {
                    STOPPED
                });
            }
            Poll::Pending => {}
        }
        match self.heartbeat.poll_tick(cx) {
            Poll::Ready(_) => frame(HEARTBEAT),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix::Actor as _;
    use harness_actors::broadcast::BroadcastActor;
    use harness_actors::messages::{CloseSubscribers, publish};

    use super::*;

    async fn stream() -> (EventStream, actix::Addr<BroadcastActor>) {
        let broadcast = BroadcastActor::new(1).start();
        let subscription = broadcast.send(Subscribe).await.unwrap().unwrap();
        let period = Duration::from_secs(30);
        let stream = EventStream {
            subscription,
            heartbeat: interval_at(Instant::now() + period, period),
            opened: false,
            ended: false,
        };
        (stream, broadcast)
    }

    /// Spec: [HTTP-10]
    #[actix::test]
    async fn a_comment_comes_at_once_and_a_heartbeat_every_thirty_seconds() {
        tokio::time::pause();
        let (mut stream, _broadcast) = stream().await;
        let began = Instant::now();
        assert_eq!(stream.next().await.unwrap().unwrap(), OPENING);
        assert_eq!(began.elapsed(), Duration::ZERO);
        for beat in 1..=3 {
            assert_eq!(stream.next().await.unwrap().unwrap(), ": heartbeat\n\n");
            assert_eq!(began.elapsed().as_secs(), 30 * beat);
        }
    }

    /// Spec: [HTTP-14]
    #[actix::test]
    async fn a_stream_that_the_service_ends_tells_when_to_come_back() {
        let (stream, broadcast) = stream().await;
        broadcast.send(CloseSubscribers).await.unwrap();
        let frames: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(frames, [OPENING, STOPPED]);
    }

    /// Spec: [HTTP-12]
    #[actix::test]
    async fn a_stream_that_lagged_says_so_at_its_end() {
        let (stream, broadcast) = stream().await;
        let to = broadcast.clone().recipient();
        for _ in 0..2000 {
            let event = harness_protocol::Event::User {
                content: String::new(),
                timestamp: 0,
            };
            publish(&to, harness_actors::messages::Publish(event));
        }
        let frames: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert!(frames.len() < 2000);
        assert_eq!(frames.last().unwrap(), LAGGED);
    }
}
