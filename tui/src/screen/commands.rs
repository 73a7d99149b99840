//! The commands that fit what is written, above the input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Regions;
use super::line::Line;
use crate::app::{App, Command};
use crate::layout::Look;
use crate::theme::Token;

/// How many are shown at once.
const MAX_ROWS: usize = 8;

pub(super) fn draw(app: &App, buffer: &mut Buffer, regions: &Regions) {
    let fitting = app.fitting_commands();
    if fitting.is_empty() {
        return;
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
    let named = |command: &Command| format!("/{} {}", command.name, command.arguments);
    let widths = fitting.iter().map(|command| named(command).len());
    let widest = widths.max().unwrap_or(0);
    let rows = fitting.iter().enumerate().skip(first);
    for (y, (number, command)) in (area.top()..area.bottom()).zip(rows) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        let mut line = Line::new(app, buffer, row);
        let mut name = Look::new(Token::ToolName);
        let mark = if number == chosen { " › " } else { "   " };
        if number == chosen {
            name = name.bold();
        }
        line.say(&format!("{mark}{:<widest$}  ", named(command)), name);
        line.say(command.help, Look::new(Token::Text));
    }
}
