//! Thinking that is over: a row, and below it, if it is opened, the text.

use harness_protocol::words::{counted, took_about};

use super::{FoldAmount, Sign, THINKING, Writer};
use crate::layout::{PartLayout, RowPiece};
use crate::text::{Hidden, sanitize};

/// The row shows how long the model thought; if that is unknown or next to nothing, the amount of text.
pub(super) fn layout(
    content: &str,
    duration_ms: Option<u64>,
    width: usize,
    fold: FoldAmount,
) -> PartLayout {
    // All of it, so that a search finds what is folded.
    let source = sanitize(content, Hidden::Dropped).trim_end().to_owned();
    let words = match duration_ms.filter(|duration| *duration >= 1_000) {
        Some(duration) => format!("thought for {}", took_about(duration)),
        None => {
            let lines = counted(source.lines().count() as u64, "line", "lines");
            format!("thought · {lines}")
        }
    };
    let is_folded = fold == FoldAmount::Folded;
    let sign = match is_folded {
        true => Sign::Folded,
        false => Sign::Unfolded,
    };
    let mut writer = Writer::new(source, width);
    writer.wrapped(sign, &[RowPiece::drawn(words, THINKING)]);
    if !is_folded {
        let all = 0..writer.block.source.len();
        writer.lines(Sign::None, all, THINKING);
    }
    writer.block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::picture::text;

    /// Spec: [VIEW-263] [VIEW-15]
    #[test]
    fn thinking_is_a_row_until_it_is_opened() {
        let content = "First this.\nThen that.\n";
        for (duration, row) in [
            (Some(14_300), "thought for 14 s"),
            (Some(1_000), "thought for 1 s"),
            (Some(999), "thought · 2 lines"),
            (None, "thought · 2 lines"),
        ] {
            let folded = text(&layout(content, duration, 40, FoldAmount::Folded));
            assert_eq!(folded, [format!("▸ {row}")]);
            let open = text(&layout(content, duration, 40, FoldAmount::Open));
            assert_eq!(
                open,
                [
                    format!("▾ {row}"),
                    "  First this.".to_owned(),
                    "  Then that.".to_owned()
                ]
            );
        }
        let block = layout(content, None, 40, FoldAmount::Open);
        assert!(block.rows.iter().all(|row| row.pieces[1].look == THINKING));
    }
}
