//! The settings of the client, as they are taken, changed and shown.

use super::testing::*;
use super::*;
use crate::composer::ViMode;
use crate::part_view::FoldAmount;
use crate::terminal::Key;

/// Spec: [TUI-175] [TUI-176] [TUI-177]
#[test]
fn a_setting_holds_at_once_and_is_kept() {
    let mut app = attached(&[]);
    let (settings, problems) =
        ClientSettings::parse("tool_results = \"open\"\nmouse = false\nx = 1\n");
    let effects = app.take_settings(settings, &problems);
    assert_eq!(effects, [AppEffect::TakeMouse(false)]);
    assert!(toast(&app).starts_with("there is no setting \"x\""));
    let kept = |name, value| AppEffect::Keep { name, value };
    let mut command = |text: &str| {
        write(&mut app, text);
        key(&mut app, Key::Enter)
    };
    assert!(command("/settings theme light").contains(&kept("theme", "light")));
    assert!(command("/settings bell false").contains(&kept("bell", "false")));
    let effects = command("/settings mouse true");
    assert!(effects.contains(&kept("mouse", "true")), "{effects:?}");
    assert!(effects.contains(&AppEffect::TakeMouse(true)), "{effects:?}");
    assert!(command("/theme dark").contains(&kept("theme", "dark")));
    assert!(command("/fold all").contains(&kept("tool_results", "folded")));
    let effects = control(&mut app, 'o');
    assert!(
        effects.contains(&kept("tool_results", "open")),
        "{effects:?}"
    );
    write(&mut app, "/settings bell loud");
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(
        toast(&app),
        "bell cannot be \"loud\"; it is one of: true, false"
    );
    let lines = app.own_lines();
    assert!(lines[1].starts_with("  theme dark: "), "{lines:?}");
    assert!(lines[3].starts_with("  head_lines 8: "), "{lines:?}");
    assert!(lines[4].starts_with("  bell false: "), "{lines:?}");
    assert_eq!(app.own.tool_results, FoldAmount::Cut);
}

/// Spec: [TUI-175]
#[test]
fn without_the_bell_nobody_is_rung() {
    let mut app = attached(&running());
    app.own.bell = false;
    let now = app.now;
    app.update(Msg::Focused(false), now);
    let usage = serde_json::json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let ended = serde_json::json!({"type": "run_ended", "run_id": 7, "outcome": "completed", "message": "", "usage": usage});
    let ended = crate::conversation::testing::event(ended);
    assert_eq!(tell(&mut app, told(4, ended)), []);
}

/// Spec: [TUI-810]
#[test]
fn the_keys_of_vi_edit_the_draft_and_a_new_draft_begins_in_insert_mode() {
    let mut app = attached(&[]);
    let set = |app: &mut App, mode: &str| {
        write(app, &format!("/settings editing_mode {mode}"));
        key(app, Key::Enter);
    };
    assert_eq!(app.vi_mode(), None);
    set(&mut app, "vi");
    assert_eq!(app.vi_mode().map(ViMode::name), Some("INSERT"));
    write(&mut app, "one two");
    key(&mut app, Key::Escape);
    assert_eq!(app.vi_mode().map(ViMode::name), Some("NORMAL"));
    assert!(app.has_block_cursor());
    write(&mut app, "0dw");
    assert_eq!(app.composer.text(), "two");
    // What is no key of vi is no text, and what another table binds does its work.
    write(&mut app, "q?");
    assert_eq!(app.composer.text(), "two");
    let sent = key(&mut app, Key::Enter);
    assert!(!orders(&sent).is_empty());
    assert_eq!(app.vi_mode().map(ViMode::name), Some("INSERT"));
    // The prompts of the past are above the draft.
    key(&mut app, Key::Escape);
    write(&mut app, "k");
    assert_eq!(app.composer.text(), "two");
    write(&mut app, "S");
    set(&mut app, "emacs");
    assert_eq!(app.vi_mode(), None);
}
