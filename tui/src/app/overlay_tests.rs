use harness_protocol::Event;

use super::testing::*;
use super::*;
use crate::conversation::testing::text;
use crate::link::News;
use crate::terminal::{Button, Key, Mouse, MouseAction};

/// Spec: [TUI-32] [TUI-55]
#[test]
fn from_the_list_conversations_are_opened_made_renamed_and_thrown_away() {
    let mut app = picking();
    key(&mut app, Key::Down);
    key(&mut app, Key::Down);
    key(&mut app, Key::Up);
    let opened = key(&mut app, Key::Enter);
    let conversation = "d".to_owned();
    assert_eq!(order(&mut app, opened), ClientOrder::Open { conversation });

    let mut app = picking();
    write(&mut app, "MORN");
    let made = control(&mut app, 'n');
    let title = Some("MORN".to_owned());
    let folder = None;
    assert_eq!(order(&mut app, made), ClientOrder::Create { title, folder });

    let mut app = picking();
    write(&mut app, "MORN");
    key(&mut app, Key::Tab);
    write(&mut app, "ing");
    let renamed = key(&mut app, Key::Enter);
    let (conversation, title) = ("e".to_owned(), "Morninging".to_owned());
    assert_eq!(
        order(&mut app, renamed),
        ClientOrder::Rename {
            conversation,
            title
        }
    );

    let mut app = picking();
    write(&mut app, "bed");
    assert_eq!(control(&mut app, 'x'), []);
    // Any other key is a second thought.
    key(&mut app, Key::Escape);
    assert_eq!(control(&mut app, 'x'), []);
    let thrown = control(&mut app, 'x');
    let conversation = "d".to_owned();
    assert_eq!(
        order(&mut app, thrown),
        ClientOrder::Delete { conversation }
    );
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none());
}

/// Spec: [TUI-32]
#[test]
fn what_is_begun_with_one_conversation_is_not_done_with_another() {
    let deleted = |app: &mut App, id: &str| {
        let left = summaries().into_iter().filter(|it| it.id != id).collect();
        tell(app, News::Listed(left));
    };
    // The one that was to go went by itself.
    let mut app = picking();
    key(&mut app, Key::Down);
    control(&mut app, 'x');
    deleted(&mut app, "d");
    assert_eq!(control(&mut app, 'x'), []);
    // Another order of the list.
    let mut app = picking();
    key(&mut app, Key::Tab);
    write(&mut app, "title");
    let turned = summaries().into_iter().rev().collect();
    tell(&mut app, News::Listed(turned));
    let renamed = key(&mut app, Key::Enter);
    let (conversation, title) = ("c".to_owned(), "title".to_owned());
    let rename = ClientOrder::Rename {
        conversation,
        title,
    };
    assert_eq!(orders(&renamed), [&rename]);
    // The list has the title at once.
    write(&mut app, "title");
    let opened = key(&mut app, Key::Enter);
    assert_eq!(
        order(&mut app, opened),
        ClientOrder::Open {
            conversation: "c".to_owned()
        }
    );
    // A second thought: another key than the one that was to be pressed again.
    for pressed in [Key::Down, Key::Backspace, Key::Char('b'), Key::Escape] {
        let mut app = picking();
        control(&mut app, 'x');
        key(&mut app, pressed);
        assert_eq!(control(&mut app, 'x'), [], "{pressed:?}");
    }
}

/// Spec: [TUI-32]
#[test]
fn while_a_title_is_written_it_cannot_get_lost() {
    let mut app = picking();
    key(&mut app, Key::Tab);
    write(&mut app, "new");
    assert_eq!(control(&mut app, 'n'), []);
    assert_eq!(control(&mut app, 'x'), []);
    for pressed in [Key::Up, Key::Down, Key::PageDown, Key::Tab] {
        assert_eq!(key(&mut app, pressed), []);
    }
    app.update(Msg::Mouse(wheel(1)), Duration::ZERO);
    app.update(Msg::Paste(" one\n".to_owned()), Duration::ZERO);
    key(&mut app, Key::Backspace);
    let renamed = key(&mut app, Key::Enter);
    let (conversation, title) = ("c".to_owned(), "new on".to_owned());
    let rename = ClientOrder::Rename {
        conversation,
        title,
    };
    assert_eq!(orders(&renamed), [&rename]);
    // None at all is no title.
    key(&mut app, Key::Tab);
    control(&mut app, 'u');
    assert_eq!(key(&mut app, Key::Enter), []);
    assert!(toast(&app).contains("must not be empty"));
    key(&mut app, Key::Escape);
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none());
}

/// Spec: [TUI-32]
#[test]
fn a_list_that_has_not_come_yet_has_nothing_to_choose() {
    let mut app = attached(&[]);
    control(&mut app, 'p');
    for pressed in [Key::Down, Key::Up, Key::PageDown, Key::Enter, Key::Tab] {
        assert_eq!(key(&mut app, pressed), [], "{pressed:?}");
    }
    assert_eq!(control(&mut app, 'x'), []);
    write(&mut app, "E");
    tell(&mut app, News::Listed(summaries()));
    let Some(Overlay::Picker(picker)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    let shown: Vec<_> = picker.matches().iter().map(|it| it.id.as_str()).collect();
    assert_eq!((shown, picker.chosen()), (vec!["d", "e"], Some(0)));
    write(&mut app, "\u{6f22}");
    assert_eq!(key(&mut app, Key::Enter), []);
    // A list that comes when nobody looks any more is dropped.
    key(&mut app, Key::Escape);
    tell(&mut app, News::Listed(summaries()));
    assert!(app.overlay.is_none());
}

fn wheel(steps: i32) -> Mouse {
    mouse(MouseAction::Wheel(steps), 5, 5)
}

fn mouse(action: MouseAction, column: u16, row: u16) -> Mouse {
    Mouse {
        action,
        column,
        row,
    }
}

/// Spec: [TUI-05]
#[test]
fn the_wheel_moves_what_lies_on_top() {
    let texts: Vec<Event> = (0..60)
        .map(|number| text(&format!("text {number}")))
        .collect();
    let mut app = attached(&texts);
    app.viewport.resize(78, 10);
    key(&mut app, Key::Function(1));
    let turn = |app: &mut App, steps: i32| {
        app.update(Msg::Mouse(wheel(steps)), Duration::ZERO);
        match app.overlay {
            Some(Overlay::Help { above }) => above,
            _ => panic!("the help is closed"),
        }
    };
    assert_eq!(turn(&mut app, 2), 6);
    assert_eq!(turn(&mut app, -1), 3);
    let most = help::overflow(app.size);
    assert_eq!(turn(&mut app, 1000), most);
    assert!(app.viewport.is_following());
    key(&mut app, Key::Escape);
    app.update(Msg::Mouse(wheel(-1)), Duration::ZERO);
    assert!(!app.viewport.is_following());

    let mut app = picking();
    app.update(Msg::Mouse(wheel(1)), Duration::ZERO);
    let opened = key(&mut app, Key::Enter);
    assert_eq!(
        order(&mut app, opened),
        ClientOrder::Open {
            conversation: "d".to_owned()
        }
    );
}

/// Spec: [TUI-16] [TUI-19]
#[test]
fn a_press_that_ends_over_something_else_selects_nothing() {
    let mut app = attached(&running());
    app.viewport.resize(78, 18);
    let at = |app: &mut App, action, column| {
        app.update(Msg::Mouse(mouse(action, column, 2)), Duration::ZERO)
    };
    at(&mut app, MouseAction::Press(Button::Left), 3);
    key(&mut app, Key::Function(1));
    at(&mut app, MouseAction::Release(Button::Left), 3);
    key(&mut app, Key::Escape);
    assert!(app.selection.is_none());
    assert_eq!(
        orders(&control(&mut app, 'c')),
        [&ClientOrder::Cancel {
            conversation: "c".to_owned(),
            run_id: Some(7),
            clear_queue: false,
        }]
    );
    // What is selected is copied, once, and the run goes on.
    let mut app = attached(&running());
    app.viewport.resize(78, 18);
    at(&mut app, MouseAction::Press(Button::Left), 3);
    at(&mut app, MouseAction::Drag(Button::Left), 60);
    at(&mut app, MouseAction::Release(Button::Left), 60);
    assert_eq!(control(&mut app, 'c'), [AppEffect::Copy("go".to_owned())]);
    assert_eq!((app.cancelling, app.selection.is_some()), (None, false));
}

/// Spec: [TUI-05] [TUI-18]
#[test]
fn what_is_pasted_while_the_help_is_open_is_written() {
    let mut app = attached(&[]);
    key(&mut app, Key::Function(1));
    app.update(Msg::Paste("?pasted".to_owned()), Duration::ZERO);
    assert!(app.overlay.is_none());
    assert_eq!(app.composer.text(), "?pasted");
    // A paste that is attached is something that is written.
    let mut app = attached(&[]);
    app.update(Msg::Paste("line\n".repeat(30)), Duration::ZERO);
    assert_eq!(control(&mut app, 'd'), []);
    key(&mut app, Key::Char('?'));
    assert!(app.overlay.is_none());
    assert_eq!(app.composer.text(), "?");
    control(&mut app, 'u');
    assert!(app.composer.is_empty());
    assert_eq!(control(&mut app, 'd'), [AppEffect::Leave]);
}

/// Spec: [TUI-16] [TUI-13]
#[test]
fn esc_closes_then_drops_the_selection_then_follows_and_ctrl_c_does_not_wait_for_it() {
    let mut events: Vec<Event> = (0..60).map(|_| text("hay")).collect();
    events.extend(running());
    let prepared = || {
        let mut app = attached(&events);
        key(&mut app, Key::PageUp);
        for action in [MouseAction::Press, MouseAction::Drag, MouseAction::Release] {
            let column = if action(Button::Left) == MouseAction::Press(Button::Left) {
                1
            } else {
                40
            };
            app.update(
                Msg::Mouse(mouse(action(Button::Left), column, 8)),
                Duration::ZERO,
            );
        }
        write(&mut app, "/");
        app
    };
    let state = |app: &App| {
        let is_listed = !app.completions().is_empty();
        (
            is_listed,
            app.selection.is_some(),
            app.viewport.is_following(),
        )
    };
    let mut app = prepared();
    let mut states = vec![state(&app)];
    for _ in 0..4 {
        assert_eq!(key(&mut app, Key::Escape), []);
        states.push(state(&app));
    }
    assert_eq!(
        states,
        [
            (true, true, false),
            (false, true, false),
            (false, false, false),
            (false, false, true),
            (false, false, true),
        ]
    );
    assert_eq!((app.composer.text(), app.cancelling), ("/", None));
    let mut app = prepared();
    assert!(matches!(control(&mut app, 'c')[..], [AppEffect::Copy(_)]));
    assert_eq!(
        orders(&control(&mut app, 'c')),
        [&ClientOrder::Cancel {
            conversation: "c".to_owned(),
            run_id: Some(7),
            clear_queue: false,
        }]
    );
}
