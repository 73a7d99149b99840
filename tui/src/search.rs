//! Finds words in the conversation.
//!
//! It looks at the texts in their shown form, but lays out only parts that may have the words.

use std::ops::Range;

use crate::conversation::{CallOutcome, ConversationStore, Part, PartId, PartKind};
use crate::text::is_special;
use crate::viewport::{SourcePlace, Viewport};

/// In how many parts hits are counted.
const MAX_COUNTED: usize = 200;

/// Direction of the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards the end.
    Next,
    /// Towards the beginning.
    Previous,
}

/// The outcome of the look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchOutcome {
    /// A hit, which is the current one of the search now.
    At {
        /// The beginning of the hit.
        place: SourcePlace,
        /// True if the search wrapped around the end of the conversation.
        is_wrapped: bool,
    },
    /// There is none up to the oldest part that is loaded: load the page before and look again.
    WantsOlder,
    /// There is none.
    Nowhere,
}

/// A search, and its current hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Search {
    needle: Needle,
    current: Option<SourcePlace>,
    /// The oldest part that was looked at on the way to the beginning, while it waits for older
    /// ones: only those are new.
    looked_to: Option<PartId>,
}

impl Search {
    /// Looks for a text. Capitals matter if there are any in it.
    pub(crate) fn new(query: &str) -> Self {
        Self {
            needle: Needle::new(query),
            current: None,
            looked_to: None,
        }
    }

    /// The current hit.
    #[cfg(test)]
    pub(crate) fn current(&self) -> Option<SourcePlace> {
        self.current
    }

    /// Goes to the next hit, or the one before. The first one is the last of the conversation, or
    /// the first one on the way to its end.
    pub(crate) fn go(
        &mut self,
        direction: Direction,
        conversation: &ConversationStore,
        viewport: &mut Viewport,
    ) -> SearchOutcome {
        if self.needle.is_empty() || conversation.is_empty() {
            return SearchOutcome::Nowhere;
        }
        let looked_to = self.looked_to.take();
        if let (Direction::Previous, Some(looked_to)) = (direction, looked_to) {
            let older = 0..conversation.index(looked_to);
            let found = older.rev().find_map(|index| {
                let part = conversation.at(index)?;
                let hit = self.hits(part, viewport).pop()?;
                Some((part.id, hit.start))
            });
            if let Some((part, offset)) = found {
                let place = SourcePlace { part, offset };
                self.current = Some(place);
                return SearchOutcome::At {
                    place,
                    is_wrapped: false,
                };
            }
            if conversation.has_older() {
                return self.wants_older(conversation);
            }
        }
        let count = conversation.len();
        let start = match (self.current, direction) {
            (Some(place), _) => conversation.index(place.part).min(count - 1),
            (None, Direction::Next) => 0,
            (None, Direction::Previous) => count - 1,
        };
        // The part of the current hit comes first and last: on this side of the hit, and all of it.
        for step in 0..=count {
            let (index, is_wrapped) = match direction {
                Direction::Next => ((start + step) % count, start + step >= count),
                Direction::Previous => ((start + count * 2 - step) % count, step > start),
            };
            if is_wrapped && direction == Direction::Previous && conversation.has_older() {
                return self.wants_older(conversation);
            }
            let Some(part) = conversation.at(index) else {
                continue;
            };
            let hits = self.hits(part, viewport);
            let bound = self
                .current
                .filter(|place| place.part == part.id && step == 0);
            let offset = match direction {
                Direction::Next => hits
                    .iter()
                    .find(|hit| bound.is_none_or(|bound| hit.start > bound.offset)),
                Direction::Previous => hits
                    .iter()
                    .rfind(|hit| bound.is_none_or(|bound| hit.start < bound.offset)),
            };
            if let Some(hit) = offset {
                let place = SourcePlace {
                    part: part.id,
                    offset: hit.start,
                };
                self.current = Some(place);
                return SearchOutcome::At { place, is_wrapped };
            }
        }
        if conversation.has_older() {
            return self.wants_older(conversation);
        }
        SearchOutcome::Nowhere
    }

    fn wants_older(&mut self, conversation: &ConversationStore) -> SearchOutcome {
        self.looked_to = conversation.at(0).map(|part| part.id);
        SearchOutcome::WantsOlder
    }

    /// The hits in a part, in the text that is shown of it.
    pub(crate) fn hits(&self, part: &Part, viewport: &mut Viewport) -> Vec<Range<usize>> {
        if !self.needle.may_be_in(part) {
            return Vec::new();
        }
        self.needle.all_in(&viewport.block(part).source)
    }

    /// Number of the current hit, counted from 1, and of all loaded hits. `None` without a current hit, or if so many
    /// parts may have one that to count takes long.
    pub(crate) fn count(
        &self,
        conversation: &ConversationStore,
        viewport: &mut Viewport,
    ) -> Option<(usize, usize)> {
        let parts = (0..conversation.len()).filter_map(|index| conversation.at(index));
        let parts = parts.filter(|part| self.needle.may_be_in(part));
        let parts: Vec<&Part> = parts.take(MAX_COUNTED + 1).collect();
        if parts.len() > MAX_COUNTED {
            return None;
        }
        let mut count = 0;
        let mut place = None;
        for part in parts {
            for hit in self.hits(part, viewport) {
                count += 1;
                if self.is_current(part.id, &hit) {
                    place = Some(count);
                }
            }
        }
        Some((place?, count))
    }

    /// True if this hit is the current one.
    pub(crate) fn is_current(&self, part: PartId, hit: &Range<usize>) -> bool {
        self.current
            == Some(SourcePlace {
                part,
                offset: hit.start,
            })
    }
}

/// The search text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Needle {
    /// In small letters, unless capitals matter.
    words: Vec<char>,
    /// The same without blanks.
    bare: Vec<char>,
    has_capitals: bool,
}

impl Needle {
    fn new(query: &str) -> Self {
        let has_capitals = query.chars().any(char::is_uppercase);
        let letters = query.chars().flat_map(|c| fold(c, has_capitals));
        let words: Vec<char> = letters.collect();
        let bare = words.iter().copied().filter(|c| !c.is_whitespace());
        Self {
            bare: bare.collect(),
            words,
            has_capitals,
        }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// All places of it that do not overlap.
    fn all_in(&self, source: &str) -> Vec<Range<usize>> {
        let mut hits: Vec<Range<usize>> = Vec::new();
        let Some(first) = self.words.first() else {
            return hits;
        };
        for (start, c) in source.char_indices() {
            if hits.last().is_some_and(|hit| start < hit.end) || self.fold(c).next() != Some(*first)
            {
                continue;
            }
            if let Some(length) = self.length_at(&source[start..]) {
                hits.push(start..start + length);
            }
        }
        hits
    }

    /// Length of the needle in the text, in bytes, if the text begins with it.
    fn length_at(&self, text: &str) -> Option<usize> {
        let mut left = self.words.as_slice();
        for (at, c) in text.char_indices() {
            if left.is_empty() {
                return Some(at);
            }
            for c in self.fold(c) {
                match left.split_first() {
                    Some((first, rest)) if *first == c => left = rest,
                    Some(_) => return None,
                    // The needle ends within what one letter is made of.
                    None => {}
                }
            }
        }
        left.is_empty().then_some(text.len())
    }

    /// True if a part may have the needle: a layout may add and leave out blanks and control characters, but nothing
    /// else.
    fn may_be_in(&self, part: &Part) -> bool {
        let texts: [&str; 4] = match &part.kind {
            PartKind::User { content, .. }
            | PartKind::Text { content, .. }
            | PartKind::Reasoning { content, .. }
            | PartKind::RunEnd { facts: content }
            | PartKind::Note { text: content, .. } => [content, "", "", ""],
            PartKind::Command(ran) => [&ran.command, &ran.result.text, "", ""],
            PartKind::Summary { title, content }
            | PartKind::Change {
                title,
                diff: content,
                ..
            } => [title, content, "", ""],
            PartKind::Tool(tool) => {
                let outcome = match &tool.outcome {
                    CallOutcome::Ended(result) => &result.text,
                    CallOutcome::Skipped { reason } => reason,
                    CallOutcome::Writing | CallOutcome::Waiting | CallOutcome::Running => "",
                };
                [&tool.name, &tool.asked, &tool.input, outcome]
            }
        };
        let Some(first) = self.bare.first() else {
            return true;
        };
        if texts.iter().any(|text| text.contains(is_strange)) {
            return true;
        }
        texts.iter().any(|text| {
            text.char_indices()
                .any(|(at, c)| self.fold(c).next() == Some(*first) && self.is_bare_at(&text[at..]))
        })
    }

    /// True if the text begins with the needle, but for blanks; or ends within it.
    fn is_bare_at(&self, text: &str) -> bool {
        let mut left = self.bare.as_slice();
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            for c in self.fold(c) {
                match left.split_first() {
                    Some((first, rest)) if *first == c => left = rest,
                    Some(_) => return false,
                    None => return true,
                }
            }
        }
        true
    }

    fn fold(&self, c: char) -> impl Iterator<Item = char> + use<> {
        fold(c, self.has_capitals)
    }
}

/// A letter in the form in which it is compared.
fn fold(c: char, has_capitals: bool) -> impl Iterator<Item = char> + use<> {
    let small = (!has_capitals).then(|| c.to_lowercase());
    let same = has_capitals.then_some(c);
    small.into_iter().flatten().chain(same)
}

/// True if a layout may leave the character out or show something else in its place. A tab is a blank, which is left
/// out of the comparison anyway.
fn is_strange(c: char) -> bool {
    c != '\t' && is_special(c)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
