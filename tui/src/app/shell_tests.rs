//! Commands from the input, prompts of the past, and going back to one.

use serde_json::json;

use super::testing::*;
use super::*;
use crate::conversation::testing::event;
use crate::link::News;
use crate::terminal::{Key, KeyPress};

fn command(text: &str, is_hidden: bool) -> ClientOrder {
    ClientOrder::Command {
        conversation: "c".to_owned(),
        command: text.to_owned(),
        is_hidden,
    }
}

/// Spec: [TUI-167] [TUI-168]
#[test]
fn a_command_is_run_and_ended_and_only_one_that_was_typed() {
    let mut app = attached(&[]);
    write(&mut app, "!cargo test");
    let effects = key(&mut app, Key::Enter);
    assert_eq!(orders(&effects), [&command("cargo test", false)]);
    assert!(effects.contains(&AppEffect::Remember("!cargo test".to_owned())));
    assert!(app.composer.is_empty());
    // One at a time; Ctrl+C ends it and does not leave.
    write(&mut app, "!ls");
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(toast(&app), "cargo test runs; Ctrl+C ends it");
    assert_eq!(
        control(&mut app, 'c'),
        [AppEffect::Order(ClientOrder::EndCommand)]
    );
    tell(&mut app, News::CommandEnded { reason: None });
    control(&mut app, 'u');
    write(&mut app, "!! ls -l");
    assert_eq!(
        orders(&key(&mut app, Key::Enter)),
        [&command("ls -l", true)]
    );
    let reason = Some("to run a command needs the token".to_owned());
    tell(&mut app, News::CommandEnded { reason });
    assert_eq!(toast(&app), "to run a command needs the token");
    // Behind a blank or pasted it is a prompt.
    let prompt =
        |effects: &[AppEffect]| matches!(orders(effects)[..], [ClientOrder::Submit { .. }]);
    write(&mut app, " !ls");
    assert!(prompt(&key(&mut app, Key::Enter)));
    let now = app.now;
    app.update(Msg::Paste("!rm -rf x".to_owned()), now);
    assert!(prompt(&key(&mut app, Key::Enter)));
    write(&mut app, "!");
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(app.composer.text(), "!");
    // While a run is going, too.
    let mut app = attached(&running());
    write(&mut app, "!ls");
    assert_eq!(orders(&key(&mut app, Key::Enter)), [&command("ls", false)]);
}

fn past(app: &App) -> (Vec<String>, usize) {
    let Some(Overlay::Past(past)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    let shown = past.matches().into_iter().map(|prompt| prompt.text.clone());
    (shown.collect(), past.chosen())
}

/// Spec: [TUI-169]
#[test]
fn prompts_of_the_past_are_searched_and_taken_without_sending() {
    let mut app = attached(&[]);
    let history = ["fix it", "test it", "fix it", "Fix that\ntoo"];
    let history = history.into_iter().map(str::to_owned).collect();
    let now = app.now;
    app.update(Msg::Remembered(history), now);
    write(&mut app, "a draft");
    control(&mut app, 'r');
    let all = ["Fix that\ntoo", "fix it", "test it"].map(str::to_owned);
    assert_eq!(past(&app), (all.to_vec(), 0));
    write(&mut app, "FIX");
    assert_eq!(past(&app), (all[..2].to_vec(), 0));
    control(&mut app, 'r');
    assert_eq!(past(&app).1, 1);
    key(&mut app, Key::Escape);
    assert_eq!(app.composer.text(), "a draft");
    control(&mut app, 'r');
    key(&mut app, Key::Down);
    let effects = key(&mut app, Key::Enter);
    assert_eq!(effects, [AppEffect::Remember("a draft".to_owned())]);
    assert_eq!(app.composer.text(), "fix it");
    // Without a service it is the key that attaches again.
    lose(&mut app, "gone", 1, 5);
    assert_eq!(
        control(&mut app, 'r'),
        [AppEffect::Order(ClientOrder::TryNow)]
    );
}

/// Spec: [TUI-170] [TUI-171]
#[test]
fn one_goes_back_to_a_prompt_in_a_branch_and_writes_it_anew() {
    let user = |content: &str, item: Option<u64>| {
        event(json!({"type": "user", "content": content, "by": "ben", "run_id": 1, "item": item}))
    };
    let started = || event(json!({"type": "run_started", "run_id": 1}));
    let mut app = attached(&[
        started(),
        user("first", None),
        user("steered", Some(1)),
        started(),
        user("second", None),
    ]);
    write(&mut app, "/rewind");
    key(&mut app, Key::Enter);
    assert_eq!(past(&app).0, ["second", "first"]);
    write(&mut app, "sec");
    let fork = |seq: u64| ClientOrder::Fork {
        conversation: "c".to_owned(),
        seq: Some(seq),
    };
    assert_eq!(orders(&key(&mut app, Key::Enter)), [&fork(3)]);
    assert!(app.composer.is_empty());
    open_in(&mut app, "d", None);
    assert_eq!(app.composer.text(), "second");
    assert_eq!(
        toast(&app),
        "a branch from before that prompt; files stay as they are"
    );
    // A branch that could not be made leaves all as it is.
    let mut app = attached(&[started(), user("first", None)]);
    press(&mut app, KeyPress::plain(Key::Char('e')).alt());
    assert_eq!(orders(&key(&mut app, Key::Enter)), [&fork(0)]);
    let reason = "full".to_owned();
    tell(&mut app, News::Failed { reason });
    open_in(&mut app, "d", None);
    assert!(app.composer.is_empty());
    // The others see where it goes on.
    let told = json!({"type": "branched", "conversation": "1a2b", "seq": 3, "by": "ana"});
    let app = attached(&[event(told)]);
    let part = last(&app).unwrap();
    assert!(
        matches!(&part.kind, crate::conversation::PartKind::Note { text, .. } if text == "branched by ana: what follows on record 3 goes on in 1a2b, too"),
        "{part:?}"
    );
}
