//! Where rows end, and where the caret is shown.

use super::super::state::MAX_ROWS;
use super::super::testing::composer;
use super::*;

fn rows(text: &str, width: u16) -> Vec<&str> {
    let ranges = WrappedText::wrap(text, width).ranges;
    ranges.into_iter().map(|range| &text[range]).collect()
}

/// Spec: [EDIT-04]
#[test]
fn rows_end_between_words() {
    let table: &[(&str, u16, &[&str])] = &[
        ("", 10, &[""]),
        ("\n", 10, &["", ""]),
        ("one two", 8, &["one two"]),
        ("one two", 7, &["one ", "two"]),
        ("one two\n", 7, &["one ", "two", ""]),
        ("abcdefghij", 5, &["abcd", "efgh", "ij"]),
        ("x abcdefgh", 5, &["x ", "abcd", "efgh"]),
        // One space stands in the column of the caret, further ones in the next row.
        ("abcd   efg", 5, &["abcd ", "  ", "efg"]),
        ("abcd      e", 5, &["abcd ", "     ", "e"]),
        // A space that must not be broken at is a letter.
        ("ab\u{a0}cd ef", 6, &["ab\u{a0}cd ", "ef"]),
        // Wide glyphs are never halved and need no spaces.
        ("漢字漢字", 6, &["漢字", "漢字"]),
        ("a漢字漢字", 6, &["a漢字", "漢字"]),
        ("ab漢字cd", 7, &["ab漢字", "cd"]),
        ("漢字漢。字", 7, &["漢字", "漢。字"]),
        (
            "👩\u{200d}👨\u{200d}👧🇩🇪x",
            5,
            &["👩\u{200d}👨\u{200d}👧🇩🇪", "x"],
        ),
        // What no row can hold has one for itself.
        ("a漢b", 2, &["a", "漢", "b"]),
        ("漢", 1, &["漢"]),
        ("ab", 0, &["a", "b"]),
    ];
    for (text, width, expected) in table {
        assert_eq!(&rows(text, *width), expected, "{text:?} at {width}");
    }
}

/// Spec: [EDIT-05]
#[test]
fn the_caret_stands_where_the_next_letter_will() {
    let table = [
        ("|", 10, (0, 0)),
        ("漢字|", 10, (0, 4)),
        ("漢|字", 10, (0, 2)),
        ("e\u{301}|", 10, (0, 1)),
        ("ab\n|", 10, (1, 0)),
        ("ab|\n", 10, (0, 2)),
        // Behind a full row it stands in the column that is kept for it.
        ("abcd|", 5, (0, 4)),
        ("abcd|e", 5, (1, 0)),
        ("abcd |", 5, (0, 4)),
        ("abcd  |", 5, (1, 1)),
        ("one |two", 7, (1, 0)),
        ("one| two", 7, (0, 3)),
        ("漢|", 1, (0, 0)),
    ];
    for (text, width, (row, column)) in table {
        let found = composer(text).caret(width);
        assert_eq!(found, CaretPlace { row, column }, "{text:?} at {width}");
    }
}

/// Spec: [EDIT-06]
#[test]
fn a_window_shows_one_to_ten_rows_around_the_caret() {
    let height = |text: &str| composer(text).window(80, MAX_ROWS).rows.len();
    assert_eq!(height("|"), 1);
    assert_eq!(height("a\nb|"), 2);
    assert_eq!(height(&format!("{}|", "a\n".repeat(9))), 10);
    assert_eq!(height(&format!("{}|", "a\n".repeat(50))), 10);

    // Nine lines of one letter each, in three rows.
    let shown = |text: &str| {
        let window = composer(text).window(80, 3);
        let plain = text.replace('|', "");
        let rows: Vec<String> = window
            .rows
            .iter()
            .map(|row| plain[row.clone()].into())
            .collect();
        (rows.concat(), window.caret.row, window.above, window.below)
    };
    let of = |rows: &str, caret, above, below| (rows.to_owned(), caret, above, below);
    assert_eq!(shown("|a\nb\nc\nd\ne\nf\ng\nh\ni"), of("abc", 0, 0, 6));
    assert_eq!(shown("a\n|b\nc\nd\ne\nf\ng\nh\ni"), of("abc", 1, 0, 6));
    assert_eq!(shown("a\nb\nc\nd\n|e\nf\ng\nh\ni"), of("def", 1, 3, 3));
    assert_eq!(shown("a\nb\nc\nd\ne\nf\ng\n|h\ni"), of("ghi", 1, 6, 0));
    assert_eq!(shown("a\nb\nc\nd\ne\nf\ng\nh\ni|"), of("ghi", 2, 6, 0));
    assert_eq!(composer("a\nb|").window(80, 0).rows.len(), 1);
}
