//! A search in the conversation, while the operator writes it and steps through it.

use super::{App, Field, Overlay};
use crate::keys::KeyAction;
use crate::search::{Direction, Search, SearchOutcome};
use crate::viewport::{Standing, TravelStep};

/// A search that is open.
#[derive(Debug)]
pub(crate) struct SearchBox {
    /// The search text.
    pub(crate) field: Field,
    /// The search with its current hit.
    pub(crate) search: Search,
    /// The last outcome.
    found: Option<SearchOutcome>,
    /// Number of the current hit and of all hits, if they were counted.
    count: Option<(usize, usize)>,
    /// The older part could not be loaded.
    lacks_older: bool,
    /// Direction of the last step: the search continues in it when older parts came.
    direction: Direction,
    /// The place of the window before the search.
    origin: Standing,
}

impl SearchBox {
    /// The finding, in words.
    pub(crate) fn found(&self) -> String {
        let words = match self.found {
            _ if self.field.text().is_empty() => "",
            _ if self.lacks_older => "what is older cannot be had",
            Some(SearchOutcome::Nowhere) => "not found",
            Some(SearchOutcome::WantsOlder) => "loading what is older…",
            Some(SearchOutcome::At { is_wrapped, .. }) => {
                let round = if is_wrapped { "went round" } else { "" };
                return match self.count {
                    Some((place, count)) if is_wrapped => format!("{round}, {place} of {count}"),
                    Some((place, count)) => format!("{place} of {count}"),
                    None => round.to_owned(),
                };
            }
            None => "",
        };
        words.to_owned()
    }

    /// True if it waits for older parts.
    pub(super) fn wants_older(&self) -> bool {
        self.found == Some(SearchOutcome::WantsOlder) && !self.lacks_older
    }
}

impl App {
    /// Opens a search.
    pub(super) fn open_search(&mut self, text: &str) {
        let mut field = Field::default();
        field.insert(text);
        self.overlay = Some(Overlay::Search(SearchBox {
            field,
            search: Search::new(text),
            found: None,
            count: None,
            lacks_older: false,
            direction: Direction::Previous,
            origin: self.viewport.standing(),
        }));
        self.search_again();
    }

    /// Searches from the end, for something else than before.
    pub(super) fn search_again(&mut self) {
        if let Some(Overlay::Search(open)) = &mut self.overlay {
            open.search = Search::new(open.field.text());
        }
        self.search_on(Direction::Previous);
    }

    /// Goes to the next hit on the way.
    fn search_on(&mut self, direction: Direction) {
        let Some(Overlay::Search(open)) = &mut self.overlay else {
            return;
        };
        let (conversation, viewport) = (&self.conversation, &mut self.viewport);
        open.direction = direction;
        let found = open.search.go(direction, conversation, viewport);
        open.found = Some(found);
        open.lacks_older = false;
        open.count = None;
        if let SearchOutcome::At { place, .. } = found {
            open.count = open.search.count(conversation, viewport);
            viewport.folds.peek(Some(place.part));
            viewport.show(place, conversation);
        }
    }

    /// Continues the search that waited for older parts.
    pub(super) fn search_in_older(&mut self) {
        if let Some(Overlay::Search(open)) = &self.overlay
            && open.wants_older()
        {
            let direction = open.direction;
            self.search_on(direction);
        }
    }

    /// The older part cannot be loaded: the search no longer waits for it.
    pub(super) fn search_without_older(&mut self) {
        if let Some(Overlay::Search(open)) = &mut self.overlay
            && open.wants_older()
        {
            open.lacks_older = true;
        }
    }

    pub(super) fn act_on_search(&mut self, action: KeyAction) {
        let Some(Overlay::Search(open)) = &mut self.overlay else {
            return;
        };
        match action {
            KeyAction::Close => {
                let origin = open.origin;
                self.viewport.folds.peek(None);
                self.viewport.go_back(origin);
                self.overlay = None;
            }
            KeyAction::Accept => {
                self.viewport.folds.peek(None);
                self.overlay = None;
            }
            KeyAction::Next => self.search_on(Direction::Next),
            KeyAction::Previous => self.search_on(Direction::Previous),
            KeyAction::PageUp => self.viewport.go(TravelStep::PageUp, &self.conversation),
            KeyAction::PageDown => self.viewport.go(TravelStep::PageDown, &self.conversation),
            KeyAction::Backspace if open.field.backspace() => self.search_again(),
            KeyAction::Clear => {
                open.field.clear();
                self.search_again();
            }
            _ => {}
        }
    }
}
