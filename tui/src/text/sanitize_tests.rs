use proptest::prelude::*;

use super::*;
use crate::text::{graphemes_with_width, width};

/// Spec: [VIEW-01]
#[test]
fn nothing_in_a_text_can_steer_the_terminal() {
    let cases = [
        ("plain\ntext ü 漢字", "plain\ntext ü 漢字"),
        // Colours, cursor moves, modes; parameters and intermediates; a sequence without an end.
        ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
        ("\u{1b}[2J\u{1b}[1;1H\u{1b}[?25l\u{1b}[0 qx", "x"),
        ("a\u{1b}[12", "a"),
        ("a\u{1b}[12\nb", "a\nb"),
        ("a\u{1b}[12漢", "a漢"),
        // Titles, clipboards, links, with either end, with none.
        ("\u{1b}]0;title\u{7}a\u{1b}]52;c;aGk=\u{1b}\\b", "ab"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("a\u{1b}]0;no end\nb", "a\nb"),
        ("a\u{1b}]0;no end\r\nb", "a\nb"),
        ("a\u{1b}]0;cancelled\u{18}b", "ab"),
        (
            "a\u{1b}Pq data\u{1b}\\b\u{1b}_c\u{1b}\\d\u{1b}^e\u{1b}\\f\u{1b}Xg\u{1b}\\h",
            "abdfh",
        ),
        // The same in their 8-bit forms.
        (
            "a\u{9b}31mb\u{9d}0;t\u{9c}c\u{90}x\u{9c}d\u{98}x\u{9c}e\u{9e}x\u{9c}f\u{9f}x\u{9c}g",
            "abcdefg",
        ),
        // Other escapes: two characters, character sets, alone, doubled, at the end.
        ("a\u{1b}cb\u{1b}(Bc\u{1b}#8d", "abcd"),
        ("a\u{1b}\u{1b}[31mb\u{1b}", "ab"),
        ("a\u{1b}漢", "a漢"),
        // Other controls.
        ("a\0b\u{7}c\u{8}d\u{b}e\u{c}f\u{7f}g\u{85}h", "abcdefgh"),
        ("a\r\nb\rc\r", "a\nb\nc\n"),
        // Tabs, after wide characters and after line breaks too.
        ("\ta\tbc\tdefg\th\n漢\ti", "    a   bc  defg    h\n漢  i"),
        // Order of characters.
        (
            "a\u{202e}b\u{2066}c\u{200f}d\u{2028}e",
            "a<202E>b<2066>c<200F>d<2028>e",
        ),
        // What is seen by nobody but programs.
        (
            "a\u{200b}b\u{ad}c\u{feff}d\u{2060}e\u{e0041}f\u{fe00}g",
            "abcdefg",
        ),
        // Joiners: within emoji and within Persian, not elsewhere.
        (
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
        ),
        ("a\u{200d}b 👩\u{200d}x", "ab 👩x"),
        ("می\u{200c}خواهم a\u{200c}b", "می\u{200c}خواهم ab"),
    ];
    for (text, expected) in cases {
        assert_eq!(sanitize(text, Hidden::Dropped), expected, "{text:?}");
    }
}

/// Spec: [VIEW-02]
#[test]
fn nothing_is_hidden_in_what_a_tool_was_asked() {
    let cases = [
        ("rm\u{1b}[8m -rf\u{1b}[0m", "rm␛[8m -rf␛[0m"),
        ("a\0b\u{7f}c\u{9b}d", "a␀b␡c<009B>d"),
        ("a\r\nb\rc", "a\nb␍c"),
        (
            "a\u{200b}b\u{202e}c\u{200c}d\u{200d}e",
            "a<200B>b<202E>c<200C>d<200D>e",
        ),
        ("👩\u{200d}💻\tx", "👩\u{200d}💻  x"),
    ];
    for (text, expected) in cases {
        assert_eq!(sanitize(text, Hidden::Pictured), expected, "{text:?}");
    }
}

#[test]
fn one_line_has_no_breaks() {
    assert_eq!(one_line("a\u{1b}[1m b\r\n  c\n"), "a b c");
    assert_eq!(one_line(" a  b "), " a  b ");
}

/// Pieces that sequences are made of, and what stands around them.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "\u{1b}",
            "[",
            "]",
            "0;",
            "31m",
            "\u{7}",
            "\u{1b}\\",
            "\u{9c}",
            "\u{9b}",
            "\u{9d}",
            "P",
            "\r",
            "\n",
            "\r\n",
            "\t",
            "\u{200d}",
            "\u{200c}",
            "\u{fe0f}",
            "👩",
            "💻",
            "🏽",
            "漢",
            "e\u{301}",
            "\u{301}",
            "🇩",
            "🇪",
            "\u{202e}",
            "\u{1100}",
            "\u{1161}",
            "ق",
            "क\u{94d}ष",
            "a",
            " ",
            "<",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[ -~]{0,8}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Spec: [VIEW-01], [VIEW-02]
    #[test]
    fn what_comes_out_is_inert_and_stays_as_it_is(text in hostile()) {
        for hidden in [Hidden::Dropped, Hidden::Pictured] {
            let once = sanitize(&text, hidden);
            prop_assert!(!once.contains(|c: char| c.is_control() && c != '\n'), "{once:?}");
            prop_assert_eq!(&sanitize(&once, hidden), &once);
            for line in once.lines() {
                let cells: usize = graphemes_with_width(line).map(|(_, width)| width).sum();
                prop_assert_eq!(cells, width(line));
            }
        }
        let line = one_line(&text);
        prop_assert!(!line.contains(char::is_control), "{line:?}");
    }

    /// A text that grows may be made fit line by line.
    #[test]
    fn lines_can_be_made_fit_one_by_one(text in hostile()) {
        let by_line: String = text
            .split_inclusive('\n')
            .map(|line| sanitize(line, Hidden::Dropped))
            .collect();
        prop_assert_eq!(by_line, sanitize(&text, Hidden::Dropped));
    }
}
