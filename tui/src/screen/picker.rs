//! The list of conversations.

use harness_protocol::{ConversationSummary, words};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame;
use super::line::{RowWriter, cut, width};
use crate::app::{App, Picker, PickerMode, PickerScope, Regions};
use crate::text::{end_of, one_line};
use crate::theme::{Look, Token};

/// Maximum size of the box, in columns and rows.
const SIZE: (u16, u16) = (100, 24);
/// The rows of the box beside the list: its border, the filter and the keys.
const FRAME_ROWS: u16 = 4;
/// As high must the box be that leaves the line with the remarks free.
const LOWEST: u16 = 6;
/// From this width on the state and the numbers are shown too.
const FACTS_FROM: u16 = 56;
/// The width that the border takes beside the title.
const TITLE_MARGIN: u16 = 6;
/// The part of the room that the folder of a conversation has at most: one third.
const FOLDER_SHARE: u16 = 3;

/// Draws it; where the caret is.
pub(super) fn draw(
    app: &App,
    picker: &Picker,
    buffer: &mut Buffer,
    area: Rect,
) -> Option<Position> {
    let title = title(picker, SIZE.0.min(area.width).saturating_sub(TITLE_MARGIN));
    let rows = u16::try_from(picker.count().max(1)).unwrap_or(u16::MAX);
    let size = (SIZE.0, rows.saturating_add(FRAME_ROWS).min(SIZE.1));
    let inner = frame::centred(app, buffer, place(app, area), size, (&title, "Ctrl+N new"));
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
    filter.say_end(picker.filter.text(), Look::new(Token::Text));
    let mut caret = Position::new(filter.column(), inner.y);
    let below = inner.y + 1..inner.bottom().saturating_sub(1);
    let shown = picker.matches();
    if shown.is_empty() {
        let words = if picker.is_loading() {
            "loading…"
        } else {
            "none like that"
        };
        RowWriter::new(app, buffer, row(below.start)).say(words, dim);
    }
    let chosen = picker.chosen().unwrap_or(0);
    let first = (chosen + 1).saturating_sub(below.len());
    for (y, (number, summary)) in below.zip(shown.iter().enumerate().skip(first)) {
        let mut line = RowWriter::new(app, buffer, row(y));
        match &picker.mode {
            PickerMode::Renaming(title) if number == chosen => {
                line.say("new title: ", Look::new(Token::Notice));
                line.say_end(title.text(), Look::new(Token::Text));
                caret = Position::new(line.column(), y);
            }
            _ => entry(app, picker, &mut line, summary, number == chosen),
        }
    }
    let keys = match (&picker.mode, picker.scope()) {
        (PickerMode::Choosing, None) => "Enter open · Tab rename · Ctrl+X trash · Esc close",
        (PickerMode::Choosing, Some((PickerScope::Folder, _))) => {
            "Enter open · Ctrl+A all folders · Tab rename · Ctrl+X trash · Esc close"
        }
        (PickerMode::Choosing, Some((PickerScope::All, _))) => {
            "Enter open · Ctrl+A this folder · Tab rename · Ctrl+X trash · Esc close"
        }
        (PickerMode::Renaming(_), _) => "Enter renames it for all clients · Esc keeps the title",
        (PickerMode::Trashing, _) => "Ctrl+X again moves it to the trash · Esc keeps it",
    };
    let token = if picker.mode == PickerMode::Trashing {
        Token::Error
    } else {
        Token::Quiet
    };
    RowWriter::new(app, buffer, row(inner.bottom() - 1)).say(keys, Look::new(token));
    let last = Position::new(inner.right().saturating_sub(1), caret.y);
    Some(Position::new(caret.x.min(last.x), caret.y))
}

/// The area of the box: above the line with the remarks, unless that is too little.
pub(super) fn place(app: &App, area: Rect) -> Rect {
    let above = Regions::layout(app, area).seam.y.saturating_sub(area.y);
    let height = if above < LOWEST { area.height } else { above };
    Rect { height, ..area }
}

/// The title of the list, in about so many columns; of a folder the end is shown.
fn title(picker: &Picker, room: u16) -> String {
    let listed = "Conversations";
    match picker.scope() {
        None => listed.to_owned(),
        Some((PickerScope::All, _)) => format!("{listed} of all folders"),
        Some((PickerScope::Folder, folder)) => {
            let listed = format!("{listed} of ");
            let end = end_of(&folder, room.saturating_sub(width(&listed)).into());
            listed + &end.unwrap_or_else(|| "this folder".to_owned())
        }
    }
}

fn entry(
    app: &App,
    picker: &Picker,
    line: &mut RowWriter<'_>,
    summary: &ConversationSummary,
    is_chosen: bool,
) {
    let dim = Look::new(Token::Quiet);
    let title = match &summary.title {
        Some(title) => one_line(title),
        None => one_line(&summary.id),
    };
    let is_open = summary.id == app.open_id();
    let mark = if is_chosen { "› " } else { "  " };
    line.say(mark, Look::new(Token::Notice));
    if line.room() >= FACTS_FROM {
        let state = words::conversation_state(summary);
        let plural = if summary.prompts == 1 { " " } else { "s" };
        let facts = format!(" {state:>11}  {:>4} prompt{plural}", summary.prompts);
        line.say_right(&facts, dim);
    }
    if let Some(folder) = picker.folder_of(summary)
        && let Some(end) = end_of(&folder, (line.room() / FOLDER_SHARE).into())
    {
        line.say_right(&format!("  {end}"), dim);
    }
    let mut look = Look::new(Token::Text);
    if is_chosen {
        look = look.bold();
    }
    let open = if is_open { " (open)" } else { "" };
    let room = line.room().saturating_sub(width(open));
    line.say(&cut(&title, room), look).say(open, dim);
}
