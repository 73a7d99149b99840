//! Code is read within limits, and piece by piece as it is read as a whole.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use syntect::parsing::SyntaxSet;

use super::parse::{MAX_BYTES, MAX_LINE, MAX_LINES, MAX_TIME, Parse, ReadColours};
use super::scopes::Scopes;
use super::*;
use crate::theme::Token;

const RUST: &str = "// why\npub fn main() {\n    let s: String = \"a\\n\";\n    /* one\n    two */\n    \
                    call(42, true);\n}\n#[derive(Debug)]\nstruct Name;\n";

fn no_time() -> Duration {
    Duration::ZERO
}

fn parse(language: &str, set: &SyntaxSet) -> Parse {
    Parse::new(&Language::of_fence(language).unwrap(), set).unwrap()
}

fn read(language: &str, text: &str) -> ReadColours {
    let set = two_face::syntax::extra_newlines();
    parse(language, &set).read(text, &set, &mut Scopes::new(), &no_time)
}

fn words(text: &str, read: &ReadColours) -> Vec<(Token, String)> {
    let lines: Vec<&str> = text.split('\n').collect();
    let word = |span: &Span| {
        let line = lines[usize::try_from(span.line).unwrap()];
        let range = usize::from(span.start)..usize::from(span.end);
        (span.token, line[range].to_owned())
    };
    read.spans.iter().map(word).collect()
}

/// Spec: [VIEW-282]
#[test]
fn code_has_the_colours_of_what_it_means() {
    let found = words(RUST, &read("rust", RUST));
    for (token, word) in [
        (Token::Comment, "// why"),
        (Token::Keyword, "fn"),
        (Token::Function, "main"),
        (Token::Literal, "\"a"),
        (Token::Comment, "/* one"),
        (Token::Constant, "42"),
        (Token::Constant, "true"),
        (Token::Type, "Name"),
    ] {
        let is_it = |(found, text): &(Token, String)| *found == token && text.contains(word);
        assert!(found.iter().any(is_it), "{token:?} {word}: {found:#?}");
    }
    for (language, text, token, word) in [
        ("toml", "[a]\nb = 1\n", Token::Constant, "1"),
        ("json", "{\"a\": 1}\n", Token::Literal, "a"),
        ("yaml", "a: b\n", Token::Tag, "a"),
        ("ts", "const a: string = 'x'\n", Token::Keyword, "const"),
        ("html", "<p class=\"x\">a</p>\n", Token::Tag, "p"),
        ("sh", "# a\necho \"$HOME\"\n", Token::Comment, "# a"),
        ("python", "def f(): return None\n", Token::Function, "f"),
        ("markdown", "# Title\n", Token::Heading, "Title"),
        ("dockerfile", "FROM scratch\n", Token::Keyword, "FROM"),
        ("go", "func main() {}\n", Token::Keyword, "func"),
        ("kotlin", "val a = 1\n", Token::Constant, "1"),
    ] {
        let found = words(text, &read(language, text));
        let is_it = |(found, text): &(Token, String)| *found == token && text.contains(word);
        assert!(found.iter().any(is_it), "{language}: {found:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Spec: [VIEW-284]
    #[test]
    fn code_that_grows_has_the_colours_that_it_has_as_a_whole(
        cuts in proptest::collection::vec(0..RUST.len(), 0..12),
    ) {
        let set = two_face::syntax::extra_newlines();
        let mut scopes = Scopes::new();
        let whole = parse("rust", &set).read(RUST, &set, &mut scopes, &no_time);
        let mut growing = parse("rust", &set);
        let mut spans = Vec::new();
        let mut ends = cuts;
        ends.push(RUST.len());
        ends.sort_unstable();
        let mut done = 0;
        for end in ends.into_iter().map(|end| RUST.floor_char_boundary(end)) {
            let lines = u32::try_from(growing.lines()).unwrap();
            spans.retain(|span: &Span| span.line < lines);
            let new = &RUST[done..end.max(done)];
            let read = growing.read(new, &set, &mut scopes, &no_time);
            spans.extend(read.spans);
            done += new.rfind('\n').map_or(0, |last| last + 1);
        }
        prop_assert_eq!(spans, whole.spans);
    }

    /// Spec: [VIEW-284]
    #[test]
    fn nothing_that_is_read_leads_out_of_its_line(
        text in "([ -~]|[\\\\\"'`{}<>/*#]|\u{1f600}|é|\u{200d}|\u{1}|\n){0,300}",
        language in prop::sample::select(vec!["rust", "md", "html", "python", "sh", "php", "tex"]),
    ) {
        let read = read(language, &text);
        let lines: Vec<&str> = text.split('\n').collect();
        for span in read.spans {
            let line = lines[usize::try_from(span.line).unwrap()];
            let range = usize::from(span.start)..usize::from(span.end);
            prop_assert!(line.get(range).is_some_and(|text| !text.is_empty()));
        }
    }
}

/// Spec: [VIEW-284]
#[test]
fn a_block_ends_its_colours_at_the_limits() {
    let line = "let a = 1;\n";
    let long = format!("{line}let b = \"{}\";\n{line}", "x".repeat(MAX_LINE));
    let many = line.repeat(MAX_LINES + 2);
    let wide = format!("// {}\n", "x".repeat(MAX_LINE - 10)).repeat(200);
    for (text, lines) in [
        (&long, 1),
        (&many, MAX_LINES),
        (&wide, MAX_BYTES / (MAX_LINE - 6)),
    ] {
        let read = read("rust", text);
        assert!(read.is_over);
        let last = usize::try_from(read.spans.last().unwrap().line).unwrap();
        assert!(last + 1 == lines, "{last} of {lines}");
    }
    let set = two_face::syntax::extra_newlines();
    let now = Cell::new(Duration::ZERO);
    let slow = || {
        now.set(now.get() + MAX_TIME / 4);
        now.get()
    };
    let mut parse = parse("rust", &set);
    let mut scopes = Scopes::new();
    assert!(
        !parse
            .read(&line.repeat(2), &set, &mut scopes, &slow)
            .is_over
    );
    let read = parse.read(&line.repeat(9), &set, &mut scopes, &slow);
    assert!(read.is_over && parse.lines() < 9, "{}", parse.lines());
}

/// Spec: [VIEW-284]
#[test]
fn poison_costs_no_more_than_its_limit() {
    for (language, text) in [
        ("json", format!("[{}\n", "[".repeat(1_900))),
        ("rust", format!("{}\n", "/*".repeat(900))),
        ("html", format!("{}\n", "<a ".repeat(600)).repeat(2)),
        ("md", format!("{}\n", "*_`[".repeat(450)).repeat(2)),
        ("js", format!("{}\n", "a(".repeat(900)).repeat(2)),
        ("sh", "\u{1}\u{7f}\0\n".repeat(100)),
        ("python", "'''\"\"\"\n".repeat(100)),
    ] {
        let set = two_face::syntax::extra_newlines();
        let read = parse(language, &set).read(&text, &set, &mut Scopes::new(), &no_time);
        assert!(read.spans.len() < text.len(), "{language}");
    }
}
