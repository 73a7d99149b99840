//! Completions of the command that is being written, above the input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{RowWriter, cut, width};
use crate::app::{App, Regions};
use crate::text::one_line;
use crate::theme::{Look, Token};

/// Maximum number of commands that are shown at once.
const MAX_ROWS: usize = 8;

/// Draws them; the area that they take.
pub(super) fn draw(app: &App, buffer: &mut Buffer, regions: &Regions) -> Rect {
    let fitting = app.completions();
    if fitting.is_empty() {
        return Rect::ZERO;
    }
    let room = usize::from(regions.status.y.saturating_sub(regions.header.y));
    let count = fitting.len().min(MAX_ROWS).min(room);
    let chosen = app.chosen_command(fitting.len());
    let first = (chosen + 1).saturating_sub(count);
    let height = u16::try_from(count).unwrap_or(0);
    let area = Rect {
        y: regions.status.y - height,
        height,
        ..regions.status
    };
    super::frame::clear(app, buffer, area);
    // Names may come from elsewhere.
    let labels: Vec<String> = fitting.iter().map(|it| one_line(&it.label)).collect();
    let widest = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let widest = widest.min(area.width / 2);
    let rows = fitting.iter().enumerate().skip(first);
    for (y, (number, completion)) in (area.top()..area.bottom()).zip(rows) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        let mut line = RowWriter::new(app, buffer, row);
        if fitting.len() > count && y + 1 == area.bottom() {
            let place = format!("  {}/{} ", chosen + 1, fitting.len());
            line.say_right(&place, Look::new(Token::Quiet));
        }
        let mut name = Look::new(Token::Notice);
        let mark = if number == chosen { " › " } else { "   " };
        if number == chosen {
            name = name.bold();
        }
        let label = cut(&labels[number], widest);
        let space = " ".repeat(usize::from(widest.saturating_sub(width(&label))));
        line.say(&format!("{mark}{label}{space}  "), name);
        line.say(&one_line(&completion.help), Look::new(Token::Text));
    }
    area
}
