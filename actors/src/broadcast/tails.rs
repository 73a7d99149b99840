//! The ends of what running calls and checks show, for clients that attach meanwhile.

use std::collections::BTreeMap;

use harness_protocol::Event;

/// Maximum size of a running call's output that a client receives when it attaches, in bytes.
pub(super) const TAIL_BYTES: usize = 64 * 1024;
/// Size that is kept before the oldest output is dropped: twice as much, so that each byte is moved once.
const MAX_KEPT: usize = 2 * TAIL_BYTES;

/// The last output of running calls, by the id of the call, and of the check of a workflow.
#[derive(Debug, Default)]
pub(super) struct Tails {
    calls: BTreeMap<String, OutputTail>,
    step: Option<(StepId, OutputTail)>,
}

/// The step that shows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepId {
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) step: String,
}

/// The last output of one call, without a gap.
#[derive(Debug)]
struct OutputTail {
    /// Offset of the text in the whole output of the call, in bytes.
    offset: u64,
    text: String,
}

impl OutputTail {
    /// Nothing yet, from there on.
    fn at(offset: u64) -> Self {
        Self {
            offset,
            text: String::new(),
        }
    }

    fn grow(&mut self, offset: u64, text: &str) {
        if self.end() != offset {
            // One event cannot have what is on both sides of a gap.
            self.offset = offset;
            self.text.clear();
        }
        self.text.push_str(text);
        if self.text.len() > MAX_KEPT {
            self.keep(TAIL_BYTES);
        }
    }

    /// The part to tell: where it begins, and the text.
    fn text_with_offset(&self) -> (u64, String) {
        let over = self.text.len().saturating_sub(TAIL_BYTES);
        let from = self.text.ceil_char_boundary(over);
        (self.offset + from as u64, self.text[from..].to_owned())
    }

    /// Offset of the next piece, unless output was left out.
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
        let tail = match self.calls.get_mut(id) {
            Some(tail) => tail,
            None => self
                .calls
                .entry(id.to_owned())
                .or_insert(OutputTail::at(offset)),
        };
        tail.grow(offset, text);
    }

    /// The check of a workflow shows something. One runs at a time.
    pub(super) fn grow_step(&mut self, id: StepId, offset: u64, text: &str) {
        match &mut self.step {
            Some((known, tail)) if *known == id => tail.grow(offset, text),
            step => {
                let (_, tail) = step.insert((id, OutputTail::at(offset)));
                tail.grow(offset, text);
            }
        }
    }

    /// The check has ended.
    pub(super) fn end_step(&mut self) {
        self.step = None;
    }

    /// The call has its result.
    pub(super) fn end(&mut self, id: &str) {
        self.calls.remove(id);
    }

    /// Forgets all outputs, since no call is running.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.step = None;
    }

    /// An event for each call that runs and has shown something, and for the check.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        let calls = self.calls.iter().map(|(id, tail)| {
            let (offset, text) = tail.text_with_offset();
            Event::ToolOutput {
                id: id.clone(),
                offset,
                text,
            }
        });
        let step = self.step.iter().map(|(id, tail)| {
            let (offset, text) = tail.text_with_offset();
            Event::StepOutput {
                iteration: id.iteration,
                attempt: id.attempt,
                step: id.step.clone(),
                offset,
                text,
            }
        });
        calls.chain(step)
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
            assert!(tails.calls["toolu_1"].text.len() <= MAX_KEPT);
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
