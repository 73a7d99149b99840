//! The progress of a workflow, in rows: its state and work, its features, its last checks and commits.

use std::time::Duration;

use harness_protocol::WorkflowFeature;

use super::detail::Detail;
use super::noted::{CheckNote, CommitNote, short};
use super::state::Board;
use super::words;
use crate::text::{self, broken, one_line, shown_path};
use crate::theme::{Look, StyledWords, Token};

/// Minimum width at which the checks are beside the features.
const BESIDE_FROM: usize = 110;
/// The columns between both.
const GAP: usize = 2;
/// Indentation of the facts about the workflow, in columns.
const SET_IN: usize = 8;
/// Maximum number of rows of a gate's question, and of the remark of a pause.
const MAX_BROKEN: usize = 3;
/// The rows that the features, the checks and the commits get first, with their headings, and those that they
/// get then, if they have so many.
const LEAST: [usize; 3] = [4, 3, 2];
const FAIR: [usize; 3] = [8, 6, 4];
/// Width of the state of a feature and of the result of a check, in columns.
const STATE: usize = 9;

const DIM: Look = Look::new(Token::Quiet);
const TEXT: Look = Look::new(Token::Text);

/// All of it in a room of so many columns and rows.
pub(super) fn rows(
    board: &Board,
    detail: &Detail,
    (width, height): (usize, usize),
    now: Duration,
) -> Vec<StyledWords> {
    let mut rows = facts(board, detail, width, now);
    rows.truncate(height);
    let room = height - rows.len();
    let wanted = wanted(detail);
    if width < BESIDE_FROM {
        let [first, second, third] = shared(wanted, room);
        rows.extend(features(board, detail, first));
        rows.extend(checks(detail, second));
        rows.extend(commits(detail, third));
        return rows;
    }
    let [_, second, third] = shared([0, wanted[1], wanted[2]], room);
    let left = features(board, detail, room);
    let right = [checks(detail, second), commits(detail, third)].concat();
    let half = (width - GAP) / 2;
    let count = left.len().max(right.len());
    let mut right = right.into_iter();
    let mut left = left.into_iter();
    for _ in 0..count {
        let mut row = fitted(left.next().unwrap_or_default(), half);
        row.push((" ".repeat(GAP), TEXT));
        row.extend(right.next().unwrap_or_default());
        rows.push(row);
    }
    rows
}

/// Number of rows that the features, the checks and the commits have with their headings, if there is room.
fn wanted(detail: &Detail) -> [usize; 3] {
    let notes = |count: usize| if count == 0 { 0 } else { count + 1 };
    [
        detail.snapshot.features.len() + 1,
        notes(detail.checks.len()),
        notes(detail.commits.len()),
    ]
}

/// Divides the rows that there are: each part has its least, then a fair part, and the first ones have the
/// rest.
fn shared(wanted: [usize; 3], room: usize) -> [usize; 3] {
    let mut left = room;
    let mut given = [0; 3];
    for rows in [LEAST, FAIR, wanted] {
        for (given, (rows, wanted)) in given.iter_mut().zip(rows.into_iter().zip(wanted)) {
            let more = rows.min(wanted).saturating_sub(*given).min(left);
            *given += more;
            left -= more;
        }
    }
    let [features, notes @ ..] = &mut given;
    for rows in notes {
        // A heading alone is useless.
        if *rows == 1 {
            *rows = 0;
            *features += 1;
        }
    }
    given
}

/// A row in exactly so many columns.
fn fitted(row: StyledWords, width: usize) -> StyledWords {
    let mut fitted = StyledWords::new();
    let mut left = width;
    for (said, look) in row {
        let taken = text::width(&said);
        if taken > left {
            let cut = text::take_width(&said, left.saturating_sub(1)).to_owned();
            fitted.push((format!("{cut}…"), look));
            left = left.saturating_sub(text::width(&cut) + 1);
            break;
        }
        left -= taken;
        fitted.push((said, look));
    }
    fitted.push((" ".repeat(left), TEXT));
    fitted
}

/// The workflow's name, and its state.
fn facts(board: &Board, detail: &Detail, width: usize, now: Duration) -> Vec<StyledWords> {
    let it = &detail.snapshot;
    let bold = TEXT.bold();
    let objective = one_line(&it.objective);
    let mut rows = vec![vec![
        (one_line(&it.name), bold),
        (format!(" · {objective}"), TEXT),
    ]];
    let mut add = |name: &str, said: String, look: Look| {
        let room = width.saturating_sub(SET_IN).max(1);
        for (number, line) in broken(&said, room).take(MAX_BROKEN).enumerate() {
            let name = if number == 0 { name } else { "" };
            rows.push(vec![(format!("{name:<SET_IN$}"), DIM), (line, look)]);
        }
    };
    let state = words::state(it);
    let token = Look::new(words::state_token(it));
    match words::pause(it) {
        Some((why, advice)) => {
            add("state", format!("{state}: {why}"), token);
            add("to do", advice.to_owned(), TEXT);
        }
        None => add("state", state, token),
    }
    let remark = it.detail.lines().map(str::trim).find(|it| !it.is_empty());
    if let Some(remark) = remark {
        add("why", one_line(remark), TEXT);
    }
    if let Some(gate) = &it.gate {
        let asks = one_line(&gate.asks);
        let asks = format!("gate {}: {asks}; a answers", one_line(&gate.gate));
        add("waits", asks, Look::new(Token::Status));
    }
    if let (Some(step), Some(age)) = (&it.step, detail.step_age(now)) {
        add("now", words::step(step, age), Look::new(Token::Status));
    }
    add("used", words::used(it).join(" · "), TEXT);
    let branch = it.branch.as_deref().map(one_line);
    let head = it.head.as_deref().map(short);
    let head = head.map_or_else(String::new, |head| format!(" at {head}"));
    let branch = branch.map_or_else(String::new, |branch| format!("{branch}{head}, in "));
    let folder = shown_path(board.home(), &it.folder);
    add("branch", format!("{branch}{folder}"), TEXT);
    if !detail.last.is_empty() {
        let room = width.saturating_sub(SET_IN);
        let last = fitted(vec![(detail.last.clone(), TEXT)], room);
        rows.push([vec![(format!("{:<SET_IN$}", "last"), DIM)], last].concat());
    }
    rows
}

fn heading(said: String) -> StyledWords {
    vec![(said, Look::new(Token::ToolName).bold())]
}

/// The feature that is worked on.
fn doing(detail: &Detail) -> Option<&str> {
    detail.snapshot.step.as_ref()?.feature.as_deref()
}

/// Number of features above a window of that height, and the maximum of that number.
pub(super) fn window(board: &Board, detail: &Detail, height: usize) -> (usize, usize) {
    let all = &detail.snapshot.features;
    let most = all.len().saturating_sub(height);
    // Without a hand on it the window has what is being done, or else what is open first.
    let by_itself = || {
        let now = all
            .iter()
            .position(|it| Some(it.id.as_str()) == doing(detail));
        let open = all.iter().position(|it| it.state != "passing");
        now.or(open).unwrap_or(0).saturating_sub(height / 2)
    };
    let above = board.scrolled.unwrap_or_else(by_itself);
    (above.min(most), most)
}

/// Number of features that are shown at once in a room of so many columns and rows.
pub(super) fn features_height(
    board: &Board,
    detail: &Detail,
    (width, height): (usize, usize),
    now: Duration,
) -> usize {
    let room = height.saturating_sub(facts(board, detail, width, now).len());
    let rows = if width < BESIDE_FROM {
        shared(wanted(detail), room)[0]
    } else {
        room
    };
    rows.saturating_sub(1)
}

/// The features in so many rows, their heading with it.
fn features(board: &Board, detail: &Detail, rows: usize) -> Vec<StyledWords> {
    let all = &detail.snapshot.features;
    let Some(room) = rows.checked_sub(1) else {
        return Vec::new();
    };
    let doing = doing(detail);
    let (above, most) = window(board, detail, room);
    let mut said = format!("Features, {}", words::features_done(&detail.snapshot));
    let (first, last) = (above + 1, (above + room).min(all.len()));
    if most > 0 && room > 0 {
        said += &format!(", {first} to {last} here");
    }
    let shown = all.iter().skip(above).take(room);
    let row = |it: &WorkflowFeature| {
        let (state, token) = words::feature_state(it, doing);
        let optional = if it.required { "" } else { " (optional)" };
        vec![
            (format!("  {state:<STATE$}"), Look::new(token)),
            (format!("{}{optional}  ", one_line(&it.id)), TEXT),
            (one_line(&it.description), DIM),
        ]
    };
    [vec![heading(said)], shown.map(row).collect()].concat()
}

/// The last checks in so many rows, the newest first.
fn checks(detail: &Detail, rows: usize) -> Vec<StyledWords> {
    let Some(room) = rows.checked_sub(1) else {
        return Vec::new();
    };
    let row = |it: &CheckNote| {
        let (state, token) = if it.is_green {
            ("green", Token::Added)
        } else {
            ("red", Token::Error)
        };
        let more = if it.counts { "" } else { ", to be tried again" };
        let why = match it.why.as_str() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let facts = format!(" in {}{more}", words::seconds(it.ms));
        vec![
            (format!("  {state:<STATE$}"), Look::new(token)),
            (format!("{} {}", it.place, it.check), TEXT),
            (facts, DIM),
            (why, TEXT),
        ]
    };
    let last = detail.checks.iter().rev().take(room).map(row);
    [vec![heading("Last checks".to_owned())], last.collect()].concat()
}

/// The last commits in so many rows, the newest first.
fn commits(detail: &Detail, rows: usize) -> Vec<StyledWords> {
    let Some(room) = rows.checked_sub(1) else {
        return Vec::new();
    };
    let row = |it: &CommitNote| {
        vec![
            (format!("  {}  ", it.commit), Look::new(Token::Link)),
            (format!("iteration {}: {}", it.iteration, it.feature), TEXT),
        ]
    };
    let last = detail.commits.iter().rev().take(room).map(row);
    let heading = heading("Commits on the branch".to_owned());
    [vec![heading], last.collect()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-242]
    #[test]
    fn rows_are_shared_so_that_each_part_has_some() {
        for (wanted, room, given) in [
            ([4, 3, 2], 20, [4, 3, 2]),
            ([40, 9, 9], 20, [10, 6, 4]),
            ([40, 0, 0], 20, [20, 0, 0]),
            ([3, 9, 9], 20, [3, 9, 8]),
            ([40, 9, 9], 9, [4, 3, 2]),
            ([40, 9, 9], 8, [5, 3, 0]),
            ([40, 9, 9], 0, [0, 0, 0]),
        ] {
            assert_eq!(shared(wanted, room), given, "{wanted:?} in {room}");
        }
    }
}
