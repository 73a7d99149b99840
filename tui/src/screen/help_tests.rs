use super::picture::rows;
use super::*;
use crate::app::testing::*;
use crate::app::{COMMANDS, Msg, help};
use crate::conversation::testing::text;
use crate::keys::BINDINGS;
use crate::terminal::{Key, KeyPress};

fn resize(app: &mut App, width: u16, height: u16) {
    app.update(Msg::Resized(width, height), app.now);
}

/// Spec: [TUI-05] [TUI-18]
#[test]
fn the_help_has_every_key_and_every_command_at_any_width() {
    for (columns, height) in [
        (30, 600),
        (40, 600),
        (80, 300),
        (119, 300),
        (120, 150),
        (200, 150),
    ] {
        let mut app = attached(&[text("x")]);
        resize(&mut app, columns, height);
        key(&mut app, Key::Function(1));
        assert_eq!(help::overflow(app.size), 0);
        let text: String = rows(&mut app)
            .iter()
            .flat_map(|row| row.split(['│', '╭', '╮', '╰', '╯', '─']))
            .collect();
        let squeezed: String = text.split_whitespace().collect();
        let has = |wanted: &str| {
            let wanted: String = wanted.split_whitespace().collect();
            squeezed.contains(&wanted)
        };
        // Beside each other, the rows of two columns are mixed; words stay whole.
        let has = |wanted: &str| {
            has(wanted) || wanted.split(", ").flat_map(str::split_whitespace).all(has)
        };
        for binding in BINDINGS {
            assert!(has(binding.help), "{columns}: {}", binding.help);
            for chord in binding.chords {
                assert!(has(&chord.to_string()), "{columns}: {chord}");
            }
        }
        for command in COMMANDS {
            assert!(
                has(&format!("/{}", command.name)),
                "{columns}: {}",
                command.name
            );
            assert!(has(command.arguments), "{columns}: {}", command.arguments);
            assert!(has(command.help), "{columns}: {}", command.help);
        }
        assert!(has("Ctrl+J always works"));
        assert!(!text.contains('…'), "{columns}: {text}");
    }
}

/// Spec: [TUI-172]
#[test]
fn the_help_begins_with_a_card_that_fits_a_small_screen() {
    let mut app = attached(&[]);
    key(&mut app, Key::Function(1));
    let rows = rows(&mut app);
    assert!(rows[1].contains("To begin with"), "{rows:?}");
    let end = rows.iter().position(|row| row.contains("│ Keys"));
    let card = &rows[2..end.unwrap()];
    let keys = [
        "Enter", "Tab", "Ctrl+J", "@", "!", "/", "Ctrl+C", "Ctrl+T", "Ctrl+R", "Alt+E",
    ];
    for key in [&keys[..], &["Ctrl+P", "Ctrl+O, Ctrl+F"]].concat() {
        let begins = format!("│   {key} ");
        assert!(
            card.iter().any(|row| row.starts_with(&begins)),
            "{key}: {card:?}"
        );
    }
}

/// Spec: [TUI-05] [TUI-630]
#[test]
fn keys_that_close_the_help_are_handled_unless_they_may_have_been_meant_to_close_it() {
    for open in ["help", "facts"] {
        let opened = |written: &str| {
            let mut app = attached(&running());
            write(&mut app, written);
            app.overlay = Some(match open {
                "help" => Overlay::Help { above: 0 },
                _ => Overlay::Facts(vec!["fact".to_owned()]),
            });
            app
        };
        for pressed in [
            KeyPress::plain(Key::Enter),
            KeyPress::plain(Key::Tab),
            KeyPress::plain(Key::Escape),
            KeyPress::plain(Key::Function(1)),
            KeyPress::plain(Key::Char('c')).control(),
        ] {
            let mut app = opened("draft");
            assert_eq!(press(&mut app, pressed), [], "{pressed:?}");
            assert!(app.overlay.is_none() && app.toast.is_none(), "{pressed:?}");
            assert_eq!(app.composer.text(), "draft", "{pressed:?}");
        }
        for pressed in [
            KeyPress::plain(Key::Char('?')),
            KeyPress::plain(Key::Backspace),
            KeyPress::plain(Key::Char('d')).control(),
        ] {
            let mut app = opened("");
            assert_eq!(press(&mut app, pressed), [], "{pressed:?}");
            assert!(app.overlay.is_none() && app.toast.is_none(), "{pressed:?}");
        }
        // Every other key does what it does without the box.
        let mut app = opened("");
        for letter in "hello".chars() {
            key(&mut app, Key::Char(letter));
        }
        assert!(app.overlay.is_none());
        assert_eq!(app.composer.text(), "hello");
        let mut app = opened("draft");
        key(&mut app, Key::Backspace);
        assert_eq!(app.composer.text(), "draf");
    }
    // Where it fits, the arrows close it too.
    let mut app = attached(&[]);
    resize(&mut app, 120, 150);
    key(&mut app, Key::Function(1));
    key(&mut app, Key::Down);
    assert!(app.overlay.is_none());
    // Where it does not, its last row can be reached, and the first again.
    let mut app = attached(&[]);
    key(&mut app, Key::Function(1));
    let first = rows(&mut app);
    assert!(!first.iter().any(|row| row.contains("/quit")));
    for _ in 0..help::overflow(app.size).div_ceil(5) {
        key(&mut app, Key::Down);
    }
    assert!(rows(&mut app).iter().any(|row| row.contains("/quit")));
    key(&mut app, Key::PageUp);
    while matches!(app.overlay, Some(Overlay::Help { above }) if above > 0) {
        key(&mut app, Key::Up);
    }
    assert_eq!(rows(&mut app), first);
}
