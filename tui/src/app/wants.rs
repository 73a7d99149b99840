//! What the view lacks and is asked for: older parts, and whole results.

use super::{App, Effect, Overlay};
use crate::conversation::{PartKind, ToolOutcome};
use crate::link::Order;
use crate::part_view::Fold;

impl App {
    /// Asks for what the view lacks: older parts when it comes near to the first, and results of
    /// tools that are unfolded and were cut when they arrived.
    pub(super) fn want_more(&mut self) {
        if self.opening.is_some() || self.is_down() {
            return;
        }
        self.want_results();
        let is_searching = match &self.overlay {
            Some(Overlay::Search(open)) => open.wants_older(),
            _ => false,
        };
        if self.is_loading_older || self.now < self.older_again_at {
            return;
        }
        if let Some(before) = self.conversation.oldest_seq()
            && (is_searching
                || self.journey.is_some()
                || self.viewport.wants_older(&self.conversation))
        {
            self.is_loading_older = true;
            let conversation = self.open_id().to_owned();
            self.order(Order::Older {
                conversation,
                before,
            });
        }
    }

    fn want_results(&mut self) {
        for shown in self.viewport.visible(&self.conversation) {
            let Some(part) = self.conversation.part(shown.part) else {
                continue;
            };
            if let PartKind::Tool(tool) = &part.kind
                && let ToolOutcome::Ended(result) = &tool.outcome
                && !result.is_whole
                && self.viewport.folds.of(part) == Fold::Open
                && self.wanted_results.insert(result.seq)
            {
                let seq = result.seq;
                let conversation = self.open_id().to_owned();
                self.effects
                    .push(Effect::Order(Order::Whole { conversation, seq }));
            }
        }
    }
}
