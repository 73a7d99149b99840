//! The rows of the board below its list, for a room of any size.

use std::time::Duration;

use harness_protocol::WorkflowSnapshot;

use super::body;
use super::state::{Board, Shows};
use super::words;
use crate::conversation::RunningOutput;
use crate::output::OutputLine;
use crate::text::{end_of, one_line, shown_path};
use crate::theme::{Look, StyledWords, Token};

/// The rows above an output.
const OUTPUT_HEAD: usize = 2;
/// The rows of the board that are neither list nor below it: its border, the line between, the remark and
/// the keys.
const FRAME: usize = 5;
/// The columns beside it: its border and a free one at each side.
const MARGIN: u16 = 4;
/// The part of the screen that the list has at most: a fifth.
const LIST_SHARE: u16 = 5;

/// Number of rows of the list on a screen of that height.
pub(crate) fn list_height(board: &Board, height: u16) -> usize {
    let count = board.list().map_or(0, <[_]>::len);
    count.min(usize::from(height / LIST_SHARE)).max(1)
}

/// Number of columns and rows below the list on a screen of that size.
pub(crate) fn room(board: &Board, size: (u16, u16)) -> (usize, usize) {
    let taken = list_height(board, size.1) + FRAME;
    let width = usize::from(size.0.saturating_sub(MARGIN));
    (width, usize::from(size.1).saturating_sub(taken))
}

/// The text of a row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListRow {
    /// The name.
    pub(crate) name: String,
    /// Its state and progress.
    pub(crate) state: String,
    pub(crate) token: Token,
    /// Its folder, if it is another one than that one works in.
    pub(crate) folder: Option<String>,
}

/// A row of the list, in which the folder may take so many columns.
pub(crate) fn list_row(board: &Board, it: &WorkflowSnapshot, room: usize) -> ListRow {
    let folder = shown_path(board.home(), &it.folder);
    ListRow {
        name: one_line(&it.name),
        state: format!("{}, {}", words::state(it), words::features_done(it)),
        token: words::state_token(it),
        folder: end_of(&folder, room).filter(|_| !board.is_here(it)),
    }
}

/// The rows below the list, in a room of so many columns and rows.
pub(crate) fn screen(
    board: &Board,
    (width, height): (usize, usize),
    now: Duration,
) -> Vec<StyledWords> {
    let plain = |words: &str| vec![vec![(words.to_owned(), Look::new(Token::Quiet))]];
    let Some(detail) = &board.detail else {
        return match (&board.problem, board.list()) {
            (Some(problem), _) => vec![vec![(one_line(problem), Look::new(Token::Error))]],
            (None, Some([])) => plain("no workflow yet; make one with harness workflow new FILE"),
            (None, _) => plain("loading…"),
        };
    };
    match (&board.shows, &detail.running) {
        (Shows::Workflow, _) => body::rows(board, detail, (width, height), now),
        (Shows::Running, Some(running)) => {
            let step = detail.snapshot.step.as_ref();
            let name = step.map_or_else(String::new, |step| {
                words::step(step, detail.step_age(now).unwrap_or(0))
            });
            output(&name, &running.output, board.scrolled, height)
        }
        (Shows::Running, None) => plain("no check shows anything now"),
        (
            Shows::Ended {
                name, output: it, ..
            },
            _,
        ) => output(
            &format!("check {name}, which has ended"),
            it,
            board.scrolled,
            height,
        ),
    }
}

/// The end of an output, with so many of its rows below the window.
fn output(
    name: &str,
    output: &RunningOutput,
    at: Option<usize>,
    height: usize,
) -> Vec<StyledWords> {
    let mut rows = vec![vec![(
        format!("output of {}", one_line(name)),
        Look::new(Token::ToolName),
    )]];
    let room = height.saturating_sub(OUTPUT_HEAD).max(1);
    let kept = output.last(usize::MAX);
    let below = scrolled(at, kept.len(), room);
    let end = kept.len() - below;
    let shown = &kept[end.saturating_sub(room)..end];
    let before = output.len() - below - shown.len();
    let dim = Look::new(Token::Quiet);
    let said = match (before, below) {
        (0, 0) => String::new(),
        (before, 0) => format!("{before} lines before these"),
        (before, below) => format!("{before} lines before these, {below} behind them"),
    };
    rows.push(vec![(said, dim)]);
    rows.extend(shown.iter().map(|line| {
        let look = match line {
            OutputLine::Text(_) => Look::new(Token::Text),
            OutputLine::LeftOut(_) => dim,
        };
        vec![(line.words(), look)]
    }));
    rows
}

/// Number of rows of an output below its window: it is scrolled from its end.
fn scrolled(at: Option<usize>, rows: usize, room: usize) -> usize {
    at.unwrap_or(0).min(rows.saturating_sub(room))
}

/// Moves what is shown by so many pages: the features, or the output.
pub(crate) fn scroll(board: &mut Board, pages: isize, room: (usize, usize), now: Duration) {
    let Some(detail) = &board.detail else {
        return;
    };
    let rows = match (&board.shows, &detail.running) {
        (Shows::Workflow, _) => {
            let height = body::features_height(board, detail, room, now);
            let (at, most) = body::window(board, detail, height);
            let by = pages.saturating_mul(page(height));
            board.scrolled = Some(at.saturating_add_signed(by).min(most));
            return;
        }
        (Shows::Running, Some(running)) => running.output.last(usize::MAX).len(),
        (Shows::Running, None) => 0,
        (Shows::Ended { output, .. }, _) => output.last(usize::MAX).len(),
    };
    let height = room.1.saturating_sub(OUTPUT_HEAD).max(1);
    let at = scrolled(board.scrolled, rows, height);
    // An output is scrolled from its end.
    let by = pages.saturating_mul(page(height)).saturating_neg();
    board.scrolled = Some(
        at.saturating_add_signed(by)
            .min(rows.saturating_sub(height)),
    );
}

/// Number of rows of a page of a window of that height.
fn page(height: usize) -> isize {
    isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(isize::MAX)
}
