//! The line below the conversation: what is new, remarks, a search.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::line::{Line, width};
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
    let mut line = Line::new(app, buffer, area);
    let border = Look::new(Token::Border);
    line.say("─", border);
    if let Some(toast) = &app.toast {
        let token = if toast.is_error {
            Token::Error
        } else {
            Token::Status
        };
        let word = if toast.is_error { "error: " } else { "" };
        let text = format!(" {word}{} ", one_line(&toast.text));
        line.say(&text, Look::new(token));
    }
    line.say_right("─", border);
    let unseen = app.viewport.unseen(&app.conversation);
    if unseen > 0 {
        line.say_right(&format!(" ↓ {unseen} new "), Look::new(Token::Status));
    } else if !app.viewport.is_following() {
        line.say_right(" ↓ more below ", Look::new(Token::Reasoning));
    }
    if app.is_loading_older {
        line.say_right(" ↑ loading ", Look::new(Token::Reasoning));
    }
    line.fill("─", border);
}

/// The pastes that were set aside, the last one last.
pub(super) fn draw_pastes(app: &App, buffer: &mut Buffer, area: Rect) {
    let chips = app.composer.chips();
    if chips.is_empty() {
        return;
    }
    let mut line = Line::new(app, buffer, area);
    let dim = Look::new(Token::Reasoning);
    line.say(" attached", dim);
    for (number, chip) in chips.iter().enumerate() {
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

/// What is searched for; where the caret is.
pub(super) fn draw_search(
    app: &App,
    search: &SearchBox,
    buffer: &mut Buffer,
    area: Rect,
) -> Option<Position> {
    super::frame::clear(app, buffer, area);
    let mut line = Line::new(app, buffer, area);
    line.say(" /", Look::new(Token::Status));
    let text = search.field.text();
    let found = match search.found() {
        "" => String::new(),
        found => format!("  {found} "),
    };
    let taken = width(text).saturating_add(width(&found));
    let left = line.room().saturating_sub(taken.saturating_add(1));
    if let Some(hint) = SEARCH_HINTS.iter().find(|hint| width(hint) < left) {
        line.say_right(hint, Look::new(Token::Reasoning));
    }
    line.say_right(&found, Look::new(Token::Status));
    line.say_end(text, Look::new(Token::Text));
    let last = area.right().saturating_sub(1);
    let caret = Position::new(line.column().min(last), area.y);
    Some(caret)
}
