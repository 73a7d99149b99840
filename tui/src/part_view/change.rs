//! A change of a file, as a diff.

use super::{FoldAmount, Sign, Writer, behind, room};
use crate::diff::Diff;
use crate::highlight::Language;
use crate::layout::{PartLayout, RowPiece};
use crate::text::one_line;
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Quiet);

/// Maximum number of lines of a diff that are shown before it is unfolded.
const MAX_LINES: usize = 40;

/// The changed files, and below them the lines that are new and gone, each with its sign.
pub(super) fn layout(
    title: &str,
    diff: &str,
    is_cut: bool,
    width: usize,
    fold: FoldAmount,
) -> PartLayout {
    let title = one_line(title);
    // All of it, so that a search finds what is folded.
    let diff = Diff::read(diff);
    let source = format!("{title}\n{}", diff.text);
    let is_folded = fold == FoldAmount::Folded;
    let mut writer = Writer::new(source, width);
    let sign = match is_folded {
        true => Sign::Folded,
        false => Sign::Unfolded,
    };
    writer.wrapped(sign, &[RowPiece::source(0..title.len(), QUIET)]);
    if is_folded {
        return writer.block;
    }
    let shown = match fold {
        FoldAmount::Open => usize::MAX,
        FoldAmount::Head(_) | FoldAmount::Cut | FoldAmount::Folded => MAX_LINES,
    };
    let start = title.len() + 1;
    for row in diff.rows(start, room(width), shown) {
        let fill = row.fill;
        let mut row = behind(Sign::None, width, row.pieces);
        row.fill = fill;
        writer.block.rows.push(row);
    }
    if let Some(language) = language(&title) {
        writer.block.code = diff.code(start, &language);
    }
    let (left, hunks) = diff.rest(shown);
    let more = match (left, is_cut) {
        (0, false) => return writer.block,
        (0, true) => "(the diff goes on)".to_owned(),
        (left, _) => {
            let lines = if left == 1 { "line" } else { "lines" };
            let plural = if hunks == 1 { "hunk" } else { "hunks" };
            format!("… {left} more {lines} in {hunks} {plural}; Ctrl+O unfolds")
        }
    };
    writer.wrapped(Sign::None, &[RowPiece::drawn(more, QUIET)]);
    writer.block
}

/// The language of the file that a title names.
fn language(title: &str) -> Option<Language> {
    title.split(' ').rev().find_map(Language::of_path)
}
