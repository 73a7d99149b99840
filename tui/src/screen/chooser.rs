//! A list of models, skills or templates.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame;
use super::line::RowWriter;
use super::picker::place;
use crate::app::{App, Chooser, offer_names};
use crate::text::one_line;
use crate::theme::{Look, Token};

/// Maximum size of the box, in columns and rows.
const SIZE: (u16, u16) = (100, 24);
/// The rows of the box beside the list: its border, the filter and the keys.
const FRAME_ROWS: u16 = 4;

/// Draws it; where the caret is.
pub(super) fn draw(
    app: &App,
    chooser: &Chooser,
    buffer: &mut Buffer,
    area: Rect,
) -> Option<Position> {
    let (one, all) = offer_names(chooser.kind);
    let title = if chooser.is_first {
        format!("No {one} is set: choose one")
    } else {
        format!("Choose a {one}")
    };
    let rows = u16::try_from(chooser.count().max(1)).unwrap_or(u16::MAX);
    let size = (SIZE.0, rows.saturating_add(FRAME_ROWS).min(SIZE.1));
    let inner = frame::centred(app, buffer, place(app, area), size, (&title, ""));
    if inner.height < 2 {
        return None;
    }
    let row = |y: u16| Rect {
        y,
        height: 1,
        ..inner
    };
    let dim = Look::new(Token::Quiet);
    let mut filter = RowWriter::new(app, buffer, row(inner.y));
    filter.say("> ", Look::new(Token::Notice));
    filter.say_end(chooser.filter.text(), Look::new(Token::Text));
    let caret = Position::new(filter.column(), inner.y);
    let below = inner.y + 1..inner.bottom().saturating_sub(1);
    let shown = chooser.matches();
    if shown.is_empty() {
        let words = if chooser.is_loading() {
            "loading…".to_owned()
        } else if chooser.count() == 0 {
            format!("the service has no {all}")
        } else {
            "none like that".to_owned()
        };
        RowWriter::new(app, buffer, row(below.start)).say(&words, dim);
    }
    let chosen = chooser.chosen().unwrap_or(0);
    let first = (chosen + 1).saturating_sub(below.len());
    for (y, (number, offer)) in below.zip(shown.iter().enumerate().skip(first)) {
        let mut line = RowWriter::new(app, buffer, row(y));
        let is_chosen = number == chosen;
        line.say(
            if is_chosen { "› " } else { "  " },
            Look::new(Token::Notice),
        );
        let mut look = Look::new(Token::Notice);
        if is_chosen {
            look = look.bold();
        }
        line.say(&one_line(&offer.name), look);
        line.say("  ", dim);
        line.say(&one_line(&offer.description), Look::new(Token::Text));
    }
    let keys = if chooser.is_first {
        "Enter takes it for this conversation · Esc leaves the default"
    } else {
        "Enter takes it · Esc close"
    };
    RowWriter::new(app, buffer, row(inner.bottom() - 1)).say(keys, dim);
    let last = Position::new(inner.right().saturating_sub(1), caret.y);
    Some(Position::new(caret.x.min(last.x), caret.y))
}
