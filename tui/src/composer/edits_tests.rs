//! The edits, as tables.

use super::super::testing::{WIDTH, after, composer, shown};
use super::ComposerEdit::*;
use super::ComposerOutcome::{AtBottom, AtTop, Changed, Moved, Nothing};
use super::*;

/// A woman, a man and a girl: one grapheme of five characters.
const FAMILY: &str = "👩\u{200d}👨\u{200d}👧";

fn check(table: &[(&str, &[ComposerEdit], &str)]) {
    for (before, edits, expected) in table {
        let expected = (*expected).to_owned();
        let (found, _) = after(before, edits, WIDTH);
        assert_eq!(found, expected, "{before:?} after {edits:?}");
    }
}

/// Spec: [EDIT-01]
#[test]
fn one_grapheme_is_one_step() {
    for grapheme in [
        "a",
        "漢",
        "🇩🇪",
        FAMILY,
        "e\u{301}\u{323}",
        "👍🏽",
        "क्षि",
        "각",
    ] {
        let (at_end, in_middle) = (format!("a{grapheme}|"), format!("a|{grapheme}b"));
        let start = format!("a|{grapheme}");
        check(&[
            (&at_end, &[Left], &start),
            (&at_end, &[Left, Right], &at_end),
            (&at_end, &[Backspace], "a|"),
            (&in_middle, &[Right], &format!("a{grapheme}|b")),
            (&in_middle, &[Delete], "a|b"),
        ]);
    }
}

/// Spec: [EDIT-01]
#[test]
fn a_grapheme_that_arrives_in_pieces_is_one() {
    for grapheme in [FAMILY, "🇩🇪", "e\u{301}", "👍🏽"] {
        for behind in ["", "x", "👧", "🇫🇷", "\u{301}"] {
            let mut composer = composer(&format!("a\n|{behind}"));
            for character in grapheme.chars() {
                composer.insert(character.encode_utf8(&mut [0; 4]));
            }
            let typed = format!("a\n{grapheme}{behind}");
            assert_eq!(composer.text(), typed);
            if behind != "\u{301}" {
                assert_eq!(shown(&composer), format!("a\n{grapheme}|{behind}"));
                composer.edit(Backspace, WIDTH);
                assert_eq!(shown(&composer), format!("a\n|{behind}"));
            }
        }
    }
}

/// Spec: [EDIT-02]
#[test]
fn the_caret_goes_by_character_line_and_text() {
    check(&[
        ("|", &[Left], "|"),
        ("|", &[Right], "|"),
        ("a|b", &[Left, Left], "|ab"),
        ("a|b", &[Right, Right], "ab|"),
        ("a\n|b", &[Left], "a|\nb"),
        ("one\ntw|o\nthree", &[LineStart], "one\n|two\nthree"),
        ("one\ntw|o\nthree", &[LineEnd], "one\ntwo|\nthree"),
        ("one\n|\nthree", &[LineStart], "one\n|\nthree"),
        ("one\n|\nthree", &[LineEnd], "one\n|\nthree"),
        ("one|", &[LineStart], "|one"),
        ("|one", &[LineEnd], "one|"),
    ]);
}

/// Spec: [EDIT-03]
#[test]
fn the_caret_goes_by_word() {
    check(&[
        ("one two|", &[WordLeft], "one |two"),
        ("one two|", &[WordLeft, WordLeft], "|one two"),
        ("one two  |", &[WordLeft], "one |two  "),
        ("one t|wo", &[WordLeft], "one |two"),
        ("|one two", &[WordRight], "one| two"),
        ("|one two", &[WordRight, WordRight], "one two|"),
        ("o|ne", &[WordRight], "one|"),
        ("one|  \n, two", &[WordRight], "one  \n, two|"),
        ("can't 3.14|", &[WordLeft], "can't |3.14"),
        ("can't| 3.14", &[WordLeft], "|can't 3.14"),
        ("- * -|", &[WordLeft], "|- * -"),
        ("|- * -", &[WordRight], "- * -|"),
        ("漢字仮名|", &[WordLeft], "漢字仮|名"),
        ("|漢字仮名", &[WordRight, WordRight], "漢字|仮名"),
        ("カタカナ|", &[WordLeft], "|カタカナ"),
        ("hi 🇩🇪🇫🇷|", &[WordLeft], "hi 🇩🇪|🇫🇷"),
        ("one\ntwo|", &[WordLeft, WordLeft], "|one\ntwo"),
    ]);
    let family = format!("a {FAMILY}");
    check(&[(&format!("{family}|"), &[WordLeft], &format!("a |{FAMILY}"))]);
}

/// Spec: [EDIT-02]
#[test]
fn what_is_deleted_is_gone() {
    check(&[
        ("|ab", &[Backspace], "|ab"),
        ("ab|", &[Delete], "ab|"),
        ("a\n|b", &[Backspace], "a|b"),
        ("a|\nb", &[Delete], "a|b"),
        ("one two|", &[DeleteWordLeft], "one |"),
        ("one t|wo", &[DeleteWordLeft], "one |wo"),
        ("|one two", &[DeleteWordRight], "| two"),
        ("漢字|", &[DeleteWordLeft], "漢|"),
        ("o|ne\ntwo", &[KillToEnd], "o|\ntwo"),
        ("o|\ntwo", &[KillToEnd], "o|two"),
        ("one|", &[KillToEnd], "one|"),
        // What joins when what kept it apart is deleted is one grapheme.
        ("e|\n\u{301}x", &[Delete], "e\u{301}|x"),
        ("🇩|a🇪", &[Delete], "🇩🇪|"),
    ]);
}

/// Spec: [EDIT-02]
#[test]
fn what_was_deleted_as_a_piece_can_be_put_in() {
    check(&[
        ("a|b", &[Yank], "a|b"),
        ("one tw|o", &[KillToEnd, Yank, Yank], "one twoo|"),
        ("one two|", &[DeleteWordLeft, LineStart, Yank], "two|one "),
        ("|one two", &[DeleteWordRight, LineEnd, Yank], " twoone|"),
        // A single character is no piece.
        ("one two|", &[DeleteWordLeft, Backspace, Yank], "onetwo|"),
        ("on|e", &[Clear, Yank], "one|"),
        // Nothing deleted leaves what was.
        ("a b|", &[DeleteWordLeft, KillToEnd, Yank], "a b|"),
    ]);
}

/// Spec: [EDIT-02]
#[test]
fn a_new_line_can_be_begun_anywhere() {
    check(&[
        ("a|b", &[Newline], "a\n|b"),
        ("|", &[Newline, Newline], "\n\n|"),
    ]);
}

/// Spec: [EDIT-12]
#[test]
fn all_can_be_cleared_and_brought_back() {
    check(&[
        ("one\nt|wo", &[Clear], "|"),
        ("one\nt|wo", &[Clear, Undo], "one\nt|wo"),
    ]);
    let mut composer = composer("a|b");
    composer.paste(&"x\n".repeat(30));
    let chips = composer.chips().to_vec();
    assert_eq!(composer.edit(Clear, WIDTH), Changed);
    assert!(composer.is_empty());
    assert_eq!(composer.edit(Clear, WIDTH), Nothing);
    assert_eq!(composer.edit(Undo, WIDTH), Changed);
    assert_eq!(
        (shown(&composer), composer.chips()),
        ("a|b".to_owned(), &chips[..])
    );
}

/// Spec: [EDIT-13]
#[test]
fn a_word_that_was_typed_is_undone_at_once() {
    let mut composer = composer("|");
    for character in "fix the  test\nnow".chars() {
        composer.insert(character.encode_utf8(&mut [0; 4]));
    }
    let mut seen = Vec::new();
    while composer.edit(Undo, WIDTH) == Changed {
        seen.push(shown(&composer));
    }
    assert_eq!(seen, ["fix the  test\n|", "fix the  |", "fix |", "|"]);
}

/// Spec: [EDIT-13]
#[test]
fn erasing_is_undone_at_once_and_a_move_ends_a_run() {
    check(&[
        ("abcd|", &[Backspace, Backspace, Backspace, Undo], "abcd|"),
        ("|abcd", &[Delete, Delete, Undo], "|abcd"),
        ("ab|cd", &[Backspace, Delete, Undo], "ab|cd"),
        ("abcd|", &[Backspace, Left, Backspace, Undo], "ab|c"),
        ("abcd|", &[Backspace, Left, Backspace, Undo, Undo], "abcd|"),
        ("a b|", &[DeleteWordLeft, DeleteWordLeft, Undo], "a |"),
        ("|", &[Undo], "|"),
    ]);
    let mut composer = composer("|");
    composer.insert("a");
    composer.insert("b");
    composer.edit(Left, WIDTH);
    composer.edit(Right, WIDTH);
    composer.insert("c");
    composer.edit(Undo, WIDTH);
    assert_eq!(shown(&composer), "ab|");
}

/// Spec: [EDIT-07]
#[test]
fn up_and_down_go_by_row_and_keep_the_column() {
    // At a width of 9 the words have 8 columns: "one two", "three", "four", "" and "five six".
    let table: &[(&str, &[ComposerEdit], &str)] = &[
        (
            "one two three\nfour\n\nfive si|x",
            &[Up],
            "one two three\nfour\n|\nfive six",
        ),
        (
            "one two three\nfour\n\nfive si|x",
            &[Up, Up],
            "one two three\nfour|\n\nfive six",
        ),
        (
            "one two three\nfour\n\nfive si|x",
            &[Up, Up, Up],
            "one two three|\nfour\n\nfive six",
        ),
        (
            "one two three\nfour\n\nfive si|x",
            &[Up, Up, Up, Up],
            "one two| three\nfour\n\nfive six",
        ),
        (
            "one two| three\nfour\n\nfive six",
            &[Down; 4],
            "one two three\nfour\n\nfive si|x",
        ),
        // Left gives the column up.
        (
            "one two| three\nfour",
            &[Down, Left, Up],
            "one |two three\nfour",
        ),
        // The last place of a row that goes on is shown in the next.
        ("漢字漢字|漢字", &[Up], "|漢字漢字漢字"),
        ("漢字漢字漢字|", &[Up], "漢字|漢字漢字"),
        // Never into a wide glyph.
        ("漢字\nabc|", &[Up], "漢|字\nabc"),
    ];
    for (before, edits, expected) in table {
        let (found, edited) = after(before, edits, 9);
        assert_eq!(&found, expected, "{before:?} after {edits:?}");
        assert!(edited.iter().all(|edited| *edited == Moved), "{edited:?}");
    }
}

/// Spec: [EDIT-08]
#[test]
fn the_history_begins_at_the_first_and_the_last_row() {
    let table: &[(&str, &[ComposerEdit], &str, &[ComposerOutcome])] = &[
        ("|", &[Up], "|", &[AtTop]),
        ("|", &[Down], "|", &[AtBottom]),
        ("a|b", &[Up, Up], "|ab", &[Moved, AtTop]),
        ("a|b", &[Down, Down], "ab|", &[Moved, AtBottom]),
        ("ab\nc|d", &[Up, Up, Up], "|ab\ncd", &[Moved, Moved, AtTop]),
        (
            "a|b\ncd",
            &[Down, Down, Down],
            "ab\ncd|",
            &[Moved, Moved, AtBottom],
        ),
        (
            "one two th|ree",
            &[Up, Up, Up],
            "|one two three",
            &[Moved, Moved, AtTop],
        ),
    ];
    for (before, edits, expected, outcomes) in table {
        let found = after(before, edits, 9);
        assert_eq!(
            found,
            ((*expected).to_owned(), outcomes.to_vec()),
            "{before:?}"
        );
    }
}

/// Spec: [EDIT-02]
#[test]
fn an_edit_says_what_came_of_it() {
    let table = [
        ("|", Left, Nothing),
        ("|", Backspace, Nothing),
        ("|", Delete, Nothing),
        ("|", KillToEnd, Nothing),
        ("|", DeleteWordLeft, Nothing),
        ("|", Yank, Nothing),
        ("|", Undo, Nothing),
        ("|", Clear, Nothing),
        ("|", Newline, Changed),
        ("a|", Left, Moved),
        ("a|", LineEnd, Nothing),
        ("a|", Backspace, Changed),
    ];
    for (before, edit, expected) in table {
        assert_eq!(composer(before).edit(edit, WIDTH), expected, "{edit:?}");
    }
}
