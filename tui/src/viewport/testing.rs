//! Layouts for tests.

use std::borrow::Cow;

use ratatui::style::Modifier;

use super::{Shown, Viewport};
use crate::conversation::testing::shown;
use crate::conversation::{Conversation, Part, PartKind};
use crate::layout::{Block, Piece, Row, Words};
use crate::part_view::Fold;
use crate::theme::{Look, Token};

const LOOK: Look = Look {
    token: Token::Text,
    modifier: Modifier::empty(),
    ground: None,
};

fn row(words: Words) -> Row {
    let look = LOOK;
    Row {
        pieces: vec![Piece {
            words,
            look,
            target: None,
        }],
        fill: None,
    }
}

/// Each line in rows of as many bytes as the screen is wide; ASCII only. Prompts and tools have a
/// heading above and tools a border below, which show nothing of the source.
pub(crate) fn plain(part: &Part, width: u16, fold: Fold) -> Block {
    let source = shown(part).replace(|c: char| !c.is_ascii(), "~");
    let mut rows = Vec::new();
    let is_tool = matches!(part.kind, PartKind::Tool(_));
    if is_tool || matches!(part.kind, PartKind::User { .. }) {
        rows.push(row(Words::Shown(Cow::Borrowed("heading"))));
    }
    let mut at = 0;
    for line in source.split('\n') {
        let end = at + line.len();
        loop {
            let next = (at + usize::from(width)).min(end);
            let place = |place: usize| u32::try_from(place).unwrap();
            rows.push(row(Words::Source(place(at)..place(next))));
            at = next;
            if at == end {
                break;
            }
        }
        at += 1;
    }
    if is_tool {
        rows.truncate(if fold == Fold::Folded { 1 } else { rows.len() });
        rows.push(row(Words::Shown(Cow::Borrowed("border"))));
    }
    Block {
        source,
        rows,
        ..Block::default()
    }
}

/// The text of a row.
pub(crate) fn said(block: &Block, row: &Row) -> String {
    let piece = |piece: &Piece| match &piece.words {
        Words::Source(range) => block.source[range.start as usize..range.end as usize].to_owned(),
        Words::Shown(words) => words.clone().into_owned(),
    };
    row.pieces.iter().map(piece).collect()
}

/// The screen.
pub(crate) fn screen(viewport: &mut Viewport, conversation: &Conversation) -> Vec<String> {
    let mut lines = Vec::new();
    for Shown { block, rows, y, .. } in viewport.visible(conversation) {
        assert!(lines.len() <= usize::from(y));
        lines.resize(usize::from(y), String::new());
        lines.extend(block.rows[rows].iter().map(|row| said(&block, row)));
    }
    lines
}

/// All rows there are.
pub(crate) fn everything(viewport: &mut Viewport, conversation: &Conversation) -> Vec<String> {
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
