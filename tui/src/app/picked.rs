//! The part that is picked by keys, to be opened or folded.

use super::App;
use crate::conversation::{Part, PartId};
use crate::viewport::{SourcePlace, can_fold};

/// Direction of the search for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepWay {
    /// Above.
    Up,
    /// Below.
    Down,
}

impl App {
    /// Picks the next part that can be folded: the first time the last one on the screen.
    pub(super) fn pick(&mut self, way: StepWay) {
        let found = match self.picked {
            None => self.last_shown(),
            Some(picked) => {
                let at = self.conversation.index(picked);
                let part = |index| self.conversation.at(index).filter(|part| can_fold(part));
                let found = match way {
                    StepWay::Up => (0..at).rev().find_map(part),
                    StepWay::Down => (at + 1..self.conversation.len()).find_map(part),
                };
                found.map(|part| part.id)
            }
        };
        match found {
            Some(part) => {
                self.picked = Some(part);
                let place = SourcePlace { part, offset: 0 };
                self.viewport.show(place, &self.conversation);
            }
            None => self.say("there is no other that can be opened"),
        }
    }

    /// Opens or folds the one that is picked, or else the last one on the screen.
    pub(super) fn fold_one(&mut self) {
        let part = self.picked.or_else(|| self.last_shown());
        match part.and_then(|part| self.conversation.part(part)) {
            Some(part) => self.viewport.folds.toggle(part),
            None => self.say("there is nothing on the screen that can be opened"),
        }
    }

    /// The last part on the screen that can be folded.
    fn last_shown(&mut self) -> Option<PartId> {
        let visible = self.viewport.visible(&self.conversation);
        let parts = visible.iter().rev();
        let mut parts = parts.filter_map(|shown| self.conversation.part(shown.part));
        let is_one = |part: &&Part| can_fold(part);
        parts.find(is_one).map(|part| part.id)
    }
}

#[cfg(test)]
mod tests {
    use crate::app::testing::*;
    use crate::conversation::testing::{call, reasoning, result, text};
    use crate::part_view::FoldAmount;
    use crate::terminal::{Key, KeyPress};

    /// Spec: [TUI-261]
    #[test]
    fn keys_open_one_part_after_the_other() {
        let mut app = attached(&[
            call("a"),
            result("a", "one"),
            reasoning("so"),
            text("t"),
            call("b"),
            result("b", "two"),
        ]);
        app.viewport.resize(78, 18);
        let alt = |app: &mut crate::app::App, letter| {
            press(app, KeyPress::plain(Key::Char(letter)).alt());
            let folds = &app.viewport.folds;
            let parts = app.conversation.parts();
            parts.map(|part| folds.fold(part)).collect::<Vec<_>>()
        };
        let (folded, cut, open) = (FoldAmount::Folded, FoldAmount::Cut, FoldAmount::Open);
        // Without a pick, the last one on the screen.
        assert_eq!(alt(&mut app, 'o'), [folded, folded, open, cut]);
        assert_eq!(alt(&mut app, 'o'), [folded, folded, open, folded]);
        for letter in ['k', 'k', 'k', 'j', 'k'] {
            alt(&mut app, letter);
        }
        let first = app.conversation.parts().next().unwrap().id;
        assert_eq!(app.picked, Some(first));
        key(&mut app, Key::Enter);
        assert_eq!(alt(&mut app, 'j'), [cut, folded, open, folded]);
        key(&mut app, Key::Char('o'));
        assert_eq!(alt(&mut app, 'j'), [cut, open, open, folded]);
        assert_eq!(alt(&mut app, 'j'), [cut, open, open, folded]);
        assert_eq!(toast(&app), "there is no other that can be opened");
        // Text that is written is text, and Esc leaves.
        key(&mut app, Key::Escape);
        assert_eq!(app.picked, None);
        write(&mut app, "o");
        assert_eq!(app.composer.text(), "o");
    }
}
