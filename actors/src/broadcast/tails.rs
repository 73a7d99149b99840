//! The ends of what running calls show, for clients that attach meanwhile.

use std::collections::BTreeMap;

use harness_protocol::Event;

/// How much of what a call shows is told to a client that attaches while it runs, in bytes.
pub(super) const TAIL_BYTES: usize = 64 * 1024;
/// How much is kept before the oldest is dropped: twice as much, so that each byte is moved once.
const MAX_KEPT: usize = 2 * TAIL_BYTES;

/// What running calls showed last, by the id of the call.
#[derive(Debug, Default)]
pub(super) struct Tails(BTreeMap<String, Tail>);

/// What one call showed last, without a gap.
#[derive(Debug)]
struct Tail {
    /// Where it begins in all that the call has shown.
    offset: u64,
    text: String,
}

impl Tail {
    /// Where the next piece begins, unless something was left out.
    fn end(&self) -> u64 {
        self.offset + self.text.len() as u64
    }

    /// Drops the oldest, but for so many bytes.
    fn keep(&mut self, bytes: usize) {
        let over = self.text.len().saturating_sub(bytes);
        let over = self.text.ceil_char_boundary(over);
        self.text.drain(..over);
        self.offset += over as u64;
    }
}

impl Tails {
    /// A call shows something.
    pub(super) fn grow(&mut self, id: &str, offset: u64, text: &str) {
        let tail = match self.0.get_mut(id) {
            Some(tail) => tail,
            None => self.0.entry(id.to_owned()).or_insert(Tail {
                offset,
                text: String::new(),
            }),
        };
        if tail.end() != offset {
            // One event cannot have what is on both sides of a gap.
            tail.offset = offset;
            tail.text.clear();
        }
        tail.text.push_str(text);
        if tail.text.len() > MAX_KEPT {
            tail.keep(TAIL_BYTES);
        }
    }

    /// The call has its result.
    pub(super) fn end(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// No call runs any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// An event for each call that runs and has shown something.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.0.iter().map(|(id, tail)| {
            let over = tail.text.len().saturating_sub(TAIL_BYTES);
            let from = tail.text.ceil_char_boundary(over);
            Event::ToolOutput {
                id: id.clone(),
                offset: tail.offset + from as u64,
                text: tail.text[from..].to_owned(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(tails: &Tails) -> (u64, String) {
        match tails.events().next() {
            Some(Event::ToolOutput { offset, text, .. }) => (offset, text),
            other => panic!("{other:?}"),
        }
    }

    /// Spec: [EVENT-33]
    #[test]
    fn a_tail_is_the_end_of_what_was_shown_in_whole_characters() {
        let mut random = fastrand::Rng::with_seed(4);
        let mut tails = Tails::default();
        let mut whole = String::new();
        while whole.len() < 1_000_000 {
            let piece = "é€x🦀".repeat(random.usize(1..800));
            tails.grow("toolu_1", whole.len() as u64, &piece);
            whole += &piece;
            let (offset, text) = tail(&tails);
            assert_eq!(offset + text.len() as u64, whole.len() as u64);
            assert!(whole.ends_with(&text));
            let most = whole.len().min(TAIL_BYTES);
            assert!((most - 3..=most).contains(&text.len()), "{}", text.len());
            assert!(tails.0["toolu_1"].text.len() <= MAX_KEPT);
        }
    }

    /// Spec: [EVENT-33]
    #[test]
    fn a_tail_begins_behind_the_last_gap() {
        let mut tails = Tails::default();
        tails.grow("toolu_1", 0, "one");
        tails.grow("toolu_1", 3, " two");
        assert_eq!(tail(&tails), (0, "one two".to_owned()));
        tails.grow("toolu_1", 100, "three");
        tails.grow("toolu_1", 105, " four");
        assert_eq!(tail(&tails), (100, "three four".to_owned()));
    }
}
