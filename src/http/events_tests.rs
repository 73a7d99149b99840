use std::sync::Arc;

use actix::{Actor as _, Addr};
use futures_util::StreamExt as _;
use harness_actors::ConversationId;
use harness_actors::broadcast::messages::{CloseSubscribers, Publish};
use harness_actors::broadcast::{
    Attendance, BroadcastActor, Now, ReadBudget, STREAM_BYTES, STREAM_GRACE,
};
use harness_actors::journal::{Header, Journal as _, MemoryJournal, Position};
use harness_actors::tell;
use harness_protocol::ActivityState;

use super::*;

async fn stream() -> (EventStreamBody, Addr<BroadcastActor>, Position) {
    let id = ConversationId::new("default");
    let journal = Arc::new(MemoryJournal::new(Header::new(id.clone(), 0)));
    let end = journal.end();
    let now = Now {
        state: ActivityState::Idle,
        message: String::new(),
        timestamp: 0,
        run_id: None,
        interrupted: false,
    };
    let broadcast = BroadcastActor::new(id, end, now, Attendance::default()).start();
    let join = broadcast.clone().recipient();
    let source = FollowerSource {
        journal,
        broadcast: join,
        attendance: Attendance::default(),
        budget: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
    };
    let mut follower = Follower::new(source, EventView::Plain, None, FollowerStart::Live);
    assert_eq!(follower.next().await, Some(Followed::Live(end)));
    let opening = StreamOpening {
        words: open_at(&end.to_string()),
        snapshot: None,
    };
    let stream = EventStreamBody::new(follower, Duration::from_secs(30), opening, None);
    (stream, broadcast, end)
}

/// Spec: [HTTP-10]
#[actix::test]
async fn a_comment_comes_at_once_and_a_heartbeat_every_thirty_seconds() {
    tokio::time::pause();
    let (mut stream, _broadcast, end) = stream().await;
    let began = Instant::now();
    let opening = format!(": connected\nretry: 1000\nid: {end}\n\n");
    assert_eq!(stream.next().await.unwrap().unwrap(), opening);
    assert_eq!(began.elapsed(), Duration::ZERO);
    for beat in 1..=3 {
        assert_eq!(stream.next().await.unwrap().unwrap(), ": heartbeat\n\n");
        assert_eq!(began.elapsed().as_secs(), 30 * beat);
    }
}

/// Spec: [HTTP-15]
#[actix::test]
async fn a_large_event_is_handed_out_in_slices() {
    let (mut stream, broadcast, end) = stream().await;
    let event = Event::Text {
        content: "x".repeat(10 * PIECE),
        sources: Vec::new(),
        partial: false,
        timestamp: 0,
    };
    let position = Position { seq: 1, ..end };
    tell(
        &broadcast.clone().recipient(),
        Publish::Lasting { position, event },
    );
    stream.next().await.unwrap().unwrap();
    let mut whole = Vec::new();
    while !whole.ends_with(b"\n\n") {
        let slice = stream.next().await.unwrap().unwrap();
        assert!(slice.len() <= PIECE);
        whole.extend_from_slice(&slice);
    }
    assert!(whole.starts_with(format!("id: {position}\ndata: {{").as_bytes()));
    let content = whole.iter().filter(|byte| **byte == b'x').count();
    assert_eq!(content, 10 * PIECE + 1); // One x stands in the type.
}

/// Spec: [SEC-513]
#[actix::test]
async fn a_stream_whose_token_was_replaced_says_so_but_not_within_an_event() {
    for is_within_event in [false, true] {
        let (mut stream, broadcast, end) = stream().await;
        stream.next().await.unwrap().unwrap();
        if is_within_event {
            let event = Event::Text {
                content: "x".repeat(10 * PIECE),
                sources: Vec::new(),
                partial: false,
                timestamp: 0,
            };
            let position = Position { seq: 1, ..end };
            tell(
                &broadcast.clone().recipient(),
                Publish::Lasting { position, event },
            );
            stream.next().await.unwrap().unwrap();
        }
        stream.revoked = Some(Box::pin(std::future::ready(())));
        let rest: Vec<_> = stream.map(Result::unwrap).collect().await;
        let expected = if is_within_event { "" } else { REVOKED };
        assert_eq!(rest.concat(), expected.as_bytes());
    }
}

/// Spec: [HTTP-14]
#[actix::test]
async fn a_stream_that_the_service_ends_tells_when_to_come_back() {
    for (closing, last) in [(Closing::Stopping, STOPPED), (Closing::Deleted, DELETED)] {
        let (stream, broadcast, _) = stream().await;
        broadcast.send(CloseSubscribers(closing)).await.unwrap();
        let frames: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[1], last);
    }
}
