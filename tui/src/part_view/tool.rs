//! A tool call with its result, and a command of an operator: a row, and below it as much as is unfolded.

use harness_protocol::words::{self, CallEnd};

use super::{FoldAmount, MAX_RESULT_LINES, Sign, Writer, json, lines_of, room};
use crate::conversation::{CallOutcome, OperatorCommand, RunningOutput, ShownResult, ToolPart};
use crate::layout::{PartLayout, RowPiece};
use crate::output::OutputLine;
use crate::text::{self, Hidden, sanitize};
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Quiet);
const TEXT: Look = Look::new(Token::Text);
const ERROR: Look = Look::new(Token::Error);

/// Maximum size of an unfinished input that is shown, in bytes.
const MAX_OPEN_INPUT: usize = 2_000;

/// Maximum size of one line of a result that is shown before the result is unfolded, in bytes.
const MAX_RESULT_LINE: usize = 4_000;

/// Number of lines of a running call's output that are shown before it is unfolded.
pub(crate) const MAX_TAIL: u16 = 8;

/// Minimum number of columns for the question, if the outcome is long.
const MIN_ASKED: usize = 16;

/// The source of a row and the lines below it.
struct ToolView<'a> {
    /// The name of the tool; empty while it is being written.
    name: String,
    /// The input, in short.
    asked: String,
    /// All of what was asked, on one line.
    input: String,
    /// The outcome of the call, or its present state.
    state: (String, Look),
    result: Option<&'a ShownResult>,
    output: Option<&'a RunningOutput>,
    /// The call, if its result may be the text of a file.
    read: Option<&'a ToolPart>,
}

/// A call.
pub(super) fn layout(tool: &ToolPart, width: usize, fold: FoldAmount) -> PartLayout {
    let (asked, input) = match tool.outcome {
        // Of an end it is not known what is within a string.
        CallOutcome::Writing => {
            let from = tool.input.len().saturating_sub(MAX_OPEN_INPUT);
            let from = tool.input.ceil_char_boundary(from);
            // An input without members is not shown.
            let input = tool.input[from..].trim_matches(['{', '}']);
            let input = if input.is_empty() {
                ""
            } else {
                &tool.input[from..]
            };
            (on_one_line(input), String::new())
        }
        _ => (
            on_one_line(&tool.asked),
            on_one_line(&json::compact(&tool.input)),
        ),
    };
    let result = match &tool.outcome {
        CallOutcome::Ended(result) => Some(result),
        _ => None,
    };
    let view = ToolView {
        name: text::one_line(&tool.name),
        asked,
        input,
        state: state(&tool.name, &tool.outcome),
        result,
        output: tool.output.as_deref(),
        read: Some(tool),
    };
    view.lay(width, fold, matches!(tool.outcome, CallOutcome::Writing))
}

/// A command that an operator ran.
pub(super) fn command(command: &OperatorCommand, width: usize, fold: FoldAmount) -> PartLayout {
    let (mut said, look) = ended("!", &command.result);
    said += &words::by(command.by.as_deref());
    if command.is_hidden {
        said += " (the model is not told)";
    }
    let asked = on_one_line(&command.command);
    let view = ToolView {
        name: "!".to_owned(),
        input: asked.clone(),
        asked,
        state: (text::one_line(&said), look),
        result: Some(&command.result),
        output: None,
        read: None,
    };
    view.lay(width, fold, false)
}

/// All of a text, on one line.
fn on_one_line(text: &str) -> String {
    sanitize(text, Hidden::Pictured).replace('\n', "␊")
}

impl ToolView<'_> {
    fn lay(self, width: usize, fold: FoldAmount, keeps_end: bool) -> PartLayout {
        let is_open = matches!(fold, FoldAmount::Cut | FoldAmount::Open);
        // The source: the name, what was asked in short and in full, and the result, each on separate lines; all of it
        // always, so that a search finds what is folded.
        let mut source = format!("{}\n{}\n{}", self.name, self.asked, self.input);
        let asked_at = self.name.len() + 1..self.name.len() + 1 + self.asked.len();
        let input_at = asked_at.end + 1..source.len();
        if let Some(result) = self.result {
            source.push('\n');
            source.push_str(&sanitize(&result.text, Hidden::Dropped));
        }
        let mut writer = Writer::new(source, width);
        self.heading(&mut writer, asked_at, fold, keeps_end);
        // What is short enough to be whole in the row is not said again.
        if is_open && !input_at.is_empty() && self.input != self.asked {
            writer.wrapped(Sign::None, &[RowPiece::source(input_at.clone(), TEXT)]);
        }
        if let Some(result) = self.result {
            result_lines(&mut writer, input_at.end + 1, result, fold);
            let read = self
                .read
                .filter(|_| fold != FoldAmount::Folded && !result.is_error);
            if let Some(read) = read {
                let code = super::result::code(read, &writer.block.source, input_at.end + 1);
                writer.block.code.extend(code);
            }
        } else if let Some(output) = self.output {
            output_lines(&mut writer, output, fold);
        }
        writer.block
    }

    /// One row: the sign, the name, the beginning of the question that fits, and the outcome.
    fn heading(
        &self,
        writer: &mut Writer,
        asked_at: std::ops::Range<usize>,
        fold: FoldAmount,
        keeps_end: bool,
    ) {
        let room = room(writer.width);
        let sign = match fold {
            FoldAmount::Folded => Sign::Folded,
            FoldAmount::Head(_) | FoldAmount::Cut | FoldAmount::Open => Sign::Unfolded,
        };
        let mut line = Vec::new();
        let name = if self.name.is_empty() {
            "tool"
        } else {
            &self.name
        };
        let shown_name = shorten(name, room);
        let mut used = text::width(&shown_name);
        if shown_name == self.name {
            let look = Look::new(Token::ToolName).bold();
            line.push(RowPiece::source(0..self.name.len(), look));
        } else {
            line.push(RowPiece::drawn(shown_name, QUIET));
        }
        let (state, look) = &self.state;
        let beside = room.saturating_sub(used + 1 + 3);
        let for_asked = beside
            .saturating_sub(text::width(state))
            .max(MIN_ASKED.min(beside));
        if !self.asked.is_empty() && for_asked >= 4 {
            let (from, to, is_cut) = part_of(&self.asked, for_asked, keeps_end);
            let shown = RowPiece::source(asked_at.start + from..asked_at.start + to, QUIET);
            used += 1 + text::width(&self.asked[from..to]) + usize::from(is_cut);
            let dots = is_cut.then(|| RowPiece::drawn("…", QUIET));
            line.push(RowPiece::drawn(" ", TEXT));
            match keeps_end {
                true => line.extend(dots.into_iter().chain([shown])),
                false => line.extend([shown].into_iter().chain(dots)),
            }
        }
        let left = room.saturating_sub(used + 3);
        if left >= text::width(state).min(8) {
            line.push(RowPiece::drawn(" · ", QUIET));
            line.push(RowPiece::drawn(shorten(state, left), *look));
            let row = super::behind(sign, writer.width, line);
            writer.block.rows.push(row);
        } else {
            let row = super::behind(sign, writer.width, line);
            writer.block.rows.push(row);
            let state = RowPiece::drawn(shorten(state, room), *look);
            writer.wrapped(Sign::None, &[state]);
        }
    }
}

/// The range of a text that fits into so many columns with a sign that there is more: its beginning, or its end.
fn part_of(text: &str, columns: usize, keeps_end: bool) -> (usize, usize, bool) {
    if text::width(text) <= columns {
        return (0, text.len(), false);
    }
    let columns = columns.saturating_sub(1);
    if !keeps_end {
        return (0, text::take_width(text, columns).len(), true);
    }
    let mut from = text.len();
    for (at, _) in text.char_indices().rev() {
        if text::width(&text[at..]) > columns {
            break;
        }
        from = at;
    }
    (from, text.len(), true)
}

/// The state of a call, or how it ended.
fn state(name: &str, outcome: &CallOutcome) -> (String, Look) {
    match outcome {
        CallOutcome::Writing => ("being written".to_owned(), QUIET),
        CallOutcome::Waiting => ("waiting".to_owned(), QUIET),
        CallOutcome::Running => ("running".to_owned(), Look::new(Token::Status)),
        CallOutcome::Skipped { reason } if reason.is_empty() => ("skipped".to_owned(), QUIET),
        CallOutcome::Skipped { reason } => (format!("skipped: {}", text::one_line(reason)), QUIET),
        CallOutcome::Ended(result) => ended(name, result),
    }
}

fn ended(name: &str, result: &ShownResult) -> (String, Look) {
    let is_command_end = result.last_line.starts_with('[');
    let said = words::call_end(&CallEnd {
        name,
        result: if is_command_end {
            &result.last_line
        } else {
            &result.text
        },
        lines: result.lines,
        is_error: result.is_error,
        extent: result.extent.as_ref(),
        duration_ms: result.duration_ms,
    });
    let look = if result.is_error { ERROR } else { QUIET };
    (text::one_line(&said), look)
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

/// The shown lines of a result, and the count of the others. Lines of a result that is not opened have less weight.
fn result_lines(writer: &mut Writer, start: usize, result: &ShownResult, fold: FoldAmount) {
    let (most, plain) = match fold {
        FoldAmount::Folded => return,
        FoldAmount::Head(lines) => (usize::from(lines), QUIET),
        FoldAmount::Cut => (MAX_RESULT_LINES, TEXT),
        FoldAmount::Open => (usize::MAX, TEXT),
    };
    let look = if result.is_error { ERROR } else { plain };
    let text = writer.block.source.get(start..).unwrap_or_default();
    let lines: Vec<_> = lines_of(text, start).take(most).collect();
    // The lines of a cut text are followed by the number of the missing ones.
    let rest = result.lines.saturating_sub(lines.len());
    for line in lines {
        let long = line.len().saturating_sub(MAX_RESULT_LINE);
        if fold == FoldAmount::Open || long == 0 {
            writer.wrapped(Sign::None, &[RowPiece::source(line, look)]);
            continue;
        }
        let end = writer
            .block
            .source
            .floor_char_boundary(line.start + MAX_RESULT_LINE);
        let more = line.end - end;
        let shown = RowPiece::source(line.start..end, look);
        let note = RowPiece::drawn(format!(" … ({more} more bytes)"), QUIET);
        writer.wrapped(Sign::None, &[shown, note]);
    }
    if rest > 0 {
        let note = RowPiece::drawn(format!("... ({rest} more lines)"), QUIET);
        writer.wrapped(Sign::None, &[note]);
    }
}

/// The end of what a running call shows: a row a line, so that the rows stay where they are while it
/// grows, or all of it that is kept.
fn output_lines(writer: &mut Writer, output: &RunningOutput, fold: FoldAmount) {
    let lines = match fold {
        FoldAmount::Folded => return,
        FoldAmount::Head(_) | FoldAmount::Cut => output.last(usize::from(MAX_TAIL)),
        FoldAmount::Open => output.last(usize::MAX),
    };
    let earlier = output.len().saturating_sub(lines.len());
    if earlier > 0 {
        let note = RowPiece::drawn(format!("... ({earlier} earlier lines)"), QUIET);
        writer.wrapped(Sign::None, &[note]);
    }
    let room = room(writer.width);
    for line in lines {
        let OutputLine::Text(text) = &line else {
            writer.wrapped(Sign::None, &[RowPiece::drawn(line.words(), QUIET)]);
            continue;
        };
        let is_cut = fold != FoldAmount::Open && text::width(text) > room;
        let shown = match is_cut {
            true => text::take_width(text, room.saturating_sub(1)),
            false => text,
        };
        writer.block.source.push('\n');
        let start = writer.block.source.len();
        writer.block.source.push_str(shown);
        let mut pieces = vec![RowPiece::source(start..writer.block.source.len(), TEXT)];
        if is_cut {
            pieces.push(RowPiece::drawn("…", QUIET));
        }
        writer.wrapped(Sign::None, &pieces);
    }
}
