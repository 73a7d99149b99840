//! The range of its source that each row of a part shows.

use std::ops::Range;

use crate::layout::{PartLayout, ScreenRow, WordsOrigin};

/// From the first place that a row shows, to the end of the last.
pub(super) fn range(row: &ScreenRow) -> Option<Range<usize>> {
    let mut whole: Option<Range<u32>> = None;
    for piece in &row.pieces {
        if let WordsOrigin::Source(range) = &piece.words {
            let known = whole.unwrap_or(range.clone());
            whole = Some(known.start.min(range.start)..known.end.max(range.end));
        }
    }
    let to_usize = |place: u32| usize::try_from(place).unwrap_or(usize::MAX);
    whole.map(|range| to_usize(range.start)..to_usize(range.end))
}

/// True if a row shows nothing of the source.
pub(crate) fn is_bare(row: &ScreenRow) -> bool {
    range(row).is_none()
}

/// The row that shows a place, or the last one that begins before it.
pub(super) fn row_of(block: &PartLayout, offset: usize) -> Option<usize> {
    let mut nearest = None;
    for (index, row) in block.rows.iter().enumerate() {
        let Some(range) = range(row) else {
            continue;
        };
        if range.contains(&offset) {
            return Some(index);
        }
        if range.start <= offset || nearest.is_none() {
            nearest = Some(index);
        }
    }
    nearest
}

/// The place in the source nearest to a row: where the row or one below begins, or else where the
/// last one above ends.
pub(super) fn nearest(block: &PartLayout, row: usize) -> usize {
    let below = block.rows.iter().skip(row).find_map(range);
    let above = || block.rows.iter().take(row).rev().find_map(range);
    match below {
        Some(range) => range.start,
        None => above().map_or(0, |range| range.end),
    }
}

/// Number of rows right above this one that show nothing of the source.
pub(super) fn bare_above(block: &PartLayout, row: usize) -> usize {
    let above = block.rows.iter().take(row).rev();
    above.take_while(|row| range(row).is_none()).count()
}

/// From the first place that a layout shows, to the end of the last; text folded away at the end is after it.
pub(crate) fn visible_range(block: &PartLayout) -> Range<usize> {
    let ranges = || block.rows.iter().filter_map(range);
    let start = ranges().map(|range| range.start).min().unwrap_or(0);
    let end = ranges().map(|range| range.end).max().unwrap_or(0);
    start..end
}
