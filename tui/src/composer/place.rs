//! The places in a text where the caret may be: between graphemes, and at words.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use unicode_width::UnicodeWidthStr as _;

/// The place before this one.
pub(super) fn before(text: &str, place: usize) -> Option<usize> {
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    cursor.prev_boundary(text, 0).ok().flatten()
}

/// The place after this one.
pub(super) fn after(text: &str, place: usize) -> Option<usize> {
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    cursor.next_boundary(text, 0).ok().flatten()
}

/// True if the caret may be here.
fn is_boundary(text: &str, place: usize) -> bool {
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    cursor.is_boundary(text, 0).unwrap_or(true)
}

/// This place, or the next if the caret may not be here.
pub(super) fn at_or_after(text: &str, place: usize) -> usize {
    if is_boundary(text, place) {
        place
    } else {
        after(text, place).unwrap_or(text.len())
    }
}

/// This place, or the last before it if the caret may not be here.
fn at_or_before(text: &str, place: usize) -> usize {
    if is_boundary(text, place) {
        place
    } else {
        before(text, place).unwrap_or(0)
    }
}

/// The beginning of the word that the place is in or after.
pub(super) fn word_before(text: &str, place: usize) -> usize {
    let mut end = line_end(text, place);
    loop {
        // Words are searched in whole lines: their boundaries depend on the text around them.
        let start = line_start(text, end);
        let found = words(&text[start..end])
            .map(|word| start + word.start)
            .take_while(|word_start| *word_start < place)
            .last();
        if let Some(found) = found {
            return at_or_before(text, found);
        }
        if start == 0 {
            return 0;
        }
        end = start - 1;
    }
}

/// The end of the word that the place is in or before.
pub(super) fn word_after(text: &str, place: usize) -> usize {
    let mut start = line_start(text, place);
    loop {
        let end = line_end(text, start);
        let found = words(&text[start..end])
            .map(|word| start + word.end)
            .find(|word_end| *word_end > place);
        if let Some(found) = found {
            return at_or_after(text, found);
        }
        if end == text.len() {
            return end;
        }
        start = end + 1;
    }
}

/// The words of a line. Pictures count as words: a step over them would miss them otherwise.
fn words(line: &str) -> impl Iterator<Item = Range<usize>> {
    line.split_word_bound_indices()
        .filter(|(_, segment)| {
            segment
                .chars()
                .any(|character| character.is_alphanumeric() || character >= '\u{1F000}')
        })
        .map(|(start, word)| start..start + word.len())
}

/// The beginning of the line that the place is in.
pub(super) fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |found| found + 1)
}

/// The end of the line that the place is in.
pub(super) fn line_end(text: &str, place: usize) -> usize {
    text[place..]
        .find('\n')
        .map_or(text.len(), |found| place + found)
}

/// The graphemes of a text, each with its place and its width in columns.
pub(super) fn graphemes(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let start = place;
        // What nearly all text is made of needs no tables: nothing joins two ASCII characters,
        // but for a carriage return with its line feed.
        let bytes = text.as_bytes().get(start..)?;
        if let [b' '..=b'~', rest @ ..] = bytes
            && rest.first().is_none_or(u8::is_ascii)
        {
            place += 1;
            return Some((start, &text[start..place], 1));
        }
        let grapheme = text[start..].graphemes(true).next()?;
        place += grapheme.len();
        Some((start, grapheme, grapheme.width()))
    })
}
