//! The title of the terminal, and when somebody is notified.

use serde_json::json;

use super::testing::*;
use super::*;
use crate::client_settings::Notify;
use crate::conversation::testing::event;

fn ended(outcome: &str, by: Option<&str>) -> harness_protocol::Event {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    event(
        json!({"type": "run_ended", "run_id": 7, "outcome": outcome, "message": "", "usage": usage, "by": by}),
    )
}

/// The client with a run that has been going for so many seconds.
fn after(seconds: u64) -> App {
    let mut app = attached(&running());
    app.update(Msg::Tick, Duration::from_secs(seconds));
    app
}

fn end(app: &mut App, outcome: &str, by: Option<&str>) -> Vec<AppEffect> {
    let now = app.now;
    let news = told(4, ended(outcome, by));
    app.update(Msg::News(Box::new(news)), now)
}

fn notice(text: &str) -> AppEffect {
    AppEffect::Notify(text.to_owned())
}

/// Spec: [TERM-307]
#[test]
fn a_long_run_an_error_and_a_question_are_told_to_those_who_look_elsewhere() {
    let finished = notice("go: finished after 5 s");
    let mut app = after(5);
    assert_eq!(end(&mut app, "completed", None), []);
    let mut app = after(5);
    app.is_focused = false;
    assert_eq!(
        end(&mut app, "completed", None),
        [AppEffect::Ring, finished.clone()]
    );
    // Soon over: no news, unless it failed.
    let mut app = after(4);
    app.is_focused = false;
    assert_eq!(end(&mut app, "completed", None), [AppEffect::Ring]);
    let mut app = after(4);
    app.is_focused = false;
    let failed = notice("go: failed after 4 s");
    assert_eq!(end(&mut app, "error", None), [AppEffect::Ring, failed]);
    // The one who cancelled it knows.
    let mut app = after(9);
    app.is_focused = false;
    let name = app.name.clone();
    assert_eq!(end(&mut app, "cancelled", Some(&name)), [AppEffect::Ring]);
    // Where the terminal may not tell whether somebody looks.
    let mut app = after(5);
    app.doubt_focus();
    assert_eq!(
        end(&mut app, "completed", None),
        std::slice::from_ref(&finished)
    );
    let mut app = after(5);
    app.doubt_focus();
    let now = app.now;
    app.update(Msg::Focused(true), now);
    assert_eq!(end(&mut app, "completed", None), []);
    for (notify, told) in [(Notify::Always, vec![finished]), (Notify::Off, vec![])] {
        let mut app = after(5);
        app.doubt_focus();
        app.own.notify = notify;
        assert_eq!(end(&mut app, "completed", None), told);
    }
}

/// Spec: [TERM-306]
#[test]
fn the_title_says_how_the_conversation_is_and_where() {
    let title = |app: &App| app.window_title().unwrap();
    let mut app = attached(&[]);
    assert_eq!(title(&app), "● c");
    let mut app_running = attached(&running());
    assert_eq!(title(&app_running), "… go");
    app_running.own.terminal_title = false;
    assert_eq!(app_running.window_title(), None);
    let renamed = |title: &str| event(json!({"type": "renamed", "title": title, "by": "ana"}));
    tell(&mut app, told(4, renamed("a\u{1b}]2;b\u{7} title")));
    let shown = title(&app);
    assert!(!shown.contains(char::is_control), "{shown:?}");
    tell(&mut app, told(5, renamed(&"漢".repeat(99))));
    assert!(crate::text::width(&title(&app)) <= 80, "{}", title(&app));
    app.link = LinkState::Down {
        reason: String::new(),
        tries: 1,
        next_at: Duration::ZERO,
    };
    assert!(title(&app).starts_with("! "), "{}", title(&app));
}
