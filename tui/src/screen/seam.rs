//! The line below the conversation: what is new, remarks, a search.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::line::{RowWriter, width};
use crate::app::{App, SearchBox};
use crate::text::one_line;
use crate::theme::{Look, Token};

/// The keys of a search, in as many words as there is room for.
const SEARCH_HINTS: [&str; 3] = [
    "  Enter next · ↑ before · Tab stay · Esc back ",
    "  Enter next · Esc back ",
    "  Esc back ",
];

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let mut line = RowWriter::new(app, buffer, area);
    let border = Look::new(Token::Border);
    line.say("─", border);
    if let Some(toast) = &app.toast {
        let token = if toast.is_error {
            Token::Error
        } else {
            Token::Notice
        };
        let word = if toast.is_error { "error: " } else { "" };
        let text = format!(" {word}{} ", one_line(&toast.text));
        line.say(&text, Look::new(token));
    }
    line.say_right("─", border);
    let unseen = app.viewport.unseen(&app.conversation);
    if unseen > 0 {
        line.say_right(&format!(" ↓ {unseen} new "), Look::new(Token::Notice));
    } else if !app.viewport.is_following() {
        line.say_right(" ↓ more below ", Look::new(Token::Quiet));
    }
    if app.is_loading_older {
        line.say_right(" ↑ loading ", Look::new(Token::Quiet));
    }
    line.fill("─", border);
}

/// The pastes that were set aside, the last one last.
pub(super) fn draw_pastes(app: &App, buffer: &mut Buffer, area: Rect) {
    let mut chips = app.composer.live_chips().enumerate().peekable();
    if chips.peek().is_none() {
        return;
    }
    let mut line = RowWriter::new(app, buffer, area);
    let dim = Look::new(Token::Quiet);
    line.say(" attached", dim);
    for (number, chip) in chips {
        if chip.file.is_some() {
            let text = format!("  [{}] {}", number + 1, one_line(&chip.text));
            line.say(&text, Look::new(Token::User));
            continue;
        }
        let size = if chip.bytes < 1000 {
            format!("{} B", chip.bytes)
        } else {
            format!("{} kB", chip.bytes / 1000)
        };
        let plural = if chip.lines == 1 { "" } else { "s" };
        let lines = chip.lines;
        let text = format!("  [{}] pasted, {lines} line{plural}, {size}", number + 1);
        line.say(&text, Look::new(Token::User));
    }
    line.say_right(" Alt+V opens, Backspace drops ", dim);
}

/// The search text, and the caret in it.
pub(super) fn draw_search(
    app: &App,
    search: &SearchBox,
    buffer: &mut Buffer,
    area: Rect,
) -> Option<Position> {
    super::frame::clear(app, buffer, area);
    let mut line = RowWriter::new(app, buffer, area);
    line.say(" /", Look::new(Token::Notice));
    let text = search.field.text();
    let found = match search.found() {
        found if found.is_empty() => found,
        found => format!("  {found} "),
    };
    let taken = width(text).saturating_add(width(&found));
    let left = line.room().saturating_sub(taken.saturating_add(1));
    if let Some(hint) = SEARCH_HINTS.iter().find(|hint| width(hint) < left) {
        line.say_right(hint, Look::new(Token::Quiet));
    }
    line.say_right(&found, Look::new(Token::Notice));
    line.say_end(text, Look::new(Token::Text));
    let last = area.right().saturating_sub(1);
    let caret = Position::new(line.column().min(last), area.y);
    Some(caret)
}
