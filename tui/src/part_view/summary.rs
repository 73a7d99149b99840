//! A summary of what was before it.

use super::{FoldAmount, Sign, Writer};
use crate::layout::{PartLayout, RowPiece};
use crate::text::{Hidden, one_line, sanitize};
use crate::theme::{Look, Token};

const QUIET: Look = Look::new(Token::Quiet);

/// The compaction, and below it the summary, unless it is folded.
pub(super) fn layout(title: &str, content: &str, width: usize, fold: FoldAmount) -> PartLayout {
    let title = one_line(title);
    // All of it, so that a search finds what is folded.
    let content = sanitize(content, Hidden::Dropped);
    let source = format!("{title}\n{}", content.trim_end());
    let is_folded = fold == FoldAmount::Folded;
    let mut writer = Writer::new(source, width);
    let sign = if is_folded {
        Sign::Folded
    } else {
        Sign::Unfolded
    };
    writer.wrapped(sign, &[RowPiece::source(0..title.len(), QUIET)]);
    if !is_folded {
        let rest = title.len() + 1..writer.block.source.len();
        writer.lines(Sign::None, rest, QUIET);
    }
    writer.block
}
