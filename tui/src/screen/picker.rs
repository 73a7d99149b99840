//! The list of conversations.

use harness_protocol::{ConversationSummary, words};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame;
use super::line::{RowWriter, cut, width};
use crate::app::{App, ConversationPreview, Picker, PickerMode, PickerScope, Regions};
use crate::text::{broken, end_of, one_line};
use crate::theme::{Look, Token};

/// Maximum size of the box, in columns and rows.
const SIZE: (u16, u16) = (100, 24);
/// The rows of the box beside the list: its border, the filter and the keys.
const FRAME_ROWS: u16 = 4;
/// As high must the box be that leaves the line with the remarks free.
const LOWEST: u16 = 6;
/// From this width on the state, the number of prompts and the age are shown too.
const FACTS_FROM: u16 = 56;
/// The rows for the end of the chosen conversation, and the minimum of rows for the list beside them.
const PREVIEW_ROWS: u16 = 3;
const LIST_ROWS: u16 = 3;
/// The columns before the words of the end of a conversation.
const PREVIEW_INDENT: u16 = 4;
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
    let wanted = rows.saturating_add(FRAME_ROWS + PREVIEW_ROWS);
    let size = (SIZE.0, wanted.min(SIZE.1));
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
    let keys_row = inner.bottom().saturating_sub(1);
    let has_preview = inner.height >= LIST_ROWS.min(rows) + PREVIEW_ROWS + 2;
    let list_end = keys_row - if has_preview { PREVIEW_ROWS } else { 0 };
    let below = inner.y + 1..list_end;
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
    if has_preview {
        let area = Rect {
            y: list_end,
            height: PREVIEW_ROWS,
            ..inner
        };
        preview(app, picker, buffer, area);
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
    RowWriter::new(app, buffer, row(keys_row)).say(keys, Look::new(token));
    let last = Position::new(inner.right().saturating_sub(1), caret.y);
    Some(Position::new(caret.x.min(last.x), caret.y))
}

/// The last prompt of the chosen conversation in a row, and the last words of the model in two.
fn preview(app: &App, picker: &Picker, buffer: &mut Buffer, area: Rect) {
    let (quiet, text) = (Look::new(Token::Quiet), Look::new(Token::Text));
    let room = usize::from(area.width.saturating_sub(PREVIEW_INDENT));
    let mut rows: Vec<(String, Look)> = Vec::new();
    match picker.preview() {
        None => {}
        Some(ConversationPreview::Asked) => rows.push(("loading…".to_owned(), quiet)),
        Some(ConversationPreview::Unreadable) => {
            rows.push(("its end cannot be read".to_owned(), quiet));
        }
        Some(ConversationPreview::Words { prompt, reply }) => {
            let prompt = prompt.as_deref().unwrap_or("nothing was said yet");
            rows.push((prompt.to_owned(), text));
            let reply = reply.iter().flat_map(|reply| broken(reply, room));
            rows.extend(reply.map(|row| (row, quiet)));
        }
    }
    // Of a longer reply the end of the last row says that it has more.
    let shown = usize::from(area.height);
    if rows.len() > shown {
        rows.truncate(shown);
        if let Some((last, _)) = rows.last_mut() {
            last.push_str(" …");
        }
    }
    for (y, (words, look)) in (area.top()..area.bottom()).zip(rows) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        RowWriter::new(app, buffer, row)
            .say("  ┃ ", Look::new(Token::Border))
            .say(&words, look);
    }
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
        let age = app.age(summary.active_at).unwrap_or_default();
        let facts = format!(
            " {state:>11}  {:>4} prompt{plural}  {age:>6}",
            summary.prompts
        );
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
