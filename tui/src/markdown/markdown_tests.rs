use ratatui::style::Modifier;

use super::*;
use crate::layout::PartLayout;
use crate::layout::picture::{picture, text};
use crate::theme::{Depth, Look, Scheme, Theme, Token};

const TEXT: Look = Look::new(Token::Text);

fn block(source: &str, width: usize) -> PartLayout {
    PartLayout {
        source: source.to_owned(),
        rows: rows(source, width),
        ..PartLayout::default()
    }
}

fn text_of(source: &str, width: usize) -> Vec<String> {
    text(&block(source, width))
}

/// Each piece that is of the source, with its look.
fn looks(source: &str) -> Vec<(String, Look)> {
    let block = block(source, 80);
    block
        .rows
        .iter()
        .flat_map(|row| &row.pieces)
        .map(|piece| (piece.text(source).0.to_owned(), piece.look))
        .collect()
}

fn check_looks(cases: &[(&str, &[(&str, Look)])]) {
    for (source, expected) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|(text, look)| ((*text).to_owned(), *look))
            .collect();
        assert_eq!(looks(source), expected, "{source:?}");
    }
}

/// Spec: [MARK-05], [MARK-06], [MARK-07]
#[test]
fn words_are_bold_italic_and_both() {
    let both = TEXT.bold().italic();
    check_looks(&[
        ("**a** b", &[("a", TEXT.bold()), (" b", TEXT)]),
        (
            "*a* _b_",
            &[("a", TEXT.italic()), (" ", TEXT), ("b", TEXT.italic())],
        ),
        ("**bold *both***", &[("bold ", TEXT.bold()), ("both", both)]),
        ("*it **both***", &[("it ", TEXT.italic()), ("both", both)]),
        ("***both***", &[("both", both)]),
        (
            "in**si**de",
            &[("in", TEXT), ("si", TEXT.bold()), ("de", TEXT)],
        ),
        ("~~a~~", &[("a", TEXT.with(Modifier::CROSSED_OUT))]),
        (
            "**a `c` [l](u)**",
            &[
                ("a ", TEXT.bold()),
                ("c", TEXT.bold().on(Token::InlineCode)),
                (" ", TEXT.bold()),
                ("l", Look::new(Token::Link).bold().underlined()),
                (" (", Look::new(Token::Quiet)),
                ("u", Look::new(Token::Link).underlined()),
                (")", Look::new(Token::Quiet)),
            ],
        ),
    ]);
}

/// Spec: [MARK-07]
#[test]
fn every_character_of_nested_words_has_the_styles_of_all() {
    let theme = Theme::new(Scheme::Dark, Depth::None);
    assert_eq!(
        picture(&block("x **bold *both***", 16), &theme, 16, &[]),
        "|x bold both     |\n aabbbbbccccaaaaa\na: Reset on Reset NONE\nb: Reset on Reset BOLD\nc: Reset on Reset BOLD | ITALIC\n"
    );
}

/// Spec: [MARK-08], [MARK-12], [MARK-13]
#[test]
fn code_links_and_headings_have_their_look() {
    let link = Look::new(Token::Link).underlined();
    let quiet = Look::new(Token::Quiet);
    let code = TEXT.on(Token::InlineCode);
    check_looks(&[
        ("a `b c`", &[("a ", TEXT), ("b c", code)]),
        ("`` ` ``", &[("`", code)]),
        ("`a\nb`", &[("a", code), (" ", code), ("b", code)]),
        (
            "[t](http://u)",
            &[("t", link), (" (", quiet), ("http://u", link), (")", quiet)],
        ),
        ("[http://u](http://u)", &[("http://u", link)]),
        ("<http://u>", &[("http://u", link)]),
        ("<a@b.c>", &[("a@b.c", link)]),
        (
            "![t](u)",
            &[
                ("image: ", quiet),
                ("t", link),
                (" (", quiet),
                ("u", link),
                (")", quiet),
            ],
        ),
        ("# One", &[("One", TEXT.bold().underlined())]),
        (
            "### A *b*",
            &[("A ", TEXT.bold()), ("b", TEXT.italic().bold())],
        ),
        ("One\n===", &[("One", TEXT.bold().underlined())]),
    ]);
}

/// Spec: [MARK-09]
#[test]
fn fenced_code_has_a_ground_to_the_edge() {
    let theme = Theme::new(Scheme::Dark, Depth::Full);
    let block = block("a\n\n```rust\nlet x = 1;\n\n    y\n```\n\nb", 16);
    assert_eq!(
        picture(&block, &theme, 18, &[]),
        "|a                 |\n aaaaaaaaaaaaaaaaaa\n\
         |                  |\n aaaaaaaaaaaaaaaaaa\n\
         | rust             |\n bccccbbbbbbbbbbbbb\n\
         | let x = 1;       |\n bbbbbbbbbbbbbbbbbb\n\
         |                  |\n bbbbbbbbbbbbbbbbbb\n\
         |     y            |\n bbbbbbbbbbbbbbbbbb\n\
         |                  |\n aaaaaaaaaaaaaaaaaa\n\
         |b                 |\n aaaaaaaaaaaaaaaaaa\n\
         a: #E0E0E0 on #1A1A1A NONE\nb: #E0E0E0 on #3D3A28 NONE\nc: #A8A89A on #3D3A28 NONE\n"
    );
}

/// Spec: [MARK-10], [MARK-11], [MARK-14]
#[test]
fn items_have_bullets_and_numbers_and_hang_behind_them() {
    let cases: [(&str, usize, &[&str]); 11] = [
        ("- a\n* b\n+ c", 20, &["• a", "• b", "• c"]),
        (
            "- a\n  - b\n    - c\n- d",
            20,
            &["• a", "  • b", "    • c", "• d"],
        ),
        ("1. a\n2. b", 20, &["1. a", "2. b"]),
        ("9) a\n1) b", 20, &["9) a", "10) b"]),
        ("- one two three", 9, &["• one two", "  three"]),
        (
            "1. one two three\n   - four five",
            12,
            &["1. one two", "   three", "   • four", "     five"],
        ),
        ("- a\n\n- b\n\n  c", 20, &["• a", "", "• b", "", "  c"]),
        ("- [ ] a\n- [x] b", 20, &["• [ ] a", "• [x] b"]),
        ("- a\n  ```\n  code\n  ```", 20, &["• a", "", "   code"]),
        ("- \n- b", 20, &["•", "• b"]),
        ("text\n- a", 20, &["text", "• a"]),
    ];
    for (source, width, expected) in cases {
        assert_eq!(text_of(source, width), expected, "{source:?} at {width}");
    }
}

/// Spec: [MARK-14]
#[test]
fn quotes_rules_and_tables_are_drawn() {
    let table = "| Name | n |\n|:--|--:|\n| a `b` | 1 |\n| 漢字 | 22 |";
    let cases: [(&str, usize, &[&str]); 9] = [
        ("> a b c\n> d", 6, &["│ a b", "│ c", "│ d"]),
        ("> a\n>\n> b\n\nc", 20, &["│ a", "│", "│ b", "", "c"]),
        ("- a\n  > b", 20, &["• a", "  │ b"]),
        ("> - a\n>   - b", 20, &["│ • a", "│   • b"]),
        ("a\n\n---\n\nb", 5, &["a", "", "─────", "", "b"]),
        (
            table,
            20,
            &["Name │  n", "─────┼───", "a b  │  1", "漢字 │ 22"],
        ),
        (
            table,
            8,
            &["Name: a", "b", "n: 1", "", "Name: 漢", "字", "n: 22"],
        ),
        ("| a | b |\n|---|---|", 20, &["a │ b", "──┼──"]),
        ("| aaaa | bbbb |\n|---|---|", 6, &["aaaa", "bbbb"]),
    ];
    for (source, width, expected) in cases {
        assert_eq!(text_of(source, width), expected, "{source:?} at {width}");
    }
}

/// Spec: [MARK-15]
#[test]
fn what_is_not_known_stays_as_it_is() {
    let unchanged = [
        "a <b>bold</b> & <br/>",
        "<details>\n<summary>x</summary>\n</details>",
        "<!-- note -->",
        ":::warning",
        "[^1]: note",
        "text[^1] and [a][b] and ==mark== and $x$",
        "[a]: http://example.com",
        "snake_case_name and 2*3 and a * b",
        "**never closed",
        "`never closed",
        "#hashtag",
        "https://example.com/a_b_c",
    ];
    for source in unchanged {
        assert_eq!(
            text_of(source, 60),
            source.lines().collect::<Vec<_>>(),
            "{source:?}"
        );
    }
}

/// Spec: [MARK-16]
#[test]
fn what_stands_for_a_character_is_made_fit_to_be_shown() {
    assert_eq!(text_of("a &amp; b &lt;", 20), ["a & b <"]);
    let block = block("a&#27;[31mb&#x202e;c&#10;d&#155;e", 60);
    for piece in block.rows.iter().flat_map(|row| &row.pieces) {
        assert!(
            !piece.text(&block.source).0.contains(char::is_control),
            "{piece:?}"
        );
    }
    assert_eq!(text(&block), ["a[31mb<202E>c de"]);
    let link = "[a](http://x/&#27;]0;t)";
    assert!(!text_of(link, 60).concat().contains(char::is_control));
}

/// Spec: [MARK-17]
#[test]
fn hard_cases() {
    let long = "x".repeat(10_000);
    assert_eq!(rows(&long, 100).len(), 100);
    let cases: [(&str, usize, &[&str]); 8] = [
        ("", 10, &[]),
        ("\n\n\n", 10, &[]),
        ("\n\na\n\n\n\nb\n\n", 10, &["a", "", "b"]),
        // The fence is not closed, because its end is not written yet.
        ("```rust\nlet x", 20, &[" rust", " let x"]),
        ("a\nb  \nc\\\nd", 20, &["a", "b", "c", "d"]),
        ("漢字漢字。", 5, &["漢字", "漢", "字。"]),
        (
            "see https://a.example/b now",
            20,
            &["see", "https://a.example/b", "now"],
        ),
        ("> > > > > a b", 6, &["a b"]),
    ];
    for (source, width, expected) in cases {
        assert_eq!(text_of(source, width), expected, "{source:?} at {width}");
    }
}

/// Spec: [VIEW-267]
#[test]
fn prose_is_at_most_a_hundred_columns_wide_and_code_is_not() {
    let (prose, code) = ("word ".repeat(60), "x".repeat(150));
    let rows = text_of(&format!("{prose}\n\n```\n{code}\n```\n"), 160);
    assert_eq!(rows[0].len(), 99);
    assert_eq!(rows.last().unwrap().trim().len(), 150);
}

/// Spec: [VIEW-268]
#[test]
fn a_row_that_goes_on_with_a_line_of_code_has_a_mark() {
    let rows = text_of("```\n0123456789abcdefghijk\nnext\n```", 14);
    assert_eq!(rows[1..], [" 0123456789ab", "↳cdefghijk", " next"]);
}

/// Spec: [VIEW-269]
#[test]
fn headings_of_the_first_two_levels_differ() {
    check_looks(&[
        ("# One", &[("One", TEXT.bold().underlined())]),
        ("## Two", &[("Two", TEXT.bold())]),
    ]);
}
