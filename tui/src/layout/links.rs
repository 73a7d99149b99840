//! The links of a row.

use std::ops::Range;

use super::ScreenRow;
use crate::text;

/// A link in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowLink {
    /// Its columns.
    pub(crate) columns: Range<usize>,
    /// The target: an address of [`text::address`].
    pub(crate) url: String,
    /// Offset of the link in the source, which tells it from others.
    pub(crate) start: usize,
}

impl ScreenRow {
    /// The links of the row, from left to right: those of its pieces, and the addresses that it
    /// shows of the source.
    pub(crate) fn links(&self, source: &str) -> Vec<RowLink> {
        let mut links: Vec<RowLink> = Vec::new();
        let mut column = 0;
        for piece in &self.pieces {
            let (words, start) = piece.text(source);
            let width = text::width(words);
            let columns = column..column + width;
            column += width;
            if let Some(target) = &piece.target {
                add(&mut links, columns, &target.url, target.start);
                continue;
            }
            let Some(start) = start else {
                continue;
            };
            for place in text::addresses(source, start..start + words.len()) {
                let within = |place: usize| place.saturating_sub(start).min(words.len());
                let before = |place: usize| text::width(words.get(..place).unwrap_or_default());
                let (from, to) = (before(within(place.start)), before(within(place.end)));
                let columns = columns.start + from..columns.start + to;
                add(&mut links, columns, &source[place.clone()], place.start);
            }
        }
        links
    }
}

/// Adds a link, or makes the last one longer if it is the same.
fn add(links: &mut Vec<RowLink>, columns: Range<usize>, url: &str, start: usize) {
    let Some(url) = text::address(url).filter(|_| !columns.is_empty()) else {
        return;
    };
    if let Some(last) = links.last_mut()
        && (&last.url, last.start, last.columns.end) == (&url, start, columns.start)
    {
        last.columns.end = columns.end;
        return;
    }
    links.push(RowLink {
        columns,
        url,
        start,
    });
}
