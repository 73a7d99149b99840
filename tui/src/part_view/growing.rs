//! Texts and thinking, which arrive in small pieces.

use super::{Sign, THINKING, behind, lines_of, room};
use crate::conversation::PartKind;
use crate::layout::{PartLayout, RowPiece};
use crate::markdown;
use crate::text::{Hidden, sanitize};

/// The form in which a text that grows is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowingForm {
    /// As Markdown.
    Markdown,
    /// As thinking.
    Thinking,
}

/// A text part or a thinking part that is laid out again and again while it grows. Its finished beginning is not laid
/// out again, so a long reply costs no more than a short one.
#[derive(Debug, Clone)]
pub(crate) struct GrowingPart {
    form: GrowingForm,
    width: usize,
    /// Number of bytes of the content that are in the source for good: whole lines.
    taken: usize,
    /// Length of that part of the source, in bytes.
    clean: usize,
    markdown: markdown::GrowingMarkdown,
    /// Number of rows of thinking that are final.
    rows: usize,
    block: PartLayout,
}

impl GrowingPart {
    pub(super) fn new(form: GrowingForm) -> Self {
        Self {
            form,
            width: 0,
            taken: 0,
            clean: 0,
            markdown: markdown::GrowingMarkdown::default(),
            rows: 0,
            block: PartLayout::default(),
        }
    }

    /// The growing layout of a part of this kind. `None` if the kind does not grow.
    pub(crate) fn from_kind(kind: &PartKind) -> Option<Self> {
        match kind {
            PartKind::Text { .. } => Some(Self::new(GrowingForm::Markdown)),
            PartKind::Reasoning { .. } => Some(Self::new(GrowingForm::Thinking)),
            PartKind::User { .. }
            | PartKind::Tool(_)
            | PartKind::Command(_)
            | PartKind::RunEnd { .. }
            | PartKind::Summary { .. }
            | PartKind::Change { .. }
            | PartKind::Note { .. } => None,
        }
    }

    /// The same as [`super::layout`] of that part while it is not cut short. `content` must begin with the content of
    /// the last call: for another part, or for a text that was replaced, take another of these. Another width starts
    /// the layout again by itself.
    pub(crate) fn layout(&mut self, content: &str, width: u16) -> &PartLayout {
        self.lay_out(content, usize::from(width).max(1));
        &self.block
    }

    /// The layout of a text that no longer grows.
    pub(super) fn into_block(mut self, content: &str, width: usize) -> PartLayout {
        self.lay_out(content, width);
        self.block
    }

    fn lay_out(&mut self, content: &str, width: usize) {
        if width != self.width || content.len() < self.taken {
            *self = Self::new(self.form);
            self.width = width;
        }
        let first_dirty = self.take(content);
        match self.form {
            GrowingForm::Markdown => self.markdown(),
            GrowingForm::Thinking => self.thinking(first_dirty),
        }
    }

    /// Makes what is new fit to be shown: whole lines once, the last one each time. Where in the
    /// source that begins.
    fn take(&mut self, content: &str) -> usize {
        self.block.source.truncate(self.clean);
        let first_dirty = self.clean;
        let new = content.get(self.taken..).unwrap_or_default();
        let (lines, open) = match new.rfind('\n') {
            Some(last) => new.split_at(last + 1),
            None => ("", new),
        };
        self.block
            .source
            .push_str(&sanitize(lines, Hidden::Dropped));
        self.taken += lines.len();
        self.clean = self.block.source.len();
        self.block.source.push_str(&sanitize(open, Hidden::Dropped));
        first_dirty
    }

    fn markdown(&mut self) {
        let (block, width) = (&mut self.block, self.width);
        let from = self.markdown.final_rows();
        let laid = (&mut block.rows, &mut block.code);
        self.markdown.layout(&block.source, room(width), laid);
        if room(width) < width {
            for row in block.rows.iter_mut().skip(from) {
                row.pieces.insert(0, Sign::None.piece());
            }
        }
    }

    /// Lays out thinking: plain text, a row at a time.
    fn thinking(&mut self, first_dirty: usize) {
        let PartLayout { source, rows, .. } = &mut self.block;
        rows.truncate(self.rows);
        let dirty = source.get(first_dirty..).unwrap_or_default();
        for range in lines_of(dirty, first_dirty) {
            let is_final = range.end < self.clean;
            let mut line = Vec::new();
            if rows.is_empty() {
                line.push(RowPiece::drawn("(thinking) ", THINKING));
            }
            line.push(RowPiece::source(range, THINKING));
            for pieces in markdown::wrap(source, &line, room(self.width)) {
                rows.push(behind(Sign::None, self.width, pieces));
            }
            if is_final {
                self.rows = rows.len();
            }
        }
        if rows.is_empty() {
            let heading = [RowPiece::drawn("(thinking)", THINKING)];
            for pieces in markdown::wrap(source, &heading, room(self.width)) {
                rows.push(behind(Sign::None, self.width, pieces));
            }
        }
    }
}

#[cfg(test)]
#[path = "growing_tests.rs"]
mod tests;
