//! The first row: which conversation, and who is attached to it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{Line, cut, width};
use crate::app::App;
use crate::layout::Look;
use crate::text::{one_line, someone};
use crate::theme::Token;

/// How many names are shown.
const MAX_NAMES: usize = 3;
/// The columns between the title and the names.
const GAP: u16 = 2;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let status = app.conversation.status();
    let mut line = Line::new(app, buffer, area);
    let dim = Look::new(Token::Reasoning);
    line.say_right(" ", dim);
    line.say(" ", dim);
    let id = one_line(&status.conversation);
    let title = status.title.as_deref().map_or(id.clone(), one_line);
    // Names may take what the title leaves, and no more than half of the row.
    let for_title = width(&title).min(line.room() / 2);
    let left = line.room().saturating_sub(for_title + GAP);
    let clients = [clients(app), count(app)];
    if let Some(fitting) = clients.iter().find(|it| width(it) <= left) {
        line.say_right(fitting, dim);
    }
    let room = line.room().saturating_sub(GAP);
    line.say(&cut(&title, room), Look::new(Token::Text).bold());
    let id = format!(" · {id}");
    if status.title.is_some() && width(&id) + GAP <= line.room() {
        line.say(&id, dim);
    }
}

/// How many are attached.
fn count(app: &App) -> String {
    match app.conversation.status().clients {
        0 => String::new(),
        1 => "1 client".to_owned(),
        clients => format!("{clients} clients"),
    }
}

/// Who is attached, oneself first.
fn clients(app: &App) -> String {
    let status = app.conversation.status();
    if status.clients == 0 {
        return String::new();
    }
    let mut names: Vec<String> = status.names.iter().map(|name| someone(name)).collect();
    if let Some(own) = status.names.iter().position(|name| name == app.name()) {
        names.remove(own);
        names.insert(0, "you".to_owned());
    }
    let more = status.clients.saturating_sub(names.len().min(MAX_NAMES));
    names.truncate(MAX_NAMES);
    if more > 0 && !names.is_empty() {
        names.push(format!("{more} more"));
    }
    let colon = if names.is_empty() { "" } else { ": " };
    format!("{}{colon}{}", count(app), names.join(", "))
}
