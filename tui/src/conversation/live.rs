//! The blocks of the reply that are not finished.
//!
//! Invariant: their parts are the last ones of the record, in the order of `blocks`.

use harness_protocol::DeltaKind;

use super::entries::{NewPart, PartEntries};
use super::part::{CallOutcome, PartId, PartKind, ToolPart};

/// The growing part.
#[derive(Debug, Default)]
pub(super) struct Live {
    blocks: Vec<LiveBlock>,
}

#[derive(Debug, Clone, Copy)]
struct LiveBlock {
    /// Its place in the reply.
    index: u64,
    kind: DeltaKind,
    id: PartId,
}

/// The kind of block that a reply grows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrowingKind {
    /// A text.
    Text,
    /// Thinking.
    Thinking,
    /// The input of a tool call.
    ToolInput,
}

impl Live {
    /// The kind of the block that grows; none while there is none.
    pub(super) fn growing(&self) -> Option<GrowingKind> {
        match self.blocks.last()?.kind {
            DeltaKind::Text => Some(GrowingKind::Text),
            DeltaKind::Reasoning => Some(GrowingKind::Thinking),
            DeltaKind::ToolInput => Some(GrowingKind::ToolInput),
            DeltaKind::Unknown => None,
        }
    }

    /// Number of live blocks.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Takes a piece; whether it changed anything. A piece that nothing leads up to is left out:
    /// the finished block has it.
    pub(super) fn piece(
        &mut self,
        (index, kind): (u64, DeltaKind),
        offset: u64,
        text: &str,
        entries: &mut PartEntries,
    ) -> bool {
        let place = self.blocks.iter().position(|block| block.index == index);
        if let Some(place) = place {
            if self.blocks[place].kind == kind {
                return grow(self.blocks[place].id, offset, text, entries);
            }
            if offset > 0 {
                return false;
            }
            self.drop_block(place, entries);
        }
        let Some(kind_of_part) = begun(kind, text) else {
            return false;
        };
        if offset > 0 {
            return false;
        }
        let id = entries.push(NewPart {
            seq: None,
            at: None,
            kind: kind_of_part,
            made: 0,
        });
        self.blocks.push(LiveBlock { index, kind, id });
        true
    }

    /// A block of that kind is finished: what it grew in, without what was passed over.
    pub(super) fn finish(&mut self, kind: DeltaKind, entries: &mut PartEntries) -> Option<PartId> {
        let place = self.blocks.iter().position(|block| block.kind == kind)?;
        for _ in 0..place {
            self.drop_block(0, entries);
        }
        Some(self.blocks.remove(0).id)
    }

    /// Removes all unfinished blocks. Returns true if there were any.
    pub(super) fn clear(&mut self, entries: &mut PartEntries) -> bool {
        let had_any = !self.blocks.is_empty();
        for block in self.blocks.drain(..) {
            entries.remove(block.id);
        }
        had_any
    }

    /// Adds a part before the growing ones.
    pub(super) fn push_before(&mut self, new: NewPart, entries: &mut PartEntries) -> PartId {
        let lifted: Vec<_> = self
            .blocks
            .iter()
            .map(|block| entries.remove(block.id))
            .collect();
        let id = entries.push(new);
        for (block, entry) in self.blocks.iter_mut().zip(lifted) {
            if let Some(entry) = entry {
                block.id = entries.push_again(entry);
            }
        }
        id
    }

    fn drop_block(&mut self, place: usize, entries: &mut PartEntries) {
        entries.remove(self.blocks.remove(place).id);
    }
}

/// A part with the first piece of it.
fn begun(kind: DeltaKind, text: &str) -> Option<PartKind> {
    let content = text.to_owned();
    match kind {
        DeltaKind::Text => Some(PartKind::Text {
            content,
            is_live: true,
            is_cut: false,
        }),
        DeltaKind::Reasoning => Some(PartKind::Reasoning {
            content,
            is_live: true,
            duration_ms: None,
        }),
        DeltaKind::ToolInput => Some(PartKind::Tool(ToolPart {
            call_id: String::new(),
            name: String::new(),
            asked: String::new(),
            input: content,
            outcome: CallOutcome::Writing,
            output: None,
        })),
        DeltaKind::Unknown => None,
    }
}

/// Puts a piece where it belongs; whether that changed anything. What comes twice is there.
fn grow(id: PartId, offset: u64, piece: &str, entries: &mut PartEntries) -> bool {
    let Some(entry) = entries.get(id) else {
        return false;
    };
    let has = match &entry.part.kind {
        PartKind::Text { content, .. } | PartKind::Reasoning { content, .. } => content,
        PartKind::Tool(tool) => &tool.input,
        PartKind::User { .. }
        | PartKind::Command(_)
        | PartKind::RunEnd { .. }
        | PartKind::Summary { .. }
        | PartKind::Change { .. }
        | PartKind::Note { .. } => {
            return false;
        }
    };
    let Ok(offset) = usize::try_from(offset) else {
        return false;
    };
    if has.get(offset..).is_none_or(|rest| rest.starts_with(piece)) {
        return false;
    }
    entries.change(id, |entry| match &mut entry.part.kind {
        PartKind::Text { content, .. } | PartKind::Reasoning { content, .. } => {
            content.truncate(offset);
            *content += piece;
        }
        PartKind::Tool(tool) => {
            tool.input.truncate(offset);
            tool.input += piece;
        }
        PartKind::User { .. }
        | PartKind::Command(_)
        | PartKind::RunEnd { .. }
        | PartKind::Summary { .. }
        | PartKind::Change { .. }
        | PartKind::Note { .. } => {}
    });
    true
}
