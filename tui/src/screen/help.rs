//! The help, and boxes with a few lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::frame;
use super::line::{RowWriter, width};
use crate::app::{App, help};
use crate::text::{broken, one_line};
use crate::theme::{Look, Token};

/// From this width of the screen on it is said too what closes a help that does not fit.
const REMARK_FROM: u16 = 48;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect, above: u16) {
    let columns = help::columns(area.width);
    let overflow = help::overflow((area.width, area.height));
    let remark = match overflow {
        0 => "any key closes",
        _ if area.width < REMARK_FROM => "↑↓ more",
        _ => "↑↓ more, any other key closes",
    };
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
    let size = (help::box_width(area.width), height);
    let inner = frame::centred(app, buffer, area, size, ("Help", remark));
    let count = u16::try_from(columns.len()).unwrap_or(1).max(1);
    let gap = u16::try_from(help::GAP).unwrap_or(0) * (count - 1);
    let width = inner.width.saturating_sub(gap) / count;
    for (number, column) in (0..count).zip(columns) {
        let x = inner.x + number * (inner.width - width);
        let shown = column.iter().skip(usize::from(above.min(overflow)));
        for (y, words) in (inner.top()..inner.bottom()).zip(shown) {
            let row = Rect::new(x, y, width, 1);
            let mut line = RowWriter::new(app, buffer, row);
            for (words, look) in words {
                line.say(words, *look);
            }
        }
    }
}

/// A box with a few lines; long ones are broken.
pub(super) fn draw_facts(app: &App, buffer: &mut Buffer, area: Rect, facts: &[String]) {
    let room = usize::from(help::WIDTHS.0.min(area.width).saturating_sub(4).max(1));
    let facts: Vec<String> = facts
        .iter()
        .flat_map(|fact| broken(&one_line(fact), room).collect::<Vec<_>>())
        .collect();
    let widest = facts.iter().map(|fact| width(fact)).max().unwrap_or(0);
    let height = u16::try_from(facts.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let size = (widest.saturating_add(4).clamp(24, help::WIDTHS.0), height);
    let inner = frame::centred(app, buffer, area, size, ("", "any key closes"));
    for (y, fact) in (inner.top()..inner.bottom()).zip(&facts) {
        let row = Rect {
            y,
            height: 1,
            ..inner
        };
        RowWriter::new(app, buffer, row).say(fact, Look::new(Token::Text));
    }
}
