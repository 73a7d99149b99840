//! The API's cache of requests, and its counts in `usage`.
//!
//! A request remembers its beginnings up to each `cache_control`, once it is answered. Another request of the same
//! model reads the longest of them that it has at one of its marks or up to 20 elements before one. Nothing is ever
//! forgotten, and no beginning is too short.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::prefix::{Digest, Weight};

/// Maximum distance of a remembered beginning before a mark, in elements.
const LOOK_BACK: usize = 20;
/// Maximum number of remembered beginnings: far more than any test makes, but bounded.
const MAX_REMEMBERED: usize = 100_000;

/// The tokens of a request's input, in three parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputUsage {
    /// Neither read nor written.
    pub plain: u64,
    /// The tokens that are cached from now on.
    pub written: u64,
    /// The tokens that were cached.
    pub read: u64,
}

impl InputUsage {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.plain + self.written + self.read
    }

    /// As a part of `usage`.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "input_tokens": self.plain,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.read,
        })
    }
}

/// The beginnings that are remembered.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    beginnings: Mutex<HashSet<u64>>,
}

/// The marks that later requests find this one by.
pub(crate) struct Marks(Vec<u64>);

impl Memory {
    /// The tokens that a request reads and writes, and its marks.
    pub(crate) fn look_up(&self, model: &str, weight: &Weight) -> (InputUsage, Marks) {
        let key = |hash: u64| {
            let mut key = Digest(hash);
            key.add(model.as_bytes());
            key.0
        };
        let elements = &weight.elements;
        let marked: Vec<usize> = (0..elements.len())
            .filter(|place| elements[*place].marked)
            .collect();
        let beginnings = self.lock();
        let known = |place: &usize| beginnings.contains(&key(elements[*place].hash));
        let found = marked.iter().rev().find_map(|mark| {
            let near = mark.saturating_sub(LOOK_BACK)..=*mark;
            near.rev().find(|place| known(place))
        });
        let read = found.map_or(0, |place| elements[place].tokens);
        let remembered = marked.last().map_or(0, |last| elements[*last].tokens);
        let usage = InputUsage {
            plain: weight.tokens() - remembered,
            written: remembered - read,
            read,
        };
        let marks = marked.iter().map(|place| key(elements[*place].hash));
        (usage, Marks(marks.collect()))
    }

    /// Remembers a request that is answered.
    pub(crate) fn remember(&self, marks: Marks) {
        let mut beginnings = self.lock();
        if beginnings.len() > MAX_REMEMBERED {
            beginnings.clear();
        }
        beginnings.extend(marks.0);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        self.beginnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> Value {
        json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn ask(memory: &Memory, model: &str, blocks: &[Value]) -> InputUsage {
        let body = json!({"messages": [{"role": "user", "content": blocks}]});
        let (usage, marks) = memory.look_up(model, &Weight::from_body(&body, 100));
        memory.remember(marks);
        usage
    }

    #[test]
    fn what_was_marked_before_is_read_and_the_rest_up_to_the_mark_is_written() {
        let memory = Memory::default();
        let first = ask(&memory, "a", &[text("one"), marked("two"), text("three")]);
        assert!(
            first.read == 0 && first.written > 0 && first.plain > 0,
            "{first:?}"
        );
        let grown = [
            text("one"),
            text("two"),
            text("three"),
            marked("four"),
            text("five"),
        ];
        let second = ask(&memory, "a", &grown);
        assert_eq!(second.read, first.written);
        assert!(second.written > 0 && second.plain > 0, "{second:?}");
        let third = ask(&memory, "a", &grown);
        assert_eq!(
            (third.read, third.written),
            (second.read + second.written, 0)
        );
        assert_eq!(third.total(), second.total());
    }

    #[test]
    fn other_models_other_beginnings_and_unmarked_requests_read_nothing() {
        let memory = Memory::default();
        ask(&memory, "a", &[text("one"), marked("two")]);
        assert_eq!(ask(&memory, "b", &[text("one"), marked("two")]).read, 0);
        assert_eq!(ask(&memory, "a", &[text("ONE"), marked("two")]).read, 0);
        let unmarked = ask(&memory, "a", &[text("one"), text("two")]);
        assert_eq!((unmarked.read, unmarked.written), (0, 0));
    }

    #[test]
    fn a_mark_looks_back_only_so_far() {
        for (between, is_found) in [(LOOK_BACK, true), (LOOK_BACK + 1, false)] {
            let memory = Memory::default();
            ask(&memory, "a", &[marked("one")]);
            let mut blocks = vec![text("one")];
            blocks.extend((1..between).map(|n| text(&n.to_string())));
            blocks.push(marked("last"));
            let usage = ask(&memory, "a", &blocks);
            assert_eq!(usage.read > 0, is_found, "{between}");
        }
    }
}
