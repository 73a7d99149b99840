//! Markdown as rows of a screen.
//!
//! ```text
//! source -> chunks (cut where nothing behind can change them) -> blocks -> rows
//! ```
//!
//! Invariant: what is shown of the source stands in the rows in its order. Nothing of it is left
//! out but the marks that became a look, and what a mark of its own stands for.

mod blocks;
mod chunks;
mod code;
mod containers;
mod inline;
mod snippets;
mod table;

pub(crate) use snippets::code_blocks;

use crate::layout::Row;
use chunks::{Chunk, Place};

pub(crate) use inline::wrap;

/// A text that is laid out while it grows: what is finished is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growing {
    /// Up to where the rows are final.
    settled: Place,
    /// How many rows that is.
    rows: usize,
}

impl Growing {
    /// How many rows will not change any more.
    pub(crate) fn final_rows(&self) -> usize {
        self.rows
    }

    /// Lays out `source`, which begins with what it was at the last call, in so many columns.
    /// `rows` are those of the last call; the final ones are left as they are.
    pub(crate) fn layout(&mut self, source: &str, width: usize, rows: &mut Vec<Row>) {
        rows.truncate(self.rows);
        let mut place = self.settled;
        let mut is_settled = true;
        while let Some(cut) = chunks::next(source, place) {
            lay_out(source, &cut.chunk, width, rows);
            place = cut.after;
            is_settled &= cut.is_final;
            if is_settled {
                self.settled = place;
                self.rows = rows.len();
            }
        }
    }
}

/// A whole text as rows. The source is text of [`crate::text::sanitize`].
#[cfg(test)]
pub(crate) fn rows(source: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    Growing::default().layout(source, width, &mut rows);
    rows
}

fn lay_out(source: &str, chunk: &Chunk, width: usize, rows: &mut Vec<Row>) {
    if chunk.has_gap && !rows.is_empty() {
        rows.push(Row::default());
    }
    blocks::lay_out(source, chunk, width.max(1), rows);
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "markdown_properties.rs"]
mod properties;
