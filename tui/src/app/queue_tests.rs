//! Queued messages: sending, losing and withdrawing them.

use harness_protocol::{Event, Queue};
use serde_json::json;

use super::testing::*;
use super::*;
use crate::conversation::PartKind;
use crate::conversation::testing::{event, run_ended, status};
use crate::link::News;
use crate::terminal::Key;

fn queued(item: u64, queue: &str, content: &str, key: &str, by: &str) -> Event {
    event(
        json!({"type": "queued", "item": item, "queue": queue, "content": content, "key": key, "by": by}),
    )
}

fn withdrawn(items: &[u64], by: &str) -> Event {
    event(json!({"type": "withdrawn", "items": items, "by": by}))
}

fn order_of(queue: Queue, key: &str, content: &str) -> ClientOrder {
    ClientOrder::Queue {
        conversation: "c".to_owned(),
        queue,
        key: key.to_owned(),
        content: content.to_owned(),
        files: Vec::new(),
    }
}

fn strip(app: &App) -> Vec<&str> {
    let waiting = app.conversation.waiting().iter();
    waiting.map(|waits| waits.content.as_str()).collect()
}

fn withdraw(item: Option<u64>) -> ClientOrder {
    let conversation = "c".to_owned();
    ClientOrder::Withdraw { conversation, item }
}

/// A client whose own message of this text waits as item 5, in a run that is going.
fn waiting(content: &str) -> App {
    let mut app = attached(&running());
    tell(&mut app, told(4, queued(5, "steer", content, "k-9", "ana")));
    app
}

/// Spec: [TUI-46]
#[test]
fn while_a_run_is_going_enter_steers_and_tab_follows_up() {
    let mut app = attached(&running());
    for (pressed, queue, name) in [
        (Key::Enter, Queue::Steer, "steer"),
        (Key::Tab, Queue::FollowUp, "follow_up"),
    ] {
        let number = app.prompts + 1;
        let own = format!("k-{number}");
        write(&mut app, name);
        let effects = key(&mut app, pressed);
        assert!(effects.contains(&AppEffect::Order(order_of(queue, &own, name))));
        assert!(effects.contains(&AppEffect::Remember(name.to_owned())));
        assert!(app.composer.is_empty());
        assert!(
            matches!(&last(&app).unwrap().kind, PartKind::User { content, is_pending: true, .. } if content == name)
        );
        // The echo moves it into the queue.
        tell(
            &mut app,
            told(3 + number, queued(number, name, name, &own, "ana")),
        );
        let item = number;
        tell(&mut app, News::Queued { key: own, item });
        assert_eq!(app.conversation.len(), 1);
        assert_eq!(strip(&app).len() as u64, number);
    }
    assert!(app.sent.is_empty());
    // When it is said it is a prompt.
    let said = json!({"type": "user", "content": "steer", "run_id": 7, "queue": "steer", "item": 1, "key": "k-1"});
    tell(&mut app, told(6, event(said)));
    assert_eq!(strip(&app), ["follow_up"]);
    assert_eq!(app.conversation.len(), 2);
    // The run is still that of who began it.
    let ben = crate::conversation::Author::Named("ben".to_owned());
    assert_eq!(app.conversation.run_author(), Some(&ben));
}

/// Spec: [TUI-46]
#[test]
fn what_is_not_let_wait_comes_back_as_a_draft() {
    let mut app = attached(&running());
    write(&mut app, "rg instead");
    key(&mut app, Key::Enter);
    write(&mut app, "more");
    let (own, reason) = ("k-1".to_owned(), "the queue is full".to_owned());
    tell(&mut app, News::NotAccepted { key: own, reason });
    assert_eq!(app.composer.text(), "rg instead\nmore");
    assert_eq!(toast(&app), "not sent: the queue is full");
    assert_eq!(app.conversation.len(), 1);
}

/// Spec: [TUI-47]
#[test]
fn what_comes_when_the_run_is_over_waits_and_says_how_it_is_said() {
    for is_answer_first in [false, true] {
        let mut app = attached(&running());
        write(&mut app, "late");
        key(&mut app, Key::Enter);
        tell(&mut app, told(4, run_ended("completed", "")));
        tell(&mut app, told(5, status("idle", "")));
        let answer = News::Queued {
            key: "k-1".to_owned(),
            item: 1,
        };
        let echo = told(6, queued(1, "steer", "late", "k-1", "ana"));
        let mut news = [echo, answer];
        if is_answer_first {
            news.reverse();
        }
        for news in news {
            tell(&mut app, news);
            assert!(toast(&app).contains("/continue"), "{}", toast(&app));
            assert_eq!(strip(&app), ["late"]);
        }
        // Enter sends a prompt now.
        write(&mut app, "new");
        let sent = key(&mut app, Key::Enter);
        assert!(matches!(orders(&sent)[..], [ClientOrder::Submit { .. }]));
    }
}

/// Spec: [TUI-40]
#[test]
fn a_draft_stays_where_it_is_while_the_service_is_not_connected() {
    let mut app = attached(&running());
    lose(&mut app, "gone", 1, 5);
    write(&mut app, "steer");
    for pressed in [Key::Enter, Key::Tab] {
        assert_eq!(key(&mut app, pressed), []);
        assert_eq!(app.composer.text(), "steer");
        assert!(toast(&app).contains("the draft is kept"), "{}", toast(&app));
    }
}

/// Spec: [TUI-48]
#[test]
fn backspace_takes_ones_last_message_back_into_the_input() {
    for is_event_first in [false, true] {
        let mut app = waiting("two\nlines");
        tell(
            &mut app,
            told(5, queued(6, "steer", "theirs", "x-1", "ben")),
        );
        assert_eq!(
            key(&mut app, Key::Backspace),
            [AppEffect::Order(withdraw(Some(5)))]
        );
        // Pressed again it does not take what is on its way, nor what is not one's own.
        assert_eq!(key(&mut app, Key::Backspace), []);
        let answer = News::Withdrawn {
            conversation: "c".to_owned(),
            item: Some(5),
            withdrawn: vec![5],
        };
        let mut news = [told(6, withdrawn(&[5], "ana")), answer];
        if !is_event_first {
            news.reverse();
        }
        for news in news {
            tell(&mut app, news);
            assert_eq!(app.composer.text(), "two\nlines");
        }
        assert_eq!(strip(&app), ["theirs"]);
        assert_eq!(toast(&app), "");
    }
}

/// Spec: [TUI-48]
#[test]
fn what_was_said_or_cannot_be_withdrawn_does_not_come_back() {
    let mut app = waiting("a");
    key(&mut app, Key::Backspace);
    let said = json!({"type": "user", "content": "a", "run_id": 7, "queue": "steer", "item": 5, "key": "k-9"});
    tell(&mut app, told(5, event(said)));
    assert!(toast(&app).contains("was said"), "{}", toast(&app));
    let answer = News::Withdrawn {
        conversation: "c".to_owned(),
        item: Some(5),
        withdrawn: vec![],
    };
    tell(&mut app, answer);
    assert!(app.composer.is_empty());

    // Nobody knows whether it was withdrawn: it may be tried again, and comes back once.
    let mut app = waiting("a");
    key(&mut app, Key::Backspace);
    let refused = News::NotWithdrawn {
        conversation: "c".to_owned(),
        item: Some(5),
        reason: "the service does not answer".to_owned(),
    };
    tell(&mut app, refused);
    assert_eq!(toast(&app), "not withdrawn: the service does not answer");
    assert_eq!(
        key(&mut app, Key::Backspace),
        [AppEffect::Order(withdraw(Some(5)))]
    );
    tell(&mut app, told(5, withdrawn(&[5], "ana")));
    assert_eq!(app.composer.text(), "a");
}

/// Spec: [TUI-48]
#[test]
fn who_loses_a_message_to_somebody_else_is_told() {
    let mut app = waiting("a");
    tell(&mut app, told(5, withdrawn(&[5], "ben\u{1b}[2J")));
    assert!(toast(&app).starts_with("ben"), "{}", toast(&app));
    assert!(!toast(&app).contains('\u{1b}'));
    assert!(app.composer.is_empty());
    // One's own order, and messages of others, are not remarked on.
    for (sender, who) in [("k-9", "ana"), ("x-9", "ben")] {
        let mut app = attached(&running());
        tell(&mut app, told(4, queued(5, "steer", "a", sender, "zoe")));
        tell(&mut app, told(5, withdrawn(&[5], who)));
        assert_eq!(toast(&app), "");
    }
}

/// Spec: [TUI-49]
#[test]
fn the_queue_is_listed_and_taken_away_by_number_or_as_a_whole() {
    let mut app = waiting("first\nsecond");
    let command = |app: &mut App, line: &str| {
        control(app, 'u');
        write(app, line);
        key(app, Key::Enter)
    };
    command(&mut app, "/queue");
    let Some(Overlay::Facts(lines)) = &app.overlay else {
        panic!("nothing is shown");
    };
    let expected = [
        "  5 steering  you (before the next request)",
        "      first",
        "      second",
    ];
    assert_eq!(lines[..], expected);
    key(&mut app, Key::Escape);
    for (line, item) in [("/queue withdraw 5", Some(5)), ("/queue clear", None)] {
        let effects = command(&mut app, line);
        assert_eq!(orders(&effects), [&withdraw(item)]);
    }
    for line in ["/queue withdraw 6", "/queue withdraw", "/queue all"] {
        let effects = command(&mut app, line);
        assert_eq!(orders(&effects).len(), 0, "{line}");
        assert_eq!(app.composer.text(), line);
    }
    // A cancel may clear it too.
    let cancel = command(&mut app, "/cancel clear");
    assert!(matches!(
        orders(&cancel)[..],
        [ClientOrder::Cancel {
            clear_queue: true,
            run_id: Some(7),
            ..
        }]
    ));
}
