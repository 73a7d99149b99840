//! Tables: columns where they fit, else each row as `key: value` lines.

use pulldown_cmark::Alignment;

use crate::layout::RowPiece;
use crate::text;
use crate::theme::{Look, Token};

/// The text of a cell, on one line.
type Cell = Vec<RowPiece>;

const BORDER: Look = Look::new(Token::Border);

/// A table, while its events come.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The alignments of the columns.
    pub(super) alignments: Vec<Alignment>,
    /// The rows, the heading first.
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table in lines of at most `width` columns, or else in lines that may be wrapped.
    pub(super) fn lines(mut self, source: &str, width: usize) -> Vec<Vec<RowPiece>> {
        if let Some(heading) = self.rows.first_mut() {
            for piece in heading.iter_mut().flatten() {
                piece.look = piece.look.bold();
            }
        }
        let columns = self.columns(source);
        let borders = 3 * columns.len().saturating_sub(1);
        if columns.iter().sum::<usize>() + borders <= width {
            self.in_columns(source, &columns)
        } else {
            self.in_stanzas(source, width)
        }
    }

    /// The widths of the columns.
    fn columns(&self, source: &str) -> Vec<usize> {
        let mut columns = vec![1; self.alignments.len()];
        for row in &self.rows {
            for (column, cell) in columns.iter_mut().zip(row) {
                *column = (*column).max(columns_of(source, cell));
            }
        }
        columns
    }

    fn in_columns(self, source: &str, columns: &[usize]) -> Vec<Vec<RowPiece>> {
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (index, row) in self.rows.into_iter().enumerate() {
            if index == 1 {
                lines.push(vec![rule(columns)]);
            }
            let mut cells = row.into_iter();
            let mut line = Vec::new();
            for (place, (column, alignment)) in columns.iter().zip(&self.alignments).enumerate() {
                if place > 0 {
                    line.push(RowPiece::drawn(" │ ", BORDER));
                }
                let cell = cells.next().unwrap_or_default();
                let space = column.saturating_sub(columns_of(source, &cell));
                let before = match alignment {
                    Alignment::Right => space,
                    Alignment::Center => space / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                line.extend(spaces(before));
                line.extend(cell);
                line.extend(spaces(space - before));
            }
            lines.push(line);
        }
        if lines.len() == 1 {
            lines.push(vec![rule(columns)]);
        }
        lines
    }

    /// The heading is repeated in each row, and so is none of the source's words there.
    fn in_stanzas(self, source: &str, width: usize) -> Vec<Vec<RowPiece>> {
        let mut rows = self.rows.into_iter();
        let heading = rows.next().unwrap_or_default();
        if rows.len() == 0 {
            return heading;
        }
        let keys: Vec<String> = heading
            .iter()
            .map(|cell| cell.iter().map(|piece| piece.text(source).0).collect())
            .collect();
        let mut lines = Vec::new();
        for (index, row) in rows.enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            for (place, cell) in row.into_iter().enumerate() {
                let mut line = Vec::new();
                if let Some(key) = keys.get(place).filter(|key| !key.is_empty()) {
                    let look = Look::new(Token::Text).bold();
                    // In full once: a long one in each of many rows would be no end of text.
                    let short = if index == 0 {
                        key
                    } else {
                        text::take_width(key, width.max(20))
                    };
                    line.push(RowPiece::drawn(format!("{short}: "), look));
                }
                line.extend(cell);
                lines.push(line);
            }
        }
        lines
    }
}

fn columns_of(source: &str, cell: &[RowPiece]) -> usize {
    cell.iter()
        .map(|piece| text::width(piece.text(source).0))
        .sum()
}

fn spaces(count: usize) -> Option<RowPiece> {
    (count > 0).then(|| RowPiece::drawn(" ".repeat(count), Look::new(Token::Text)))
}

fn rule(columns: &[usize]) -> RowPiece {
    let parts: Vec<String> = columns.iter().map(|column| "─".repeat(*column)).collect();
    RowPiece::drawn(parts.join("─┼─"), BORDER)
}
