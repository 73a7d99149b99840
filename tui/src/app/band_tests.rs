//! The approvals that wait for an operator's answer: which keys work, for whom, and when.

use harness_protocol::{AnswerOrder, Event, Scope, Verdict};
use serde_json::{Value, json};

use super::testing::*;
use super::*;
use crate::conversation::PartKind;
use crate::conversation::testing::{event, status};
use crate::link::News;
use crate::terminal::{Key, KeyPress, Mouse, MouseAction};

/// An approval of a change with this diff.
fn approval(id: u64, diff: &str) -> Value {
    json!({"type": "approval_asked", "id": id, "run_id": 7, "call": "t", "tool": "edit",
        "change": {"path": "/home/ana/p/src/a.rs", "action": "changed", "before": "x", "after": "y",
            "added": 1, "removed": 1, "diff": diff, "place": "workspace"},
        "digest": format!("digest {id}"), "because": "the mode asks before every change",
        "scopes": ["once", "run", "conversation", "workspace"], "rule": "edit(src/a.rs)"})
}

/// A client with a run that waits for an answer since half a second.
fn asked(diff: &str) -> App {
    let mut app = attached_in(Some("/home/ana/p"), &running());
    tell(
        &mut app,
        told(4, status("running_tool", "edit: waits for approval")),
    );
    tell(&mut app, told(5, event(approval(1, diff))));
    later(&mut app, 500);
    app
}

pub(super) fn later(app: &mut App, millis: u64) {
    let now = app.now + Duration::from_millis(millis);
    app.update(Msg::Tick, now);
}

fn answered(by: &str, answer: &str) -> Event {
    event(
        json!({"type": "approval_answered", "id": 1, "answer": answer, "scope": "once", "by": by}),
    )
}

/// The answer that an effect sends.
pub(super) fn sent(effects: &[AppEffect]) -> Option<AnswerOrder> {
    orders(effects).into_iter().find_map(|order| match order {
        ClientOrder::Answer { answer, .. } => Some(answer.clone()),
        _ => None,
    })
}

pub(super) fn focus(app: &mut App) {
    if !has_focus(app) {
        assert_eq!(key(app, Key::Tab), []);
    }
    assert!(has_focus(app));
}

fn has_focus(app: &App) -> bool {
    app.band.as_ref().unwrap().has_focus
}

const DIFF: &str = "@@ -1 +1 @@\n-old\n+new\n";

/// Spec: [TUI-96]
#[test]
fn an_approval_is_shown_whole_and_answered_by_keys_that_have_the_focus() {
    let mut app = asked(DIFF);
    let band = app.band.as_ref().unwrap();
    assert_eq!(band.head(), "edit: changes src/a.rs +1 -1");
    let rows = band.visible_rows(99);
    assert_eq!(
        rows,
        [
            "  @@ -1 +1 @@",
            "1 -old",
            "1 +new",
            "the mode asks before every change · the rule for longer: edit(src/a.rs)",
        ]
    );
    for (letter, verdict, scope, stop) in [
        ('a', Verdict::Allow, Scope::Once, false),
        ('d', Verdict::Deny, Scope::Once, false),
        ('s', Verdict::Deny, Scope::Once, true),
    ] {
        let mut app = asked(DIFF);
        focus(&mut app);
        let answer = sent(&key(&mut app, Key::Char(letter))).unwrap();
        assert_eq!(
            (answer.answer, answer.scope, answer.stop),
            (verdict, scope, stop)
        );
        assert_eq!(answer.digest.as_deref(), Some("digest 1"));
        // One that is on its way is not sent again.
        assert_eq!(sent(&key(&mut app, Key::Char(letter))), None);
        // If it was not taken, it can be.
        let news = News::NotAnswered {
            conversation: "c".to_owned(),
            approval: 1,
            reason: "the connection broke".to_owned(),
        };
        tell(&mut app, news);
        let again = sent(&key(&mut app, Key::Char(letter))).unwrap();
        assert_ne!(again.key, answer.key);
    }
    for (letter, scope) in [
        ('r', Scope::Run),
        ('c', Scope::Conversation),
        ('f', Scope::Workspace),
    ] {
        let mut app = asked(DIFF);
        focus(&mut app);
        assert_eq!(key(&mut app, Key::Char('A')), []);
        assert!(
            app.band
                .as_ref()
                .unwrap()
                .hint()
                .starts_with("allow by the rule: r this run")
        );
        assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
        assert_eq!(
            sent(&key(&mut app, Key::Char(letter))).unwrap().scope,
            scope
        );
    }
    focus(&mut app);
    key(&mut app, Key::Char('D'));
    write(&mut app, "not a s");
    key(&mut app, Key::Backspace);
    let answer = sent(&key(&mut app, Key::Enter)).unwrap();
    assert_eq!(
        (answer.answer, answer.message.as_deref()),
        (Verdict::Deny, Some("not a "))
    );
    assert!(app.composer.is_empty());
}

/// Spec: [TUI-97]
#[test]
fn a13_somebody_who_types_answers_nothing_and_loses_no_key() {
    for gap in [50, 10, 399] {
        let mut app = attached_in(Some("/home/ana/p"), &running());
        let text = "add a dash, and say d s A D j k";
        for (number, letter) in text.chars().enumerate() {
            if number == 5 {
                tell(&mut app, told(4, event(approval(1, DIFF))));
            }
            let effects = key(&mut app, Key::Char(letter));
            assert_eq!(sent(&effects), None);
            later(&mut app, gap);
        }
        assert_eq!(app.composer.text(), text);
        // Enter sends the draft, and answers nothing.
        let effects = key(&mut app, Key::Enter);
        assert_eq!(sent(&effects), None);
        assert!(
            matches!(orders(&effects)[..], [ClientOrder::Queue { .. }]),
            "{effects:?}"
        );
    }
    // A key for the band right when it came is for nobody.
    let mut app = attached(&running());
    tell(&mut app, told(4, event(approval(1, DIFF))));
    for press in 0..2 {
        key(&mut app, Key::Tab);
        control(&mut app, 't');
        assert!(!app.band.as_ref().unwrap().has_focus, "{press}");
        later(&mut app, 150);
    }
    later(&mut app, 200);
    focus(&mut app);
    // Another approval has to be looked at anew.
    let withdrawn = json!({"type": "approval_withdrawn", "id": 1, "reason": "decided"});
    tell(&mut app, told(5, event(withdrawn)));
    tell(&mut app, told(6, event(approval(2, DIFF))));
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
    assert_eq!(app.composer.text(), "");
    later(&mut app, 500);
    assert!(sent(&key(&mut app, Key::Char('a'))).is_some());
    // Nothing of a click is an answer.
    let mut app = asked(DIFF);
    let area = Regions::of_screen(&app).band;
    for row in area.top()..area.bottom() {
        for action in [
            MouseAction::Press(crate::terminal::Button::Left),
            MouseAction::Release(crate::terminal::Button::Left),
        ] {
            let mouse = Mouse {
                action,
                column: 5,
                row,
            };
            let now = app.now;
            assert_eq!(app.update(Msg::Mouse(mouse), now), []);
        }
    }
}

/// Spec: [TUI-772]
#[test]
fn one_key_answers_where_nobody_writes_and_a_key_for_something_else_does_not() {
    // A quiet terminal: one key an approval.
    let mut app = asked(DIFF);
    assert!(has_focus(&app));
    let hint = app.band.as_ref().unwrap().hint();
    assert!(
        hint.starts_with("[a allow] · A for longer · d deny"),
        "{hint}"
    );
    assert!(sent(&key(&mut app, Key::Char('a'))).is_some());
    // One that was hit for an approval that is gone is for nobody, and neither is one for the next too early.
    tell(&mut app, told(6, answered("ben", "allow")));
    assert_eq!(key(&mut app, Key::Char('a')), []);
    tell(&mut app, told(7, event(approval(2, DIFF))));
    later(&mut app, 499);
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(app.composer.text(), "");
    later(&mut app, 1);
    assert!(sent(&key(&mut app, Key::Enter)).is_some());

    // The keys stay with a draft that is being written, and the band has them again once the draft is empty.
    let mut app = asked(DIFF);
    write(&mut app, "look at a d s");
    assert_eq!(app.composer.text(), "look at a d s");
    later(&mut app, 5000);
    assert!(!has_focus(&app));
    control(&mut app, 'u');
    assert!(!has_focus(&app));
    later(&mut app, 500);
    assert!(has_focus(&app));
    // Esc gives the keys to the input for good, Tab gives them back.
    key(&mut app, Key::Escape);
    later(&mut app, 5000);
    assert!(!has_focus(&app));
    write(&mut app, "a");
    assert_eq!(app.composer.text(), "a");
    control(&mut app, 'u');
    focus(&mut app);

    // What is pasted without marks answers nothing.
    let mut app = asked(DIFF);
    let burst = KeyPress {
        is_burst: true,
        ..KeyPress::plain(Key::Char('a'))
    };
    assert_eq!(press(&mut app, burst), []);
    assert_eq!(app.composer.text(), "a");
    // A selection is copied as ever, and keys of the conversation work.
    let mut app = asked(DIFF);
    control(&mut app, 'p');
    assert!(matches!(app.overlay, Some(Overlay::Picker(_))));
}

/// Spec: [TUI-772]
#[test]
fn arrows_choose_and_enter_takes_what_is_marked_once_the_end_was_there_for_a_while() {
    let mut app = asked(DIFF);
    for _ in 0..9 {
        key(&mut app, Key::Right);
    }
    assert!(
        app.band
            .as_ref()
            .unwrap()
            .hint()
            .contains("[s deny and stop]")
    );
    let answer = sent(&key(&mut app, Key::Enter)).unwrap();
    assert_eq!((answer.answer, answer.stop), (Verdict::Deny, true));

    let long: String = (0..30).map(|line| format!("+line {line}\n")).collect();
    let mut app = asked(&long);
    let hint = app.band.as_ref().unwrap().hint();
    assert!(
        hint.starts_with("[PgDn to its end first] · d deny"),
        "{hint}"
    );
    // The mark stays with its choice when the end is seen and others come.
    let mut other = asked(&long);
    key(&mut other, Key::Right);
    key(&mut other, Key::End);
    let hint = other.band.as_ref().unwrap().hint();
    assert!(hint.contains("[d deny]"), "{hint}");
    for _ in 0..9 {
        assert_eq!(sent(&key(&mut app, Key::Enter)), None);
    }
    assert!(app.band.as_ref().unwrap().hint().starts_with("[a allow]"));
    later(&mut app, 500);
    assert_eq!(
        sent(&key(&mut app, Key::Enter)).map(|answer| answer.answer),
        Some(Verdict::Allow)
    );
}

/// Spec: [TUI-772]
#[test]
fn an_edit_of_one_line_is_seen_whole_on_a_small_screen() {
    let diff = "@@ -4,7 +4,7 @@\n a\n b\n c\n-old\n+new\n d\n e\n f\n";
    let mut app = asked(diff);
    let now = app.now;
    app.update(Msg::Resized(80, 24), now);
    let hint = app.band.as_ref().unwrap().hint();
    assert!(hint.starts_with("[a allow]"), "{hint}");
}

/// Spec: [TUI-98]
#[test]
fn what_was_not_on_the_screen_to_its_end_is_not_allowed() {
    let long: String = (0..100).map(|line| format!("+line {line}\n")).collect();
    let mut app = asked(&long);
    focus(&mut app);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
    assert!(toast(&app).contains("look at all of it first"));
    assert_eq!(sent(&key(&mut app, Key::Char('A'))), None);
    key(&mut app, Key::PageDown);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
    // To deny it need not be read.
    assert!(sent(&key(&mut app, Key::Char('d'))).is_some());
    let mut app = asked(&long);
    focus(&mut app);
    key(&mut app, Key::End);
    assert!(sent(&key(&mut app, Key::Char('a'))).is_some());
    // Another width shows other rows.
    let mut app = asked(&long);
    focus(&mut app);
    key(&mut app, Key::End);
    key(&mut app, Key::Home);
    let now = app.now;
    app.update(Msg::Resized(40, 20), now);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
    // Where there is no room for it, it cannot be allowed.
    app.update(Msg::Resized(40, 5), now);
    key(&mut app, Key::End);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
}

/// Spec: [TUI-99]
#[test]
fn a12_nothing_of_what_is_asked_is_hidden() {
    let diff =
        "+rm -rf /\u{1b}[8m\u{202e}txt.exe\n+a\u{200b}b\u{7}\n+blank \t\n+cr\r\n-tag\u{e0041}\n";
    let mut app = asked(diff);
    let band = app.band.as_ref().unwrap();
    let shown = band.visible_rows(99);
    for (row, parts) in shown.iter().zip([
        &["rm -rf /", "␛[8m", "<202E>", "txt.exe"][..],
        &["a", "<200B>", "b", "␇"],
        &["+blank·→"],
        &["+cr", "␍"],
        &["-tag", "<E0041>"],
    ]) {
        for part in parts {
            assert!(row.contains(part), "{row:?} lacks {part}");
        }
        assert!(
            !row.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{7}', '\r']),
            "{row:?}"
        );
    }
    // A long line goes on in the next row.
    let long = format!("+{}\n", "x".repeat(300));
    let mut app2 = asked(&long);
    let rows = app2.band.as_ref().unwrap().visible_rows(99);
    let diff = rows.split_last().unwrap().1;
    let text: String = diff.iter().map(|row| row.trim_start()).collect();
    assert_eq!(text, long.trim_end());
    for app in [&mut app, &mut app2] {
        focus(app);
    }
}

/// Spec: [TUI-100]
#[test]
fn the_answer_of_another_is_told_and_the_band_goes() {
    let mut app = asked(DIFF);
    tell(&mut app, told(6, answered("ben", "deny")));
    assert_eq!(toast(&app), "ben denied it");
    assert!(app.band.is_none());
    let Some(PartKind::Note { text, .. }) = last(&app).map(|part| &part.kind) else {
        panic!("{:?}", last(&app));
    };
    assert!(text.contains("1 denied") && text.contains("ben"), "{text}");
    // One's own is not.
    let mut app = asked(DIFF);
    focus(&mut app);
    key(&mut app, Key::Char('a'));
    tell(&mut app, told(6, answered("ana", "allow")));
    assert_eq!(toast(&app), "");
    // What was changed is shown as it is.
    let change = approval(1, DIFF)["change"].clone();
    let changed = json!({"type": "files_changed", "call": "t", "changes": [change]});
    tell(&mut app, told(7, event(changed)));
    assert!(matches!(
        last(&app).map(|part| &part.kind),
        Some(PartKind::Change { .. })
    ));
    for (event_, said) in [
        (
            json!({"type": "approval_withdrawn", "id": 1, "reason": "expired"}),
            "no operator answered in time",
        ),
        (
            json!({"type": "approval_withdrawn", "id": 1, "reason": "cancelled"}),
            "the run was cancelled",
        ),
    ] {
        let mut app = asked(DIFF);
        tell(&mut app, told(6, event(event_)));
        assert!(toast(&app).ends_with(said), "{}", toast(&app));
        assert!(app.band.is_none());
    }
}

/// Spec: [TUI-101]
#[test]
fn a21_the_bell_rings_once_and_commands_answer_too() {
    let mut app = attached(&running());
    let now = app.now;
    app.update(Msg::Focused(false), now);
    let effects = tell(&mut app, told(4, event(approval(1, DIFF))));
    assert_eq!(effects.len(), 2, "{effects:?}");
    assert!(effects.contains(&AppEffect::Ring));
    later(&mut app, 500);
    app.update(Msg::Focused(true), now);
    for (line, scope) in [
        ("/approve", Scope::Once),
        ("/approve folder", Scope::Workspace),
    ] {
        let mut app = asked(DIFF);
        write(&mut app, line);
        let answer = sent(&key(&mut app, Key::Enter)).unwrap();
        assert_eq!((answer.answer, answer.scope), (Verdict::Allow, scope));
    }
    let mut app = asked(DIFF);
    write(&mut app, "/deny not so");
    let answer = sent(&key(&mut app, Key::Enter)).unwrap();
    assert_eq!(answer.message.as_deref(), Some("not so"));
    let mut app = attached(&[]);
    for line in ["/approve", "/deny"] {
        write(&mut app, line);
        assert_eq!(sent(&key(&mut app, Key::Enter)), None);
        assert_eq!(toast(&app), "nothing waits for an answer");
        control(&mut app, 'u');
    }
}
