//! The draft.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use super::line::RowWriter;
use crate::app::{App, Overlay, input_width};
use crate::composer::ViMode;
use crate::theme::{Look, Token};

/// Draws it; where the caret is.
pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) -> Option<Position> {
    if area.height == 0 || area.width == 0 {
        return None;
    }
    let hint = if let Some(Overlay::Search(_)) = app.overlay {
        "the search has the keys · Esc back"
    } else if app.command.is_some() {
        "a command runs · Ctrl+C ends it"
    } else if app.composer.text().starts_with('!') && app.composer.begins_typed() {
        "Enter runs it in the folder · !! keeps it from the model"
    } else if app.is_busy() {
        "Enter steers · Tab follows up · Ctrl+J new line"
    } else {
        "Enter sends · Ctrl+J new line"
    };
    let mode = app.vi_mode().map(ViMode::name);
    let hint = mode.map_or_else(|| hint.to_owned(), |mode| format!("{mode} · {hint}"));
    let inner = if area.height >= 3 && area.width >= 5 {
        let titles = if area.width >= 60 {
            ("", &*hint)
        } else {
            ("", mode.unwrap_or_default())
        };
        super::frame::draw(app, buffer, area, titles)
    } else {
        area
    };
    let width = input_width((area.width, area.height));
    let window = app.composer.window(width, inner.height);
    if app.composer.is_empty() {
        let mut line = RowWriter::new(app, buffer, inner);
        line.say("Enter prompt...", Look::new(Token::Quiet));
    }
    let text = app.composer.text();
    let selected = app.composer.vi_selection(&app.vi);
    let rows = (inner.top()..inner.bottom()).zip(&window.rows);
    for (y, row) in rows {
        let row_area = Rect {
            y,
            height: 1,
            ..inner
        };
        let mut line = RowWriter::new(app, buffer, row_area);
        let row = row.start..row.start + text[row.clone()].trim_end_matches('\n').len();
        let (start, end) = match &selected {
            Some(selected) => (
                selected.start.clamp(row.start, row.end),
                selected.end.clamp(row.start, row.end),
            ),
            None => (row.end, row.end),
        };
        let look = Look::new(Token::Text);
        line.say(&text[row.start..start], look);
        line.say(&text[start..end], look.with(Modifier::REVERSED));
        line.say(&text[end..row.end], look);
    }
    let x = inner.x + window.caret.column.min(inner.width);
    let y = inner.y
        + u16::try_from(window.caret.row)
            .unwrap_or(0)
            .min(inner.height.saturating_sub(1));
    let last = (area.right() - 1, area.bottom() - 1);
    Some(Position::new(x.min(last.0), y.min(last.1)))
}
