//! Replies for long conversations: made by a closure, turn by turn, with summaries between them.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::gate::Gate;
use crate::message::Message;
use crate::messages_request::MessagesRequest;
use crate::reply::Reply;
use crate::responder::Responder;

/// The place where a reply stops at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Before its status line.
    Head,
    /// After the first piece of its first block.
    Text,
    /// After its last block, before its end.
    End,
}

type Turn = Box<dyn Fn(usize, &MessagesRequest) -> Message + Send + Sync>;
type Summary = Box<dyn Fn(usize, &MessagesRequest) -> Reply + Send + Sync>;

/// Answers a number of turns by a closure, and every later one with a short text. Requests for a summary are answered
/// separately and do not count as turns.
pub struct Turns {
    count: usize,
    turn: Turn,
    summary: Summary,
    holds: Vec<(usize, Hold, Gate)>,
    taken: AtomicUsize,
    summaries: AtomicUsize,
}

impl Turns {
    /// So many turns; the closure is given the number of the turn, counted from 0.
    pub fn new(
        count: usize,
        turn: impl Fn(usize, &MessagesRequest) -> Message + Send + Sync + 'static,
    ) -> Self {
        Self {
            count,
            turn: Box::new(turn),
            summary: Box::new(|n, _| Reply::text(format!("Summary {n} of what was said so far."))),
            holds: Vec::new(),
            taken: AtomicUsize::new(0),
            summaries: AtomicUsize::new(0),
        }
    }

    /// Answers requests for a summary; the closure is given the number of the summary, counted from
    /// 0.
    #[must_use]
    pub fn summaries(
        mut self,
        summary: impl Fn(usize, &MessagesRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.summary = Box::new(summary);
        self
    }

    /// Stops the reply of a turn at a gate.
    #[must_use]
    pub fn hold(mut self, turn: usize, place: Hold, gate: &Gate) -> Self {
        self.holds.push((turn, place, gate.clone()));
        self
    }
}

impl Responder for Turns {
    fn respond(&self, request: &MessagesRequest) -> Reply {
        if request.wants_summary() {
            return (self.summary)(self.summaries.fetch_add(1, Ordering::Relaxed), request);
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let mut message = if number < self.count {
            (self.turn)(number, request)
        } else {
            Message::new().text("There is nothing more to do.")
        };
        let holds = self.holds.iter().filter(|(turn, ..)| *turn == number);
        let mut heads = Vec::new();
        for (_, place, gate) in holds {
            message = match place {
                Hold::Head => {
                    heads.push(gate);
                    message
                }
                Hold::Text => message.gate_after_delta(1, gate),
                Hold::End => message.gate(gate),
            };
        }
        heads
            .into_iter()
            .fold(Reply::from(message), Reply::gate_head)
    }
}

/// A text of exactly so many characters, which is the same every time.
#[must_use]
pub fn prose(characters: usize) -> String {
    let words = (0..).flat_map(|n: usize| format!("word{n} ").into_bytes());
    let text: Vec<u8> = words.take(characters).collect();
    let mut text = String::from_utf8(text).unwrap_or_default();
    // A space at the end could get lost on the way.
    if text.ends_with(' ') {
        text.pop();
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::InputUsage;

    fn request(text: &str) -> MessagesRequest {
        MessagesRequest {
            headers: Vec::new(),
            body: json!({"model": "m", "messages": [{"role": "user", "content": text}]}),
            input: InputUsage::default(),
        }
    }

    fn said(turns: &Turns, text: &str) -> String {
        let request = request(text);
        let steps = turns
            .respond(&request)
            .render(Some(&request), "req_1")
            .framed()
            .steps;
        steps.map(|step| format!("{step:?}")).collect()
    }

    #[test]
    fn turns_are_counted_and_summaries_are_answered_apart() {
        let turns = Turns::new(2, |turn, _| Message::new().text(format!("turn {turn}")))
            .summaries(|n, _| Reply::text(format!("summary {n}")));
        let summary = "sum up <conversation>hi</conversation>";
        for (text, expected) in [
            ("a", "turn 0"),
            (summary, "summary 0"),
            ("b", "turn 1"),
            (summary, "summary 1"),
            ("c", "nothing more"),
        ] {
            let answer = said(&turns, text);
            assert!(answer.contains(expected), "{expected}: {answer}");
        }
    }

    #[test]
    fn a_held_turn_stops_where_it_is_told() {
        let turn = |hold| {
            let turns = Turns::new(2, |_, _| Message::new().text("a b c d"));
            let turns = turns.hold(1, hold, &Gate::new());
            (said(&turns, "x"), said(&turns, "x"))
        };
        let (free, head) = turn(Hold::Head);
        assert!(!free.contains("Wait"), "{free}");
        assert!(head.starts_with("Wait"), "{head}");
        // Without a stream a reply has no pieces to stop between.
        let (_, end) = turn(Hold::End);
        assert!(end.contains("Wait"), "{end}");
    }

    #[test]
    fn a_text_has_the_length_that_is_asked_for() {
        for length in [0, 1, 6, 7, 1000] {
            assert_eq!(prose(length).len(), length);
            assert_eq!(prose(length).trim().len(), length);
        }
    }
}
