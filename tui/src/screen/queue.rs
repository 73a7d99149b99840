//! The queued messages, above the input.

use harness_protocol::words;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{RowWriter, width};
use crate::app::{App, author_name, shown_in_queue, when};
use crate::conversation::{Author, WaitingMessage};
use crate::text::one_line;
use crate::theme::{Look, Token};

/// From so many columns on it is said when each is said.
const WHEN_FROM: u16 = 40;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let waiting = app.conversation.waiting();
    if waiting.is_empty() {
        return;
    }
    let rows = (area.top()..area.bottom()).map(|y| Rect {
        y,
        height: 1,
        ..area
    });
    let dim = Look::new(Token::Quiet);
    let shown = shown_in_queue(buffer.area);
    let is_own = |waits: &&WaitingMessage| waits.by == Author::You;
    let last_own = waiting.iter().filter(is_own).map(|waits| waits.item).max();
    for (number, row) in rows.enumerate() {
        let mut line = RowWriter::new(app, buffer, row);
        line.say(if number == 0 { " queue " } else { "       " }, dim);
        match waiting.get(number).filter(|_| number < shown) {
            Some(waits) => {
                let can_take = app.composer.is_empty() && Some(waits.item) == last_own;
                message(app, &mut line, waits, can_take);
            }
            None => {
                let count = waiting.len() - number.min(shown);
                let more = if number == 0 { "" } else { "more " };
                let verb = if count == 1 { "waits" } else { "wait" };
                let text = format!("{count} {more}{verb} · /queue lists them");
                line.say(&text, Look::new(Token::User));
            }
        }
    }
}

/// A message: its number, its queue, who sent it, its first line, and when it is said.
fn message(app: &App, line: &mut RowWriter<'_>, waits: &WaitingMessage, can_take: bool) {
    let dim = Look::new(Token::Quiet);
    let mut hint = String::new();
    if line.room() >= WHEN_FROM {
        hint = format!("  ({}) ", when(waits, app.is_busy()));
        if can_take {
            let longer = format!("{hint}· Backspace takes it back ");
            if width(&longer) < line.room() / 2 {
                hint = longer;
            }
        }
    }
    line.say_right(&hint, dim);
    line.say(
        &format!("{} {:<9} ", waits.item, words::queue(waits.queue)),
        dim,
    );
    let user = Look::new(Token::User);
    line.say(&format!("{}: ", author_name(&waits.by)), user.bold());
    let mut lines = waits.content.lines().filter(|line| !line.trim().is_empty());
    let first = one_line(lines.next().unwrap_or_default());
    let more = if lines.next().is_some() { " …" } else { "" };
    let files = match waits.files {
        0 => String::new(),
        1 => " [1 file]".to_owned(),
        many => format!(" [{many} files]"),
    };
    line.say(&format!("{first}{more}{files}"), user);
}
