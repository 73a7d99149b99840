//! The event streams: `GET /events` and `GET /v1/conversations/{id}/events`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::http::{Version, header};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
use actix_web_lab::header::{CacheControl, CacheDirective};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt as _, Stream};
use harness_actors::broadcast::messages::Closing;
use harness_actors::broadcast::{
    EventView, Followed, Follower, FollowerSource, FollowerStart, Frame, Lent, Loan, PIECE,
    StreamEndReason,
};
use harness_actors::directory::{DEFAULT_CONVERSATION, OpenedConversation};
use harness_actors::journal::Position;
use harness_protocol::Event;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::ask::{Name, open, query};
use super::guard::TokenLease;
use super::history::TAIL;
use super::lent;
use super::problem::{HandlerResult, Kind, Refusal};
use super::said::name_of;
use super::shared::HttpShared;
use super::snapshot::snapshot;
use super::start::{EventsQuery, start};
use super::summary::overview;

const HEARTBEAT: &[u8] = b": heartbeat\n\n";
const STOPPED: &str = ": the service is stopping\nretry: 1000\n\n";
const DELETED: &str = ": the conversation was deleted\n\n";
const REVOKED: &str = ": the token was replaced, attach again with the new one\nretry: 1000\n\n";
const GONE: &str = ": the conversation was closed, attach again\nretry: 1000\n\n";

/// Attaches a client to the default conversation.
pub(super) async fn events(request: HttpRequest, shared: web::Data<HttpShared>) -> HandlerResult {
    attach(&request, DEFAULT_CONVERSATION, EventView::Plain, &shared).await
}

/// Attaches a client to a conversation.
pub(super) async fn conversation_events(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    attach(&request, &id, EventView::Full, &shared).await
}

/// The right of a client to one event stream.
pub(super) struct StreamPlace {
    permit: OwnedSemaphorePermit,
    /// `None` if the client needs no token.
    lease: Option<TokenLease>,
}

/// Gives a client the parts that it needs to follow events, and the place where it wants to begin.
///
/// # Errors
/// The answer, if it cannot follow them, or there is no place for it.
pub(super) fn admit(
    request: &HttpRequest,
    shared: &HttpShared,
) -> Result<(EventsQuery, StreamPlace), Refusal> {
    if request.version() < Version::HTTP_11 {
        return Err(Kind::BadRequest.refuse("an event stream needs HTTP/1.1"));
    }
    if !accepts_event_stream(request) {
        let detail = "the route answers with text/event-stream; accept that";
        return Err(Kind::NotAcceptable.refuse(detail));
    }
    let query: EventsQuery = query(request)?;
    let limit = shared.max_subscribers;
    let subscribers = std::sync::Arc::clone(&shared.subscribers);
    let permit = subscribers.try_acquire_owned().map_err(|_| {
        let detail = format!("{limit} clients are attached, and the service takes no more");
        Kind::Overloaded.refuse(detail)
    })?;
    let lease = request.extensions().get::<TokenLease>().cloned();
    Ok((query, StreamPlace { permit, lease }))
}

async fn attach(
    request: &HttpRequest,
    id: &str,
    view: EventView,
    shared: &HttpShared,
) -> HandlerResult {
    let (query, place) = admit(request, shared)?;
    let conversation = open(shared, id).await?;
    let resumed = request.headers().get("last-event-id");
    let begun = start(&*conversation.journal, resumed, &query).await?;
    let mut opening = String::new();
    let mut snapshot = None;
    let from = match begun {
        Ok((FollowerStart::Live, _)) => FollowerStart::Live,
        Ok((from, position)) => {
            opening = open_at(&position.to_string());
            from
        }
        Err(reason) => {
            let (reset, end) = reset(shared, &conversation, view, reason).await?;
            snapshot = Some(reset);
            FollowerStart::Behind(end)
        }
    };
    let name = name_of(query.name);
    let broadcast = conversation.broadcast.clone().recipient();
    let source = FollowerSource {
        journal: conversation.journal,
        broadcast,
        attendance: conversation.attendance,
        budget: shared.streams.clone(),
    };
    let follower = Follower::new(source, view, name, from);
    let opening = StreamOpening {
        words: opening,
        snapshot,
    };
    Ok(stream(follower, opening, shared, place))
}

/// The answer that ends with the right to it, and never by itself.
pub(super) fn stream(
    follower: Follower,
    opening: StreamOpening,
    shared: &HttpShared,
    place: StreamPlace,
) -> HttpResponse {
    let stream = EventStreamBody::new(follower, shared.heartbeat, opening, Some(place));
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header(CacheControl(vec![
            CacheDirective::NoStore,
            CacheDirective::NoTransform,
        ]))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream)
}

/// Sent at once, so that a client knows that it is attached and where, with how long it should
/// wait before it attaches again. It is one block that begins as a comment, for clients that know
/// neither `retry` nor `id`.
pub(super) fn open_at(position: &str) -> String {
    format!(": connected\nretry: 1000\nid: {position}\n\n")
}

/// The first event for a client whose position cannot be served, and the position after which the stream continues.
async fn reset(
    shared: &HttpShared,
    conversation: &OpenedConversation,
    view: EventView,
    reason: String,
) -> Result<(Loan, Position), Refusal> {
    let overview = overview(conversation).await?;
    let (turn, snapshot) = snapshot(shared, conversation, &overview, TAIL).await?;
    let opening = open_at(&snapshot.position);
    let event = match view {
        EventView::Full => Event::Reset {
            reason,
            snapshot: Box::new(snapshot),
        },
        EventView::Plain => Event::Status {
            state: snapshot.state,
            message: format!("reset: {reason}; what came before is not repeated"),
            timestamp: snapshot.summary.active_at,
        },
    };
    let frame = Frame::passing(&event);
    let mut bytes = opening.into_bytes();
    bytes.extend_from_slice(frame.bytes(view).map_or(&[], |event| event));
    let reset = lent::lend(&shared.answers, turn, bytes.into()).await;
    Ok((reset, overview.position))
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

/// The beginning of a stream.
pub(super) struct StreamOpening {
    /// The frame that tells the client its position.
    pub(super) words: String,
    /// The snapshot that is sent instead, if the client's position cannot be served.
    pub(super) snapshot: Option<Loan>,
}

/// The body of one client's answer.
struct EventStreamBody {
    follower: Follower,
    /// The rest of the snapshot that the stream begins with.
    snapshot: Option<Loan>,
    heartbeat: Interval,
    /// The rest of the frame that is being sent.
    rest: Bytes,
    /// Is ready when the token that the client showed counts no longer.
    revoked: Option<LocalBoxFuture<'static, ()>>,
    /// True if only the rest is sent.
    is_over: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl EventStreamBody {
    fn new(
        follower: Follower,
        period: Duration,
        opening: StreamOpening,
        place: Option<StreamPlace>,
    ) -> Self {
        let (permit, lease) = match place {
            Some(StreamPlace { permit, lease }) => (Some(permit), lease),
            None => (None, None),
        };
        let mut heartbeat = interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            follower,
            heartbeat,
            snapshot: opening.snapshot,
            rest: opening.words.into(),
            revoked: lease.map(|lease| lease.ended().boxed_local()),
            is_over: false,
            _permit: permit,
        }
    }

    /// Ends the stream if its token counts no longer: with a comment, unless that would be within an event.
    fn end_if_revoked(&mut self, cx: &mut Context<'_>) {
        let Some(revoked) = &mut self.revoked else {
            return;
        };
        if revoked.as_mut().poll(cx).is_pending() {
            return;
        }
        let is_within_event =
            !self.rest.is_empty() || self.snapshot.is_some() || self.follower.is_within_event();
        self.rest = match is_within_event {
            true => Bytes::new(),
            false => Bytes::from_static(REVOKED.as_bytes()),
        };
        self.revoked = None;
        self.is_over = true;
    }

    /// The next frame or piece of one; the last one names the reason why the stream ends.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(snapshot) = &mut self.snapshot {
            match snapshot.take(PIECE) {
                Lent::Part(part) | Lent::Piece(part, _) => return Poll::Ready(Some(part.bytes)),
                Lent::Over => self.snapshot = None,
                // The client comes back where it was, and gets another one.
                Lent::TakenBack => return Poll::Ready(None),
            }
        }
        match self.follower.poll_piece(cx) {
            Poll::Ready(Some(followed)) => return Poll::Ready(Some(bytes(followed))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending if self.follower.is_within_event() => return Poll::Pending,
            Poll::Pending => {}
        }
        let beat = |_| Some(Bytes::from_static(HEARTBEAT));
        self.heartbeat.poll_tick(cx).map(beat)
    }
}

fn bytes(followed: Followed) -> Bytes {
    match followed {
        Followed::Frame(bytes) => bytes,
        Followed::Live(position) => open_at(&position.to_string()).into(),
        Followed::Ended(StreamEndReason::Closed(Closing::Stopping)) => STOPPED.into(),
        Followed::Ended(StreamEndReason::Closed(Closing::Deleted)) => DELETED.into(),
        Followed::Ended(StreamEndReason::Gone | StreamEndReason::Closed(Closing::Replaced)) => {
            GONE.into()
        }
        Followed::Ended(StreamEndReason::Unreadable(reason)) => {
            let reason = reason.escape_debug();
            format!(": the journal cannot be read: {reason}\nretry: 10000\n\n").into()
        }
    }
}

impl Stream for EventStreamBody {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.end_if_revoked(cx);
        if self.rest.is_empty() {
            if self.is_over {
                return Poll::Ready(None);
            }
            match ready!(self.poll_frame(cx)) {
                Some(frame) => self.rest = frame,
                None => return Poll::Ready(None),
            }
        }
        let size = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(self.rest.split_to(size))))
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
