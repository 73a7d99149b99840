//! A box over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::RowWriter;
use crate::app::App;
use crate::theme::{Look, Token};

/// A box in the middle of an area, with a title at its top left and a remark at its top right; the
/// room within it.
pub(super) fn centred(
    app: &App,
    buffer: &mut Buffer,
    area: Rect,
    size: (u16, u16),
    titles: (&str, &str),
) -> Rect {
    let width = size.0.min(area.width);
    let height = size.1.min(area.height);
    let outer = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    clear(app, buffer, outer);
    draw(app, buffer, outer, titles)
}

/// Takes away what is drawn in an area.
pub(super) fn clear(app: &App, buffer: &mut Buffer, area: Rect) {
    let area = area.intersection(buffer.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buffer[(x, y)].reset();
        }
        // The other half of a wide character must not stay alone.
        if area.left() > buffer.area.left() {
            let beside = &mut buffer[(area.left() - 1, y)];
            if super::line::width(beside.symbol()) > 1 {
                beside.set_symbol(" ");
            }
        }
    }
    buffer.set_style(area, app.theme.ground());
}

/// A box around an area; the room within it, with a free column at each side.
pub(super) fn draw(app: &App, buffer: &mut Buffer, outer: Rect, titles: (&str, &str)) -> Rect {
    let look = Look::new(Token::Border);
    let row = |y: u16| Rect {
        y,
        height: 1,
        ..outer
    };
    if outer.height < 2 || outer.width < 4 {
        return outer;
    }
    let top = row(outer.top());
    let mut line = RowWriter::new(app, buffer, top);
    line.say("╭", look);
    line.say_right("╮", look);
    if !titles.0.is_empty() {
        line.say("─ ", look)
            .say(titles.0, Look::new(Token::Text))
            .say(" ", look);
    }
    if !titles.1.is_empty() && line.say_right("─", look) {
        line.say_right(&format!(" {} ", titles.1), Look::new(Token::Quiet));
    }
    line.fill("─", look);
    let bottom = row(outer.bottom() - 1);
    let mut line = RowWriter::new(app, buffer, bottom);
    line.say("╰", look);
    line.say_right("╯", look);
    line.fill("─", look);
    for y in outer.top() + 1..outer.bottom() - 1 {
        let mut line = RowWriter::new(app, buffer, row(y));
        line.say("│", look);
        line.say_right("│", look);
    }
    Rect {
        x: outer.x + 2,
        y: outer.y + 1,
        width: outer.width - 4,
        height: outer.height - 2,
    }
}
