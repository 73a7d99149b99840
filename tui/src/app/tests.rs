//! Keys, prompts and commands.

use serde_json::json;

use super::testing::*;
use super::toast::TOAST;
use super::*;
use crate::conversation::PartKind;
use crate::conversation::testing::{event, status};
use crate::link::News;
use crate::terminal::{Key, KeyPress};
use crate::theme::Depth;

/// Spec: [TUI-11] [TUI-41]
#[test]
fn a_prompt_is_shown_at_once_and_comes_back_when_it_is_not_accepted() {
    let mut app = attached(&[]);
    write(&mut app, " two words ");
    let sent = key(&mut app, Key::Enter);
    let submit = |number: u64| ClientOrder::Submit {
        conversation: "c".to_owned(),
        key: format!("k-{number}"),
        content: "two words".to_owned(),
        files: Vec::new(),
    };
    assert!(sent.contains(&AppEffect::Order(submit(1))), "{sent:?}");
    assert!(app.composer.is_empty());
    let shown = last(&app).unwrap();
    assert!(
        matches!(&shown.kind, PartKind::User { content, is_pending: true, .. } if content == "two words"),
        "{shown:?}"
    );
    write(&mut app, "more");
    let (key_of_it, reason) = ("k-1".to_owned(), "no".to_owned());
    tell(
        &mut app,
        News::NotAccepted {
            key: key_of_it,
            reason,
        },
    );
    assert!(last(&app).is_none());
    assert_eq!(app.composer.text(), " two words \nmore");
    assert_eq!(toast(&app), "not sent: no");

    // The next one is accepted; its echo takes the place of what was shown.
    control(&mut app, 'u');
    write(&mut app, "two words");
    assert!(key(&mut app, Key::Enter).contains(&AppEffect::Order(submit(2))));
    let echo =
        json!({"type": "user", "content": "two words", "run_id": 1, "key": "k-2", "by": "ana"});
    tell(&mut app, told(1, event(echo)));
    tell(
        &mut app,
        News::Accepted {
            key: "k-2".to_owned(),
            run_id: 1,
        },
    );
    assert_eq!(app.conversation.len(), 1);
    // Were it refused now, nothing would come back.
    tell(
        &mut app,
        News::NotAccepted {
            key: "k-2".to_owned(),
            reason: "late".to_owned(),
        },
    );
    assert!(app.composer.is_empty());
}

/// Spec: [TUI-13] [TUI-42] [TUI-161]
#[test]
fn ctrl_c_cancels_the_run_on_the_screen_else_clears_else_leaves() {
    let mut app = attached(&running());
    write(&mut app, "draft");
    let cancel = AppEffect::Order(ClientOrder::Cancel {
        conversation: "c".to_owned(),
        run_id: Some(7),
        clear_queue: false,
    });
    assert_eq!(control(&mut app, 'c'), [cancel]);
    assert_eq!(app.cancelling, Some(7));
    assert_eq!(app.composer.text(), "draft");
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let ended = json!({"type": "run_ended", "run_id": 7, "outcome": "cancelled", "message": "", "usage": usage});
    tell(&mut app, told(4, event(ended)));
    tell(&mut app, told(5, status("idle", "cancelled")));
    assert_eq!(app.cancelling, None);
    assert_eq!(
        control(&mut app, 'c'),
        [AppEffect::Remember("draft".to_owned())]
    );
    assert!(app.composer.is_empty());
    assert_eq!(control(&mut app, 'c'), [AppEffect::Leave]);

    // Pressed twice, it cancels and does no more.
    let mut app = attached(&running());
    control(&mut app, 'c');
    let ended = json!({"type": "run_ended", "run_id": 7, "outcome": "cancelled", "message": "", "usage": usage});
    tell(&mut app, told(4, event(ended)));
    tell(&mut app, told(5, status("idle", "cancelled")));
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(toast(&app), "cancelled; Ctrl+C once more leaves");
    wait(&mut app, 1);
    assert_eq!(control(&mut app, 'c'), [AppEffect::Leave]);

    // Of a service that is gone nothing is awaited.
    let mut app = attached(&running());
    let (reason, wait) = ("gone".to_owned(), Duration::from_secs(1));
    tell(
        &mut app,
        News::Down {
            reason,
            tries: 0,
            wait,
        },
    );
    assert_eq!(control(&mut app, 'c'), [AppEffect::Leave]);
}

/// Spec: [TUI-81]
#[test]
fn ctrl_c_and_a_command_cancel_a_summary_that_is_no_run() {
    let started = json!({"type": "compaction_started", "reason": "manual", "tokens": 9});
    let compacting = || attached(&[event(started.clone()), status("thinking", "compacting")]);
    let cancel = || {
        AppEffect::Order(ClientOrder::Cancel {
            conversation: "c".to_owned(),
            run_id: None,
            clear_queue: false,
        })
    };
    let mut app = compacting();
    write(&mut app, "draft");
    assert_eq!(control(&mut app, 'c'), [cancel()]);
    assert_eq!(app.composer.text(), "draft");
    tell(
        &mut app,
        told(
            3,
            event(json!({"type": "compaction_failed", "error": "cancelled"})),
        ),
    );
    tell(&mut app, told(4, status("idle", "")));
    control(&mut app, 'c');
    wait(&mut app, 1);
    assert_eq!(control(&mut app, 'c'), [AppEffect::Leave]);

    let mut app = compacting();
    write(&mut app, "/cancel");
    assert!(key(&mut app, Key::Enter).contains(&cancel()));
    // Of a service that is gone nothing is awaited.
    let (reason, wait) = ("gone".to_owned(), Duration::from_secs(1));
    let down = News::Down {
        reason,
        tries: 0,
        wait,
    };
    tell(&mut app, down);
    assert_eq!(control(&mut app, 'c'), [AppEffect::Leave]);
}

/// Spec: [TUI-05] [TUI-16] [TUI-18]
#[test]
fn a_question_mark_is_help_only_where_nothing_is_written_and_esc_closes_and_never_cancels() {
    let is_help = |app: &App| matches!(app.overlay, Some(Overlay::Help { .. }));
    let mut app = attached(&running());
    for closing in [Key::Char('?'), Key::Escape, Key::Enter, Key::Function(1)] {
        assert_eq!(key(&mut app, Key::Char('?')), []);
        assert!(is_help(&app));
        assert_eq!(key(&mut app, closing), []);
        assert!(
            app.overlay.is_none() && app.composer.is_empty(),
            "{closing:?}"
        );
    }
    // Part of a paste that the terminal does not mark.
    let burst = KeyPress {
        is_burst: true,
        ..KeyPress::plain(Key::Char('?'))
    };
    press(&mut app, burst);
    assert!(!is_help(&app));
    assert_eq!(app.composer.text(), "?");
    key(&mut app, Key::Char('?'));
    assert_eq!(app.composer.text(), "??");
    key(&mut app, Key::Function(1));
    assert!(is_help(&app));
    key(&mut app, Key::Escape);
    control(&mut app, 'u');
    app.update(Msg::Paste("?x".to_owned()), Duration::ZERO);
    assert_eq!(app.composer.text(), "?x");
    assert_eq!(key(&mut app, Key::Escape), []);
    assert_eq!(app.composer.text(), "?x");
    assert_eq!(app.cancelling, None);
}

/// Spec: [TUI-12]
#[test]
fn every_form_of_a_new_line_makes_one() {
    let enter = KeyPress::plain(Key::Enter);
    for pressed in [
        enter.control(),
        enter.shift(),
        enter.alt(),
        KeyPress::plain(Key::Char('j')).control(),
    ] {
        let mut app = attached(&[]);
        write(&mut app, "a");
        press(&mut app, pressed);
        write(&mut app, "b");
        assert_eq!(app.composer.text(), "a\nb", "{pressed:?}");
    }
    let mut app = attached(&[]);
    write(&mut app, "a\\");
    assert_eq!(key(&mut app, Key::Enter), []);
    write(&mut app, "b");
    assert_eq!(app.composer.text(), "a\nb");
}

/// Spec: [TUI-30]
#[test]
fn a_line_with_a_slash_is_a_command_and_never_sent() {
    let mut app = attached(&[]);
    write(&mut app, "/nonsense at all");
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(app.composer.text(), "/nonsense at all");
    assert!(toast(&app).contains("no command /nonsense"));
    control(&mut app, 'u');
    write(&mut app, "/ren");
    assert_eq!(app.completions()[0].label, "/rename title");
    key(&mut app, Key::Tab);
    assert_eq!(app.composer.text(), "/rename ");
    write(&mut app, "New title");
    let renamed = key(&mut app, Key::Enter);
    let expected = ClientOrder::Rename {
        conversation: "c".to_owned(),
        title: "New title".to_owned(),
    };
    assert_eq!(orders(&renamed), [&expected]);
    assert!(app.composer.is_empty());
    // The list is walked, and what is chosen is done.
    write(&mut app, "/");
    key(&mut app, Key::Down);
    key(&mut app, Key::Up);
    let quit = COMMANDS
        .iter()
        .position(|command| command.name == "quit")
        .unwrap();
    for _ in 0..quit + 5 {
        key(&mut app, Key::Down);
    }
    assert!(key(&mut app, Key::Enter).contains(&AppEffect::Leave));
    // Two slashes are one that is sent.
    let mut app = attached(&[]);
    write(&mut app, "//etc is a folder");
    let sent = key(&mut app, Key::Enter);
    assert!(
        matches!(orders(&sent)[..], [ClientOrder::Submit { content, .. }] if content == "/etc is a folder"),
        "{sent:?}"
    );
}

/// Spec: [TUI-07] [TUI-70]
#[test]
fn a_remark_goes_by_itself_and_nothing_wakes_an_idle_client() {
    let mut app = attached(&[]);
    assert_eq!(app.wakes_at(), None);
    app.say("a remark");
    assert_eq!(app.wakes_at(), Some(TOAST));
    app.update(Msg::Tick, TOAST);
    assert_eq!((toast(&app), app.wakes_at()), ("", None));
    let mut app = attached(&running());
    assert_eq!(app.wakes_at(), Some(TICK));
    app.update(Msg::Focused(false), Duration::ZERO);
    assert_eq!(app.wakes_at(), None);
}

/// Spec: [TUI-14]
#[test]
fn up_and_down_walk_the_prompts_of_the_past() {
    let mut app = attached(&[]);
    for prompt in ["one", "two"] {
        app.history.add(prompt);
    }
    write(&mut app, "draft");
    let mut walked = Vec::new();
    for pressed in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
        key(&mut app, pressed);
        walked.push(app.composer.text().to_owned());
    }
    // The first goes to the beginning of the row.
    assert_eq!(walked, ["draft", "two", "one", "two", "draft", "draft"]);
}

/// Spec: [TUI-71]
#[test]
fn a_client_that_nobody_looks_at_rings_when_a_run_is_over() {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let ended = json!({"type": "run_ended", "run_id": 7, "outcome": "completed", "message": "", "usage": usage});
    for (is_focused, rings) in [(true, vec![]), (false, vec![AppEffect::Ring])] {
        let mut app = attached(&running());
        app.update(Msg::Focused(is_focused), Duration::ZERO);
        assert_eq!(tell(&mut app, told(4, event(ended.clone()))), rings);
    }
}

/// Spec: [TERM-25]
#[test]
fn the_colours_suit_the_background_unless_somebody_chose_them() {
    let scheme = |scheme| Theme::new(scheme, Depth::Full);
    let tell = |app: &mut App, is_light| {
        let now = app.now;
        assert_eq!(app.update(Msg::Background { is_light }, now), []);
        app.theme
    };
    let mut app = attached(&[]);
    assert_eq!(app.theme, scheme(Scheme::Dark));
    assert_eq!(tell(&mut app, true), scheme(Scheme::Light));
    assert_eq!(tell(&mut app, false), scheme(Scheme::Dark));
    write(&mut app, "/theme terminal");
    key(&mut app, Key::Enter);
    assert_eq!(tell(&mut app, true), scheme(Scheme::Terminal));
    let mut app = attached(&[]);
    app.follows_background = false;
    assert_eq!(tell(&mut app, true), scheme(Scheme::Dark));
}
