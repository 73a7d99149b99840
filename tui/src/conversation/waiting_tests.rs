use harness_protocol::Queue;
use serde_json::json;

use super::super::testing::*;
use super::super::{Author, EventApplied};
use super::*;

fn queued(item: u64, queue: &str, content: &str, key: &str) -> Event {
    event(
        json!({"type": "queued", "item": item, "queue": queue, "content": content, "key": key, "by": "ben"}),
    )
}

fn withdrawn(items: &[u64]) -> Event {
    event(json!({"type": "withdrawn", "items": items, "by": "ben"}))
}

fn said(item: u64, content: &str, key: &str) -> Event {
    event(
        json!({"type": "user", "content": content, "run_id": 1, "queue": "steer", "item": item, "key": key}),
    )
}

fn strip(conversation: &super::super::ConversationStore) -> Vec<(u64, &str)> {
    let waiting = conversation.waiting().iter();
    waiting
        .map(|waits| (waits.item, waits.content.as_str()))
        .collect()
}

/// Spec: [PART-20]
#[test]
fn steering_stands_before_follow_ups_and_each_in_its_order() {
    let known = conversation(&[
        queued(1, "follow_up", "then", "a-1"),
        queued(2, "steer", "first", "a-2"),
        queued(3, "follow_up", "at last", "a-3"),
        queued(4, "steer", "second", "own-1"),
    ]);
    let expected = [(2, "first"), (4, "second"), (1, "then"), (3, "at last")];
    assert_eq!(strip(&known), expected);
    assert_eq!(known.len(), 0, "the queue has no parts");
    let by: Vec<_> = known.waiting().iter().map(|waits| &waits.by).collect();
    let ben = Author::Named("ben".to_owned());
    assert_eq!(by, [&ben, &Author::You, &ben, &ben]);
}

/// Spec: [PART-20]
#[test]
fn what_is_said_becomes_a_part_and_what_is_withdrawn_goes() {
    let mut known = conversation(&[
        queued(1, "steer", "one", "a-1"),
        queued(2, "steer", "two", "a-2"),
        queued(3, "steer", "three", "a-3"),
    ]);
    assert_eq!(
        take(&mut known, 4, &said(1, "one", "a-1")),
        EventApplied::Changed
    );
    assert_eq!(strip(&known), [(2, "two"), (3, "three")]);
    assert_eq!(all(&known), ["Unnamed: one"]);
    assert_eq!(
        take(&mut known, 5, &withdrawn(&[3, 9])),
        EventApplied::Changed
    );
    assert_eq!(strip(&known), [(2, "two")]);
    assert_eq!(known.len(), 1);
}

/// Spec: [PART-20]
#[test]
fn what_was_sent_moves_from_the_parts_into_the_queue_in_whatever_order_it_is_told() {
    let mut known = conversation(&[]);
    let content = || "one".to_owned();
    // The event, then the answer.
    known.submit("own-1".to_owned(), content(), Vec::new());
    assert_eq!(known.len(), 1);
    take(&mut known, 1, &queued(1, "steer", "one", "own-1"));
    assert_eq!((known.len(), strip(&known)), (0, vec![(1, "one")]));
    known.queued("own-1", 1, Queue::Steer, content(), 0);
    assert_eq!((known.len(), strip(&known)), (0, vec![(1, "one")]));
    // The answer, then the event.
    known.submit("own-2".to_owned(), content(), Vec::new());
    known.queued("own-2", 2, Queue::FollowUp, content(), 0);
    let both = vec![(1, "one"), (2, "one")];
    assert_eq!((known.len(), strip(&known)), (0, both.clone()));
    take(&mut known, 2, &queued(2, "follow_up", "one", "own-2"));
    assert_eq!(strip(&known), both);
    // All events, then the answer: it is not shown again.
    known.submit("own-3".to_owned(), content(), Vec::new());
    take(&mut known, 3, &queued(3, "steer", "one", "own-3"));
    take(&mut known, 4, &said(3, "one", "own-3"));
    known.queued("own-3", 3, Queue::Steer, content(), 0);
    assert_eq!((known.len(), strip(&known)), (1, both));
}

/// Spec: [PART-20]
#[test]
fn a_snapshot_says_what_waits() {
    let mut known = conversation(&[queued(1, "steer", "one", "a-1")]);
    known.submit("own-1".to_owned(), "mine".to_owned(), Vec::new());
    let mut begin = snapshot(&[], 1, 0);
    let item = json!({"item": 7, "queue": "steer", "content": "mine", "key": "own-1"});
    begin.queue = vec![serde_json::from_value(item).unwrap()];
    known.restore(&begin, std::time::Duration::ZERO);
    assert_eq!((known.len(), strip(&known)), (0, vec![(7, "mine")]));
    assert_eq!(known.waiting()[0].by, Author::You);
    // An answer that comes late changes nothing.
    known.queued("own-1", 7, Queue::Steer, "mine".to_owned(), 0);
    assert_eq!(strip(&known), [(7, "mine")]);
    // Another conversation has its own.
    let mut other = snapshot(&[], 1, 0);
    other.summary.id = "d".to_owned();
    known.restore(&other, std::time::Duration::ZERO);
    assert!(known.waiting().is_empty());
    known.queued("own-9", 1, Queue::Steer, "here".to_owned(), 0);
    assert_eq!(strip(&known), [(1, "here")]);
}
