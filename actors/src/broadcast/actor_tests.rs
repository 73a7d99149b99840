use futures_util::StreamExt as _;
use harness_protocol::Event;

use super::super::{BOUND, STALLED_AFTER, STALLED_BOUND};
use super::*;
use crate::messages::publish;

fn event(content: &str) -> Publish {
    Publish(Event::Text {
        content: content.to_owned(),
        partial: false,
        timestamp: 1,
    })
}

async fn attach(broadcast: &Addr<BroadcastActor>) -> Subscription {
    broadcast.send(Subscribe).await.unwrap().unwrap()
}

/// Spec: [HTTP-11]
#[actix::test]
async fn every_subscriber_sees_the_same_bytes_in_order_and_a_burst_loses_nothing() {
    let broadcast = BroadcastActor::new(9).start();
    let mut attached = Vec::new();
    for _ in 0..3 {
        attached.push(attach(&broadcast).await);
    }
    let to = broadcast.clone().recipient();
    for number in 0..60_000 {
        publish(&to, event(&number.to_string()));
    }
    broadcast.send(CloseSubscribers).await.unwrap();
    let mut seen = Vec::new();
    for subscription in attached {
        assert!(!subscription.has_lagged());
        seen.push(subscription.collect::<Vec<_>>().await);
    }
    assert_eq!(seen[0].len(), 60_000);
    let last = "data: {\"type\":\"text\",\"content\":\"59999\",\"timestamp\":1}\n\n";
    assert_eq!(seen[0][59_999], last);
    assert!(seen[0] == seen[1] && seen[1] == seen[2]);
}

/// Spec: [HTTP-12]
#[actix::test]
async fn a_subscriber_that_stalls_is_let_go_and_the_others_miss_nothing() {
    tokio::time::pause();
    for (events, size) in [
        (STALLED_BOUND.events + 2, 1),
        (12, STALLED_BOUND.bytes / 10),
    ] {
        let broadcast = BroadcastActor::new(9).start();
        let stalled = attach(&broadcast).await;
        let mut reading = attach(&broadcast).await;
        let to = broadcast.clone().recipient();
        for _ in 0..events {
            publish(&to, event(&"x".repeat(size)));
            assert!(reading.next().await.is_some());
        }
        assert!(!stalled.has_lagged(), "it may only be slow");
        tokio::time::sleep(STALLED_AFTER + STALLED_AFTER / 10).await;
        publish(&to, event("one more"));
        assert!(reading.next().await.is_some());
        assert!(stalled.has_lagged() && !reading.has_lagged());
        assert_eq!(stalled.collect::<Vec<_>>().await.len(), events);
    }
}

/// Spec: [HTTP-12]
#[actix::test]
async fn a_subscriber_that_is_slow_is_kept_up_to_the_last_bound() {
    tokio::time::pause();
    let broadcast = BroadcastActor::new(9).start();
    let mut slow = attach(&broadcast).await;
    let to = broadcast.clone().recipient();
    let large = event(&"x".repeat(BOUND.bytes / 32));
    for _ in 0..31 {
        for _ in 0..2 {
            publish(&to, large.clone());
        }
        tokio::time::sleep(STALLED_AFTER).await;
        assert!(slow.next().await.is_some());
    }
    assert!(!slow.has_lagged());
    for _ in 0..3 {
        publish(&to, large.clone());
    }
    broadcast.send(CloseSubscribers).await.unwrap();
    assert!(slow.has_lagged());
}

/// Spec: [HTTP-12]
#[actix::test]
async fn one_event_larger_than_the_bound_still_arrives_with_what_follows() {
    let broadcast = BroadcastActor::new(1).start();
    let mut reading = attach(&broadcast).await;
    let to = broadcast.clone().recipient();
    publish(&to, event(&"x".repeat(BOUND.bytes + 1)));
    publish(&to, event("more"));
    assert!(reading.next().await.unwrap().len() > BOUND.bytes);
    assert!(reading.next().await.is_some());
    assert!(!reading.has_lagged());
}

/// Spec: [HTTP-13]
#[actix::test]
async fn the_number_of_subscribers_is_bounded_and_places_are_given_again() {
    let broadcast = BroadcastActor::new(2).start();
    let first = attach(&broadcast).await;
    let _second = attach(&broadcast).await;
    let refused = broadcast.send(Subscribe).await.unwrap().err();
    assert_eq!(refused, Some(SubscribeError::Full { limit: 2 }));
    drop(first);
    attach(&broadcast).await;
}
