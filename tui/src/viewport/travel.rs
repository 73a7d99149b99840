//! Going through the conversation.

use super::anchor::Anchor;
use super::view::Viewport;
use crate::conversation::{ConversationStore, PartId, PartKind};

/// A way to go through the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TravelStep {
    /// Up by so many rows.
    Up(usize),
    /// Down by so many rows.
    Down(usize),
    /// Up by a screen, except for one row.
    PageUp,
    /// Down by a screen, except for one row.
    PageDown,
    /// To the first row that is loaded.
    Top,
    /// To the end, and on with it as it grows.
    Bottom,
    /// To the operator's prompt before.
    PreviousPrompt,
    /// To the operator's next prompt, or the end.
    NextPrompt,
}

/// A row, by its part's place in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowSpot {
    pub(super) index: usize,
    pub(super) row: usize,
}

/// A position of the window, to come back to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing(Option<Anchor>);

impl Viewport {
    /// The position of the window.
    pub(crate) fn standing(&self) -> Standing {
        Standing(self.anchor)
    }

    /// Returns to an earlier position.
    pub(crate) fn go_back(&mut self, standing: Standing) {
        self.anchor = standing.0;
    }

    /// Keeps the window in place, also at the end, until the operator moves or releases it: the operator points at
    /// something on the screen.
    pub(crate) fn hold(&mut self, conversation: &ConversationStore) {
        if let (None, Some(top)) = (self.anchor, self.top(conversation)) {
            self.anchor_at(top, conversation);
        }
        self.is_held = true;
    }

    /// Follows the end again where it is on the screen.
    pub(crate) fn release(&mut self) {
        self.is_held = false;
    }

    /// True if a prompt of an operator is at the top.
    pub(crate) fn is_at_prompt(&mut self, conversation: &ConversationStore) -> bool {
        let top = self.top(conversation);
        top.is_some_and(|top| top.row == 0 && is_prompt(conversation, top.index))
    }

    /// Goes through the conversation.
    pub(crate) fn go(&mut self, step: TravelStep, conversation: &ConversationStore) {
        self.is_held = false;
        let page = self.height().saturating_sub(1).max(1);
        let Some(top) = self.top(conversation) else {
            return;
        };
        match step {
            TravelStep::Up(rows) => {
                let spot = self.up(top, rows, conversation);
                self.stand(spot, conversation);
            }
            TravelStep::Down(rows) => self.down(top, rows, conversation),
            TravelStep::PageUp => self.go(TravelStep::Up(page), conversation),
            TravelStep::PageDown => self.go(TravelStep::Down(page), conversation),
            TravelStep::Top => self.stand(RowSpot { index: 0, row: 0 }, conversation),
            TravelStep::Bottom => self.anchor = None,
            TravelStep::PreviousPrompt => {
                let before = top.index + usize::from(top.row > 0);
                let found = (0..before)
                    .rev()
                    .find(|index| is_prompt(conversation, *index));
                let index = found.unwrap_or(0);
                self.stand(RowSpot { index, row: 0 }, conversation);
            }
            TravelStep::NextPrompt => {
                let mut behind = top.index + 1..conversation.len();
                match behind.find(|index| is_prompt(conversation, *index)) {
                    Some(index) => self.stand(RowSpot { index, row: 0 }, conversation),
                    None => self.anchor = None,
                }
            }
        }
    }

    /// Puts a row to the top, unless the end is on the screen then.
    pub(super) fn stand(&mut self, spot: RowSpot, conversation: &ConversationStore) {
        if self.ends_within(spot, self.height(), conversation) {
            self.anchor = None;
        } else {
            self.anchor_at(spot, conversation);
        }
    }

    fn anchor_at(&mut self, spot: RowSpot, conversation: &ConversationStore) {
        let Some(part) = conversation.at(spot.index) else {
            return;
        };
        if self.anchor.is_none() {
            self.seen = conversation.last_id().unwrap_or(PartId(i64::MIN));
        }
        let block = self.block(part);
        self.anchor = Some(Anchor::new(part.id, spot.row, self.key(part), &block));
    }

    fn down(&mut self, top: RowSpot, rows: usize, conversation: &ConversationStore) {
        if self.anchor.is_none() {
            return;
        }
        let mut spot = top;
        let mut left = rows;
        loop {
            let in_part = self.height_at(spot.index, conversation) - spot.row;
            if left < in_part {
                spot.row += left;
                break;
            }
            left -= in_part;
            spot.row = 0;
            spot.index += 1;
            if spot.index >= conversation.len() {
                self.anchor = None;
                return;
            }
        }
        // One row from the end is near enough.
        if self.ends_within(spot, self.height() + 1, conversation) {
            self.anchor = None;
        } else {
            self.stand(spot, conversation);
        }
    }
}

fn is_prompt(conversation: &ConversationStore, index: usize) -> bool {
    let part = conversation.at(index);
    part.is_some_and(|part| matches!(part.kind, PartKind::User { .. }))
}
