//! Layouts for tests.

use std::borrow::Cow;

use ratatui::style::Modifier;

use super::{ShownRows, Viewport};
use crate::conversation::testing::shown;
use crate::conversation::{ConversationStore, Part, PartKind};
use crate::layout::{PartLayout, RowPiece, ScreenRow, WordsOrigin};
use crate::part_view::FoldAmount;
use crate::theme::{Look, Token};

const LOOK: Look = Look {
    token: Token::Text,
    modifier: Modifier::empty(),
    ground: None,
};

fn row(words: WordsOrigin) -> ScreenRow {
    let look = LOOK;
    ScreenRow {
        pieces: vec![RowPiece {
            words,
            look,
            target: None,
        }],
        fill: None,
    }
}

/// Each line in rows of as many bytes as the screen is wide; ASCII only. Prompts and tools have a
/// heading above and tools a border below, which show nothing of the source.
pub(crate) fn plain(part: &Part, width: u16, fold: FoldAmount) -> PartLayout {
    let source = shown(part).replace(|c: char| !c.is_ascii(), "~");
    let mut rows = Vec::new();
    let is_tool = matches!(part.kind, PartKind::Tool(_));
    if is_tool || matches!(part.kind, PartKind::User { .. }) {
        rows.push(row(WordsOrigin::Shown(Cow::Borrowed("heading"))));
    }
    let mut at = 0;
    for line in source.split('\n') {
        let end = at + line.len();
        loop {
            let next = (at + usize::from(width)).min(end);
            let place = |place: usize| u32::try_from(place).unwrap();
            rows.push(row(WordsOrigin::Source(place(at)..place(next))));
            at = next;
            if at == end {
                break;
            }
        }
        at += 1;
    }
    if is_tool {
        rows.truncate(if fold == FoldAmount::Folded {
            1
        } else {
            rows.len()
        });
        rows.push(row(WordsOrigin::Shown(Cow::Borrowed("border"))));
    }
    PartLayout {
        source,
        rows,
        ..PartLayout::default()
    }
}

/// The text of a row.
pub(crate) fn said(block: &PartLayout, row: &ScreenRow) -> String {
    let piece = |piece: &RowPiece| match &piece.words {
        WordsOrigin::Source(range) => {
            block.source[range.start as usize..range.end as usize].to_owned()
        }
        WordsOrigin::Shown(words) => words.clone().into_owned(),
    };
    row.pieces.iter().map(piece).collect()
}

/// The screen.
pub(crate) fn screen(viewport: &mut Viewport, conversation: &ConversationStore) -> Vec<String> {
    let mut lines = Vec::new();
    for ShownRows { block, rows, y, .. } in viewport.visible(conversation) {
        assert!(lines.len() <= usize::from(y));
        lines.resize(usize::from(y), String::new());
        lines.extend(block.rows[rows].iter().map(|row| said(&block, row)));
    }
    lines
}

/// All rows there are.
pub(crate) fn everything(viewport: &mut Viewport, conversation: &ConversationStore) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, part) in conversation.parts().enumerate() {
        let block = viewport.block(part);
        lines.extend(block.rows.iter().map(|row| said(&block, row)));
        if viewport.has_gap(index, conversation) {
            lines.push(String::new());
        }
    }
    lines
}
