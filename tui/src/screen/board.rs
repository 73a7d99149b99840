//! The board of workflows, over the whole screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::frame;
use super::line::{RowWriter, cut, width};
use crate::app::App;
use crate::board::{
    Board, BoardQuestion, PauseAt, Shows, WorkflowOrder, is_over, is_working, list_height,
    list_row, room, screen,
};
use crate::text::one_line;
use crate::theme::{Look, Token};

/// The part of a row of the list that its folder has at most: a third.
const FOLDER_SHARE: u16 = 3;
/// The separator between two keys.
const BETWEEN: &str = " · ";

/// Draws it.
pub(super) fn draw(app: &App, board: &Board, buffer: &mut Buffer, area: Rect) {
    let count = board.list().map_or(0, <[_]>::len);
    let place = board.place().map_or(0, |place| place + 1);
    let place = match count {
        0 | 1 => String::new(),
        count => format!("{place} of {count}"),
    };
    let titles = ("Workflows", place.as_str());
    let inner = frame::centred(app, buffer, area, (area.width, area.height), titles);
    let row = |y: u16| Rect {
        y,
        height: u16::from(y < inner.bottom()),
        ..inner
    };
    let list = list_height(board, area.height);
    draw_list(app, board, buffer, inner, list);
    let mut y = inner.y + u16::try_from(list).unwrap_or(inner.height);
    RowWriter::new(app, buffer, row(y)).fill("─", Look::new(Token::Border));
    y += 1;
    let end = inner.bottom().saturating_sub(2);
    for (y, words) in (y..end).zip(screen(board, room(board, app.size), app.now)) {
        let mut line = RowWriter::new(app, buffer, row(y));
        for (words, look) in words {
            line.say(&words, look);
        }
    }
    let (said, token) = remark(app, board);
    RowWriter::new(app, buffer, row(end)).say(&said, Look::new(token));
    let mut line = RowWriter::new(app, buffer, row(end + 1));
    let dim = Look::new(Token::Reasoning);
    for (number, key) in keys(board).iter().enumerate() {
        let key = if number == 0 {
            (*key).to_owned()
        } else {
            format!("{BETWEEN}{key}")
        };
        // A key that has no room is in the help.
        if width(&key) <= line.room() {
            line.say(&key, dim);
        }
    }
}

fn draw_list(app: &App, board: &Board, buffer: &mut Buffer, inner: Rect, height: usize) {
    let chosen = board.place();
    let first = (chosen.unwrap_or(0) + 1).saturating_sub(height);
    let all = board.list().unwrap_or_default();
    let bottom = inner.y + u16::try_from(height).unwrap_or(inner.height);
    for (y, (number, it)) in
        (inner.y..bottom.min(inner.bottom())).zip(all.iter().enumerate().skip(first))
    {
        let area = Rect {
            y,
            height: 1,
            ..inner
        };
        let said = list_row(board, it, usize::from(inner.width / FOLDER_SHARE));
        let mut line = RowWriter::new(app, buffer, area);
        let is_chosen = Some(number) == chosen;
        line.say(
            if is_chosen { "› " } else { "  " },
            Look::new(Token::Status),
        );
        line.say_right(&said.state, Look::new(said.token));
        line.say_right("  ", Look::new(Token::Text));
        if let Some(folder) = said.folder {
            line.say_right(&folder, Look::new(Token::Reasoning));
            line.say_right("  ", Look::new(Token::Text));
        }
        let look = Look::new(Token::Text);
        let look = if is_chosen { look.bold() } else { look };
        let name = cut(&said.name, line.room());
        line.say(&name, look);
    }
}

/// The question, remark, work or error; of several the first.
fn remark(app: &App, board: &Board) -> (String, Token) {
    let name = board.workflow().map(|it| one_line(&it.name));
    let name = name.unwrap_or_default();
    match &board.asks {
        BoardQuestion::Cancel => {
            let said = format!(
                "Ctrl+C again cancels {name} for good; the branch keeps what was accepted · Esc leaves it"
            );
            return (said, Token::Error);
        }
        BoardQuestion::Gate(gate) => {
            let gate = one_line(gate);
            return (
                format!("gate {gate} of {name}: y says yes, n says no · Esc back"),
                Token::Status,
            );
        }
        BoardQuestion::Nothing => {}
    }
    if let Some(toast) = &app.toast {
        let (word, token) = if toast.is_error {
            ("error: ", Token::Error)
        } else {
            ("", Token::Status)
        };
        return (format!("{word}{}", one_line(&toast.text)), token);
    }
    if let Some(reason) = board.detail.as_ref().and_then(|it| it.lost.as_deref()) {
        return (
            format!("○ reconnecting · {}", one_line(reason)),
            Token::Status,
        );
    }
    let said = match board.sent() {
        None => "",
        Some(WorkflowOrder::Run) => "a run is being ordered…",
        Some(WorkflowOrder::Pause(PauseAt::Once)) => "a pause at once is being ordered…",
        Some(WorkflowOrder::Pause(PauseAt::IterationEnd)) => {
            "a pause at the end of the iteration is being ordered…"
        }
        Some(WorkflowOrder::Resume { .. }) => "it is being resumed…",
        Some(WorkflowOrder::Cancel) => "it is being cancelled, until nothing of it runs…",
        Some(WorkflowOrder::Answer { .. }) => "the answer is being sent…",
    };
    (said.to_owned(), Token::Status)
}

/// The keys that work now, the most important first.
fn keys(board: &Board) -> Vec<&'static str> {
    if !matches!(board.shows, Shows::Workflow) {
        return vec!["Esc back", "PageUp, PageDown scroll"];
    }
    let mut keys = Vec::new();
    if let Some(it) = board.workflow() {
        let detail = board.detail.as_ref();
        if it.gate.is_some() || it.reason.as_deref() == Some("ask") {
            keys.push("a answer");
        }
        if detail.is_some_and(|it| it.conversation().is_some()) {
            keys.push("Enter conversation");
        }
        if detail.is_some_and(|it| it.running.is_some() || !it.checks.is_empty()) {
            keys.push("o output");
        }
        if is_working(it) {
            keys.push("p pause");
        } else if it.state == "paused" {
            keys.push("r resume");
        } else if matches!(it.state.as_str(), "ready" | "draft") {
            keys.push("r run");
        }
        if !is_over(it) {
            keys.push("Ctrl+C cancel");
        }
    }
    keys.push("Esc close");
    keys
}
