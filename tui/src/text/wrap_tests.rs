use proptest::prelude::*;

use super::*;
use crate::text::{Hidden, sanitize, width};

fn rows(text: &str, width: usize) -> Vec<String> {
    wrap(&[text], width)
        .into_iter()
        .map(|row| row.into_iter().map(|part| &text[part.range]).collect())
        .collect()
}

/// Spec: [VIEW-03]
#[test]
fn rows_are_broken_between_words() {
    let cases: [(&str, usize, &[&str]); 14] = [
        ("", 5, &[""]),
        ("one two three", 7, &["one two", "three"]),
        ("one two three", 6, &["one", "two", "three"]),
        ("one  two", 4, &["one", "two"]),
        ("one   ", 3, &["one"]),
        ("  in", 4, &["  in"]),
        ("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]),
        ("漢字漢字漢", 5, &["漢字", "漢字", "漢"]),
        ("漢字。漢", 4, &["漢", "字。", "漢"]),
        ("ab漢字cd", 4, &["ab漢", "字cd"]),
        (
            "see https://a.example/b/c now",
            22,
            &["see", "https://a.example/b/c", "now"],
        ),
        (
            "x https://a.example/bc",
            10,
            &["x", "https://a.", "example/bc"],
        ),
        (
            "e\u{301}e\u{301}e\u{301}",
            2,
            &["e\u{301}e\u{301}", "e\u{301}"],
        ),
        ("漢a", 1, &["漢", "a"]),
    ];
    for (text, width, expected) in cases {
        assert_eq!(rows(text, width), expected, "{text:?} at {width}");
    }
}

#[test]
fn a_word_may_be_of_several_texts() {
    let stretch = |text, range| TextStretch { text, range };
    assert_eq!(
        wrap(&["one t", "w", "o three"], 7),
        [
            vec![stretch(0, 0..5), stretch(1, 0..1), stretch(2, 0..1)],
            vec![stretch(2, 2..7)],
        ]
    );
}

#[test]
fn code_is_broken_where_the_row_is_full() {
    assert_eq!(break_anywhere("", 3), vec![0..0]);
    assert_eq!(break_anywhere("a  b c", 3), [0..3, 3..6]);
    assert_eq!(break_anywhere("漢字", 3), [0..3, 3..6]);
}

proptest! {
    /// Spec: [VIEW-03]
    #[test]
    fn rows_fit_and_lose_only_spaces(
        raw in "([a-z]{1,12}|[ ]{1,3}|[漢字。]{1,4}|👩\u{200d}💻|🇩🇪|\u{301}|\u{1100}{1,9}|\\PC){0,40}",
        columns in 1_usize..60,
    ) {
        let text = sanitize(&raw, Hidden::Dropped).replace('\n', " ");
        let wrapped = rows(&text, columns);
        let squeezed = |text: &str| text.replace(' ', "");
        prop_assert_eq!(squeezed(&wrapped.concat()), squeezed(&text));
        for row in &wrapped {
            prop_assert!(width(row) <= columns.max(2), "{:?} at {}", row, columns);
        }
        let whole: String = break_anywhere(&text, columns)
            .into_iter()
            .inspect(|row| assert!(width(&text[row.clone()]) <= columns.max(2)))
            .map(|row| &text[row])
            .collect();
        prop_assert_eq!(whole, text);
    }
}
