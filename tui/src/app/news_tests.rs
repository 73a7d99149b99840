use harness_protocol::{ActivityState, ConversationState, Event};
use serde_json::json;

use super::testing::*;
use super::*;
use crate::conversation::PartKind;
use crate::conversation::testing::{event, snapshot, text};
use crate::link::News;
use crate::service::testing::{difference, service};
use crate::terminal::Key;

/// Spec: [TUI-43]
#[test]
fn what_cannot_be_put_in_its_place_is_taken_anew_once() {
    let mut app = attached(&running());
    let asked = tell(&mut app, told(9, text("from afar")));
    let conversation = "c".to_owned();
    assert_eq!(
        asked,
        [AppEffect::Order(ClientOrder::Open { conversation })]
    );
    assert_eq!(tell(&mut app, told(10, text("and more"))), []);
    assert_eq!(app.conversation.len(), 1);
    let all = running();
    let again = snapshot(&all, 1, 3);
    tell(
        &mut app,
        News::Snapshot {
            snapshot: Box::new(again),
            reset: None,
        },
    );
    tell(&mut app, told(4, text("in its place")));
    assert_eq!(app.conversation.len(), 2);
    tell(&mut app, told(4, text("in its place")));
    assert_eq!(app.conversation.len(), 2);
    tell(
        &mut app,
        News::Invalid {
            reason: "no JSON".to_owned(),
        },
    );
    assert_eq!((app.missed, app.duplicates, app.invalid), (1, 1, 1));
}

/// Spec: [TUI-44]
#[test]
fn a_conversation_that_is_gone_gives_way_to_the_default_one_or_ends_the_client() {
    let fail = AppEffect::Fail("there is none".to_owned());
    assert_eq!(refused(&mut attached(&[]), "c"), [open("default")]);
    assert_eq!(refused(&mut attached(&[]), "other"), [open("c")]);
    assert_eq!(refused(&mut new(), "c"), [fail]);
}

fn snapshot_of(id: &str, records: &[Event], last: u64) -> News {
    let mut snapshot = snapshot(records, 1, last);
    id.clone_into(&mut snapshot.summary.id);
    snapshot.summary.state = ConversationState::Idle;
    snapshot.summary.run_id = None;
    snapshot.state = ActivityState::Idle;
    News::Snapshot {
        snapshot: Box::new(snapshot),
        reset: None,
    }
}

fn open(conversation: &str) -> AppEffect {
    let conversation = conversation.to_owned();
    AppEffect::Order(ClientOrder::Open { conversation })
}

fn opening(app: &mut App, conversation: &str) {
    app.open(conversation.to_owned());
    assert_eq!(std::mem::take(&mut app.effects), [open(conversation)]);
}

fn not_accepted(app: &mut App, key: &str) {
    let (key, reason) = (key.to_owned(), "no".to_owned());
    tell(app, News::NotAccepted { key, reason });
}

fn refused(app: &mut App, conversation: &str) -> Vec<AppEffect> {
    let (conversation, reason) = (conversation.to_owned(), "there is none".to_owned());
    tell(
        app,
        News::Refused {
            conversation,
            reason,
        },
    )
}

fn pending(app: &App) -> Vec<String> {
    let parts = app.conversation.parts();
    parts
        .filter_map(|part| match &part.kind {
            PartKind::User {
                content,
                is_pending: true,
                ..
            } => Some(content.clone()),
            _ => None,
        })
        .collect()
}

/// Spec: [TUI-41]
#[test]
fn a_prompt_that_is_on_its_way_is_not_lost_when_another_conversation_is_opened() {
    let mut app = attached(&[]);
    for prompt in ["one", "two"] {
        write(&mut app, prompt);
        key(&mut app, Key::Enter);
    }
    opening(&mut app, "d");
    tell(&mut app, snapshot_of("d", &[], 0));
    assert!(pending(&app).is_empty());
    // Back again, and one of them is on record by now.
    opening(&mut app, "c");
    let echo = json!({"type": "user", "content": "one", "run_id": 1, "key": "k-1", "by": "ana"});
    tell(&mut app, snapshot_of("c", &[event(echo)], 1));
    assert_eq!(pending(&app), ["two"]);
    assert_eq!(app.conversation.len(), 2);
    not_accepted(&mut app, "k-2");
    assert_eq!((app.composer.text(), app.conversation.len()), ("two", 1));
    // Refused while another conversation is open, it would come back in the wrong one.
    let mut app = attached(&[]);
    write(&mut app, "three");
    key(&mut app, Key::Enter);
    opening(&mut app, "d");
    tell(&mut app, snapshot_of("d", &[], 0));
    not_accepted(&mut app, "k-1");
    assert_eq!(app.composer.text(), "");
    assert!(toast(&app).contains("in the history"), "{}", toast(&app));
}

/// Spec: [TUI-42]
#[test]
fn neither_a_cancel_nor_a_prompt_reaches_a_conversation_that_is_not_on_the_screen() {
    let mut app = attached(&running());
    opening(&mut app, "d");
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(app.cancelling, None);
    assert!(toast(&app).contains("goes on"), "{}", toast(&app));
    write(&mut app, "for d");
    for pressed in [Key::Enter, Key::Tab] {
        assert_eq!(key(&mut app, pressed), []);
        assert_eq!(app.composer.text(), "for d");
    }
    // What the link had said of the old one before.
    tell(&mut app, snapshot_of("c", &[], 0));
    assert_eq!(key(&mut app, Key::Enter), []);
    tell(&mut app, told(4, text("of the old one")));
    assert_eq!(app.conversation.len(), 1);
    tell(&mut app, snapshot_of("d", &[], 0));
    assert!(app.conversation.is_empty());
    assert!(!orders(&key(&mut app, Key::Enter)).is_empty());

    // One that is being made counts as well, until it is known that it was not.
    let mut app = attached(&[]);
    write(&mut app, "/new Title");
    let made = key(&mut app, Key::Enter);
    let title = Some("Title".to_owned());
    let folder = None;
    assert_eq!(orders(&made), [&ClientOrder::Create { title, folder }]);
    write(&mut app, "first");
    assert_eq!(key(&mut app, Key::Enter), []);
    tell(&mut app, told(1, text("meanwhile")));
    assert_eq!(app.conversation.len(), 1);
    let reason = "no".to_owned();
    tell(&mut app, News::Failed { reason });
    assert!(!orders(&key(&mut app, Key::Enter)).is_empty());

    // The same conversation that is taken anew takes a cancel.
    let mut app = attached(&running());
    opening(&mut app, "c");
    assert_eq!(
        orders(&control(&mut app, 'c')),
        [&ClientOrder::Cancel {
            conversation: "c".to_owned(),
            run_id: Some(7),
            clear_queue: false,
        }]
    );
}

/// Spec: [TUI-44]
#[test]
fn without_a_default_conversation_to_go_back_to_the_client_ends() {
    let mut app = attached(&[]);
    assert_eq!(refused(&mut app, "c"), [open("default")]);
    let fail = AppEffect::Fail("there is none".to_owned());
    assert_eq!(refused(&mut app, "default"), vec![fail.clone()]);
    // The same after it was thrown away from here.
    let mut app = attached(&[]);
    let (conversation, trash) = ("c".to_owned(), "/t".to_owned());
    let effects = tell(
        &mut app,
        News::Deleted {
            conversation,
            trash,
        },
    );
    assert_eq!(effects, [open("default")]);
    assert_eq!(refused(&mut app, "default"), [fail]);
    // One that was only looked for leads back.
    let mut app = attached(&[]);
    opening(&mut app, "default");
    assert_eq!(refused(&mut app, "default"), [open("c")]);
}

/// Spec: [TUI-43]
#[test]
fn what_is_no_event_or_unknown_is_counted_and_shown() {
    let mut app = attached(&[]);
    let reason = "no JSON".to_owned();
    tell(&mut app, News::Invalid { reason });
    let unknown = Event::Unknown;
    tell(&mut app, told(1, unknown));
    tell(&mut app, told(1, text("again")));
    write(&mut app, "/debug");
    key(&mut app, Key::Enter);
    let Some(Overlay::Facts(facts)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    for wanted in [
        "duplicates    1 dropped",
        "invalid       1 dropped",
        "unknown       1 events of newer services",
    ] {
        assert!(facts.iter().any(|fact| fact == wanted), "{facts:#?}");
    }
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none() && app.composer.is_empty());
}

#[test]
fn a_page_of_the_past_that_cannot_be_had_is_not_asked_for_with_each_frame() {
    let events: Vec<Event> = (0..4).map(|_| text("x")).collect();
    let mut app = new();
    let mut begin = snapshot(&events, 3, 4);
    begin.summary.run_id = None;
    tell(
        &mut app,
        News::Snapshot {
            snapshot: Box::new(begin),
            reset: None,
        },
    );
    let drawn = |app: &mut App, seconds: u64| app.update(Msg::Drawn, Duration::from_secs(seconds));
    let older = AppEffect::Order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 3,
    });
    assert_eq!(drawn(&mut app, 0), vec![older.clone()]);
    assert_eq!(drawn(&mut app, 0), []);
    tell(
        &mut app,
        News::Older {
            conversation: "c".to_owned(),
            before: 3,
            page: None,
        },
    );
    assert!(toast(&app).contains("cannot be had"));
    assert_eq!(drawn(&mut app, 1), []);
    assert_eq!(drawn(&mut app, 5), [older]);
}

/// Spec: [TUI-13]
#[test]
fn what_is_tried_again_is_tried_at_once_when_somebody_asks_or_looks() {
    let mut app = attached(&[]);
    assert_eq!(app.update(Msg::Focused(true), app.now), []);
    lose(&mut app, "gone", 1, 3);
    let now = [AppEffect::Order(ClientOrder::TryNow)];
    assert_eq!(control(&mut app, 'r'), now);
    assert_eq!(app.update(Msg::Focused(true), app.now), now);
    assert_eq!(app.wakes_at(), Some(SECOND));
    tell(&mut app, News::Up);
    assert!(!app.is_down());
}

/// Spec: [TUI-84] [TUI-85]
#[test]
fn another_service_is_remarked_once_and_weighs_more_than_that_it_is_there() {
    let mut app = attached(&[]);
    let mut one = service();
    tell(&mut app, News::Service(Box::new(one.clone())));
    assert_eq!(toast(&app), "");
    lose(&mut app, "gone", 1, 1);
    one.epoch = "e2".to_owned();
    tell(&mut app, News::Service(Box::new(one.clone())));
    tell(&mut app, News::Up);
    assert_eq!(toast(&app), "connected again");

    lose(&mut app, "gone", 1, 1);
    one.epoch = "e3".to_owned();
    one.folder = "~/b".to_owned();
    one.differences = vec![difference("model", "model: a, not b")];
    tell(&mut app, News::Service(Box::new(one.clone())));
    tell(&mut app, News::Up);
    let said = "the service was restarted: folder ~/b (was ~/src/project)";
    assert_eq!(toast(&app), said);
    wait(&mut app, 7);
    assert_eq!(toast(&app), "");

    one.epoch = "e4".to_owned();
    one.differences
        .push(difference("api_key", "api_key: another one"));
    tell(&mut app, News::Service(Box::new(one)));
    assert_eq!(toast(&app), "api_key: another one");
}

/// Spec: [TUI-305]
#[test]
fn what_was_loaded_anew_for_a_summary_says_so() {
    let anew = |app: &mut App| {
        let snapshot = Box::new(snapshot(&[], 1, 0));
        let reset = Some("the position is one of another journal".to_owned());
        tell(app, News::Snapshot { snapshot, reset });
        toast(app).to_owned()
    };
    let mut app = attached(&[]);
    assert!(anew(&mut app).starts_with("the conversation was loaded again"));
    // Of another client.
    let started =
        json!({"type": "compaction_started", "reason": "threshold", "tokens": 9, "timestamp": 1});
    tell(&mut app, told(1, event(started)));
    assert!(app.is_compacting(), "the example is of no use");
    assert_eq!(anew(&mut app), "the past was replaced by a summary");
    // Of this one: the answer stands, whichever comes first.
    for is_answered_first in [true, false] {
        let mut app = attached(&[]);
        write(&mut app, "/compact");
        key(&mut app, Key::Enter);
        let answer = serde_json::from_value(
            json!({"compacted": true, "tokens_before": 9000, "tokens_after": 1000}),
        );
        let news = News::Compacted {
            conversation: "c".to_owned(),
            answer: answer.unwrap(),
        };
        if is_answered_first {
            tell(&mut app, news);
            assert!(anew(&mut app).starts_with("compacted: "));
        } else {
            assert!(anew(&mut app).starts_with("the past is being summarized"));
            tell(&mut app, news);
            assert!(toast(&app).starts_with("compacted: "));
        }
    }
}

/// Spec: [TUI-306]
#[test]
fn another_client_of_the_same_name_is_remarked_once() {
    let mut app = attached(&[]);
    let name = app.name.clone();
    present(&mut app, 2, &[&name, "other"]);
    assert!(app.toast.is_none());
    present(&mut app, 3, &[&name, "other", &name]);
    let said = format!("another client is named {name}, too; --name tells them apart");
    assert_eq!(toast(&app), said);
    app.toast = None;
    present(&mut app, 4, &[&name, "other", &name, "more"]);
    assert!(app.toast.is_none());
}
