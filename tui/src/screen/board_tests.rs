//! The board of workflows as it is drawn.

use serde_json::json;

use super::picture::{picture, rows};
use super::*;
use crate::app::Msg;
use crate::app::testing::*;
use crate::board::testing::*;
use crate::board::{BoardNews, BoardOrder};
use crate::link::{ClientOrder, News};
use crate::terminal::{Key, KeyPress};
use crate::theme::{Depth, Scheme, Theme};

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

fn of_board(app: &mut App, news: BoardNews) {
    let effects = tell(app, News::Board(news));
    for effect in orders(&effects) {
        assert!(matches!(
            effect,
            ClientOrder::Board(BoardOrder::Follow { .. })
        ));
    }
}

fn resize(app: &mut App, (width, height): (u16, u16)) {
    app.update(Msg::Resized(width, height), app.now);
}

/// A board with three workflows, the first of which has these last records.
fn board(first: harness_protocol::WorkflowSnapshot, recent: Vec<harness_protocol::Event>) -> App {
    let mut app = attached_in(Some(FOLDER), &[]);
    press(&mut app, KeyPress::plain(Key::Char('w')).alt());
    let mut other = workflow("w3", "completed");
    other.folder = "/srv/\u{1b}[2Jother".to_owned();
    let paused = with("w2", "paused", json!({"reason": "stuck"}));
    of_board(
        &mut app,
        BoardNews::Listed(vec![other, first.clone(), paused]),
    );
    let snapshot = Box::new(first);
    of_board(&mut app, BoardNews::Followed { snapshot, recent });
    app
}

fn recent() -> Vec<harness_protocol::Event> {
    vec![
        check(1, "suite", "passed"),
        accepted(1, "numbers"),
        check(2, "suite", "passed"),
        check(2, "strings.1", "failed"),
        record(
            "verdict",
            json!({"n": 2, "attempt": 1, "accepted": false,
                "reasons": [{"reason": "check_failed", "check": "strings.1"}]}),
        ),
    ]
}

fn keep(name: &str, app: &mut App) {
    for (width, height) in SIZES {
        resize(app, (width, height));
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), picture(app));
    }
}

/// Spec: [TUI-240] [TUI-241] [TUI-242] [TUI-60]
#[test]
fn a_workflow_that_works() {
    keep("board_working", &mut board(working("w1"), recent()));
}

/// Spec: [TUI-241] [TUI-243] [TUI-245]
#[test]
fn workflows_that_wait_for_a_person() {
    let paused = with(
        "w1",
        "paused",
        json!({"reason": "budget_tokens", "detail": "12345 of 12000 tokens are used up; resume with more"}),
    );
    keep("board_paused", &mut board(paused, recent()));
    let gate = json!({"gate": "plan-1", "asks": "approve the manifest d47f83193775dade040720900def33540535d0df1235c69ad0017901df142c49"});
    let gate = with("w1", "waiting_for_approval", json!({"gate": gate}));
    let mut app = board(gate, Vec::new());
    key(&mut app, Key::Char('a'));
    keep("board_gate", &mut app);
}

/// Spec: [TUI-244] [TUI-241]
#[test]
fn themes_say_the_same_and_no_colour_is_needed() {
    let mut app = board(working("w1"), recent());
    control(&mut app, 'c');
    let said = rows(&mut app);
    for (scheme, depth) in [
        (Scheme::Light, Depth::Full),
        (Scheme::Terminal, Depth::Full),
        (Scheme::Dark, Depth::None),
    ] {
        app.theme = Theme::new(scheme, depth);
        assert_eq!(rows(&mut app), said);
    }
    insta::assert_snapshot!("board_without_colour", picture(&mut app));
    app.theme = Theme::new(Scheme::Light, Depth::Full);
    insta::assert_snapshot!("board_light", picture(&mut app));
    // All features are there on a larger screen.
    resize(&mut app, SIZES[1]);
    let said = rows(&mut app).join("\n");
    for word in [
        "done", "doing", "stuck", "waits", "left out", "pending", "green", "red",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

/// Spec: [TUI-247]
#[test]
fn the_output_of_a_check() {
    let mut app = board(working("w1"), Vec::new());
    let lines: String = (1..=300).map(|n| format!("line {n}\n")).collect();
    of_board(&mut app, happened("w1", shows(0, &lines)));
    key(&mut app, Key::Char('o'));
    keep("board_output", &mut app);
    resize(&mut app, SIZES[0]);
    for _ in 0..99 {
        key(&mut app, Key::PageUp);
    }
    let up = rows(&mut app).join("\n");
    assert!(up.contains("line 101") && !up.contains("line 300"), "{up}");
    key(&mut app, Key::PageDown);
    assert_ne!(rows(&mut app).join("\n"), up);
}

/// Spec: [TUI-242]
#[test]
fn of_many_features_the_one_that_is_worked_on_is_shown_and_all_can_be_reached() {
    let feature = |n: u32| json!({"id": format!("f{n}"), "description": "d", "state": if n < 40 { "passing" } else { "failing" }, "required": true});
    let features: Vec<_> = (0..80).map(feature).collect();
    let step =
        json!({"iteration": 9, "attempt": 1, "step": "check:suite", "feature": "f40", "for_ms": 1});
    let it = with("w1", "running", json!({"features": features, "step": step}));
    let mut app = board(it, recent());
    for size in SIZES {
        resize(&mut app, size);
        assert!(rows(&mut app).join("\n").contains("doing    f40"));
    }
    resize(&mut app, SIZES[0]);
    for _ in 0..99 {
        key(&mut app, Key::PageUp);
    }
    assert!(rows(&mut app).join("\n").contains("done     f0 "));
    let mut seen = String::new();
    for _ in 0..99 {
        seen += &rows(&mut app).join("\n");
        key(&mut app, Key::PageDown);
    }
    for n in 0..80 {
        assert!(seen.contains(&format!(" f{n} ")), "{n}");
    }
}

/// Spec: [TUI-240]
#[test]
fn a_board_of_any_size_is_drawn() {
    let mut app = board(working("w1"), recent());
    for width in (1..130).step_by(7) {
        for height in 1..42 {
            resize(&mut app, (width, height));
            assert_eq!(rows(&mut app).len(), usize::from(height));
        }
    }
    let mut empty = attached_in(Some(FOLDER), &[]);
    press(&mut empty, KeyPress::plain(Key::Char('w')).alt());
    assert!(rows(&mut empty).join("\n").contains("loading"));
    of_board(&mut empty, BoardNews::Listed(Vec::new()));
    assert!(rows(&mut empty).join("\n").contains("no workflow yet"));
}
