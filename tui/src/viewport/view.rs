//! The window on the conversation: it follows the end, or stays where the operator scrolled to.
//!
//! Invariant: only parts on the screen or near it are ever laid out, and a window that does not follow the end does not
//! move because something grows, comes or goes above or below.

use std::ops::Range;
use std::rc::Rc;

use super::anchor::Anchor;
use super::cache::{Cache, Lay, LayoutKey};
use super::folds::Folds;
use super::place::SourcePlace;
use super::rows;
use super::travel::RowSpot;
use crate::conversation::{ConversationStore, Part, PartId, PartKind};
use crate::layout::PartLayout;
use crate::part_view::{self, FoldAmount};

/// Rows of one part on the screen.
#[derive(Debug, Clone)]
pub(crate) struct ShownRows {
    /// The part.
    pub(crate) part: PartId,
    /// Its layout.
    pub(crate) block: Rc<PartLayout>,
    /// Its visible rows.
    pub(crate) rows: Range<usize>,
    /// The row of the window that shows the first of them, counted from its top.
    pub(crate) y: u16,
}

/// The window.
#[derive(Debug)]
pub(crate) struct Viewport {
    cache: Cache,
    width: u16,
    height: u16,
    /// The folds of the parts.
    pub(crate) folds: Folds,
    /// The first row; none while the end is followed.
    pub(super) anchor: Option<Anchor>,
    /// True if the window stays in place even where the end is on the screen.
    pub(super) is_held: bool,
    /// The last part that had come when the end was left.
    pub(super) seen: PartId,
}

impl Viewport {
    /// A window that follows the end.
    pub(crate) fn new() -> Self {
        let mut layouter = part_view::Layouter::default();
        Self::with(Box::new(move |part, width, fold| {
            layouter.layout(part, width, fold)
        }))
    }

    /// A window that lays parts out that way.
    pub(crate) fn with(lay: Lay) -> Self {
        Self {
            cache: Cache::new(lay),
            width: 1,
            height: 0,
            folds: Folds::default(),
            anchor: None,
            is_held: false,
            seen: PartId(i64::MIN),
        }
    }

    /// The screen has another size. What is at the top stays there.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.width = width.max(1);
        self.height = height;
    }

    /// True if the window follows the end.
    pub(crate) fn is_following(&self) -> bool {
        self.anchor.is_none()
    }

    /// Number of parts that came since the window left the end.
    pub(crate) fn unseen(&self, conversation: &ConversationStore) -> usize {
        let behind = |id: PartId| conversation.index(PartId(id.0.saturating_add(1)));
        match (self.anchor, conversation.last_id()) {
            (Some(_), Some(last)) => behind(last).saturating_sub(behind(self.seen)),
            _ => 0,
        }
    }

    /// The rows to draw, from top to bottom. Rows in between are blank.
    pub(crate) fn visible(&mut self, conversation: &ConversationStore) -> Vec<ShownRows> {
        self.cache.begin_frame();
        let mut shown = Vec::new();
        let Some(RowSpot { index, mut row }) = self.top(conversation) else {
            return shown;
        };
        let mut y = 0;
        for index in index..conversation.len() {
            let Some(part) = conversation.at(index).filter(|_| y < self.height()) else {
                break;
            };
            let block = self.block(part);
            let end = block.rows.len().min(row + self.height() - y);
            if row < end {
                shown.push(ShownRows {
                    part: part.id,
                    rows: row..end,
                    y: u16::try_from(y).unwrap_or(u16::MAX),
                    block: Rc::clone(&block),
                });
            }
            y += height(&block, self.has_gap(index, conversation)).saturating_sub(row);
            row = 0;
        }
        shown
    }

    /// The layout of a part in its present fold.
    pub(crate) fn block(&mut self, part: &Part) -> Rc<PartLayout> {
        let fold = self.folds.fold(part);
        self.cache.block(part, self.width, fold)
    }

    /// Brings a place onto the screen; one that is there already stays where it is.
    pub(crate) fn show(&mut self, place: SourcePlace, conversation: &ConversationStore) {
        let Some(part) = conversation.part(place.part) else {
            return;
        };
        let block = self.block(part);
        let row = rows::row_of(&block, place.offset).unwrap_or(0);
        let is_there = |shown: &ShownRows| shown.part == place.part && shown.rows.contains(&row);
        if self.visible(conversation).iter().any(is_there) {
            return;
        }
        let index = conversation.index(place.part);
        let spot = self.up(RowSpot { index, row }, self.height() / 3, conversation);
        self.stand(spot, conversation);
    }

    /// The place in the text nearest to a cell of the window.
    pub(crate) fn hit(
        &mut self,
        column: u16,
        y: u16,
        conversation: &ConversationStore,
    ) -> Option<SourcePlace> {
        let visible = self.visible(conversation);
        let above = visible.partition_point(|shown| shown.y <= y);
        let shown = visible.get(above.saturating_sub(1))?;
        let row = shown.rows.start + usize::from(y.saturating_sub(shown.y));
        let source = &shown.block.source;
        let exact = shown.block.rows.get(row).and_then(|row| {
            let in_row = row.offset_at(source, column);
            in_row.or_else(|| rows::range(row).map(|range| range.start))
        });
        Some(SourcePlace {
            part: shown.part,
            offset: exact.unwrap_or_else(|| rows::nearest(&shown.block, row)),
        })
    }

    /// True if the first two screens before this one are not all loaded, and more can be loaded.
    pub(crate) fn wants_older(&mut self, conversation: &ConversationStore) -> bool {
        if !conversation.has_older() {
            return false;
        }
        let Some(mut spot) = self.top(conversation) else {
            return true;
        };
        let wanted = self.height() * 2;
        let mut rows = spot.row;
        while rows < wanted && spot.index > 0 {
            spot.index -= 1;
            rows += self.height_at(spot.index, conversation);
        }
        rows < wanted
    }

    /// The row at the top.
    pub(super) fn top(&mut self, conversation: &ConversationStore) -> Option<RowSpot> {
        self.settle(conversation);
        if let Some(anchor) = self.anchor {
            return Some(RowSpot {
                index: conversation.index(anchor.part),
                row: anchor.row,
            });
        }
        let end = RowSpot {
            index: conversation.len().checked_sub(1)?,
            row: 0,
        };
        let row = self.height_at(end.index, conversation);
        Some(self.up(RowSpot { row, ..end }, self.height(), conversation))
    }

    /// Finds the anchor again after the conversation or the screen changed. If the end is on the
    /// screen, it is followed.
    fn settle(&mut self, conversation: &ConversationStore) {
        let Some(anchor) = self.anchor else {
            return;
        };
        let index = conversation.index(anchor.part);
        let Some(part) = conversation.at(index) else {
            self.anchor = None;
            return;
        };
        let key = self.key(part);
        if part.id != anchor.part {
            let block = self.block(part);
            self.anchor = Some(Anchor::new(part.id, 0, key, &block));
        } else if !anchor.is_of(key) {
            let block = self.block(part);
            self.anchor = Some(anchor.relaid(key, &block));
        }
        let row = self.anchor.map_or(0, |anchor| anchor.row);
        if !self.is_held && self.ends_within(RowSpot { index, row }, self.height(), conversation) {
            self.anchor = None;
        }
    }

    /// So many rows further up, or the first row.
    pub(super) fn up(
        &mut self,
        from: RowSpot,
        rows: usize,
        conversation: &ConversationStore,
    ) -> RowSpot {
        let RowSpot { mut index, mut row } = from;
        let mut left = rows;
        while row < left {
            if index == 0 {
                return RowSpot { index, row: 0 };
            }
            left -= row;
            index -= 1;
            row = self.height_at(index, conversation);
        }
        row -= left;
        RowSpot { index, row }
    }

    /// True if at most `limit` rows follow from that row on, which is one of them.
    pub(super) fn ends_within(
        &mut self,
        spot: RowSpot,
        limit: usize,
        conversation: &ConversationStore,
    ) -> bool {
        let mut rows = 0;
        for index in spot.index..conversation.len() {
            rows += self.height_at(index, conversation);
            if rows > limit + spot.row {
                return false;
            }
        }
        true
    }

    /// Number of rows of a part, with the blank row after it.
    pub(super) fn height_at(&mut self, index: usize, conversation: &ConversationStore) -> usize {
        let Some(part) = conversation.at(index) else {
            return 0;
        };
        let has_gap = self.has_gap(index, conversation);
        height(&self.block(part), has_gap)
    }

    /// True if a blank row follows a part: not after the last one, and not between calls that are one row each.
    pub(super) fn has_gap(&self, index: usize, conversation: &ConversationStore) -> bool {
        let is_row = |part: &Part| {
            let is_call = matches!(part.kind, PartKind::Tool(_) | PartKind::Command(_));
            is_call && self.folds.fold(part) == FoldAmount::Folded
        };
        match (conversation.at(index), conversation.at(index + 1)) {
            (Some(part), Some(next)) => !(is_row(part) && is_row(next)),
            _ => false,
        }
    }

    pub(super) fn height(&self) -> usize {
        usize::from(self.height)
    }

    pub(super) fn key(&self, part: &Part) -> LayoutKey {
        LayoutKey {
            revision: part.revision,
            width: self.width,
            fold: self.folds.fold(part),
        }
    }

    /// The anchor of the top.
    #[cfg(test)]
    pub(super) fn held(&self) -> Option<(PartId, Option<usize>, usize)> {
        self.anchor
            .map(|anchor| (anchor.part, anchor.offset(), anchor.row))
    }
}

/// Number of rows of a layout, with the blank row after it; an empty layout has none.
fn height(block: &PartLayout, has_blank: bool) -> usize {
    match block.rows.len() {
        0 => 0,
        rows => rows + usize::from(has_blank),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
