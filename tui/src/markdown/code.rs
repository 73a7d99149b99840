//! Blocks of code: each line unchanged, on a separate ground.

use std::ops::Range;

use super::containers::Containers;
use super::inline;
use crate::diff;
use crate::layout::{RowPiece, ScreenRow};
use crate::text;
use crate::theme::{Look, Token};

const CODE: Look = Look::new(Token::Text).on(Token::Code);
const LANGUAGE: Look = Look::new(Token::Comment).on(Token::Code);

/// From how many columns on there is room for a margin on either side.
const MIN_WIDTH_WITH_MARGIN: usize = 12;

/// The range of the language on the line that opens a fenced block. `line` begins at `start`.
pub(super) fn language(line: &str, start: usize) -> Range<usize> {
    let info = line
        .trim_start()
        .trim_start_matches(['`', '~'])
        .trim_start();
    let start = start + line.len() - info.len();
    start..start + info.trim_end().len()
}

/// The first row of a fenced block: its language, or only its ground.
pub(super) fn heading(
    source: &str,
    language: Range<usize>,
    inside: &mut Containers,
    rows: &mut Vec<ScreenRow>,
) {
    let mut line = Vec::new();
    if !language.is_empty() {
        line.push(RowPiece::source(language, LANGUAGE));
    }
    let (room, has_margin) = room(inside);
    for pieces in inline::wrap(source, &line, room) {
        rows.push(row(inside, has_margin, pieces));
    }
}

/// The look of a line of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeForm {
    /// Plain.
    Plain,
    /// As a line of a diff, by its sign.
    Diff,
}

/// A line of code, in as many rows as it needs.
pub(super) fn line(
    source: &str,
    line: Range<usize>,
    form: CodeForm,
    (inside, rows): (&mut Containers, &mut Vec<ScreenRow>),
) {
    let (room, has_margin) = room(inside);
    let text = source.get(line.clone()).unwrap_or_default();
    let (sign, look) = match form {
        CodeForm::Plain => (CODE, CODE),
        CodeForm::Diff => diff::looks(text, Token::Code),
    };
    for (number, part) in text::break_anywhere(text, room).into_iter().enumerate() {
        // The sign is the first character of the first row.
        let behind = match part.start {
            0 => text.chars().next().map_or(0, char::len_utf8).min(part.end),
            start => start,
        };
        let place = |part: Range<usize>| line.start + part.start..line.start + part.end;
        let mut pieces = Vec::new();
        if sign != look && behind > part.start {
            pieces.push(RowPiece::source(place(part.start..behind), sign));
            pieces.push(RowPiece::source(place(behind..part.end), look));
        } else {
            pieces.push(RowPiece::source(place(part), look));
        }
        let count = pieces.len();
        let mut row = row(inside, has_margin, pieces);
        row.fill = look.ground;
        // A mark in the margin of a row that continues a line.
        let margin = row.pieces.iter_mut().rev().nth(count);
        if let Some(margin) = margin.filter(|_| has_margin && number > 0) {
            *margin = RowPiece::drawn("↳", LANGUAGE);
        }
        rows.push(row);
    }
}

/// The lines that begin at `start`, each less so many spaces.
pub(super) fn lines(text: &str, start: usize, indent: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = start;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        let spaces = line
            .bytes()
            .take_while(|byte| *byte == b' ')
            .count()
            .min(indent);
        start + spaces..start + line.strip_suffix('\n').unwrap_or(line).len()
    })
}

/// The columns of code, and whether there is a margin.
fn room(inside: &Containers) -> (usize, bool) {
    let room = inside.room();
    if room >= MIN_WIDTH_WITH_MARGIN {
        (room - 2, true)
    } else {
        (room, false)
    }
}

fn row(inside: &mut Containers, has_margin: bool, pieces: Vec<RowPiece>) -> ScreenRow {
    let mut before = inside.before();
    if has_margin {
        before.push(RowPiece::edge());
    }
    let mut row = inline::row(before, pieces);
    row.fill = Some(Token::Code);
    row
}
