//! The blocks of a reply that are not finished: pieces that are kept beside the journal until a
//! record has them.

use harness_protocol::DeltaKind;
use serde::{Deserialize, Serialize};

use super::position::Epoch;
use super::record::Record;
use crate::reply::{Block, Object};

/// A piece of a block that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPiece {
    /// The block's place in the reply.
    pub index: u64,
    /// Kind of the block: a text or thinking.
    pub kind: DeltaKind,
    /// Offset of the piece in its block, in bytes.
    pub offset: u64,
    /// The piece.
    pub text: String,
}

impl BlockPiece {
    /// True if the next piece begins where this one ends.
    #[must_use]
    pub fn is_continued_by(&self, next: &Self) -> bool {
        (self.index, self.kind) == (next.index, next.kind)
            && next.offset == self.offset + self.text.len() as u64
    }

    /// The record of the unfinished block. `None` if no record can have it.
    #[must_use]
    pub fn sealed(&self) -> Option<Record> {
        Some(Record::Block {
            index: self.index,
            block: self.block()?,
            partial: true,
            duration_ms: None,
        })
    }

    /// The unfinished block, if a record can have it: a text, or thinking without a signature, which the model never
    /// receives.
    #[must_use]
    pub fn block(&self) -> Option<Block> {
        match self.kind {
            DeltaKind::Text => Some(Block::text(&self.text)),
            DeltaKind::Reasoning => {
                let mut json = Object::new();
                json.insert("type".to_owned(), "thinking".into());
                json.insert("thinking".to_owned(), self.text.as_str().into());
                json.insert("signature".to_owned(), "".into());
                Some(Block::new(json))
            }
            DeltaKind::ToolInput | DeltaKind::Unknown => None,
        }
    }
}

/// A piece in its written form: with the epoch of the journal, and the last record that was handed to it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptPiece {
    epoch: String,
    behind: u64,
    #[serde(flatten)]
    piece: BlockPiece,
}

impl KeptPiece {
    pub(super) fn new(epoch: Epoch, behind: u64, piece: BlockPiece) -> Self {
        Self {
            epoch: epoch.to_string(),
            behind,
            piece,
        }
    }
}

/// The blocks that pieces add up to, those of this life of the journal that were kept after record `after` or a later
/// one. A piece that does not continue its block ends the reading: later pieces were never shown.
pub(super) fn join(
    pieces: impl IntoIterator<Item = KeptPiece>,
    epoch: Epoch,
    after: u64,
) -> Vec<BlockPiece> {
    let epoch = epoch.to_string();
    let is_meant = |kept: &KeptPiece| kept.epoch == epoch && kept.behind >= after;
    let mut blocks: Vec<BlockPiece> = Vec::new();
    for KeptPiece { piece, .. } in pieces.into_iter().filter(is_meant) {
        match blocks.iter_mut().find(|block| block.index == piece.index) {
            Some(block) if piece.offset == 0 => *block = piece,
            Some(block) if piece.offset == block.text.len() as u64 => block.text += &piece.text,
            None if piece.offset == 0 => blocks.push(piece),
            Some(_) | None => break,
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(index: u64, offset: u64, text: &str) -> BlockPiece {
        BlockPiece {
            index,
            kind: DeltaKind::Text,
            offset,
            text: text.to_owned(),
        }
    }

    /// Spec: [JRNL-100]
    #[test]
    fn pieces_add_up_to_blocks_and_those_of_finished_blocks_are_left_out() {
        let epoch = Epoch(7);
        let kept = |behind, piece| KeptPiece::new(epoch, behind, piece);
        let pieces = || {
            vec![
                kept(3, piece(0, 0, "gone")),
                kept(4, piece(1, 0, "He")),
                kept(5, piece(1, 2, "llo")),
                kept(5, piece(2, 0, "x")),
                kept(5, piece(1, 9, "a hole")),
                kept(5, piece(2, 1, "y")),
            ]
        };
        let blocks = join(pieces(), epoch, 4);
        assert_eq!(blocks, [piece(1, 0, "Hello"), piece(2, 0, "x")]);
        assert_eq!(join(pieces(), Epoch(8), 0), []);
        assert_eq!(join(pieces(), epoch, 6), []);
        let again = vec![kept(4, piece(1, 0, "Hel")), kept(4, piece(1, 0, "Hi"))];
        assert_eq!(join(again, epoch, 4), [piece(1, 0, "Hi")]);
    }

    /// Spec: [CONV-162]
    #[test]
    fn only_what_a_person_reads_becomes_a_block() {
        let of = |kind| BlockPiece {
            kind,
            ..piece(0, 0, "x")
        };
        assert_eq!(of(DeltaKind::Text).block(), Some(Block::text("x")));
        let thinking = of(DeltaKind::Reasoning).block().unwrap();
        assert!(thinking.is_thinking());
        assert_eq!(of(DeltaKind::ToolInput).block(), None);
    }
}
