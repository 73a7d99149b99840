//! Lays out each part of a conversation.
//!
//! Invariant: a colour never carries a meaning alone; a word or a sign does too.

mod change;
mod growing;
mod json;
mod layouter;
mod prompt;
mod result;
mod summary;
mod thought;
mod tool;

use std::ops::Range;

use crate::conversation::{Part, PartKind};
use crate::layout::{PartLayout, RowPiece, ScreenRow};
use crate::markdown;
use crate::text::{Hidden, sanitize};
use crate::theme::{Look, Token};

pub(crate) use growing::GrowingPart;
pub(crate) use layouter::Layouter;
pub(crate) use prompt::is_long;
pub(crate) use result::shown_result;
pub(crate) use tool::MAX_TAIL;

/// The shown amount of a part that can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FoldAmount {
    /// Its heading only; of a prompt the first lines.
    Folded,
    /// So many lines of a result.
    Head(u16),
    /// Opened: the whole input of a tool, and its result up to [`MAX_RESULT_LINES`] lines.
    Cut,
    /// All of it.
    Open,
}

/// Maximum number of lines of an opened tool result that are shown before all of it is asked for.
pub(crate) const MAX_RESULT_LINES: usize = 100;

/// From how many columns on there is room for the column of signs at the left.
const MIN_WIDTH_WITH_SIGNS: usize = 12;

/// The look of thinking.
const THINKING: Look = Look::new(Token::Reasoning).italic();

/// A part, laid out for a width of at least 1. Without the blank row that separates parts.
pub(crate) fn layout(part: &Part, width: u16, fold: FoldAmount) -> PartLayout {
    let width = usize::from(width).max(1);
    match &part.kind {
        PartKind::User {
            content,
            by,
            is_pending,
            files,
            ..
        } => {
            let sent = prompt::PromptFacts {
                by,
                is_pending: *is_pending,
                files,
            };
            prompt::layout(content, &sent, width, fold)
        }
        PartKind::Text {
            content, is_cut, ..
        } => {
            let block = GrowingPart::new(growing::GrowingForm::Markdown).into_block(content, width);
            let mut writer = Writer { block, width };
            if *is_cut {
                writer.wrapped(
                    Sign::None,
                    &[RowPiece::drawn("(cut short)", Look::new(Token::Quiet))],
                );
            }
            writer.block
        }
        PartKind::Reasoning {
            content,
            is_live: true,
            ..
        } => GrowingPart::new(growing::GrowingForm::Thinking).into_block(content, width),
        PartKind::Reasoning {
            content,
            duration_ms,
            ..
        } => thought::layout(content, *duration_ms, width, fold),
        PartKind::Tool(tool) => tool::layout(tool, width, fold),
        PartKind::Command(command) => tool::command(command, width, fold),
        PartKind::Summary { title, content } => summary::layout(title, content, width, fold),
        PartKind::Change {
            title,
            diff,
            is_cut,
        } => change::layout(title, diff, *is_cut, width, fold),
        PartKind::Note { text, is_error } => note(text, *is_error, width),
        PartKind::RunEnd { facts } => {
            let mut writer = Writer::new(facts.clone(), width);
            writer.lines(Sign::None, 0..facts.len(), Look::new(Token::Quiet));
            writer.block
        }
    }
}

/// A remark. One about an error is marked as such.
fn note(text: &str, is_error: bool, width: usize) -> PartLayout {
    let mut writer = Writer::new(sanitize(text, Hidden::Dropped), width);
    let (look, says_so) = if is_error {
        let says_so = text
            .get(..5)
            .is_some_and(|word| word.eq_ignore_ascii_case("error"));
        (Look::new(Token::Error), says_so)
    } else {
        (Look::new(Token::Quiet), true)
    };
    let mut first = Vec::new();
    if !says_so {
        first.push(RowPiece::drawn("error: ", look));
    }
    let end = writer
        .block
        .source
        .find('\n')
        .unwrap_or(writer.block.source.len());
    first.push(RowPiece::source(0..end, look));
    writer.wrapped(Sign::Note, &first);
    if end < writer.block.source.len() {
        writer.lines(Sign::None, end + 1..writer.block.source.len(), look);
    }
    writer.block
}

/// The text in the column of signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    /// An operator said it.
    Bar,
    /// A remark.
    Note,
    /// A heading without what is below it.
    Folded,
    /// A heading with what is below it.
    Unfolded,
}

impl Sign {
    fn piece(self) -> RowPiece {
        let quiet = Look::new(Token::Quiet);
        match self {
            Self::None => RowPiece::drawn("  ", Look::new(Token::Text)),
            Self::Bar => RowPiece::drawn("┃ ", Look::new(Token::User)),
            Self::Note => RowPiece::drawn("· ", quiet),
            Self::Folded => RowPiece::drawn("▸ ", quiet),
            Self::Unfolded => RowPiece::drawn("▾ ", quiet),
        }
    }
}

/// The columns after the signs.
fn room(width: usize) -> usize {
    if width < MIN_WIDTH_WITH_SIGNS {
        width
    } else {
        width - 2
    }
}

/// A row after a sign.
fn behind(sign: Sign, width: usize, mut pieces: Vec<RowPiece>) -> ScreenRow {
    if room(width) < width {
        pieces.insert(0, sign.piece());
    }
    ScreenRow { pieces, fill: None }
}

/// A block, while its rows are written.
struct Writer {
    block: PartLayout,
    width: usize,
}

impl Writer {
    fn new(source: String, width: usize) -> Self {
        Self {
            block: PartLayout {
                source,
                ..PartLayout::default()
            },
            width,
        }
    }

    /// Pieces of one line in as many rows as they need.
    fn wrapped(&mut self, sign: Sign, line: &[RowPiece]) {
        let continues = match sign {
            Sign::Bar => Sign::Bar,
            _ => Sign::None,
        };
        let rows = markdown::wrap(&self.block.source, line, room(self.width));
        for (index, pieces) in rows.into_iter().enumerate() {
            let sign = if index == 0 { sign } else { continues };
            self.block.rows.push(behind(sign, self.width, pieces));
        }
    }

    /// Adds lines of the source unchanged.
    fn lines(&mut self, sign: Sign, range: Range<usize>, look: Look) {
        let text = self.block.source.get(range.clone()).unwrap_or_default();
        let ranges: Vec<_> = lines_of(text, range.start).collect();
        for range in ranges {
            self.wrapped(sign, &[RowPiece::source(range, look)]);
        }
    }
}

/// The lines of a text that begins at `start`, without what ends them.
fn lines_of(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = start;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        start..start + line.strip_suffix('\n').unwrap_or(line).len()
    })
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "gallery_tests.rs"]
mod gallery;
