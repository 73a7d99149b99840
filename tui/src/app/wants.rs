//! The parts that the view lacks and asks for: older parts, whole results, and the colours of code.

use super::{App, AppEffect, Overlay};
use crate::conversation::{CallOutcome, PartKind};
use crate::highlight::ParsedColours;
use crate::layout::ScreenRow;
use crate::link::ClientOrder;
use crate::part_view::FoldAmount;

/// Number of screens below the shown one for which colours are asked for.
const NEAR_SCREENS: usize = 2;

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
            self.order(ClientOrder::Older {
                conversation,
                before,
            });
        }
    }

    /// Asks for the colours of the code on the screen and of what is near below.
    pub(super) fn want_colours(&mut self) {
        if !self.own.highlight || !self.theme.has_colors() {
            return;
        }
        self.colours.look();
        let near = usize::from(self.size.1) * NEAR_SCREENS;
        for shown in self.viewport.visible(&self.conversation) {
            let Some(part) = self.conversation.part(shown.part) else {
                continue;
            };
            let rows = shown.block.rows.iter().take(shown.rows.end + near);
            let Some(range) = rows.rev().find_map(ScreenRow::range) else {
                continue;
            };
            let wanted = self.colours.wanted(part, &shown.block, range.end);
            self.effects
                .extend(wanted.into_iter().map(AppEffect::Colour));
        }
    }

    /// Takes the colours of code.
    pub(super) fn coloured(&mut self, answer: ParsedColours) {
        if !self.colours.take(answer) {
            log::debug!("the colours came too late");
        }
    }

    fn want_results(&mut self) {
        for shown in self.viewport.visible(&self.conversation) {
            let Some(part) = self.conversation.part(shown.part) else {
                continue;
            };
            if let PartKind::Tool(tool) = &part.kind
                && let CallOutcome::Ended(result) = &tool.outcome
                && !result.is_whole
                && self.viewport.folds.fold(part) == FoldAmount::Open
                && self.wanted_results.insert(result.seq)
            {
                let seq = result.seq;
                let conversation = self.open_id().to_owned();
                self.effects
                    .push(AppEffect::Order(ClientOrder::Whole { conversation, seq }));
            }
        }
    }
}
