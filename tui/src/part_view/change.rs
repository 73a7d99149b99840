//! A change of a file, as a diff.

use super::{Fold, Sign, Writer};
use crate::layout::{Block, Piece};
use crate::text::{Hidden, one_line, sanitize};
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Reasoning);

/// How many lines of a diff are shown before it is unfolded.
const MAX_LINES: usize = 40;

/// What was changed, and below it the lines that are new and gone, each with its sign.
pub(super) fn layout(title: &str, diff: &str, is_cut: bool, width: usize, fold: Fold) -> Block {
    let title = one_line(title);
    // All of it, so that a search finds what is folded.
    let diff = sanitize(diff.trim_end_matches('\n'), Hidden::Pictured);
    let source = format!("{title}\n{diff}");
    let is_folded = fold == Fold::Folded;
    let mut writer = Writer::new(source, width);
    let sign = match is_folded {
        true => Sign::Folded,
        false => Sign::Unfolded,
    };
    writer.wrapped(sign, &[Piece::source(0..title.len(), QUIET)]);
    if is_folded {
        return writer.block;
    }
    let shown = match fold {
        Fold::Open => usize::MAX,
        Fold::Cut | Fold::Folded => MAX_LINES,
    };
    let mut start = title.len() + 1;
    let mut left = 0;
    let lines: Vec<&str> = diff.split('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let range = start..start + line.len();
        start = range.end + 1;
        if number < shown {
            writer.wrapped(Sign::None, &[Piece::source(range, Look::new(token(line)))]);
        } else {
            left += 1;
        }
    }
    let more = match (left, is_cut) {
        (0, false) => return writer.block,
        (0, true) => "(the diff goes on)".to_owned(),
        (left, _) => format!("({left} more lines; Ctrl+O unfolds)"),
    };
    writer.wrapped(Sign::None, &[Piece::shown(more, QUIET)]);
    writer.block
}

/// What a line of a diff means.
pub(crate) fn token(line: &str) -> Token {
    match line.as_bytes().first() {
        Some(b'+') => Token::Added,
        Some(b'-') => Token::Removed,
        Some(b'@' | b'\\') => Token::Reasoning,
        _ => Token::Text,
    }
}
