//! The first row: which conversation, on which service, and who is attached to it.

use harness_protocol::ActivityState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{RowWriter, cut, width};
use crate::app::App;
use crate::text::{end_of, one_line, someone};
use crate::theme::{Look, Token};

/// Maximum number of names that are shown.
const MAX_NAMES: usize = 3;
/// The columns between the title and the names.
const GAP: u16 = 2;

/// The separator between two things of the row.
const BETWEEN: &str = " · ";

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let status = app.conversation.status();
    let mut line = RowWriter::new(app, buffer, area);
    let dim = Look::new(Token::Quiet);
    line.say_right(" ", dim);
    line.say(" ", dim);
    let id = one_line(&status.conversation);
    let title = status.title.as_deref().map_or(id.clone(), one_line);
    // What one is attached to comes before who else is, and takes what the title leaves, which
    // has no more than half of the row.
    let for_title = width(&title).min(line.room() / 2);
    let service = service(app, line.room().saturating_sub(for_title + GAP));
    let for_service: u16 = service.iter().map(|(words, _)| width(words)).sum();
    let left = line.room().saturating_sub(for_title + for_service + GAP);
    let clients = [clients(app), count(app)];
    if let Some(fitting) = clients.iter().find(|it| width(it) <= left) {
        line.say_right(fitting, dim);
    }
    let room = line.room().saturating_sub(GAP + for_service);
    line.say(&cut(&title, room), Look::new(Token::Text).bold());
    for (words, look) in &service {
        line.say(words, *look);
    }
    if status.state == ActivityState::WaitingApproval {
        line.say(
            &format!("{BETWEEN}waits for approval"),
            Look::new(Token::Notice),
        );
    }
    let jobs = match status.jobs.len() {
        0 => String::new(),
        1 => format!("{BETWEEN}1 job"),
        jobs => format!("{BETWEEN}{jobs} jobs"),
    };
    if width(&jobs) <= line.room() {
        line.say(&jobs, Look::new(Token::Notice));
    }
    let id = format!("{BETWEEN}{id}");
    if status.title.is_some() && width(&id) + GAP <= line.room() {
        line.say(&id, dim);
    }
}

/// The service that the client is attached to, in at most so many columns: that it is the demo, that it is of another
/// release, and the folder that is worked in. What does not fit is left out, and of the folder the
/// beginning.
fn service(app: &App, room: u16) -> Vec<(String, Look)> {
    let mut pieces = Pieces {
        shown: Vec::new(),
        left: room,
    };
    if let Some(service) = &app.service {
        if service.is_demo {
            pieces.say("demo", Token::Notice);
        }
        if let Some(words) = service.other_version()
            && !pieces.say(&words, Token::Notice)
        {
            let theirs = one_line(&service.version);
            pieces.say(&format!("service {theirs}"), Token::Notice);
        }
    }
    let for_folder = pieces.left.saturating_sub(width(BETWEEN));
    let folder = app.folder();
    if let Some(end) = folder.and_then(|folder| end_of(&folder, for_folder.into())) {
        pieces.say(&end, Token::Quiet);
    }
    pieces.shown
}

/// The shown pieces in their order, and the columns that are left.
struct Pieces {
    shown: Vec<(String, Look)>,
    left: u16,
}

impl Pieces {
    /// Takes something in if it fits; whether it does.
    fn say(&mut self, words: &str, token: Token) -> bool {
        let words = format!("{BETWEEN}{words}");
        let Some(left) = self.left.checked_sub(width(&words)) else {
            return false;
        };
        self.left = left;
        self.shown.push((words, Look::new(token)));
        true
    }
}

/// Number of clients that are attached, in words.
fn count(app: &App) -> String {
    match app.conversation.status().clients {
        0 => String::new(),
        1 => "1 client".to_owned(),
        clients => format!("{clients} clients"),
    }
}

/// The attached clients, this one first.
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
