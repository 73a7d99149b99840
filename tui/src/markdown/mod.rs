//! Markdown as rows of a screen.
//!
//! ```text
//! source -> chunks (cut where nothing behind can change them) -> blocks -> rows
//! ```
//!
//! Invariant: the shown parts of the source are in the rows in its order. Nothing of it is left out except the marks
//! that became a look, and text that a mark replaces.

mod blocks;
mod chunks;
mod code;
mod containers;
mod inline;
mod snippets;
mod table;

pub(crate) use snippets::code_blocks;

use crate::highlight::Code;
use crate::layout::ScreenRow;
use chunks::{Chunk, ChunkPlace};

pub(crate) use inline::wrap;

/// A text that is laid out while it grows: what is finished is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrowingMarkdown {
    /// Up to where the rows are final.
    settled: ChunkPlace,
    /// Number of those rows.
    rows: usize,
    /// Number of codes, and of lines of the last of them.
    code: (usize, usize),
}

impl GrowingMarkdown {
    /// Number of rows that no longer change.
    pub(crate) fn final_rows(&self) -> usize {
        self.rows
    }

    /// Lays out `source`, which begins with the source of the last call, in so many columns. The rows and codes are
    /// those of the last call; the final ones are unchanged.
    pub(crate) fn layout(
        &mut self,
        source: &str,
        width: usize,
        (rows, code): (&mut Vec<ScreenRow>, &mut Vec<Code>),
    ) {
        rows.truncate(self.rows);
        code.truncate(self.code.0);
        if let Some(last) = code.last_mut() {
            last.truncate(self.code.1);
        }
        let mut place = self.settled;
        let mut is_settled = true;
        while let Some(cut) = chunks::next(source, place) {
            lay_out(source, &cut.chunk, width, (rows, code));
            place = cut.after;
            is_settled &= cut.is_final;
            if is_settled {
                self.settled = place;
                self.rows = rows.len();
                self.code = (code.len(), code.last().map_or(0, Code::len));
            }
        }
    }
}

/// A whole text as rows. The source is text of [`crate::text::sanitize`].
#[cfg(test)]
pub(crate) fn rows(source: &str, width: usize) -> Vec<ScreenRow> {
    let mut rows = Vec::new();
    GrowingMarkdown::default().layout(source, width, (&mut rows, &mut Vec::new()));
    rows
}

fn lay_out(
    source: &str,
    chunk: &Chunk,
    width: usize,
    (rows, code): (&mut Vec<ScreenRow>, &mut Vec<Code>),
) {
    if chunk.has_gap && !rows.is_empty() {
        rows.push(ScreenRow::default());
    }
    blocks::lay_out(source, chunk, width.max(1), (rows, code));
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "markdown_properties.rs"]
mod properties;
