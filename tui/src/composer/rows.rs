//! A text as the rows of an input of some width.
//!
//! Words stay within all columns but the last, which belongs to the caret: it is there after a full row. One space may
//! be there too; further spaces continue in the next row, so that each typed space is visible.

use std::ops::Range;

use super::place;

/// A place on the screen, counted from the upper left corner of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CaretPlace {
    /// The row, counted from 0.
    pub(crate) row: usize,
    /// The column, counted from 0.
    pub(crate) column: u16,
}

/// The rows that an input of limited height shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputWindow {
    /// The text of each row, as a range of bytes; never empty.
    pub(crate) rows: Vec<Range<usize>>,
    /// The caret, counted from the first row that is shown.
    pub(crate) caret: CaretPlace,
    /// Number of rows above the window.
    pub(crate) above: usize,
    /// Number of rows below the window.
    pub(crate) below: usize,
}

/// A text, wrapped.
#[derive(Debug)]
pub(super) struct WrappedText<'text> {
    text: &'text str,
    width: usize,
    /// At least one. Line feeds are in none.
    pub(super) ranges: Vec<Range<usize>>,
}

impl<'text> WrappedText<'text> {
    /// Wraps a text.
    pub(super) fn wrap(text: &'text str, width: u16) -> Self {
        let mut rows = Self {
            text,
            width: usize::from(width.max(1)),
            ranges: Vec::new(),
        };
        let mut start = 0;
        for line in text.split('\n') {
            rows.wrap_line(start, line);
            start += line.len() + 1;
        }
        rows
    }

    /// Wraps one line: between words, or within a word that is wider than a row.
    fn wrap_line(&mut self, line_start: usize, line: &str) {
        let room = (self.width - 1).max(1);
        let mut row_start = 0;
        let mut column = 0;
        // The last place where the row may end, and its column.
        let mut opening: Option<(usize, usize)> = None;
        let mut last = GraphemeKind::Letter;
        for (place, grapheme, width) in place::graphemes(line) {
            let kind = GraphemeKind::from_grapheme(grapheme, width);
            let is_space = kind == GraphemeKind::Space;
            if place > row_start && GraphemeKind::may_break(last, kind) {
                opening = Some((place, column));
            }
            let limit = if is_space { self.width } else { room };
            while column + width > limit && place > row_start {
                let (end, end_column) = opening.take().unwrap_or((place, column));
                self.ranges.push(line_start + row_start..line_start + end);
                row_start = end;
                column -= end_column;
            }
            column += width;
            last = kind;
        }
        self.ranges
            .push(line_start + row_start..line_start + line.len());
    }

    /// The place on the screen of an offset in the text. Where a row ends because the text continues below, that is the
    /// beginning of the next row.
    pub(super) fn place(&self, offset: usize) -> CaretPlace {
        let row = self
            .ranges
            .partition_point(|range| range.start <= offset)
            .saturating_sub(1);
        let start = self.ranges.get(row).map_or(0, |range| range.start);
        let column: usize = place::graphemes(&self.text[start..offset.max(start)])
            .map(|(_, _, width)| width)
            .sum();
        CaretPlace {
            row,
            column: u16::try_from(column.min(self.width - 1)).unwrap_or(u16::MAX),
        }
    }

    /// The place in the text that is shown nearest to a column of a row, but not right of it.
    pub(super) fn offset(&self, row: usize, column: u16) -> Option<usize> {
        let range = self.ranges.get(row)?.clone();
        let is_continued = self
            .ranges
            .get(row + 1)
            .is_some_and(|next| next.start == range.end);
        let mut offset = range.start;
        let mut shown = 0;
        for (start, grapheme, width) in place::graphemes(&self.text[range.clone()]) {
            let end = range.start + start + grapheme.len();
            shown += width;
            // The end of a row that continues below is shown as the beginning of the next.
            if shown > usize::from(column) || (is_continued && end == range.end) {
                break;
            }
            offset = end;
        }
        Some(offset)
    }

    /// At most so many rows, with the caret among them, in the middle where there is a choice.
    pub(super) fn window(mut self, caret: usize, max_rows: u16) -> InputWindow {
        let mut caret = self.place(caret);
        let count = self.ranges.len();
        let height = count.min(usize::from(max_rows.max(1)));
        let above = caret.row.saturating_sub(height / 2).min(count - height);
        caret.row -= above;
        self.ranges.truncate(above + height);
        self.ranges.drain(..above);
        InputWindow {
            rows: self.ranges,
            caret,
            above,
            below: count - height - above,
        }
    }
}

/// The role of a grapheme where rows are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GraphemeKind {
    /// A row may end after it.
    Space,
    /// A separate word, as in the scripts that have no spaces.
    Wide,
    /// Part of a word.
    Letter,
    /// Never the first of a row if that can be helped.
    Closing,
}

impl GraphemeKind {
    fn from_grapheme(grapheme: &str, width: usize) -> Self {
        match grapheme.chars().next() {
            Some('\u{a0}' | '\u{2007}' | '\u{202f}') => Self::Letter,
            Some(first) if first.is_whitespace() => Self::Space,
            Some(first) if "、。，．！？：；」』）】〉》".contains(first) => {
                Self::Closing
            }
            _ if width > 1 => Self::Wide,
            Some(first) if first.is_alphanumeric() => Self::Letter,
            // A full stop or a bracket stays with the wide glyph before it.
            _ => Self::Closing,
        }
    }

    /// True if a row may end between the two.
    fn may_break(last: Self, next: Self) -> bool {
        match (last, next) {
            (_, Self::Space) => last == Self::Space,
            (Self::Space, _) | (_, Self::Wide) | (Self::Wide, Self::Letter) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
