//! A diff as rows: numbers, signs, grounds and the words that differ.

use std::ops::Range;

use super::Diff;
use super::read::{DiffLine, DiffLineKind};
use crate::highlight::{Code, Language};
use crate::layout::{RowPiece, ScreenRow};
use crate::text;
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Quiet);

/// From how many columns on there is room for numbers.
const MIN_WIDTH_WITH_NUMBERS: usize = 24;

/// The looks of the sign and of the rest of a line of a diff on a ground, in a text in which lines with the names of
/// files may be among the others.
pub(crate) fn looks(line: &str, ground: Token) -> (Look, Look) {
    let names = ["+++ ", "--- ", "diff ", "index ", "@@", "\\"];
    if names.iter().any(|name| line.starts_with(name)) {
        return (QUIET.on(ground), QUIET.on(ground));
    }
    match line.as_bytes().first() {
        Some(b'+') => of_kind(DiffLineKind::Added),
        Some(b'-') => of_kind(DiffLineKind::Removed),
        _ => (
            Look::new(Token::Text).on(ground),
            Look::new(Token::Text).on(ground),
        ),
    }
}

fn of_kind(kind: DiffLineKind) -> (Look, Look) {
    let on = |sign, ground| {
        (
            Look::new(sign).on(ground),
            Look::new(Token::Text).on(ground),
        )
    };
    match kind {
        DiffLineKind::Added => on(Token::Added, Token::AddedLine),
        DiffLineKind::Removed => on(Token::Removed, Token::RemovedLine),
        DiffLineKind::Same => (Look::new(Token::Text), Look::new(Token::Text)),
        DiffLineKind::Hunk | DiffLineKind::Remark => (QUIET, QUIET),
    }
}

impl Diff {
    /// The rows of its first lines, if its text begins at `at` of a source.
    pub(crate) fn rows(&self, at: usize, width: usize, lines: usize) -> Vec<ScreenRow> {
        let last = self.lines.iter().filter_map(|line| line.number).max();
        let digits = match last {
            Some(last) if width >= MIN_WIDTH_WITH_NUMBERS => last.to_string().len(),
            _ => 0,
        };
        let mut rows = Vec::new();
        for line in self.lines.iter().take(lines) {
            self.line(line, at, (width, digits), &mut rows);
        }
        rows
    }

    /// Number of lines after the first ones, and of their hunks.
    pub(crate) fn rest(&self, lines: usize) -> (usize, usize) {
        let rest = self.lines.iter().skip(lines);
        let rest = rest.filter(|line| line.kind != DiffLineKind::Hunk);
        let mut hunks: Vec<usize> = rest.clone().map(|line| line.hunk).collect();
        hunks.dedup();
        (rest.count(), hunks.len())
    }

    /// Its code: of each hunk the old lines and the new ones, each for itself.
    pub(crate) fn code(&self, at: usize, language: &Language) -> Vec<Code> {
        let mut codes: Vec<Code> = Vec::new();
        let mut hunk = None;
        for line in &self.lines {
            if hunk != Some(line.hunk) {
                hunk = Some(line.hunk);
                codes.extend([
                    Code::new(Some(language.clone())),
                    Code::new(Some(language.clone())),
                ]);
            }
            let place = at + line.range.start + line.sign_len(&self.text)..at + line.range.end;
            let [.., old, new] = codes.as_mut_slice() else {
                continue;
            };
            if place.end < place.start {
                continue;
            }
            match line.kind {
                DiffLineKind::Added => new.push(&place),
                DiffLineKind::Removed => old.push(&place),
                DiffLineKind::Same => {
                    old.push(&place);
                    new.push(&place);
                }
                DiffLineKind::Hunk | DiffLineKind::Remark => {}
            }
        }
        codes
    }

    fn line(
        &self,
        line: &DiffLine,
        at: usize,
        (width, digits): (usize, usize),
        rows: &mut Vec<ScreenRow>,
    ) {
        let (sign, look) = of_kind(line.kind);
        let gutter = match digits {
            0 => 0,
            digits => digits + 1,
        };
        let quiet = Look {
            ground: look.ground,
            ..QUIET
        };
        let has_sign = !matches!(line.kind, DiffLineKind::Hunk | DiffLineKind::Remark);
        let text = self.text.get(line.range.clone()).unwrap_or_default();
        let behind_sign = line.sign_len(&self.text);
        let hanging = gutter + usize::from(has_sign);
        let room = width.saturating_sub(hanging).max(1);
        let hangs = hanging > 0 && hanging < width;
        let body = text.get(behind_sign..).unwrap_or_default();
        for (number, part) in text::break_anywhere(body, room).into_iter().enumerate() {
            let mut pieces = Vec::new();
            if number > 0 && hangs {
                pieces.push(RowPiece::drawn(" ".repeat(hanging), quiet));
            } else if number == 0 {
                if gutter > 0 {
                    let shown = line.number.map(|number| number.to_string());
                    let shown = shown.unwrap_or_default();
                    pieces.push(RowPiece::drawn(format!("{shown:>digits$} "), quiet));
                }
                if behind_sign > 0 {
                    let start = at + line.range.start;
                    pieces.push(RowPiece::source(start..start + behind_sign, sign));
                }
            }
            let start = line.range.start + behind_sign;
            let part = start + part.start..start + part.end;
            pieces.extend(line.pieces(at, part, look));
            rows.push(ScreenRow {
                pieces,
                fill: look.ground,
            });
        }
    }
}

impl DiffLine {
    /// Length of its sign in bytes. A line of a text that is not quite a diff may have none.
    fn sign_len(&self, text: &str) -> usize {
        let has_sign = match self.kind {
            DiffLineKind::Added | DiffLineKind::Removed => true,
            DiffLineKind::Same => text[self.range.clone()].starts_with(' '),
            DiffLineKind::Hunk | DiffLineKind::Remark => false,
        };
        usize::from(has_sign)
    }

    /// A part of it, with the words that differ on their ground.
    fn pieces(&self, at: usize, part: Range<usize>, look: Look) -> Vec<RowPiece> {
        let ground = match self.kind {
            DiffLineKind::Removed => Token::RemovedWord,
            _ => Token::AddedWord,
        };
        let mut pieces = Vec::new();
        let mut start = part.start;
        let mut push = |range: Range<usize>, look| {
            if !range.is_empty() {
                pieces.push(RowPiece::source(at + range.start..at + range.end, look));
            }
        };
        for word in &self.words {
            let word = word.start.clamp(start, part.end)..word.end.clamp(start, part.end);
            push(start..word.start, look);
            push(word.clone(), look.on(ground));
            start = word.end;
        }
        push(start..part.end, look);
        pieces
    }
}
