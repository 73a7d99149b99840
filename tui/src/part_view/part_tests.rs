use super::*;
use crate::conversation::{Author, CallOutcome, PartId, ShownResult, ToolPart};
use crate::layout::picture::text;

pub(super) fn part(kind: PartKind) -> Part {
    Part {
        id: PartId(1),
        revision: 0,
        seq: Some(1),
        at: Some(0),
        kind,
    }
}

pub(super) fn user(content: &str, by: Author, is_pending: bool) -> Part {
    part(PartKind::User {
        content: content.to_owned(),
        by,
        is_pending,
        is_queued: false,
        files: Vec::new(),
    })
}

pub(super) fn reply(content: &str, is_cut: bool) -> Part {
    part(PartKind::Text {
        content: content.to_owned(),
        is_live: false,
        is_cut,
    })
}

pub(super) fn thinking(content: &str) -> Part {
    part(PartKind::Reasoning {
        content: content.to_owned(),
        is_live: false,
        duration_ms: None,
    })
}

pub(super) fn note(text: &str, is_error: bool) -> Part {
    part(PartKind::Note {
        text: text.to_owned(),
        is_error,
    })
}

pub(super) fn tool(name: &str, input: &str, outcome: CallOutcome) -> Part {
    part(PartKind::Tool(ToolPart {
        call_id: "t1".to_owned(),
        name: name.to_owned(),
        asked: asked(name, input),
        input: input.to_owned(),
        outcome,
        output: None,
    }))
}

/// The input in short; text that is not JSON as it is.
fn asked(name: &str, input: &str) -> String {
    serde_json::from_str(input).map_or_else(
        |_| input.to_owned(),
        |input| harness_protocol::words::asked(name, &input),
    )
}

pub(super) fn ended(text: &str, is_error: bool) -> CallOutcome {
    CallOutcome::Ended(ShownResult {
        text: text.to_owned(),
        lines: text.lines().count(),
        is_whole: true,
        is_error,
        last_line: text.lines().next_back().unwrap_or_default().to_owned(),
        extent: None,
        duration_ms: None,
        seq: 2,
    })
}

/// A result of so many lines, as the conversation keeps it.
fn kept(lines: usize, ending: &str) -> CallOutcome {
    let text: Vec<String> = (1..=lines.min(101))
        .map(|line| format!("line {line}{ending}"))
        .collect();
    CallOutcome::Ended(ShownResult {
        text: text.concat(),
        lines,
        is_whole: lines <= 101,
        is_error: false,
        last_line: String::new(),
        extent: None,
        duration_ms: None,
        seq: 2,
    })
}

pub(super) const INPUT: &str = r#"{"path":"src/retry.rs","start_line":80,"end_line":120}"#;

/// The words must be there without any colour.
///
/// Spec: [VIEW-15]
#[test]
fn nothing_is_said_by_colour_alone() {
    let cases = [
        (user("x", Author::You, true), "┃ you (sending)"),
        (
            user("x", Author::Named("a\u{1b}]0;t\u{7}na".to_owned()), false),
            "┃ ana",
        ),
        (user("x", Author::Unnamed, false), "┃ someone"),
        (thinking("x"), "▸ thought · 1 line"),
        (note("x", true), "· error: x"),
        (note("Error: x", true), "· Error: x"),
        (note("x", false), "· x"),
        (tool("read", "{}", CallOutcome::Running), "▸ read · running"),
        (tool("read", "{}", CallOutcome::Waiting), "▸ read · waiting"),
        (
            tool("read", "{}", CallOutcome::Writing),
            "▸ read · being written",
        ),
        (tool("read", "{}", ended("", false)), "▸ read · 0 lines"),
        (tool("read", "{}", ended("x\n", false)), "▸ read · 1 line"),
        (
            tool("read", "{}", ended("\nno\nx", true)),
            "▸ read · error: no",
        ),
        (
            tool("read", "{}", ended("", true)),
            "▸ read · error: no reason was…",
        ),
    ];
    for (part, expected) in cases {
        let rows = text(&layout(&part, 30, FoldAmount::Folded));
        assert_eq!(rows[0], expected);
    }
}

/// Spec: [VIEW-10]
#[test]
fn a_prompt_is_shown_in_full_in_the_colour_of_the_user() {
    let content = "word ".repeat(2_000) + "\n  **not bold**";
    let block = layout(&user(&content, Author::You, false), 80, FoldAmount::Folded);
    let shown: String = block
        .rows
        .iter()
        .flat_map(ScreenRow::ranges)
        .map(|range| &block.source[range])
        .collect();
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(squeezed(&shown), squeezed(&content));
    for piece in block.rows.iter().flat_map(|row| &row.pieces) {
        assert_eq!(piece.look.token, Token::User);
    }
    assert!(text(&block).iter().all(|row| row.starts_with('┃')));
}

/// Spec: [VIEW-12]
#[test]
fn the_looks_of_a_tool_call_are_those_of_its_parts() {
    let looks = |is_error| {
        let part = tool("read", r#"{"a":1}"#, ended("out", is_error));
        let block = layout(&part, 40, FoldAmount::Cut);
        let pieces: Vec<_> = block.rows.iter().flat_map(|row| &row.pieces).collect();
        pieces
            .into_iter()
            .filter(|piece| matches!(piece.words, crate::layout::WordsOrigin::Source(_)))
            .map(|piece| (piece.text(&block.source).0.to_owned(), piece.look))
            .collect::<Vec<_>>()
    };
    let expected = |result| {
        vec![
            ("read".to_owned(), Look::new(Token::ToolName).bold()),
            (r#"{"a":1}"#.to_owned(), Look::new(Token::Quiet)),
            (r#"{"a": 1}"#.to_owned(), Look::new(Token::Text)),
            ("out".to_owned(), Look::new(result)),
        ]
    };
    assert_eq!(looks(false), expected(Token::Text));
    assert_eq!(looks(true), expected(Token::Error));
}

/// Spec: [VIEW-12]
#[test]
fn the_input_of_a_tool_is_shown_in_full_and_hides_nothing() {
    let input = format!(
        r#"{{"text":"{}\u001b","raw":"{}"}}"#,
        "long ".repeat(200),
        '\u{1b}'
    );
    let block = layout(
        &tool("write", &input, CallOutcome::Waiting),
        50,
        FoldAmount::Cut,
    );
    let shown: String = text(&block)[1..]
        .iter()
        .map(|row| row.trim().to_owned() + " ")
        .collect();
    let expected = input
        .replace(r#":""#, r#": ""#)
        .replace(r#"",""#, r#"", ""#)
        .replace('\u{1b}', "␛");
    assert_eq!(shown.trim(), expected);

    let broken = tool("write", "{\"a\":\"b\nc\u{202e}\"}", CallOutcome::Waiting);
    let rows = text(&layout(&broken, 50, FoldAmount::Cut));
    assert_eq!(rows[1..], ["  {\"a\": \"b␊c<202E>\"}"]);

    // While it is being written, its newest end.
    let open = format!(r#"{{"text":"{}end"#, "long ".repeat(5_000));
    let rows = text(&layout(
        &tool("write", &open, CallOutcome::Writing),
        50,
        FoldAmount::Head(8),
    ));
    assert_eq!(rows.len(), 1);
    assert!(rows[0].starts_with("▾ write …"), "{rows:?}");
    assert!(rows[0].ends_with("long end · being written"), "{rows:?}");
}

/// Spec: [VIEW-13]
#[test]
fn a_result_is_cut_at_a_hundred_lines() {
    let cases = [(0, 0, None), (1, 1, None), (99, 99, None), (100, 100, None)];
    let long = [
        (101, 100, Some("  ... (1 more lines)")),
        (10_000, 100, Some("  ... (9900 more lines)")),
    ];
    for (lines, shown, note) in cases.into_iter().chain(long) {
        for ending in ["\n", "\r\n"] {
            let rows = text(&layout(
                &tool("read", "", kept(lines, ending)),
                40,
                FoldAmount::Cut,
            ));
            let mut expected: Vec<String> =
                (1..=shown).map(|line| format!("  line {line}")).collect();
            expected.extend(note.map(str::to_owned));
            assert_eq!(rows[1..], expected, "{lines} lines");
            let words = harness_protocol::words::counted(lines as u64, "line", "lines");
            assert!(rows[0].ends_with(&words), "{rows:?}");
        }
    }
    let no_final_break = tool("read", "", ended("a\nb", false));
    assert_eq!(
        text(&layout(&no_final_break, 40, FoldAmount::Cut))[1..],
        ["  a", "  b"]
    );
}

/// Spec: [VIEW-14]
#[test]
fn a_tool_call_is_folded_cut_or_open() {
    let result: String = (1..=10_000).map(|line| format!("line {line}\n")).collect();
    let part = tool("read", INPUT, ended(&result, false));
    let folded = text(&layout(&part, 60, FoldAmount::Folded));
    assert_eq!(
        folded,
        ["▸ read src/retry.rs lines 80 to 120 · 10,000 lines"]
    );
    let narrow = text(&layout(&part, 40, FoldAmount::Folded));
    assert_eq!(narrow, ["▸ read src/retry.rs line… · 10,000 lines"]);
    let head = text(&layout(&part, 60, FoldAmount::Head(8)));
    assert_eq!(head.len(), 1 + 8 + 1);
    assert_eq!(head[0], folded[0].replace('▸', "▾"));
    assert_eq!(head[8..], ["  line 8", "  ... (9992 more lines)"]);
    assert_eq!(text(&layout(&part, 80, FoldAmount::Cut)).len(), 2 + 100 + 1);
    let open = text(&layout(&part, 80, FoldAmount::Open));
    assert_eq!(open.len(), 2 + 10_000);
    assert_eq!(open.last().unwrap(), "  line 10000");

    let huge = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    let folded = layout(
        &tool("write", &huge, ended("", false)),
        60,
        FoldAmount::Folded,
    );
    assert_eq!(text(&folded).concat().matches('…').count(), 1);

    // What is not here cannot be shown; it says so.
    let rows = text(&layout(
        &tool("read", INPUT, kept(500, "\n")),
        60,
        FoldAmount::Open,
    ));
    assert_eq!(rows.last().unwrap(), "  ... (399 more lines)");

    let wide = "x".repeat(100_000);
    let rows = text(&layout(
        &tool("read", "{}", ended(&wide, false)),
        60,
        FoldAmount::Cut,
    ));
    assert!(
        rows.last().unwrap().ends_with("(96000 more bytes)"),
        "{rows:?}"
    );
    let rows = text(&layout(
        &tool("read", "{}", ended(&wide, false)),
        60,
        FoldAmount::Open,
    ));
    assert_eq!(rows.concat().matches('x').count(), 100_000);
}

/// Spec: [VIEW-261] [VIEW-265]
#[test]
fn a_row_says_how_much_came_and_a_command_is_a_row_too() {
    let mut outcome = ended("out\n", false);
    if let CallOutcome::Ended(result) = &mut outcome {
        result.extent = Some(harness_protocol::Extent {
            lines: Some(4_406),
            of_lines: Some(10_000),
            ..harness_protocol::Extent::default()
        });
        result.duration_ms = Some(12);
    }
    let row = |part: &Part| text(&layout(part, 80, FoldAmount::Folded));
    assert_eq!(
        row(&tool("read", r#"{"path":"big.txt"}"#, outcome)),
        ["▸ read big.txt · 4,406 of 10,000 lines · 12 ms"]
    );
    let said = "running\n[exit 101 · 38.2 s]\n";
    let failed = ended(said, true);
    assert_eq!(
        row(&tool("bash", r#"{"command":"cargo test"}"#, failed.clone())),
        ["▸ bash cargo test · exit 101 · 38.2 s"]
    );
    let CallOutcome::Ended(result) = failed else {
        unreachable!()
    };
    let ran = part(PartKind::Command(crate::conversation::OperatorCommand {
        command: "cargo\ntest".to_owned(),
        result,
        by: Some("ana".to_owned()),
        is_hidden: true,
    }));
    assert_eq!(
        row(&ran),
        ["▸ ! cargo␊test · exit 101 · 38.2 s by ana (the model is not told)"]
    );
    let open = text(&layout(&ran, 80, FoldAmount::Cut));
    assert_eq!(open[1..], ["  running", "  [exit 101 · 38.2 s]"]);
    let end = part(PartKind::RunEnd {
        facts: "12 s · 3.1k in, 812 out".to_owned(),
    });
    assert_eq!(row(&end), ["  12 s · 3.1k in, 812 out"]);
}

/// Spec: [VIEW-01]
#[test]
fn no_part_lets_anything_through_to_the_terminal() {
    let evil = "a\"\n\u{1b}]52;c;aGk=\u{7}\u{1b}]0;t\u{1b}\\\u{1b}[2J\u{9b}1m\u{202e}\u{200b}\r\n\tb\u{1b}]0;open";
    let skipped = CallOutcome::Skipped {
        reason: evil.to_owned(),
    };
    let parts = [
        user(evil, Author::Named(evil.to_owned()), true),
        reply(evil, true),
        thinking(evil),
        note(evil, true),
        note(evil, false),
        tool(evil, evil, ended(evil, true)),
        tool(evil, evil, ended(evil, false)),
        tool(evil, evil, skipped),
        tool(evil, evil, CallOutcome::Writing),
    ];
    for part in parts {
        for fold in [
            FoldAmount::Folded,
            FoldAmount::Head(2),
            FoldAmount::Cut,
            FoldAmount::Open,
        ] {
            for width in [1, 2, 5, 11, 12, 20, 80] {
                let block = layout(&part, width, fold);
                for row in &block.rows {
                    assert!(
                        row.width(&block.source) <= usize::from(width).max(2),
                        "{row:?} at {width}"
                    );
                    for piece in &row.pieces {
                        let text = piece.text(&block.source).0;
                        let is_inert = !text.contains(|c: char| c.is_control() || c == '\u{202e}');
                        assert!(is_inert, "{part:?}: {text:?}");
                    }
                }
            }
        }
    }
}

/// Spec: [VIEW-11], [VIEW-15]
#[test]
fn thinking_is_italic_and_a_cut_text_says_so() {
    let block = layout(&thinking("a **b**"), 40, FoldAmount::Cut);
    let looks: Vec<_> = block.rows[0].pieces[1..]
        .iter()
        .map(|piece| piece.look)
        .collect();
    assert_eq!(looks, [Look::new(Token::Reasoning).italic()]);
    assert_eq!(text(&block), ["▾ thought · 1 line", "  a **b**"]);
    assert_eq!(
        text(&layout(&reply("**a**", true), 40, FoldAmount::Cut)),
        ["  a", "  (cut short)"]
    );
}

fn change(title: &str, diff: &str) -> Part {
    Part {
        kind: PartKind::Change {
            title: title.to_owned(),
            diff: diff.to_owned(),
            is_cut: false,
        },
        ..note("", false)
    }
}

/// Spec: [VIEW-287], [VIEW-286]
#[test]
fn a_long_change_is_cut_and_says_how_much_there_is_besides() {
    let hunk = |line: usize| format!("@@ -{line} +{line},20 @@\n{}", "+let a;\n".repeat(20));
    let diff: String = (0..4).map(|number| hunk(number * 100)).collect();
    let part = change("changed src/a.rs +80 -0", &diff);
    let cut = layout(&part, 80, FoldAmount::Cut);
    assert_eq!(cut.rows.len(), 1 + 40 + 1);
    assert_eq!(
        text(&cut).last().unwrap(),
        "  … 42 more lines in 3 hunks; Ctrl+O unfolds"
    );
    assert_eq!(layout(&part, 80, FoldAmount::Open).rows.len(), 1 + 84);
    assert_eq!(layout(&part, 80, FoldAmount::Folded).rows.len(), 1);
    // An old and a new side of each hunk.
    assert_eq!(cut.code.len(), 8);
    assert_eq!(cut.code[1].text(&cut.source, 19), "let a;");
    assert!(
        layout(&change("changed LICENSE +1 -0", &diff), 80, FoldAmount::Cut)
            .code
            .is_empty()
    );
}

/// Spec: [VIEW-282]
#[test]
fn only_a_file_that_was_read_is_code() {
    let codes = |name: &str, input: &str, outcome| {
        let block = layout(&tool(name, input, outcome), 80, FoldAmount::Cut);
        let texts = block
            .code
            .iter()
            .map(|code| code.text(&block.source, 1).to_owned());
        texts.collect::<Vec<_>>()
    };
    let path = r#"{"path":"src/a.rs"}"#;
    let file = || ended("let a;\nlet b;\n", false);
    assert_eq!(codes("read", path, file()), ["let b;"]);
    assert_eq!(codes("read", path, ended("no such file", true)), [""; 0]);
    assert_eq!(codes("edit", path, file()), [""; 0]);
    assert_eq!(codes("read", r#"{"path":"notes.txt"}"#, file()), [""; 0]);
    let script = ended("#!/bin/sh\necho a\n", false);
    assert_eq!(codes("read", r#"{"path":"run"}"#, script), ["echo a"]);
}
