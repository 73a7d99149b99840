use harness_protocol::Event;
use serde_json::json;

use super::picture::rows;
use super::*;
use crate::app::Msg;
use crate::app::testing::*;
use crate::conversation::testing::{event, status};
use crate::link::News;
use crate::text::width;

fn resize(app: &mut App, width: u16, height: u16) {
    app.update(Msg::Resized(width, height), app.now);
}

/// The words of the status, without the spinner.
fn status_text(app: &App) -> String {
    let (text, _) = super::status::text(app);
    let turns = |c: char| ('\u{2800}'..='\u{28ff}').contains(&c);
    let text = text.trim_start_matches(turns);
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

/// Spec: [TUI-02]
#[test]
fn the_status_says_what_is_going_on() {
    let mut app = attached(&[]);
    assert_eq!(super::status::text(&app).0, "");
    let began = event(json!({"type": "run_started", "run_id": 7}));
    tell(&mut app, told(1, began));
    let said = |app: &mut App, event: Event, seq: u64, seconds: u64| {
        tell(app, told(seq, event));
        wait(app, seconds);
        status_text(app)
    };
    for (seq, state, message, seconds, expected) in [
        (2, "thinking", "", 0, "Thinking..."),
        (
            3,
            "thinking",
            "",
            3,
            "Thinking... waiting for the model 3 s",
        ),
        (4, "running_tool", "grep", 0, "Running: grep..."),
        (
            5,
            "running_tool",
            "grep",
            12,
            "Running: grep... 12 s of 15 s",
        ),
        (6, "running_tool", "read", 0, "Running: read..."),
        (
            7,
            "thinking",
            "retrying in 1 s",
            0,
            "Thinking... retrying in 1 s",
        ),
        (
            8,
            "error",
            "the model\nis \x1b[31mbusy",
            0,
            "Error: the model is busy",
        ),
        (9, "idle", "", 0, ""),
    ] {
        let told = said(&mut app, status(state, message), seq, seconds);
        assert_eq!(told, expected, "{state} {message:?}");
    }
    assert_eq!(super::status::text(&app).1, Token::Status);
}

/// Spec: [TUI-02]
#[test]
fn the_status_names_who_asked_and_says_when_it_is_being_cancelled() {
    let mut app = attached(&running());
    assert_eq!(status_text(&app), "Thinking... · by ben");
    control(&mut app, 'c');
    assert_eq!(status_text(&app), "Cancelling... · by ben");
    let cancelled = false;
    tell(&mut app, News::CancelAnswered { cancelled });
    assert_eq!(status_text(&app), "Thinking... · by ben");
}

/// Spec: [TUI-02]
#[test]
fn the_status_says_that_the_connection_is_lost_and_counts_down() {
    let mut app = attached(&running());
    lose(&mut app, "refused", 2, 3);
    let mut said = Vec::new();
    for _ in 0..5 {
        said.push(status_text(&app));
        wait(&mut app, 1);
    }
    let text =
        |wait: &str| format!("○ reconnecting, try 3{wait} · draft kept · Ctrl+R now · refused");
    assert_eq!(said, [" in 3 s", " in 2 s", " in 1 s", "", ""].map(text));
    tell(&mut app, News::Up);
    assert_eq!(
        status_text(&app),
        "Thinking... waiting for the model 5 s · by ben"
    );
}

/// Spec: [TUI-02]
#[test]
fn of_the_status_row_the_text_comes_first_then_the_hint_and_the_facts_last() {
    let mut events = talked();
    events.extend(running());
    let mut app = attached(&events);
    let mut said = Vec::new();
    for columns in [80, 60, 50, 44, 36, 24, 20] {
        resize(&mut app, columns, 24);
        let row = Regions::of_screen(&app).status.y;
        said.push(rows(&mut app)[usize::from(row)].trim().to_owned());
    }
    let squeezed: Vec<String> = said
        .iter()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let all = "⠋ Thinking... · by ben claude-x · 41k tokens · Ctrl+C cancels";
    let hint = "⠋ Thinking... · by ben Ctrl+C cancels";
    let text = "⠋ Thinking... · by ben";
    assert_eq!(
        squeezed,
        [all, hint, hint, hint, text, text, "⠋ Thinking... · b…"]
    );
}

/// Spec: [TUI-02]
#[test]
fn facts_do_not_stand_without_the_hint_that_they_are_beside() {
    let model =
        json!({"type": "reply_ended", "model": "m", "stop_reason": "end_turn", "usage": {}});
    let mut events = vec![event(model)];
    events.extend(running());
    let mut app = attached(&events);
    let mut said = Vec::new();
    for columns in [60, 36] {
        resize(&mut app, columns, 24);
        let row = usize::from(Regions::of_screen(&app).status.y);
        let words = rows(&mut app)[row].clone();
        said.push(words.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let text = "⠋ Thinking... · by ben";
    assert_eq!(
        said,
        [format!("{text} m · Ctrl+C cancels"), text.to_owned()]
    );
}

/// Spec: [TUI-03]
#[test]
fn the_header_names_the_conversation_and_who_is_attached() {
    let header = |app: &mut App| -> String {
        let row = rows(app).swap_remove(0);
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut app = attached(&[]);
    let mut said = Vec::new();
    for (count, names) in [
        (1, &["ana"][..]),
        (1, &[]),
        (2, &["ben", "ana"]),
        // Another one goes by the same name.
        (3, &["ana", "ben", "ana"]),
        (6, &["ben", "eve", "dan", "ana", "joe"]),
        (3, &["x\ny\x1b[2J"]),
    ] {
        present(&mut app, count, names);
        said.push(header(&mut app));
    }
    assert_eq!(
        said,
        [
            "c 1 client: you",
            "c 1 client",
            "c 2 clients: you, ben",
            "c 3 clients: you, ben, ana",
            "c 6 clients: you, ben, eve, 3 more",
            "c 3 clients: x y, 2 more",
        ]
    );
}

/// Spec: [TUI-110]
#[test]
fn b11_the_header_counts_jobs() {
    let started = |job: u64| {
        let command = "cargo  watch\n-x test";
        event(json!({"type": "job_started", "job": job, "call": "t", "command": command}))
    };
    let ended =
        |job: u64| event(json!({"type": "job_ended", "job": job, "how": "exited", "code": 1}));
    let header = |events: &[Event]| -> String {
        let row = rows(&mut attached(events)).swap_remove(0);
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(header(&[]), "c 1 client");
    assert_eq!(header(&[started(1), ended(1)]), "c 1 client");
    let one = [started(1), started(2), ended(1)];
    assert_eq!(header(&one), "c · 1 job 1 client");
    assert_eq!(header(&[started(1), started(2)]), "c · 2 jobs 1 client");
}

/// Spec: [TUI-636]
#[test]
fn the_mode_is_in_the_status_row_whatever_the_width_and_the_state() {
    for events in [vec![], running(), talked()] {
        for width in [24, 40, 80, 160] {
            let mut app = attached(&events);
            let row = |app: &mut App| {
                let rows = rows(app);
                rows.into_iter().rev().find(|row| row.contains("mode "))
            };
            assert_eq!(row(&mut app), None);
            let changed = json!({"type": "settings_changed", "settings": {"mode": "sandbox"}});
            tell(&mut app, told(events.len() as u64 + 1, event(changed)));
            resize(&mut app, width, 12);
            let shown = row(&mut app).unwrap();
            assert!(shown.ends_with(" mode sandbox"), "{width}: {shown}");
        }
    }
}

/// Spec: [TUI-03]
#[test]
fn names_never_stand_where_the_title_is() {
    let titled = |title: &str| attached(&[event(json!({"type": "renamed", "title": title}))]);
    let long = "漢字 a title that is much longer than what there is for it ".repeat(3);
    for columns in 20..130 {
        for title in ["short", long.as_str()] {
            let mut app = titled(title);
            resize(&mut app, columns, 24);
            present(
                &mut app,
                3,
                &["ben@a-long-machine-name", "eve@another-one", "ana"],
            );
            let row = rows(&mut app).swap_remove(0);
            assert!(width(&row) <= usize::from(columns), "{columns}: {row:?}");
            let shown = row.trim().split("  ").next().unwrap_or_default();
            let whole = shown.strip_suffix(" · c").unwrap_or(shown);
            let cut = whole.strip_suffix('…').unwrap_or(whole);
            assert!(title.starts_with(cut.trim_end()), "{columns}: {row:?}");
            // At least half of the row is the title's, if it wants it.
            let half = usize::from(columns - 2) / 2;
            assert!(
                width(whole) + 1 >= half.min(width(title)),
                "{columns}: {row:?}"
            );
        }
    }
}

/// Spec: [TUI-262]
#[test]
fn a_run_without_a_prompt_is_of_the_client_that_began_it() {
    let prompt = json!({"type": "user", "content": "go", "by": "c120", "run_id": 7});
    let mut app = attached(&[
        event(json!({"type": "run_started", "run_id": 7})),
        event(prompt),
        status("thinking", ""),
    ]);
    assert_eq!(status_text(&app), "Thinking... · by c120");
    let usage = serde_json::to_value(harness_protocol::TokenUsage::default()).unwrap();
    let ended = json!({"type": "run_ended", "run_id": 7, "outcome": "error", "message": "busy", "usage": usage});
    tell(&mut app, told(4, event(ended)));
    tell(&mut app, told(5, status("error", "busy")));
    for (run, by, said) in [
        (8, "c80", "Thinking... · by c80"),
        (9, "ana", "Thinking..."),
    ] {
        let seq = run * 2 - 10;
        let began = event(json!({"type": "run_started", "run_id": run, "by": by}));
        tell(&mut app, told(seq, began));
        tell(&mut app, told(seq + 1, status("thinking", "")));
        assert_eq!(status_text(&app), said);
    }
}
