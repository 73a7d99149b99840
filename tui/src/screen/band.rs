//! The approvals that wait for an operator's answer, above the input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::RowWriter;
use crate::app::{App, BAND_FRAME};
use crate::theme::{Look, Token};

/// The columns before what is asked.
const INDENT: u16 = 3;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let Some(band) = &app.band else {
        return;
    };
    let row = |number: u16| Rect {
        y: area.y + number,
        height: 1,
        ..area
    };
    if area.height == 0 {
        return;
    }
    let status = Look::new(Token::Notice);
    let mut line = RowWriter::new(app, buffer, row(0));
    line.say(" ? ", status.bold());
    let height = usize::from(area.height.saturating_sub(BAND_FRAME));
    let window = band.window(height);
    line.say(band.head(), status.bold());
    // Where the head leaves no room for it, the keys still name the way to the end.
    let below = match band.below(height) {
        0 => None,
        1 => Some("1 more row below ".to_owned()),
        many => Some(format!("{many} more rows below ")),
    };
    if let Some(below) = below {
        line.say_right(&below, Look::new(Token::Quiet));
    }
    for (number, shown) in (1..).zip(window) {
        let area = row(number);
        let area = Rect {
            x: area.x + INDENT.min(area.width),
            width: area.width.saturating_sub(INDENT),
            ..area
        };
        shown.draw(band.source(), &app.theme, &[], area, buffer);
    }
    if area.height > 1 {
        let mut line = RowWriter::new(app, buffer, row(area.height - 1));
        let look = match band.has_focus {
            true => status.bold(),
            false => Look::new(Token::Quiet),
        };
        line.say("   ", look).say(&band.hint(), look);
    }
}
