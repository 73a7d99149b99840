//! Pastes, sending, and what comes back when sending failed.

use super::super::edits::{ComposerEdit, ComposerOutcome};
use super::super::testing::{WIDTH, composer, shown};
use super::*;

fn pasted(texts: &[&str]) -> Composer {
    let mut composer = Composer::default();
    for text in texts {
        composer.paste(text);
    }
    composer
}

/// Spec: [EDIT-14]
#[test]
fn pasted_text_is_cleaned() {
    let table = [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("\r\r\n\n", "\n\n\n"),
        ("a\tb", "a    b"),
        ("a\u{1b}[31mb\u{7}\u{0}\u{7f}\u{9b}c", "ab"),
        ("漢👩\u{200d}👧", "漢👩\u{200d}👧"),
        ("", ""),
    ];
    for (from, to) in table {
        assert_eq!(pasted(&[from]).text(), to, "{from:?}");
        let mut typed = Composer::default();
        typed.insert(from);
        assert_eq!(typed.text(), to, "{from:?}");
    }
    let mut composer = composer("a|b");
    composer.paste("x\r\ny");
    assert_eq!(shown(&composer), "ax\ny|b");
}

/// Spec: [EDIT-15]
#[test]
fn a_large_paste_stands_beside_the_text() {
    let table = [
        ("x".repeat(4096), None),
        ("x".repeat(4097), Some((1, 4097))),
        ("x\r\n".repeat(20), None),
        ("x\r\n".repeat(21), Some((21, 42))),
        ("\n".repeat(21), Some((21, 21))),
    ];
    for (text, expected) in table {
        let composer = pasted(&[&text]);
        let found = composer.chips().first();
        assert_eq!(found.map(|chip| (chip.lines, chip.bytes)), expected);
        assert_eq!(composer.text().is_empty(), expected.is_some());
        assert!(!composer.is_empty());
    }
}

/// Spec: [EDIT-15]
#[test]
fn two_pastes_of_one_size_stay_two() {
    let (first, second) = ("a".repeat(5000), "b".repeat(5000));
    let mut composer = pasted(&[&first, &second]);
    assert_eq!(composer.order(), format!("{first}\n\n{second}"));
    assert!(composer.remove_chip(0));
    assert_eq!(composer.order(), second);
    assert!(!composer.remove_chip(1));
    composer.edit(ComposerEdit::Undo, WIDTH);
    assert_eq!(composer.order(), format!("{first}\n\n{second}"));
}

/// Spec: [EDIT-15]
#[test]
fn a_paste_can_be_opened_into_the_text() {
    let large = "line\n".repeat(30);
    let mut composer = composer("a|b");
    composer.paste(&large);
    assert!(composer.open_chip(0));
    assert_eq!(shown(&composer), format!("a{large}|b"));
    assert_eq!(composer.chips(), []);
    assert!(!composer.open_chip(0));
    composer.edit(ComposerEdit::Undo, WIDTH);
    assert_eq!(
        (shown(&composer).as_str(), composer.chips().len()),
        ("a|b", 1)
    );
}

/// Spec: [EDIT-15]
#[test]
fn a_megabyte_is_taken_in_whole() {
    let megabyte = "0123456789 漢字 abc\r\n".repeat(50_000);
    let mut composer = pasted(&[&megabyte]);
    let bytes = megabyte.len() - 50_000;
    let chip = composer.chips().first().unwrap();
    assert_eq!(
        (chip.lines, chip.bytes, chip.text.len()),
        (50_000, bytes, bytes)
    );
    composer.insert("see above");
    let window = composer.window(80, MAX_ROWS);
    assert_eq!((window.rows.len(), window.rows.first()), (1, Some(&(0..9))));
    assert!(composer.open_chip(0));
    let window = composer.window(80, MAX_ROWS);
    assert_eq!(
        (window.rows.len(), window.above, window.below),
        (10, 49_991, 0)
    );
    assert_eq!(composer.text().len(), bytes + 9);
}

/// Spec: [EDIT-16]
#[test]
fn what_is_sent_is_the_pastes_and_then_the_text() {
    let (first, second) = ("x\n".repeat(30), "y".repeat(5000));
    let mut composer = pasted(&[&first, &second]);
    let pastes = format!("{}\n\n{second}", first.trim_end());
    assert_eq!(composer.order(), pastes);
    composer.insert("  compare\nboth \n");
    assert_eq!(composer.order(), format!("{pastes}\n\n  compare\nboth"));
    let draft = composer.take();
    assert_eq!(draft.order(), format!("{pastes}\n\n  compare\nboth"));
    assert!(composer.is_empty());

    for (text, order, entry) in [
        (" \n why?\n ", "why?", " why?"),
        ("why?", "why?", "why?"),
        ("\nwhy?", "why?", "why?"),
        (" \n", "", " "),
    ] {
        let mut composer = Composer::default();
        composer.insert(text);
        assert_eq!(composer.order(), order);
        let draft = composer.take();
        assert_eq!(
            (draft.order().as_str(), draft.entry().as_str()),
            (order, entry)
        );
    }
}

/// Spec: [EDIT-17]
#[test]
fn what_was_not_sent_comes_back_as_it_was() {
    let mut composer = composer("on|e");
    composer.paste(&"x\n".repeat(30));
    let chips = composer.chips().to_vec();
    let draft = composer.take();
    assert_eq!(
        (shown(&composer).as_str(), composer.chips()),
        ("|", &[][..])
    );
    assert_eq!(
        composer.edit(ComposerEdit::Undo, WIDTH),
        ComposerOutcome::Nothing
    );
    composer.restore(draft);
    assert_eq!(
        (shown(&composer).as_str(), composer.chips()),
        ("on|e", &chips[..])
    );
}

/// Spec: [EDIT-17]
#[test]
fn what_was_not_sent_comes_back_in_front_of_what_was_written() {
    let (first, second) = ("a".repeat(5000), "b".repeat(5000));
    for (sent, written, expected) in [
        ("one|", "tw|o", "one\ntw|o"),
        ("one\n|", "tw|o", "one\ntw|o"),
        ("on|e", "|", "on|e"),
        ("|", "tw|o", "tw|o"),
    ] {
        let mut writer = composer(sent);
        writer.paste(&first);
        let draft = writer.take();
        writer = composer(written);
        writer.paste(&second);
        writer.restore(draft);
        assert_eq!(shown(&writer), expected);
        let chips: Vec<&str> = writer.chips().iter().map(|chip| &*chip.text).collect();
        assert_eq!(chips, [&first, &second]);
    }
}

/// Spec: [EDIT-18]
#[test]
fn a_backslash_before_the_caret_becomes_a_line_break() {
    for (before, is_asked, after) in [
        ("a\\|", true, "a\n|"),
        ("a\\|b", true, "a\n|b"),
        ("a|\\", false, "a|\\"),
        ("a|", false, "a|"),
        ("|", false, "|"),
    ] {
        let mut composer = composer(before);
        assert_eq!(composer.ends_with_backslash_before_caret(), is_asked);
        composer.replace_backslash_by_newline();
        assert_eq!(shown(&composer), after);
    }
}
