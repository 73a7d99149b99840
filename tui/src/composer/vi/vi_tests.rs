//! Drafts before and after keys of vi, with `|` for the caret and `␛` for the key Esc.

use proptest::prelude::*;

use super::{ViKey, ViKeys, ViMode};
use crate::composer::testing::{composer, shown};
use crate::terminal::Key;

/// The draft and the mode after these keys, pressed in normal mode.
fn typed(text: &str, keys: &str) -> (String, &'static str) {
    let mut composer = composer(text);
    let mut vi = ViKeys::default();
    vi.mode = ViMode::Normal;
    for character in keys.chars() {
        let key = if character == '␛' {
            Key::Escape
        } else {
            Key::Char(character)
        };
        if vi.press(&mut composer, key) == ViKey::Passed {
            composer.insert(&character.to_string());
            vi.note_written(&character.to_string());
        }
    }
    (shown(&composer), vi.mode().name())
}

fn check(rows: &[(&str, &str, &str)]) {
    for (text, keys, expected) in rows {
        let (after, mode) = typed(text, keys);
        assert_eq!((&*after, mode), (*expected, "NORMAL"), "{keys} in {text:?}");
    }
}

/// Spec: [TUI-810]
#[test]
fn motions_lead_where_those_of_vi_do() {
    check(&[
        ("on|e two", "h", "o|ne two"),
        ("|one", "h", "|one"),
        ("on|e", "l", "on|e"),
        ("|one", "2l", "on|e"),
        ("|größe 日本", "w", "größe |日本"),
        ("|a.b c", "w", "a|.b c"),
        ("|a.b c", "W", "a.b |c"),
        ("|one two three", "2w", "one two |three"),
        ("|one\n\ntwo", "w", "one\n|\ntwo"),
        ("one |two", "w", "one tw|o"),
        ("one tw|o", "b", "one |two"),
        ("one |two", "b", "|one two"),
        ("one a.|b", "B", "one |a.b"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("|one two", "2e", "one tw|o"),
        ("  o|ne", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("  on|e", "␛␛", "  on|e"),
        ("|one two", "$", "one tw|o"),
        ("one\ntw|o", "gg", "|one\ntwo"),
        ("|one\n  two", "G", "one\n  |two"),
        ("one\ntwo\nth|ree", "2G", "one\n|two\nthree"),
        ("|one two", "ft", "one |two"),
        ("|one two", "tt", "one| two"),
        ("one tw|o", "Fn", "o|ne two"),
        ("one tw|o", "Tn", "on|e two"),
        ("|a-b-c-d", "f-;;", "a-b-c|-d"),
        ("|a-b-c-d", "2f-,", "a|-b-c-d"),
        ("|one", "fz", "|one"),
        ("|one two\nthree", "2j", "one two\n|three"),
        ("|one", "2j", "|one"),
        ("|xaxbxa", "ta;", "xaxb|xa"),
        ("on|e\ntwo\nthree", "2j", "one\ntwo\nth|ree"),
    ]);
    let (after, _) = typed("  on|e", "0");
    assert_eq!(after, "|  one");
}

/// Spec: [TUI-810]
#[test]
fn operators_take_what_a_motion_passes() {
    check(&[
        ("|one two", "x", "|ne two"),
        ("|one two", "3x", "| two"),
        ("on|e", "5x", "o|n"),
        ("on|e", "X", "o|e"),
        ("one |two", "D", "one| "),
        ("|one two", "dw", "|two"),
        ("|one two three", "d2w", "|three"),
        ("|one two three four", "2d2w", "|"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two", "de", "| two"),
        ("one |two", "db", "|two"),
        ("|one two", "dft", "|wo"),
        ("|one two", "dtt", "|two"),
        ("|a-b-c", "df-d;", "|c"),
        ("one two| three", "d0", "| three"),
        ("on|e two", "d$", "o|n"),
        ("one\nt|wo\nthree", "dd", "one\n|three"),
        ("one\n  two\nth|ree", "dd", "one\n  |two"),
        ("o|ne", "dd", "|"),
        ("o|ne\ntwo\nthree", "2dd", "|three"),
        ("o|ne\ntwo\nthree", "dj", "|three"),
        ("one\ntwo\nth|ree", "dk", "|one"),
        ("one\ntw|o\nthree", "dgg", "|three"),
        ("one\ntw|o\nthree", "dG", "|one"),
        ("|one two", "yw$p", "one twoone| "),
        ("|one", "yyp", "one\n|one"),
        ("one\n|two", "yyP", "one\n|two\ntwo"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|ab", "xp", "b|a"),
        ("|a", "yl3p", "aaa|a"),
        ("|one two", "cwx␛", "|x two"),
        ("on|e two", "cwx␛", "on|x two"),
        ("|one two three", "c2wx␛", "|x three"),
        ("one| two", "cwx␛", "one|xtwo"),
        ("one |two", "Cx␛", "one |x"),
        ("|one", "sab␛", "a|bne"),
        ("one\nt|wo\nthree", "ccx␛", "one\n|x\nthree"),
        ("one\nt|wo", "Sx␛", "one\n|x"),
        ("|one", "rx", "|xne"),
        ("|one", "3rx", "xx|x"),
        ("|one", "4rx", "|one"),
        ("|onE", "3~", "ON|e"),
        ("|one\n  two", "J", "one| two"),
        ("|one\ntwo\nthree", "3J", "one two| three"),
        ("|one", "J", "|one"),
        ("one tw|o", "de", "one t|w"),
        ("one tw|o", "cex␛", "one tw|x"),
        ("a one\n|two", "db", "a| \ntwo"),
        ("|one", "dfzx", "|ne"),
        ("|one", "cfzx", "|ne"),
        ("|one", "cjx", "|ne"),
        ("|a\n\nb", "2yyP", "|a\n\na\n\nb"),
    ]);
}

/// Spec: [TUI-810]
#[test]
fn a_count_cannot_fill_the_memory() {
    let line = format!("|{}", "x".repeat(200));
    assert_eq!(typed(&line, "yy9999p").0, line);
    assert_eq!(typed("|x", "9999999l").0, "|x");
}

/// Spec: [TUI-810]
#[test]
fn inserting_begins_in_seven_ways_and_a_change_is_repeated() {
    check(&[
        ("o|ne", "ix␛", "o|xne"),
        ("o|ne", "ax␛", "on|xe"),
        ("on|e", "ax␛", "one|x"),
        ("  on|e", "Ix␛", "  |xone"),
        ("|one", "Ax␛", "one|x"),
        ("|one\ntwo", "ox␛", "one\n|x\ntwo"),
        ("one\n|two", "Ox␛", "one\n|x\ntwo"),
        ("|", "ix␛", "|x"),
        ("|abcd", "x..", "|d"),
        ("|one two three", "dw.", "|three"),
        ("|one two", "cwx␛w.", "x |x"),
        ("|one", "A!␛..", "one!!|!"),
        ("|one two three", "dw2.", "|"),
        ("|one two", "dwu", "|one two"),
        ("|one two", "xxuu", "|one two"),
        ("|one two", "cwfoo bar␛u", "|one two"),
        ("|one", "ofoo␛u", "|one"),
        ("|one\ntwo\nthree", "3Ju", "|one\ntwo\nthree"),
        ("|one two", "cwx␛w.uu", "|one two"),
        ("|a-b-c-d", "df-.", "|c-d"),
        // A key that is none, or a command that is given up, does nothing.
        ("|one", "qZ", "|one"),
        ("|one", "d␛x", "|ne"),
        ("|one", "dq", "|one"),
        ("|one", "3␛x", "|ne"),
    ]);
    assert_eq!(typed("|one", "i"), ("|one".to_owned(), "INSERT"));
    assert_eq!(typed("|one two", "cw"), ("| two".to_owned(), "INSERT"));
}

/// Spec: [TUI-810]
#[test]
fn what_is_selected_is_deleted_changed_or_copied_with_both_ends() {
    check(&[
        ("|one two", "vex", "| two"),
        ("one |two", "vbd", "|wo"),
        ("|one two", "vey$p", "one twoon|e"),
        ("|one two", "vecx␛", "|x two"),
        ("|one two", "vlox", "|e two"),
        ("|one two", "vv", "|one two"),
        ("|one two", "vuJ~p␛x", "|ne two"),
        ("|one two", "ve␛x", "on| two"),
        ("|one\ntwo", "vjx", "|wo"),
    ]);
    let (mut composer, mut vi) = (composer("|one two"), ViKeys::default());
    vi.mode = ViMode::Normal;
    for key in ['v', 'e'] {
        vi.press(&mut composer, Key::Char(key));
    }
    assert_eq!(composer.vi_selection(&vi), Some(0..3));
    assert_eq!(vi.mode().name(), "VISUAL");
}

/// Spec: [TUI-810]
#[test]
fn keys_that_are_not_of_vi_are_no_text_outside_of_insert_mode() {
    let (mut composer, mut vi) = (composer("one|"), ViKeys::default());
    let mut press = |key| vi.press(&mut composer, key);
    assert_eq!(press(Key::Char('x')), ViKey::Passed);
    assert_eq!(press(Key::Enter), ViKey::Passed);
    assert_eq!(press(Key::Escape), ViKey::Taken);
    // With a draft, one too many does nothing.
    assert_eq!(press(Key::Escape), ViKey::Taken);
    for key in [
        Key::Char('?'),
        Key::Char('q'),
        Key::Enter,
        Key::Tab,
        Key::PageUp,
    ] {
        assert_eq!(press(key), ViKey::NoText, "{key:?}");
    }
    assert_eq!(press(Key::Char('k')), ViKey::Up);
    assert_eq!(press(Key::Char('j')), ViKey::Down);
    assert_eq!(press(Key::Backspace), ViKey::Taken);
    assert_eq!(press(Key::Char('S')), ViKey::Taken);
    assert_eq!(press(Key::Escape), ViKey::Taken);
    assert_eq!(press(Key::Escape), ViKey::NoText);
}

proptest! {
    /// Whatever is pressed, the caret is between characters, outside of insert mode on one if the line has any, and all of it
    /// can be undone.
    ///
    /// Spec: [TUI-810]
    #[test]
    fn no_keys_break_a_draft(
        text in "[ab é🙂\u{301}\n.]{0,12}",
        keys in prop::collection::vec("[hjklwbeWBE0^$gGfFtT;,dcyxXDCsSrJ~pPuviaIAoO.␛␛é🙂\u{301}\n2q]", 0..40),
    ) {
        let mut composer = composer(&format!("|{text}"));
        let before = composer.text().to_owned();
        let mut vi = ViKeys::default();
        vi.mode = ViMode::Normal;
        // A count of more digits makes more steps than are kept.
        let mut keys = keys.concat() + "␛␛";
        while let Some(second) = keys.as_bytes().windows(2).position(|two| two.iter().all(u8::is_ascii_digit)) {
            keys.remove(second + 1);
        }
        for character in keys.chars() {
            let key = if character == '␛' { Key::Escape } else { Key::Char(character) };
            if vi.press(&mut composer, key) == ViKey::Passed {
                composer.insert(&character.to_string());
                vi.note_written(&character.to_string());
            }
            prop_assert!(composer.draft.text.is_char_boundary(composer.draft.caret));
            if let Some(selected) = composer.vi_selection(&vi) {
                prop_assert!(composer.text().get(selected).is_some());
            }
            if vi.mode() == ViMode::Normal {
                let (_, after) = composer.text().split_at(composer.draft.caret);
                let is_empty = composer.text()[..composer.draft.caret].ends_with('\n')
                    || composer.draft.caret == 0;
                prop_assert!(is_empty || !(after.is_empty() || after.starts_with('\n')), "{:?}", shown(&composer));
            }
        }
        for _ in 0..200 {
            vi.press(&mut composer, Key::Char('u'));
        }
        prop_assert_eq!(composer.text(), before);
    }
}
