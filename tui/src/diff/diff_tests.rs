//! Diffs as they are read and shown.

use proptest::prelude::*;

use super::words::pairs;
use super::*;
use crate::highlight::Language;
use crate::layout::PartLayout;
use crate::layout::picture::{picture, text};
use crate::theme::{Depth, Scheme, Theme};

fn block(diff: &str, width: usize) -> PartLayout {
    let diff = Diff::read(diff);
    PartLayout {
        rows: diff.rows(0, width, usize::MAX),
        source: diff.text,
        ..PartLayout::default()
    }
}

/// The differences, each word behind the sign of its line.
fn differs(lines: &[&str]) -> Vec<String> {
    let word = |(line, range): (usize, std::ops::Range<usize>)| {
        format!("{}{}", &lines[line][..1], &lines[line][range])
    };
    emphasis(lines).into_iter().map(word).collect()
}

const DIFF: &str = "@@ -8,4 +8,5 @@ fn main\n fn main() {\n-    let port = 80;\n+    let port = 8080;\n+    \
                    serve(port);\n }\n@@ -99 +100 @@\n-old text of one kind\n+entirely other\n\\ No newline at end of file\n";

/// Spec: [VIEW-287]
#[test]
fn a_diff_has_numbers_signs_and_the_words_that_differ() {
    assert_eq!(
        text(&block(DIFF, 40)),
        [
            "    @@ -8,4 +8,5 @@ fn main",
            "  8  fn main() {",
            "  9 -    let port = 80;",
            "  9 +    let port = 8080;",
            " 10 +    serve(port);",
            " 11  }",
            "    @@ -99 +100 @@",
            " 99 -old text of one kind",
            "100 +entirely other",
            "    \\ No newline at end of file",
        ]
    );
    for (scheme, depth) in [
        (Scheme::Dark, Depth::Full),
        (Scheme::Light, Depth::Palette),
        (Scheme::Dark, Depth::Sixteen),
        (Scheme::Terminal, Depth::Full),
        (Scheme::Dark, Depth::None),
    ] {
        let theme = Theme::new(scheme, depth);
        let name = format!("diff_{}_{depth:?}", scheme.name());
        insta::assert_snapshot!(name, picture(&block(DIFF, 30), &theme, 30, &[]));
    }
}

/// Spec: [VIEW-288]
#[test]
fn words_are_compared_of_lines_that_have_enough_in_common() {
    assert_eq!(
        differs(&["-let port = 80;", "+let port = 8080;"]),
        ["-80", "+8080"]
    );
    assert_eq!(
        differs(&["-old text of one kind", "+entirely other"]),
        [""; 0]
    );
    assert_eq!(differs(&["-same", " ", "+same2"]), [""; 0]);
    // Of two for one, the line that it became.
    let lines = [
        "-    let a = call(1);",
        "+    // why",
        "+    let a = call(2);",
    ];
    assert_eq!(pairs(&lines), [(0, 2)]);
    assert_eq!(differs(&lines), ["-1", "+2"]);
    // Words that only blanks are between are one.
    assert_eq!(differs(&["-a b c d e f", "+a x y d e f"]), ["-b c", "+x y"]);
    let long = |word: &str| format!("{word} {}", "same ".repeat(400));
    let (old, new) = (format!("-{}", long("a")), format!("+{}", long("b")));
    assert_eq!(differs(&[&old, &new]), [""; 0]);
    // There is a limit to all of it: 360 words a line, so 30 pairs.
    let (old, new) = (
        format!("-{}", "a b ".repeat(90)),
        format!("+{}", "a c ".repeat(90)),
    );
    let mut many = vec![old.as_str(); 300];
    many.extend(vec![new.as_str(); 300]);
    assert_eq!(differs(&many).len(), 30 * 2 * 90);
}

/// Spec: [VIEW-289]
#[test]
fn blanks_are_seen_where_they_are_all_that_was_changed_and_at_ends() {
    let rows = text(&block("@@ -1 +1 @@\n-\tlet a;\n+    let a;\n+end \t\n", 40));
    assert_eq!(rows[1..], ["1 -→let a;", "1 +····let a;", "2 +end·→"]);
    let rows = text(&block("@@ -1 +1 @@\n-a  b c\n+a b c\n", 40));
    assert_eq!(rows[1..], ["1 -a··b c", "1 +a·b c"]);
}

/// Spec: [VIEW-287]
#[test]
fn a_line_that_is_too_long_goes_on_below_its_beginning() {
    let rows = text(&block(
        "@@ -1 +1 @@\n+aaaaaaaaaabbbbbbbbbbccccccccccdd\n",
        24,
    ));
    assert_eq!(rows[1..], ["1 +aaaaaaaaaabbbbbbbbbbc", "   cccccccccdd"]);
    let narrow = text(&block("@@ -1 +1 @@\n+abc\n", 3));
    assert_eq!(narrow.last().unwrap(), " c");
}

/// Spec: [VIEW-286]
#[test]
fn the_old_and_the_new_side_of_each_hunk_are_code_of_their_own() {
    let diff = Diff::read(DIFF);
    let codes = diff.code(0, &Language::of_fence("rust").unwrap());
    let lines: Vec<Vec<&str>> = codes
        .iter()
        .map(|code| {
            (0..code.len())
                .map(|line| code.text(&diff.text, line))
                .collect()
        })
        .collect();
    assert_eq!(
        lines,
        [
            vec!["fn main() {", "    let port = 80;", "}"],
            vec![
                "fn main() {",
                "    let port = 8080;",
                "    serve(port);",
                "}"
            ],
            vec!["old text of one kind"],
            vec!["entirely other"],
        ]
    );
}

proptest! {
    /// Spec: [VIEW-288]
    #[test]
    fn a_diff_shows_every_line_of_any_text_in_its_place(
        diff in "([-+ @\\\\]?[ab (\t\u{1}\u{1b}é漢\u{202e}]{0,12}\n?){0,12}",
        width in 4_usize..60,
    ) {
        let block = block(&diff, width);
        let mut shown = 0;
        for row in &block.rows {
            prop_assert!(row.width(&block.source) <= width, "{row:?} at {width}");
            for range in row.ranges() {
                prop_assert!(shown <= range.start && block.source.get(range.clone()).is_some());
                // Between rows nothing is left out but the ends of lines.
                prop_assert!(block.source[shown..range.start].trim_matches('\n').is_empty());
                shown = range.end;
            }
        }
        prop_assert!(block.source[shown..].trim_matches('\n').is_empty());
        let has_control = block.source.contains(|c: char| c.is_control() && c != '\n');
        prop_assert!(!has_control);
    }
}
