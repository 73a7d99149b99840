//! Properties of any text and any width.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::layout::WordsOrigin;
use crate::text::{Hidden, sanitize};
use crate::theme::Token;

const LINES: [&str; 62] = [
    "",
    "",
    "",
    "",
    "text",
    "**bold** and *it* and ***both***",
    "a_b_c **x",
    "in**si**de",
    "- item",
    "  - nested",
    "* star",
    "+ plus",
    "1. one",
    "7) seven",
    "10. ten",
    "-",
    "1.",
    "- - deep",
    "   continued",
    "  continued",
    "```rust",
    "```",
    "~~~",
    "~~~~ x y",
    "  ```",
    "   ```",
    "    ```",
    "- ```",
    "    indented",
    "      more",
    "> quote",
    "> - in it",
    "> > two",
    ">",
    "> ```",
    "# One",
    "### Three #",
    "---",
    "***",
    "===",
    "| a | b |",
    "|---|--:|",
    "| 漢字 | `x` | y |",
    "<!-- open",
    "close -->",
    "<pre>",
    "</pre> x",
    "<div>",
    "</div>",
    "a <b>c</b>",
    "[text](http://example.com/a)",
    "<http://example.com>",
    "![image](p.png)",
    "- [ ] open",
    "- [x] done",
    "\\*not\\*",
    "`code` and ``c`d``",
    "`open",
    "~~gone~~",
    "hard  ",
    "漢字漢字。漢字👨\u{200d}👩\u{200d}👧",
    "[a]",
];

fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => proptest::sample::select(&LINES[..]).prop_map(str::to_owned),
        1 => "[ -~]{0,40}",
        1 => "[a-z*_`~\\[\\]()<>!| -]{0,30}",
    ];
    proptest::collection::vec(line, 0..30)
        // A definition changes what is far away; it is shown as it is written.
        .prop_map(|lines| lines.join("\n").replace("]:", "] :").replace('&', "+"))
}

/// The text that the parser finds, with that which we show besides: languages, boxes, addresses.
fn plain(source: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut text = String::new();
    let mut links = Vec::new();
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        match event {
            Event::Text(words)
            | Event::Code(words)
            | Event::Html(words)
            | Event::InlineHtml(words) => {
                text.push_str(&words);
            }
            Event::TaskListMarker(_) => text.push_str(&source[range]),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                // As it is written: escapes stand in it.
                let line = source[range]
                    .lines()
                    .next()
                    .unwrap()
                    .trim_start_matches(['`', '~']);
                assert!(info.is_empty() || !line.trim().is_empty());
                text.push_str(line);
            }
            Event::Start(
                Tag::Link {
                    dest_url,
                    link_type,
                    ..
                }
                | Tag::Image {
                    dest_url,
                    link_type,
                    ..
                },
            ) => {
                use pulldown_cmark::LinkType::{Autolink, Email};
                let is_text = matches!(link_type, Autolink | Email);
                links.push((text.len(), (!is_text).then_some(dest_url)));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let (start, url) = links.pop().unwrap();
                if let Some(url) = url.filter(|url| **url != text[start..]) {
                    text.push_str(&url);
                }
            }
            _ => {}
        }
    }
    text
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The parts of the source that the rows show, and the substitutes for parts of it.
fn shown(source: &str, rows: &[ScreenRow]) -> String {
    rows.iter()
        .flat_map(|row| &row.pieces)
        .filter(|piece| {
            let is_code = piece.look.ground == Some(Token::InlineCode);
            matches!(piece.words, WordsOrigin::Source(_))
                || is_code
                || piece.look.token == Token::Link
        })
        .map(|piece| piece.text(source).0)
        .collect()
}

fn check_rows(source: &str, rows: &[ScreenRow], width: usize) -> Result<(), TestCaseError> {
    let mut last = 0;
    for row in rows {
        let columns = row.width(source);
        prop_assert!(
            columns <= width.max(2),
            "{} > {}: {:?}",
            columns,
            width,
            row
        );
        for range in row.ranges() {
            prop_assert!(range.start >= last, "{range:?} after {last}");
            prop_assert!(
                source
                    .get(range.clone())
                    .is_some_and(|text| !text.contains('\n'))
            );
            last = range.end;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [MARK-01]
    #[test]
    fn rows_fit_and_show_the_source_in_its_order(source in markdown(), width in 1_usize..300) {
        let rows = rows(&source, width);
        check_rows(&source, &rows, width)?;
    }

    /// Spec: [MARK-01]
    #[test]
    fn any_text_at_all_can_be_laid_out(text in "(\\PC|\n|[*_`~#>|\\-\t ]){0,200}", width in 1_usize..300) {
        let source = sanitize(&text, Hidden::Dropped);
        let rows = rows(&source, width);
        check_rows(&source, &rows, width)?;
    }

    /// Spec: [MARK-02]
    #[test]
    fn what_is_shown_is_the_text_that_the_parser_finds(source in markdown()) {
        let wide = rows(&source, 300);
        prop_assert_eq!(squeezed(&shown(&source, &wide)), squeezed(&plain(&source)), "{}", source);
    }

    /// Spec: [MARK-03]
    #[test]
    fn a_text_that_grows_is_laid_out_as_a_whole_one(
        source in markdown(),
        steps in proptest::collection::vec(1_usize..30, 1..20),
        width in 1_usize..80,
    ) {
        let mut growing = GrowingMarkdown::default();
        let (mut grown, mut grown_code) = (Vec::new(), Vec::new());
        let mut end = 0;
        for step in steps.iter().cycle() {
            end = source.ceil_char_boundary((end + step).min(source.len()));
            growing.layout(&source[..end], width, (&mut grown, &mut grown_code));
            let (mut whole, mut code) = (Vec::new(), Vec::new());
            GrowingMarkdown::default().layout(&source[..end], width, (&mut whole, &mut code));
            prop_assert_eq!(&grown, &whole, "{}", &source[..end]);
            prop_assert_eq!(&grown_code, &code, "{}", &source[..end]);
            if end == source.len() {
                break;
            }
        }
    }
}

/// Spec: [MARK-03]
#[test]
fn only_the_open_end_of_a_text_is_laid_out_again() {
    let paragraph = "Some **words** of a paragraph.\n\n";
    let code = "    let line = 1;\n";
    for (before, piece) in [("", paragraph), ("```rust\n", code)] {
        let mut source = before.to_owned();
        let mut growing = GrowingMarkdown::default();
        let mut rows = Vec::new();
        for _ in 0..2_000 {
            source.push_str(piece);
            growing.layout(&source, 80, (&mut rows, &mut Vec::new()));
            let open = rows.len() - growing.rows;
            assert!(open <= 2, "{open} rows of {} are open", rows.len());
        }
        assert_eq!(rows, super::rows(&source, 80));
    }
}

/// Spec: [MARK-04]
#[test]
fn no_more_than_a_bounded_text_is_parsed_at_once() {
    let sources = [
        "a".repeat(3 * chunks::MAX_CHUNK),
        "漢字 ".repeat(chunks::MAX_CHUNK / 2),
        "- item\n".repeat(chunks::MAX_CHUNK / 4),
        "> ".repeat(chunks::MAX_CHUNK),
        format!("```\n{}", "line\n".repeat(chunks::MAX_CHUNK)),
        format!("```\n{}", "x".repeat(2 * chunks::MAX_CHUNK)),
    ];
    for source in sources {
        let mut place = ChunkPlace::default();
        let mut end = 0;
        while let Some(cut) = chunks::next(&source, place) {
            assert_eq!(cut.chunk.range.start, end);
            end = cut.chunk.range.end;
            let is_code = matches!(cut.chunk.kind, chunks::ChunkKind::Code { .. });
            assert!(is_code || cut.chunk.range.len() <= chunks::MAX_CHUNK);
            place = cut.after;
        }
        assert_eq!(end, source.len());
    }
}

#[test]
fn a_definition_is_shown_and_words_are_words() {
    let source = "[a]: http://x.y\n\ntext [a]";
    let rows = rows(source, 40);
    let all: String = rows
        .iter()
        .flat_map(|row| &row.pieces)
        .map(|piece| match &piece.words {
            WordsOrigin::Source(_) => piece.text(source).0,
            WordsOrigin::Shown(text) => text,
        })
        .collect();
    assert_eq!(all, "[a]: http://x.ytext [a]");
}

/// Spec: [MARK-04]
#[test]
fn what_is_nested_beyond_reason_is_shown_as_it_is() {
    for mark in ["> ", "- ", "1. ", ">", "> * "] {
        let source = format!("a\n{}b\nlazy\n\nc", mark.repeat(200));
        let rows = rows(&source, 40);
        check_rows(&source, &rows, 40).unwrap();
        let expected = source.trim_end_matches("\n\nc").to_owned() + "c";
        assert_eq!(squeezed(&shown(&source, &rows)), squeezed(&expected));
    }
}
