//! A part of a conversation as rows of a screen.
//!
//! Rows hold places in the text that they were made of, not the text: a selection is copied from
//! the source, and a row costs little.

mod links;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::highlight::Code;
use crate::text;
use crate::theme::{Look, Theme, Token};

#[cfg(test)]
pub(crate) mod picture;

/// The origin of a piece in a row: the source, or the layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WordsOrigin {
    /// A range of the source, in bytes.
    Source(Range<u32>),
    /// A bullet, a border, a heading: nothing that is copied.
    Shown(Cow<'static, str>),
}

/// A stretch of a row with one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowPiece {
    /// Its text.
    pub(crate) words: WordsOrigin,
    /// The look of the words.
    pub(crate) look: Look,
    /// The target of a link, if its text is not the address.
    pub(crate) target: Option<Arc<Target>>,
}

/// The target of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The address, in its written form.
    pub(crate) url: String,
    /// Offset of the link in the source, which tells it from others.
    pub(crate) start: usize,
}

/// One row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScreenRow {
    /// From left to right.
    pub(crate) pieces: Vec<RowPiece>,
    /// The ground that is painted to the right edge, for example that of code.
    pub(crate) fill: Option<Token>,
}

/// A part, laid out for one width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PartLayout {
    /// The source of the rows: foreign text made fit to be shown.
    pub(crate) source: String,
    /// From top to bottom.
    pub(crate) rows: Vec<ScreenRow>,
    /// The ranges of the source that are code, and may have colours.
    pub(crate) code: Vec<Code>,
}

/// A stretch of the source that is painted over, or that means something in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// In bytes of the source.
    pub(crate) range: Range<usize>,
    /// The ground of what is selected or found or of words of a diff, or the meaning of code. Of
    /// several the last counts.
    pub(crate) token: Token,
}

impl RowPiece {
    /// A range of the source, in bytes.
    pub(crate) fn source(range: Range<usize>, look: Look) -> Self {
        let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            words: WordsOrigin::Source(place(range.start)..place(range.end)),
            look,
            target: None,
        }
    }

    /// The characters that are not of the source.
    pub(crate) fn drawn(words: impl Into<Cow<'static, str>>, look: Look) -> Self {
        Self {
            words: WordsOrigin::Shown(words.into()),
            look,
            target: None,
        }
    }

    /// The blank before a row of code. Where the ground of code cannot be told from that of the
    /// screen, a line is drawn in its place.
    pub(crate) fn edge() -> Self {
        Self::drawn(" ", Look::new(Token::Border).on(Token::Code))
    }

    fn is_edge(&self) -> bool {
        self.look == Look::new(Token::Border).on(Token::Code)
    }

    /// Its text, and the place of that in the source.
    pub(crate) fn text<'a>(&'a self, source: &'a str) -> (&'a str, Option<usize>) {
        match &self.words {
            WordsOrigin::Source(range) => {
                let range = usable(range);
                let start = range.start;
                (source.get(range).unwrap_or_default(), Some(start))
            }
            WordsOrigin::Shown(text) => (text, None),
        }
    }
}

impl ScreenRow {
    /// Draws the row into the first line of `area`, cut at its right edge.
    pub(crate) fn draw(
        &self,
        source: &str,
        theme: &Theme,
        marks: &[Mark],
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let place = self.range().unwrap_or_default();
        let marks: Vec<&Mark> = marks
            .iter()
            .filter(|mark| mark.range.start < place.end && place.start < mark.range.end)
            .collect();
        let mut column = area.x;
        'row: for piece in &self.pieces {
            let (text, start) = piece.text(source);
            let mut offset = start;
            // A blank in another colour would only cost bytes.
            let (is_edge, look) = match piece.is_edge() {
                true if theme.shows(Token::Code) => (false, Look::new(Token::Text).on(Token::Code)),
                is_edge => (is_edge, piece.look),
            };
            for (grapheme, width) in text::graphemes_with_width(text) {
                let grapheme = if is_edge { "│" } else { grapheme };
                let at = offset;
                offset = offset.map(|offset| offset + grapheme.len());
                let Some(width) = u16::try_from(width).ok().filter(|width| *width > 0) else {
                    continue;
                };
                if width > area.right() - column {
                    break 'row;
                }
                let style = theme.style(marked(look, at, &marks));
                if let Some(cell) = buffer.cell_mut((column, area.y)) {
                    cell.set_symbol(grapheme).set_style(style);
                }
                for covered in column + 1..column + width {
                    if let Some(cell) = buffer.cell_mut((covered, area.y)) {
                        cell.set_symbol(" ").set_style(style);
                    }
                }
                column += width;
            }
        }
        if let Some(ground) = self.fill {
            let rest = Rect::new(column, area.y, area.right() - column, 1);
            buffer.set_style(rest, theme.style(Look::new(Token::Text).on(ground)));
        }
    }

    /// The place in the source that is shown at a column, or nearest to it. `None` if the row shows nothing of the
    /// source.
    pub(crate) fn offset_at(&self, source: &str, column: u16) -> Option<usize> {
        let column = usize::from(column);
        let mut used = 0;
        let mut nearest = None;
        for piece in &self.pieces {
            let (text, start) = piece.text(source);
            let Some(mut offset) = start else {
                used += text::width(text);
                continue;
            };
            if used > column && nearest.is_some() {
                return nearest;
            }
            for (grapheme, width) in text::graphemes_with_width(text) {
                used += width;
                if used > column {
                    return Some(offset);
                }
                offset += grapheme.len();
            }
            nearest = Some(offset);
        }
        nearest
    }

    /// From the first place of the source that the row shows, to the end of the last.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        self.ranges()
            .reduce(|all, range| all.start.min(range.start)..all.end.max(range.end))
    }

    /// The places of the source that the row shows, from left to right.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.pieces.iter().filter_map(|piece| match &piece.words {
            WordsOrigin::Source(range) => Some(usable(range)),
            WordsOrigin::Shown(_) => None,
        })
    }

    /// The columns of the row.
    #[cfg(test)]
    pub(crate) fn width(&self, source: &str) -> usize {
        self.pieces
            .iter()
            .map(|piece| text::width(piece.text(source).0))
            .sum()
    }
}

fn usable(range: &Range<u32>) -> Range<usize> {
    let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
    place(range.start)..place(range.end)
}

/// The look of a place with what is painted over it; of several marks the last.
fn marked(look: Look, offset: Option<usize>, marks: &[&Mark]) -> Look {
    let Some(offset) = offset else {
        return look;
    };
    match marks.iter().rev().find(|mark| mark.range.contains(&offset)) {
        Some(mark) if mark.token.is_ground() => look.on(mark.token),
        Some(mark) if look.token == Token::Text => Look {
            token: mark.token,
            ..look
        },
        Some(_) | None => look,
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
