//! `GET /events`: the conversation's events as they happen.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::http::{Version, header};
use actix_web::{HttpRequest, HttpResponse, web};
use actix_web_lab::header::{CacheControl, CacheDirective};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use harness_actors::broadcast::Subscription;
use harness_actors::messages::{Subscribe, SubscribeError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::problem::Kind;
use super::server::{HANDLER_TIMEOUT, Shared};

/// Sent at once, so that a client knows that it is attached, with how long it should wait before
/// it attaches again. It is one block that begins as a comment, for clients that know no `retry`.
const OPENING: &[u8] = b": connected\nretry: 1000\n\n";
const HEARTBEAT: &[u8] = b": heartbeat\n\n";
const LAGGED: &[u8] = b": too much waited for this client, attach again\nretry: 1000\n\n";
const STOPPED: &[u8] = b": the service is stopping\nretry: 1000\n\n";

/// How much of an event is handed to the server at once, in bytes. It copies what it is handed
/// into the buffer of the connection, so this bounds what a client that does not read costs.
const SLICE: usize = 16 * 1024;

/// Attaches a client.
pub(super) async fn events(request: HttpRequest, shared: web::Data<Shared>) -> HttpResponse {
    if request.version() < Version::HTTP_11 {
        return Kind::BadRequest.answer("an event stream needs HTTP/1.1");
    }
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
    let stream = EventStream::new(subscription, shared.heartbeat);
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
    /// What is left of the frame that is being sent.
    rest: Bytes,
    ended: bool,
}

impl EventStream {
    fn new(subscription: Subscription, period: Duration) -> Self {
        let mut heartbeat = interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            subscription,
            heartbeat,
            rest: Bytes::from_static(OPENING),
            ended: false,
        }
    }

    /// The next whole frame; the last one says why the stream ends.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match self.subscription.poll_next_unpin(cx) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(event)),
            Poll::Ready(None) => {
                self.ended = true;
                let last = if self.subscription.has_lagged() {
                    LAGGED
                } else {
                    STOPPED
                };
                return Poll::Ready(Some(Bytes::from_static(last)));
            }
            Poll::Pending => {}
        }
        let beat = |_| Some(Bytes::from_static(HEARTBEAT));
        self.heartbeat.poll_tick(cx).map(beat)
    }
}

impl Stream for EventStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.rest.is_empty() {
            match ready!(self.poll_frame(cx)) {
                Some(frame) => self.rest = frame,
                None => return Poll::Ready(None),
            }
        }
        let size = self.rest.len().min(SLICE);
        Poll::Ready(Some(Ok(self.rest.split_to(size))))
    }
}

#[cfg(test)]
mod tests {
    use actix::Actor as _;
    use harness_actors::broadcast::{BOUND, BroadcastActor};
    use harness_actors::messages::{CloseSubscribers, Publish, publish};

    use super::*;

    async fn stream() -> (EventStream, actix::Addr<BroadcastActor>) {
        let broadcast = BroadcastActor::new(1).start();
        let subscription = broadcast.send(Subscribe).await.unwrap().unwrap();
        let stream = EventStream::new(subscription, Duration::from_secs(30));
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

    /// Spec: [HTTP-15]
    #[actix::test]
    async fn a_large_event_is_handed_out_in_slices() {
        let (mut stream, broadcast) = stream().await;
        let content = "x".repeat(10 * SLICE);
        let event = harness_protocol::Event::User {
            content,
            timestamp: 0,
        };
        publish(&broadcast.clone().recipient(), Publish(event));
        broadcast.send(CloseSubscribers).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), OPENING);
        let slices: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert!(slices.iter().all(|slice| slice.len() <= SLICE));
        let whole = slices.concat();
        assert!(whole.starts_with(b"data: {") && whole.ends_with(STOPPED));
        assert_eq!(
            whole.iter().filter(|byte| **byte == b'x').count(),
            10 * SLICE
        );
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
        let event = harness_protocol::Event::User {
            content: "x".repeat(BOUND.bytes / 8),
            timestamp: 0,
        };
        for _ in 0..12 {
            publish(&to, Publish(event.clone()));
        }
        broadcast.send(CloseSubscribers).await.unwrap();
        let last = stream
            .map(Result::unwrap)
            .fold(Bytes::new(), |_, frame| async { frame });
        assert_eq!(last.await, LAGGED);
    }
}
