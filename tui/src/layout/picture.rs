//! Rows as text that a test can keep: what they say and, below each, how it looks.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Mark, PartLayout};
use crate::theme::Theme;

/// The drawn block, a line of letters for the styles below each row, and the meaning of the letters. A wide character
/// covers the column behind it, which is shown as `·`.
pub(crate) fn picture(block: &PartLayout, theme: &Theme, width: u16, marks: &[Mark]) -> String {
    let mut styles: Vec<Style> = Vec::new();
    let mut out = String::new();
    let area = Rect::new(0, 0, width, 1);
    for row in &block.rows {
        let mut buffer = Buffer::empty(area);
        buffer.set_style(area, theme.ground());
        row.draw(&block.source, theme, marks, area, &mut buffer);
        let mut text = String::new();
        let mut letters = String::new();
        let mut covered = 0;
        for cell in &buffer.content {
            if covered > 0 {
                covered -= 1;
                text.push('·');
            } else {
                covered = crate::text::width(cell.symbol()).saturating_sub(1);
                text.push_str(cell.symbol());
            }
            let mut style = cell.style();
            style.underline_color = None;
            let index = styles
                .iter()
                .position(|known| *known == style)
                .unwrap_or_else(|| {
                    styles.push(style);
                    styles.len() - 1
                });
            letters.push(char::from(b'a' + u8::try_from(index).unwrap()));
        }
        writeln!(out, "|{text}|\n {letters}").unwrap();
    }
    for (letter, style) in ('a'..).zip(styles) {
        let color = |color: Option<_>| color.map_or("none".to_owned(), |color| format!("{color}"));
        let (fg, bg) = (color(style.fg), color(style.bg));
        writeln!(out, "{letter}: {fg} on {bg} {:?}", style.add_modifier).unwrap();
    }
    out
}

/// The texts of the rows, one a line, without spaces at their ends.
pub(crate) fn text(block: &PartLayout) -> Vec<String> {
    block
        .rows
        .iter()
        .map(|row| {
            let row: String = row
                .pieces
                .iter()
                .map(|piece| piece.text(&block.source).0)
                .collect();
            row.trim_end().to_owned()
        })
        .collect()
}
