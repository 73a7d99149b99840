//! The selection, and its text.
//!
//! Invariant: a selection is of the text, not of the screen: scrolling, another width and growth elsewhere do not
//! change it.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::conversation::{ConversationStore, PartId};
use crate::viewport::{SourcePlace, Viewport, visible_range};

/// In what units is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// By character.
    Character,
    /// By word: after a double click.
    Word,
    /// By paragraph: after a triple click.
    Paragraph,
}

/// A stretch of the conversation, from where the button went down to where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    unit: Unit,
    /// The unit in which it began.
    anchor: (SourcePlace, SourcePlace),
    /// The unit in which it ends.
    head: (SourcePlace, SourcePlace),
    /// By character, nothing is selected until the mouse went to another one.
    is_open: bool,
}

impl Selection {
    /// Begins at a place. `source` is the text of its part.
    pub(crate) fn begin(unit: Unit, place: SourcePlace, source: &str) -> Self {
        let anchor = around(unit, place, source);
        Self {
            unit,
            anchor,
            head: anchor,
            is_open: unit != Unit::Character,
        }
    }

    /// Moves to a place, before the beginning or after it. `source` is the text of its part.
    pub(crate) fn drag(&mut self, place: SourcePlace, source: &str) {
        self.head = around(self.unit, place, source);
        self.is_open |= self.head != self.anchor;
    }

    /// True if nothing is selected.
    pub(crate) fn is_empty(&self) -> bool {
        let (from, to) = self.ends();
        !self.is_open || from == to
    }

    /// The selected range of a part. `source` is its text.
    pub(crate) fn range(&self, part: PartId, source: &str) -> Option<Range<usize>> {
        let (from, to) = self.ends();
        if !self.is_open || part < from.part || part > to.part {
            return None;
        }
        let start = if part == from.part { from.offset } else { 0 };
        let end = if part == to.part {
            to.offset
        } else {
            source.len()
        };
        let range = source.floor_char_boundary(start)..source.ceil_char_boundary(end);
        (!range.is_empty()).then_some(range)
    }

    /// The text: that of each part, with a blank line in between. What is folded away is left out.
    pub(crate) fn text(&self, conversation: &ConversationStore, viewport: &mut Viewport) -> String {
        let (from, to) = self.ends();
        let mut texts: Vec<String> = Vec::new();
        for index in conversation.index(from.part)..conversation.len() {
            let Some(part) = conversation.at(index).filter(|part| part.id <= to.part) else {
                break;
            };
            let block = viewport.block(part);
            let shown = visible_range(&block);
            let selected = self.range(part.id, &block.source);
            let range =
                selected.map(|range| range.start.max(shown.start)..range.end.min(shown.end));
            let text = range.and_then(|range| block.source.get(range));
            texts.extend(text.filter(|text| !text.is_empty()).map(str::to_owned));
        }
        let last = texts.len().saturating_sub(1);
        for text in &mut texts[..last] {
            text.truncate(text.trim_end_matches('\n').len());
        }
        texts.join("\n\n")
    }

    /// From the first place to the end of the last.
    fn ends(&self) -> (SourcePlace, SourcePlace) {
        (
            self.anchor.0.min(self.head.0),
            self.anchor.1.max(self.head.1),
        )
    }
}

/// The unit that a place is in.
fn around(unit: Unit, place: SourcePlace, source: &str) -> (SourcePlace, SourcePlace) {
    let offset = source.floor_char_boundary(place.offset);
    let range = match unit {
        Unit::Character => {
            let character = source[offset..].graphemes(true).next().unwrap_or_default();
            offset..offset + character.len()
        }
        Unit::Word => word(offset, source),
        Unit::Paragraph => paragraph(offset, source),
    };
    let at = |offset| SourcePlace { offset, ..place };
    (at(range.start), at(range.end))
}

/// The word at an offset, or the text between words.
fn word(offset: usize, source: &str) -> Range<usize> {
    let line = source[..offset].rfind('\n').map_or(0, |end| end + 1);
    source[line..]
        .split_word_bound_indices()
        .map(|(start, word)| line + start..line + start + word.len())
        .find(|word| word.contains(&offset))
        .unwrap_or(offset..offset)
}

/// The lines around a place up to blank ones.
fn paragraph(offset: usize, source: &str) -> Range<usize> {
    let start = source[..offset].rfind("\n\n").map_or(0, |end| end + 2);
    let rest = &source[start..];
    let from = (offset - start).min(rest.len());
    let end = rest[from..]
        .find("\n\n")
        .map_or(rest.len(), |end| from + end);
    start..start + rest[..end].trim_end_matches('\n').len().max(from)
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
