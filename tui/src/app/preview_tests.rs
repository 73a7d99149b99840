use harness_protocol::Event;
use serde_json::json;

use super::super::testing::*;
use super::*;
use crate::conversation::testing::{event, text};
use crate::link::News;
use crate::terminal::Key;

fn prompt(content: &str, by: &str) -> Event {
    event(json!({"type": "user", "content": content, "by": by}))
}

fn previewed(conversation: &str, events: Option<Vec<Event>>) -> News {
    News::Previewed {
        conversation: conversation.to_owned(),
        events,
    }
}

fn shown(app: &App) -> &ConversationPreview {
    let Some(Overlay::Picker(picker)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    picker.preview().unwrap()
}

/// Spec: [TUI-794]
#[test]
fn the_end_of_the_chosen_conversation_is_asked_for_once_and_shown() {
    let mut app = attached(&[]);
    control(&mut app, 'p');
    let asked = tell(&mut app, News::Listed(summaries()));
    let first = summaries()[0].clone();
    let order = ClientOrder::Preview {
        conversation: first.id.clone(),
        records: first.records,
    };
    assert_eq!(orders(&asked), [&order]);
    assert_eq!(shown(&app), &ConversationPreview::Asked);
    // The list comes again and again.
    let events = vec![
        prompt("an earlier one", "ana"),
        text("an earlier reply"),
        prompt("why does\n\tit \u{1b}[8m fail", "ben"),
        text("I look."),
        text("A test of the\nparser fails."),
    ];
    tell(&mut app, previewed(&first.id, Some(events)));
    let words = ConversationPreview::Words {
        prompt: Some("ben: why does it ␛[8m fail".to_owned()),
        reply: Some("A test of the parser fails.".to_owned()),
    };
    assert_eq!(shown(&app), &words);
    assert_eq!(orders(&tell(&mut app, News::Listed(summaries()))), [&order]);
    assert_eq!(shown(&app), &words);
    // Another choice has another end, and a late answer for the one before is not shown.
    let asked = key(&mut app, Key::Down);
    let second = summaries()[1].id.clone();
    assert!(matches!(
        orders(&asked)[..],
        [ClientOrder::Preview { conversation, .. }] if *conversation == second
    ));
    tell(&mut app, previewed(&first.id, None));
    assert_eq!(shown(&app), &ConversationPreview::Asked);
    tell(&mut app, previewed(&second, None));
    assert_eq!(shown(&app), &ConversationPreview::Unreadable);
    // A prompt that has no reply yet does not have the reply before it.
    key(&mut app, Key::Up);
    let events = vec![text("an earlier reply"), prompt("and now", "ben")];
    tell(&mut app, previewed(&first.id, Some(events)));
    let words = ConversationPreview::Words {
        prompt: Some("ben: and now".to_owned()),
        reply: None,
    };
    assert_eq!(shown(&app), &words);
    // Of a long text only the beginning is kept.
    key(&mut app, Key::Down);
    let long = vec![text(&"word ".repeat(100_000)), text(&"x".repeat(100_000))];
    for event in long {
        tell(&mut app, previewed(&second, Some(vec![event])));
        let ConversationPreview::Words {
            reply: Some(reply), ..
        } = shown(&app)
        else {
            panic!("{:?}", shown(&app));
        };
        assert!((600..=610).contains(&reply.len()), "{}", reply.len());
    }
    // Where no conversation fits, none is shown.
    write(&mut app, "nothing like it");
    let Some(Overlay::Picker(picker)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    assert_eq!(picker.preview(), None);
}

/// Spec: [TUI-794]
#[test]
fn ages_grow_with_the_time_of_day() {
    let mut app = attached(&[]);
    assert_eq!(app.age(1_000), None);
    tell(&mut app, News::Time { unix_s: 1_000_000 });
    assert_eq!(app.age(1_000_000), Some("now".to_owned()));
    let now = app.now + std::time::Duration::from_secs(7_200);
    app.update(super::super::Msg::Tick, now);
    assert_eq!(app.age(1_000_000), Some("2 h".to_owned()));
}
