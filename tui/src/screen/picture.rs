//! The whole screen as text that a test can keep: what each row says and, below it, how it looks.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::app::App;

/// The screen of a client at its size.
pub(super) fn buffer(app: &mut App) -> Buffer {
    drawn(app).backend().buffer().clone()
}

fn drawn(app: &mut App) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(app.size.0, app.size.1)).unwrap();
    terminal.draw(|frame| super::draw(app, frame)).unwrap();
    terminal
}

/// The rows of a screen, without blanks at their ends. The column that a wide character covers is
/// left out.
pub(super) fn rows(app: &mut App) -> Vec<String> {
    let buffer = buffer(app);
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    rows.map(|cells| visible_text(cells.iter().map(ratatui::buffer::Cell::symbol), ""))
        .map(|row| row.trim_end().to_owned())
        .collect()
}

/// The texts of cells, with a placeholder for those that a wide character covers.
fn visible_text<'a>(symbols: impl Iterator<Item = &'a str>, covered: &str) -> String {
    let mut text = String::new();
    let mut left = 0;
    for symbol in symbols {
        if left > 0 {
            left -= 1;
            text.push_str(covered);
        } else {
            left = crate::text::width(symbol).saturating_sub(1);
            text.push_str(symbol);
        }
    }
    text
}

/// The screen, a line of letters for the styles below each row that is not plain, where the
/// caret is, and what the letters mean. A wide character covers the column behind it, which is
/// shown as `·`.
pub(super) fn picture(app: &mut App) -> String {
    let mut terminal = drawn(app);
    let caret = terminal.get_cursor_position().unwrap();
    let is_shown = terminal.backend().cursor_visible();
    let buffer = terminal.backend().buffer().clone();
    let mut styles = vec![app.theme.ground()];
    let mut out = String::new();
    for cells in buffer.content.chunks(usize::from(buffer.area.width)) {
        let text = visible_text(cells.iter().map(ratatui::buffer::Cell::symbol), "·");
        let mut letters = String::new();
        let mut left = 0;
        for cell in cells {
            // What a wide character covers looks as it does.
            let covering = letters.chars().next_back().filter(|_| left > 0);
            left = crate::text::width(cell.symbol())
                .max(left)
                .saturating_sub(1);
            letters.push(covering.unwrap_or_else(|| letter(cell, &mut styles)));
        }
        writeln!(out, "|{text}|").unwrap();
        let letters = letters.trim_end_matches('.');
        if !letters.is_empty() {
            writeln!(out, " {letters}").unwrap();
        }
    }
    if is_shown {
        writeln!(out, "caret at {},{}", caret.x, caret.y).unwrap();
    }
    for (letter, style) in ('a'..).zip(styles.iter().skip(1)) {
        let color = |color: Option<_>| color.map_or("none".to_owned(), |color| format!("{color}"));
        let (fg, bg) = (color(style.fg), color(style.bg));
        writeln!(out, "{letter}: {fg} on {bg} {:?}", style.add_modifier).unwrap();
    }
    out
}

/// A dot for a blank of the ground, a letter for each style.
fn letter(cell: &ratatui::buffer::Cell, styles: &mut Vec<Style>) -> char {
    let mut style = cell.style();
    style.underline_color = None;
    let ground = styles[0].bg.unwrap_or_default();
    if cell.symbol() == " " && cell.bg == ground && style.add_modifier.is_empty() {
        return '.';
    }
    let index = styles.iter().skip(1).position(|known| *known == style);
    let index = index.unwrap_or_else(|| {
        styles.push(style);
        styles.len() - 2
    });
    char::from(b'a' + u8::try_from(index).unwrap())
}
