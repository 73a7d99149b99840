//! The row at the top of the screen, held whatever grows around it.

use super::cache::LayoutKey;
use super::rows;
use crate::conversation::PartId;
use crate::layout::PartLayout;

/// A row of a part. The row after its last one is the blank row that follows the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchor {
    /// The part.
    pub(super) part: PartId,
    /// The row, in the layout of `key`.
    pub(super) row: usize,
    key: LayoutKey,
    hold: Hold,
}

/// The anchor that keeps the row when the part is laid out another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// A place in the source.
    Source {
        offset: usize,
        /// Number of rows below the anchor, for rows that show nothing of the source.
        below: usize,
    },
    /// So many rows from the end of the part: nothing of the source follows.
    End(usize),
}

impl Anchor {
    /// Holds a row.
    pub(super) fn new(part: PartId, row: usize, key: LayoutKey, block: &PartLayout) -> Self {
        let at = |index: usize| {
            let range = block.rows.get(index).and_then(rows::range)?;
            Some(Hold::Source {
                offset: range.start,
                below: index - row,
            })
        };
        let end = Hold::End(block.rows.len().saturating_sub(row));
        Self {
            part,
            row,
            key,
            hold: (row..block.rows.len()).find_map(at).unwrap_or(end),
        }
    }

    /// True if the anchor is a row of that layout.
    pub(super) fn is_of(&self, key: LayoutKey) -> bool {
        self.key == key
    }

    /// Finds the row again in another layout of the part. What is held stays, so that going to a
    /// width and back leads back.
    pub(super) fn relaid(mut self, key: LayoutKey, block: &PartLayout) -> Self {
        self.key = key;
        let end = block.rows.len();
        self.row = match self.hold {
            Hold::Source { offset, below } => rows::row_of(block, offset).map_or_else(
                || self.row.min(end),
                |row| row - below.min(rows::bare_above(block, row)),
            ),
            Hold::End(rows) => end.saturating_sub(rows),
        };
        self
    }

    /// The place that is held.
    #[cfg(test)]
    pub(super) fn offset(&self) -> Option<usize> {
        match self.hold {
            Hold::Source { offset, .. } => Some(offset),
            Hold::End(_) => None,
        }
    }
}
