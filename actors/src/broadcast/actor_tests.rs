#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use bytes::Bytes;
use futures_util::StreamExt as _;

use super::super::{BOUND, BroadcastSubscription, Delivery, RING_EVENTS};
use super::*;
use crate::journal::Epoch;
use crate::send::tell;

pub(in crate::broadcast) fn at(seq: u64) -> Position {
    Position {
        epoch: Epoch(7),
        seq,
        sum: u32::try_from(seq % 1000).unwrap(),
    }
}

pub(in crate::broadcast) fn idle() -> Now {
    Now {
        state: ActivityState::Idle,
        message: String::new(),
        timestamp: 5,
        run_id: None,
        interrupted: false,
    }
}

fn broadcaster(seq: u64) -> (Addr<BroadcastActor>, Attendance) {
    broadcaster_with(seq, idle())
}

fn broadcaster_with(seq: u64, now: Now) -> (Addr<BroadcastActor>, Attendance) {
    let attendance = Attendance::default();
    let id = ConversationId::new("c");
    let actor = BroadcastActor::new(id, at(seq), now, attendance.clone());
    (actor.start(), attendance)
}

pub(in crate::broadcast) fn text(content: &str) -> Event {
    Event::Text {
        content: content.to_owned(),
        sources: Vec::new(),
        partial: false,
        timestamp: 1,
    }
}

fn lasting(seq: u64, event: Event) -> Publish {
    Publish::Lasting {
        position: at(seq),
        event,
    }
}

fn delta(index: u64, offset: u64, text: &str) -> Publish {
    Publish::Passing(Event::Delta {
        index,
        kind: DeltaKind::Text,
        offset,
        text: text.to_owned(),
    })
}

async fn join(broadcast: &Addr<BroadcastActor>, after: Option<u64>, view: EventView) -> Joined {
    let (name, epoch) = (None, None);
    let join = Join {
        after,
        epoch,
        view,
        name,
    };
    broadcast.send(join).await.unwrap()
}

async fn attach(broadcast: &Addr<BroadcastActor>, view: EventView) -> BroadcastSubscription {
    attach_behind(broadcast, None, view).await
}

async fn attach_behind(
    broadcast: &Addr<BroadcastActor>,
    after: Option<u64>,
    view: EventView,
) -> BroadcastSubscription {
    match join(broadcast, after, view).await {
        Joined::Live { subscription, .. } => subscription,
        other => panic!("{other:?}"),
    }
}

/// The events that are there by now, without ids.
fn taken(subscription: &mut BroadcastSubscription) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(Some(delivery)) = subscription.next().now_or_never() {
        events.push(decoded(&delivery.bytes));
    }
    events
}

pub(in crate::broadcast) fn decoded(bytes: &Bytes) -> Event {
    let text = std::str::from_utf8(bytes).unwrap();
    let (_, data) = text.split_once("data: ").unwrap();
    serde_json::from_str(data.trim_end()).unwrap()
}

async fn close(broadcast: &Addr<BroadcastActor>) {
    let closing = CloseSubscribers(Closing::Stopping);
    broadcast.send(closing).await.unwrap();
}

fn attached(position: u64, run_id: Option<u64>) -> Event {
    Event::Attached {
        conversation: "c".to_owned(),
        position: at(position).to_string(),
        state: ActivityState::Idle,
        message: String::new(),
        run_id,
    }
}

/// Spec: [HTTP-11] [HTTP-30]
#[actix::test]
async fn every_client_sees_the_same_bytes_in_order_and_a_burst_loses_nothing() {
    let (broadcast, _) = broadcaster(0);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(attach(&broadcast, EventView::Plain).await);
    }
    let to = broadcast.clone().recipient();
    for seq in 1..=2000 {
        tell(&to, lasting(seq, text(&seq.to_string())));
    }
    close(&broadcast).await;
    let mut seen = Vec::new();
    for client in clients {
        seen.push(client.collect::<Vec<Delivery>>().await);
    }
    assert_eq!(seen[0].len(), 2000);
    let last = &seen[0][1999];
    assert_eq!(last.seq, Some(2000));
    let line = "data: {\"type\":\"text\",\"content\":\"2000\",\"timestamp\":1}\n\n";
    assert_eq!(last.bytes, format!("id: {}\n{line}", at(2000)));
    assert!(seen[0] == seen[1] && seen[1] == seen[2]);
    let same = seen[0][7].bytes.as_ptr();
    assert!(seen.iter().all(|client| client[7].bytes.as_ptr() == same));
}

/// Spec: [HTTP-12] [HTTP-31]
#[actix::test]
async fn a_client_that_lags_is_taken_off_and_the_others_miss_nothing() {
    for (events, size) in [(BOUND.events + 50, 1), (12, BOUND.bytes / 10)] {
        let (broadcast, attendance) = broadcaster(0);
        let stalled = attach(&broadcast, EventView::Plain).await;
        let mut reading = attach(&broadcast, EventView::Plain).await;
        let to = broadcast.clone().recipient();
        for seq in 1..=events as u64 {
            tell(&to, lasting(seq, text(&"x".repeat(size))));
            assert_eq!(reading.next().await.unwrap().seq, Some(seq));
        }
        assert_eq!(attendance.count(), 2);
        // What was queued for it is not lost, and has no gap.
        let kept: Vec<Option<u64>> = stalled.map(|delivery| delivery.seq).collect().await;
        assert!(kept.len() < events, "{}", kept.len());
        assert!(kept.len() <= BOUND.events + 1);
        let in_order = (1..=kept.len() as u64).map(Some);
        assert!(kept.iter().copied().eq(in_order));
        assert_eq!(attendance.count(), 1);
    }
}

/// Spec: [HTTP-12]
#[actix::test]
async fn one_event_larger_than_the_bound_still_arrives_with_what_follows() {
    let (broadcast, _) = broadcaster(0);
    let mut reading = attach(&broadcast, EventView::Plain).await;
    let to = broadcast.clone().recipient();
    tell(&to, lasting(1, text(&"x".repeat(BOUND.bytes + 1))));
    tell(&to, lasting(2, text("more")));
    assert!(reading.next().await.unwrap().bytes.len() > BOUND.bytes);
    assert_eq!(reading.next().await.unwrap().seq, Some(2));
}

/// Spec: [HTTP-32]
#[actix::test]
async fn a_client_that_comes_back_soon_gets_what_it_lacks_from_memory() {
    let (broadcast, _) = broadcaster(10);
    let to = broadcast.clone().recipient();
    for seq in 11..=20 {
        tell(&to, lasting(seq, text("x")));
    }
    for (after, first) in [(10, Some(11)), (15, Some(16)), (20, None)] {
        let mut client = attach_behind(&broadcast, Some(after), EventView::Plain).await;
        let next = client.next().now_or_never().flatten();
        assert_eq!(next.map(|delivery| delivery.seq), first.map(Some));
    }
    // What it lacks is not here, or is not yet.
    for after in [0, 9, 21] {
        let joined = join(&broadcast, Some(after), EventView::Plain).await;
        assert!(matches!(joined, Joined::Behind { end: 20 }), "{joined:?}");
    }
    for seq in 21..=21 + RING_EVENTS as u64 {
        tell(&to, lasting(seq, text("x")));
    }
    let joined = join(&broadcast, Some(20), EventView::Plain).await;
    assert!(matches!(joined, Joined::Behind { .. }), "{joined:?}");
    let joined = join(&broadcast, Some(21), EventView::Plain).await;
    assert!(matches!(joined, Joined::Live { .. }), "{joined:?}");
}

/// Spec: [EVENT-11] [HTTP-24]
#[actix::test]
async fn a_client_that_attaches_in_a_block_gets_the_text_so_far_as_one_delta() {
    let (broadcast, _) = broadcaster(0);
    let to = broadcast.clone().recipient();
    let run = Event::RunStarted {
        run_id: 4,
        by: None,
        timestamp: 1,
    };
    tell(&to, lasting(1, run));
    tell(&to, delta(0, 0, "whole"));
    tell(&to, lasting(2, text("whole")));
    tell(&to, delta(1, 0, "so "));
    tell(&to, delta(1, 3, "far"));
    let open = |text: &str| Event::Delta {
        index: 1,
        kind: DeltaKind::Text,
        offset: 0,
        text: text.to_owned(),
    };
    let mut client = attach(&broadcast, EventView::Full).await;
    assert_eq!(taken(&mut client), [attached(2, Some(4)), open("so far")]);
    let mut plain = attach(&broadcast, EventView::Plain).await;
    assert_eq!(taken(&mut plain), []);

    tell(&to, Publish::Passing(Event::Discarded {}));
    tell(&to, delta(1, 0, "anew"));
    let mut client = attach(&broadcast, EventView::Full).await;
    assert_eq!(taken(&mut client), [attached(2, Some(4)), open("anew")]);

    let failed = Event::ReplyFailed {
        error: String::new(),
        timestamp: 1,
    };
    tell(&to, lasting(3, failed));
    let mut client = attach(&broadcast, EventView::Full).await;
    assert_eq!(taken(&mut client), [attached(3, Some(4))]);
    assert_eq!(taken(&mut plain), []);
}

/// Spec: [EVENT-12]
#[actix::test]
async fn the_plain_view_has_the_six_types_only() {
    let (broadcast, _) = broadcaster(0);
    let mut plain = attach(&broadcast, EventView::Plain).await;
    let mut full = attach(&broadcast, EventView::Full).await;
    let to = broadcast.clone().recipient();
    let examples = include_str!("../../../specs/examples/events.jsonl");
    let mut all = Vec::new();
    for (seq, line) in (1..).zip(examples.lines()) {
        let event: Event = serde_json::from_str(line).unwrap();
        all.push(line.to_owned());
        tell(&to, lasting(seq, event));
    }
    broadcast
        .send(CloseSubscribers(Closing::Deleted))
        .await
        .unwrap();
    let data = |delivery: Delivery| {
        let text = String::from_utf8(delivery.bytes.to_vec()).unwrap();
        text.split_once("data: ").unwrap().1.trim_end().to_owned()
    };
    let attached = full.next().await.unwrap();
    assert_eq!(attached.seq, None);
    assert_eq!(full.map(data).collect::<Vec<_>>().await, all);
    let seen: Vec<String> = plain.by_ref().map(data).collect().await;
    let six = [
        "\"user\"",
        "\"text\"",
        "\"tool_call\"",
        "\"tool_result\"",
        "\"reasoning\"",
        "\"status\"",
    ];
    let is_plain = |line: &String| {
        let kind = line.strip_prefix("{\"type\":").unwrap();
        six.iter().any(|name| kind.starts_with(name))
    };
    // The fields that the first version did not have.
    let later = [
        r#""run_id":1,"key":"k-1","by":"ci","#,
        r#""run_id":1,"queue":"steer","item":1,"#,
        r#""duration_ms":12,"extent":{"lines":2,"of_lines":10000},"#,
        r#""sources":[{"title":"News","url":"https://news.example/3"}],"#,
        r#""duration_ms":7,"extent":{"hits":1,"files":1,"more":true},"#,
    ];
    let without = |line: String| later.iter().fold(line, |line, part| line.replace(part, ""));
    let expected: Vec<String> = all.into_iter().filter(is_plain).map(without).collect();
    assert_eq!(seen, expected);
}

/// Spec: [EVENT-13]
#[actix::test]
async fn somebody_who_comes_back_is_told_that_the_service_died() {
    let now = Now {
        state: ActivityState::Error,
        message: "interrupted".to_owned(),
        interrupted: true,
        ..idle()
    };
    let died = Event::Status {
        state: ActivityState::Error,
        message: "interrupted".to_owned(),
        timestamp: 5,
    };
    let (broadcast, _) = broadcaster_with(3, now);
    let mut plain = attach_behind(&broadcast, Some(3), EventView::Plain).await;
    assert_eq!(taken(&mut plain), [died]);
    let mut live = attach(&broadcast, EventView::Plain).await;
    assert_eq!(taken(&mut live), []);
    let mut full = attach(&broadcast, EventView::Full).await;
    let greeting = taken(&mut full);
    let is_error = |event: &Event| matches!(event, Event::Attached { state: ActivityState::Error, message, .. } if message == "interrupted");
    assert!(
        greeting.len() == 1 && is_error(&greeting[0]),
        "{greeting:?}"
    );

    // The next run says so itself.
    let run = Event::RunStarted {
        run_id: 2,
        by: None,
        timestamp: 1,
    };
    tell(&broadcast.clone().recipient(), lasting(4, run));
    let mut plain = attach_behind(&broadcast, Some(4), EventView::Plain).await;
    assert_eq!(taken(&mut plain), []);
}

/// Spec: [EVENT-14]
#[actix::test]
async fn clients_are_told_once_of_many_that_come_and_go() {
    tokio::time::pause();
    let (broadcast, _) = broadcaster(0);
    let mut watching = attach(&broadcast, EventView::Full).await;
    let mut plain = attach(&broadcast, EventView::Plain).await;
    let named = |name: &str| Join {
        epoch: None,
        after: None,
        view: EventView::Full,
        name: Some(name.to_owned()),
    };
    let mut others = Vec::new();
    for number in 0..40 {
        others.push(broadcast.send(named(&format!("n{number}"))).await.unwrap());
    }
    tokio::time::sleep(PRESENCE_DELAY * 5).await;
    let presence = |count: usize, names: std::ops::Range<usize>| Event::Presence {
        count,
        names: names.map(|number| format!("n{number}")).collect(),
    };
    let greeting = attached(0, None);
    assert_eq!(taken(&mut watching), [greeting, presence(42, 0..MAX_NAMES)]);
    others.truncate(3);
    tokio::time::sleep(PRESENCE_DELAY * 5).await;
    assert_eq!(taken(&mut watching), [presence(5, 0..3)]);
    drop(others);
    tokio::time::sleep(PRESENCE_DELAY * 5).await;
    assert_eq!(taken(&mut watching), [presence(2, 0..0)]);
    assert_eq!(taken(&mut plain), []);
}

/// Spec: [HTTP-34]
#[actix::test]
async fn a_broadcaster_that_is_closed_takes_nobody() {
    for closing in [Closing::Stopping, Closing::Deleted] {
        let (broadcast, _) = broadcaster(0);
        let mut client = attach(&broadcast, EventView::Full).await;
        broadcast.send(CloseSubscribers(closing)).await.unwrap();
        assert_eq!(taken(&mut client).len(), 1);
        assert_eq!(client.next().await, None);
        let joined = join(&broadcast, Some(0), EventView::Full).await;
        assert!(
            matches!(joined, Joined::Closed(why) if why == closing),
            "{joined:?}"
        );
    }
}

/// Spec: [CONV-48]
#[actix::test]
async fn a_broadcaster_that_nobody_knows_any_more_is_gone() {
    tokio::time::pause();
    let (broadcast, attendance) = broadcaster(0);
    let mut client = attach(&broadcast, EventView::Plain).await;
    tell(&broadcast.clone().recipient(), lasting(1, text("x")));
    let remembered = client.next().await.unwrap().bytes;
    drop(client);
    assert_eq!(attendance.count(), 0);
    tokio::time::sleep(PRESENCE_DELAY * 5).await;
    assert!(!remembered.is_unique(), "it remembers the event");
    drop(broadcast);
    tokio::time::sleep(PRESENCE_DELAY * 5).await;
    assert!(remembered.is_unique(), "it lives on");
}

/// Spec: [EVENT-19]
#[actix::test]
async fn a_replaced_journal_leaves_nothing_of_the_old_one_to_show() {
    let (broadcast, attendance) = broadcaster(0);
    let mut client = attach(&broadcast, EventView::Full).await;
    let to = broadcast.clone().recipient();
    for seq in 1..=5 {
        tell(&to, lasting(seq, text("old")));
    }
    tell(&to, delta(0, 0, "old"));
    let position = Position {
        epoch: Epoch(8),
        ..at(3)
    };
    tell(&to, Publish::Rewritten { position });
    // It gets what was shown before, and its queue ends.
    let live = attach_behind(&broadcast, Some(3), EventView::Full).await;
    let seen = client.by_ref().collect::<Vec<Delivery>>().await;
    assert_eq!(seen.len(), 7);
    drop(client);
    assert_eq!(attendance.count(), 1);
    for (after, end) in [(0, 3), (5, 3)] {
        let behind = join(&broadcast, Some(after), EventView::Full).await;
        assert!(matches!(behind, Joined::Behind { end: other } if other == end));
    }
    for (epoch, is_served) in [(Epoch(7), false), (Epoch(8), true)] {
        let join = Join {
            after: Some(3),
            epoch: Some(epoch),
            view: EventView::Full,
            name: None,
        };
        match broadcast.send(join).await.unwrap() {
            Joined::Elsewhere => assert!(!is_served),
            Joined::Live { position: told, .. } => assert!(is_served && told == position),
            other => panic!("{other:?}"),
        }
    }
    drop(live);
    let mut live = attach(&broadcast, EventView::Full).await;
    let shown = taken(&mut live);
    assert!(
        matches!(&shown[..], [Event::Attached { position: told, .. }] if *told == position.to_string()),
        "{shown:?}"
    );
}

fn output(id: &str, offset: u64, text: &str) -> Event {
    Event::ToolOutput {
        id: id.to_owned(),
        offset,
        text: text.to_owned(),
    }
}

fn result(id: &str) -> Event {
    Event::ToolResult {
        id: id.to_owned(),
        result: "done".to_owned(),
        is_error: false,
        duration_ms: None,
        extent: None,
        timestamp: 1,
    }
}

/// Spec: [EVENT-32] [EVENT-33]
#[actix::test]
async fn every_client_sees_what_a_call_shows_and_a_late_one_its_end() {
    let (broadcast, _) = broadcaster(0);
    let mut early = Vec::new();
    for _ in 0..3 {
        early.push(attach(&broadcast, EventView::Full).await);
    }
    let to = broadcast.clone().recipient();
    let long = "a line\n".repeat(20_000);
    let pieces = [
        output("toolu_1", 0, "short"),
        output("toolu_2", 0, &long),
        output("toolu_2", long.len() as u64, "end"),
    ];
    for piece in &pieces {
        tell(&to, Publish::Passing(piece.clone()));
    }
    let mut late = attach(&broadcast, EventView::Full).await;
    let mut plain = attach(&broadcast, EventView::Plain).await;
    for client in &mut early {
        assert_eq!(taken(client)[1..], pieces);
    }
    let said = taken(&mut late);
    let from = long.len() + 3 - super::super::tails::TAIL_BYTES;
    let tail = format!("{}end", &long[from..]);
    let tails = [
        output("toolu_1", 0, "short"),
        output("toolu_2", from as u64, &tail),
    ];
    assert_eq!(said[1..], tails);
    assert_eq!(taken(&mut plain), []);
    // One that comes back has what it missed first.
    tell(&to, lasting(1, text("a")));
    let mut back = attach_behind(&broadcast, Some(0), EventView::Full).await;
    let said = taken(&mut back);
    assert_eq!(said[0], text("a"));
    assert_eq!(said[2..], tails);
}

/// Spec: [EVENT-33]
#[actix::test]
async fn what_a_call_showed_is_gone_with_its_result_and_with_its_run() {
    let ended = Event::RunEnded {
        run_id: 1,
        outcome: harness_protocol::EndOutcome::Cancelled,
        message: String::new(),
        usage: harness_protocol::TokenUsage::default(),
        run_usage: harness_protocol::TokenUsage::default(),
        duration_ms: None,
        by: None,
        timestamp: 1,
    };
    let failed = Event::Status {
        state: ActivityState::Error,
        message: "the disk is full".to_owned(),
        timestamp: 1,
    };
    let ends = [
        lasting(1, result("toolu_1")),
        lasting(1, ended),
        Publish::Passing(failed),
        Publish::Rewritten { position: at(1) },
    ];
    for end in ends {
        let (broadcast, _) = broadcaster(0);
        let to = broadcast.clone().recipient();
        tell(&to, Publish::Passing(output("toolu_1", 0, "x")));
        assert_eq!(
            taken(&mut attach(&broadcast, EventView::Full).await).len(),
            2
        );
        tell(&to, end.clone());
        let said = taken(&mut attach(&broadcast, EventView::Full).await);
        assert_eq!(said.len(), 1, "{end:?}: {said:?}");
    }
}

/// Spec: [EVENT-33]
#[actix::test]
async fn a_client_that_does_not_read_is_taken_off_and_goes_on_behind_a_gap() {
    let (broadcast, _) = broadcaster(0);
    let slow = attach(&broadcast, EventView::Full).await;
    let mut quick = attach(&broadcast, EventView::Full).await;
    let to = broadcast.clone().recipient();
    let piece = "x".repeat(8192);
    let mut offset = 0;
    for _ in 0..300 {
        tell(&to, Publish::Passing(output("toolu_1", offset, &piece)));
        offset += 8192;
        // All that was published was sent.
        broadcast
            .send(Join {
                after: Some(99),
                epoch: None,
                view: EventView::Full,
                name: None,
            })
            .await
            .unwrap();
        let said = taken(&mut quick);
        assert!(
            said.iter()
                .any(|event| matches!(event, Event::ToolOutput { .. })),
            "{said:?}"
        );
    }
    let seen = slow.collect::<Vec<Delivery>>().await;
    assert_eq!(seen, []);
    let mut again = attach_behind(&broadcast, Some(0), EventView::Full).await;
    let tail = "x".repeat(65536);
    assert_eq!(
        taken(&mut again)[1],
        output("toolu_1", offset - 65536, &tail)
    );
}
