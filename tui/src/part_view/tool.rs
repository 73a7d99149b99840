//! A tool call with what came of it.

use super::{Fold, MAX_RESULT_LINES, Sign, Writer, json, lines_of, room};
use crate::conversation::{Output, Tool, ToolOutcome, ToolResult};
use crate::layout::{Block, Piece};
use crate::output::OutputLine;
use crate::text::{self, Hidden, sanitize};
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Reasoning);
const TEXT: Look = Look::new(Token::Text);
const ERROR: Look = Look::new(Token::Error);

/// How much of an input is shown while it is being written, and looked at for a heading, in bytes.
const MAX_OPEN_INPUT: usize = 2_000;

/// How much of one line of a result is shown before the result is unfolded, in bytes.
const MAX_RESULT_LINE: usize = 4_000;

/// How many lines are shown of what a running call shows, before it is unfolded.
const MAX_TAIL: usize = 8;

/// A call: its heading; below it, unless folded, the input, and the result or what comes before it.
pub(super) fn layout(tool: &Tool, width: usize, fold: Fold) -> Block {
    let name = text::one_line(&tool.name);
    let (input, is_newest) = shown_input(tool, fold);

    // The source: the name, the input and the result, each on lines of its own.
    let mut source = format!("{name}\n{input}");
    let input_at = name.len() + 1..source.len();
    if let ToolOutcome::Ended(result) = &tool.outcome
        && fold != Fold::Folded
    {
        source.push('\n');
        source.push_str(&sanitize(&result.text, Hidden::Dropped));
    }
    let mut writer = Writer::new(source, width);

    let input_in_heading = (fold == Fold::Folded).then_some(&input_at);
    heading(
        &mut writer,
        name.len(),
        input_in_heading.cloned(),
        &tool.outcome,
        width,
    );
    if fold == Fold::Folded {
        return writer.block;
    }
    if !input_at.is_empty() {
        let mut line = vec![Piece::source(input_at.clone(), TEXT)];
        if is_newest {
            line.insert(0, Piece::shown("… ", QUIET));
        }
        writer.wrapped(Sign::None, &line);
    }
    if let ToolOutcome::Ended(result) = &tool.outcome {
        result_lines(&mut writer, input_at.end + 1, result, fold);
    } else if let Some(output) = &tool.output {
        output_lines(&mut writer, output, fold);
    }
    writer.block
}

/// The input on one line, and whether that is only its newest end: of one that is being written
/// all of it would be laid out again and again.
fn shown_input(tool: &Tool, fold: Fold) -> (String, bool) {
    let input = tool.input.as_str();
    let (text, is_newest) = match (&tool.outcome, input.len().checked_sub(MAX_OPEN_INPUT)) {
        (_, None) => (json::compact(input), false),
        // Of an end it is not known what is within a string.
        (ToolOutcome::Writing, Some(from)) => {
            let newest = input.get(input.ceil_char_boundary(from)..);
            (newest.unwrap_or_default().to_owned(), true)
        }
        // No heading is longer.
        (_, Some(_)) if fold == Fold::Folded => {
            let end = input.floor_char_boundary(MAX_OPEN_INPUT);
            (json::compact(input.get(..end).unwrap_or_default()), false)
        }
        (_, Some(_)) => (json::compact(input), false),
    };
    let text = sanitize(&text, Hidden::Pictured).replace('\n', "␊");
    (text, is_newest)
}

/// The sign, the name, the input if it is not below, and at the right what came of it.
fn heading(
    writer: &mut Writer,
    name_end: usize,
    input: Option<std::ops::Range<usize>>,
    outcome: &ToolOutcome,
    width: usize,
) {
    let room = room(width);
    let sign = if input.is_some() {
        Sign::Folded
    } else {
        Sign::Unfolded
    };
    let source = &writer.block.source;
    let mut line = Vec::new();
    let mut used = 0;
    if name_end > 0 {
        let name = source.get(..name_end).unwrap_or_default();
        used = text::width(name);
        line.push(Piece::source(
            0..name_end,
            Look::new(Token::ToolName).bold(),
        ));
    } else {
        line.push(Piece::shown("tool", QUIET));
        used += 4;
    }
    let (state, look) = state(outcome);
    let state_width = text::width(&state);
    let between = room.saturating_sub(used + state_width + 2);
    if let Some(input) = input.filter(|input| between >= 8 && !input.is_empty()) {
        let text = source.get(input.clone()).unwrap_or_default();
        let mut shown = text::take_width(text, between - 2);
        let is_cut = shown.len() < text.len();
        if is_cut {
            shown = text::take_width(text, between - 3);
        }
        line.push(Piece::shown("  ", TEXT));
        line.push(Piece::source(input.start..input.start + shown.len(), TEXT));
        used += 2 + text::width(shown);
        if is_cut {
            line.push(Piece::shown("…", QUIET));
            used += 1;
        }
    }
    // At the right edge; a long one takes what is left, and a narrow screen another row.
    let left = room.saturating_sub(used + 2);
    if left >= state_width.min(12) {
        let state = shorten(&state, left);
        let space = room - used - text::width(&state);
        line.push(Piece::shown(" ".repeat(space), TEXT));
        line.push(Piece::shown(state, look));
        writer.block.rows.push(super::behind(sign, width, line));
    } else {
        writer.wrapped(sign, &line);
        let state = shorten(&state, room);
        writer.wrapped(Sign::None, &[Piece::shown(state, look)]);
    }
}

/// What came of a call, in words.
fn state(outcome: &ToolOutcome) -> (String, Look) {
    match outcome {
        ToolOutcome::Writing => ("being written".to_owned(), QUIET),
        ToolOutcome::Waiting => ("waiting".to_owned(), QUIET),
        ToolOutcome::Running => ("running".to_owned(), Look::new(Token::Status)),
        ToolOutcome::Skipped { reason } if reason.is_empty() => ("skipped".to_owned(), QUIET),
        ToolOutcome::Skipped { reason } => (format!("skipped: {}", text::one_line(reason)), QUIET),
        ToolOutcome::Ended(result) if result.is_error => {
            let first = result.text.lines().find(|line| !line.trim().is_empty());
            (
                format!(
                    "error: {}",
                    text::one_line(first.unwrap_or("no reason was given"))
                ),
                ERROR,
            )
        }
        ToolOutcome::Ended(ToolResult { lines: 1, .. }) => ("ok · 1 line".to_owned(), QUIET),
        ToolOutcome::Ended(result) => (format!("ok · {} lines", result.lines), QUIET),
    }
}

/// As much of a text as fits, and a sign that there is more.
fn shorten(text: &str, columns: usize) -> String {
    if text::width(text) <= columns {
        return text.to_owned();
    }
    format!(
        "{}…",
        text::take_width(text, columns.saturating_sub(1)).trim_end()
    )
}

/// The lines of a result as far as they are shown, and how many there are besides.
fn result_lines(writer: &mut Writer, start: usize, result: &ToolResult, fold: Fold) {
    let look = if result.is_error { ERROR } else { TEXT };
    let most = match fold {
        Fold::Folded => 0,
        Fold::Cut => MAX_RESULT_LINES,
        Fold::Open => usize::MAX,
    };
    let text = writer.block.source.get(start..).unwrap_or_default();
    let lines: Vec<_> = lines_of(text, start).take(most).collect();
    // Behind the lines of a text that is not whole there are those that are not here.
    let rest = result.lines.saturating_sub(lines.len());
    for line in lines {
        let long = line.len().saturating_sub(MAX_RESULT_LINE);
        if fold == Fold::Open || long == 0 {
            writer.wrapped(Sign::None, &[Piece::source(line, look)]);
            continue;
        }
        let end = writer
            .block
            .source
            .floor_char_boundary(line.start + MAX_RESULT_LINE);
        let more = line.end - end;
        let shown = Piece::source(line.start..end, look);
        let note = Piece::shown(format!(" … ({more} more bytes)"), QUIET);
        writer.wrapped(Sign::None, &[shown, note]);
    }
    if rest > 0 {
        let note = Piece::shown(format!("... ({rest} more lines)"), QUIET);
        writer.wrapped(Sign::None, &[note]);
    }
}

/// The end of what a running call shows: a row a line, so that the rows stay where they are while it
/// grows, or all of it that is kept.
fn output_lines(writer: &mut Writer, output: &Output, fold: Fold) {
    let lines = match fold {
        Fold::Folded => return,
        Fold::Cut => output.last(MAX_TAIL),
        Fold::Open => output.last(usize::MAX),
    };
    let earlier = output.len().saturating_sub(lines.len());
    if earlier > 0 {
        let note = Piece::shown(format!("... ({earlier} earlier lines)"), QUIET);
        writer.wrapped(Sign::None, &[note]);
    }
    let room = room(writer.width);
    for line in lines {
        let OutputLine::Text(text) = &line else {
            writer.wrapped(Sign::None, &[Piece::shown(line.words(), QUIET)]);
            continue;
        };
        let is_cut = fold == Fold::Cut && text::width(text) > room;
        let shown = match is_cut {
            true => text::take_width(text, room.saturating_sub(1)),
            false => text,
        };
        writer.block.source.push('\n');
        let start = writer.block.source.len();
        writer.block.source.push_str(shown);
        let mut pieces = vec![Piece::source(start..writer.block.source.len(), TEXT)];
        if is_cut {
            pieces.push(Piece::shown("…", QUIET));
        }
        writer.wrapped(Sign::None, &pieces);
    }
}
