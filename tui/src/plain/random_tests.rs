//! A service whose answers come in any order, and a client that must make sense of them.

use std::collections::VecDeque;

use harness_protocol::{EndOutcome, Event, TokenUsage};
use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::{event, machine, snapshot};
use super::*;

/// A service that runs one prompt after the other. What it says by its answers and what it says by
/// its events may overtake each other.
#[derive(Default)]
struct Service {
    runs: u64,
    /// The command given to it, as it was typed.
    asked: Vec<String>,
    /// The run that is going.
    going: Option<u64>,
    answers: VecDeque<News>,
    events: VecDeque<Event>,
}

impl Service {
    fn submit(&mut self, key: String, content: String) {
        assert_eq!(self.going, None, "two prompts at once");
        self.runs += 1;
        let run_id = self.runs;
        self.going = Some(run_id);
        self.asked.push(content.clone());
        self.answers.push_back(News::Accepted {
            key: key.clone(),
            run_id,
        });
        self.events.push_back(Event::User {
            content,
            run_id: Some(run_id),
            key: Some(key),
            by: None,
            timestamp: 0,
            attachments: Vec::new(),
            item: None,
            queue: None,
        });
    }

    /// Takes an order; what it was typed as.
    fn order(&mut self, order: ClientOrder) {
        match order {
            ClientOrder::Submit { key, content, .. } => self.submit(key, content),
            ClientOrder::List { .. } => {
                self.asked.push("/list".to_owned());
                self.answers.push_back(News::Listed(Vec::new()));
            }
            ClientOrder::Rename { title, .. } => {
                self.asked.push(format!("/rename {title}"));
                self.events.push_back(Event::Renamed {
                    by: None,
                    title,
                    timestamp: 0,
                });
            }
            other => panic!("nobody typed {other:?}"),
        }
    }

    fn end(&mut self) {
        if let Some(run_id) = self.going.take() {
            self.events.push_back(Event::RunEnded {
                by: None,
                run_id,
                outcome: EndOutcome::Completed,
                message: String::new(),
                usage: TokenUsage::default(),
                timestamp: 0,
                run_usage: Default::default(),
                duration_ms: None,
            });
        }
    }
}

proptest! {
    /// Spec: [PLAIN-05] [PLAIN-08]
    #[test]
    fn each_line_is_carried_out_once_in_its_order_and_then_the_client_leaves(
        steps in vec(0..4_u8, 0..40),
        kinds in vec(0..4_u8, 0..6),
        quits in any::<bool>(),
        attached_at in 0..6_usize,
    ) {
        let mut machine = machine(false);
        let mut service = Service::default();
        let typed: Vec<_> = kinds.iter().zip(0..).map(|(kind, number)| match kind {
            0 => "/list".to_owned(),
            1 => format!("/rename t{number}"),
            _ => format!("p{number}"),
        }).collect();
        let mut to_type = VecDeque::from(typed.clone());
        to_type.extend(quits.then(|| "/quit".to_owned()));
        let mut is_over = false;
        // In the end everything comes that was still to come.
        let rest = [0, 1, 2, 3].repeat(4 * kinds.len() + 16);
        let mut inputs = Vec::new();
        let mut exits = Vec::new();
        for (index, step) in steps.into_iter().chain(rest).enumerate() {
            if index == attached_at {
                inputs.push(snapshot(None, Vec::new()));
            }
            match step {
                0 => inputs.extend(to_type.pop_front().map(PlainInput::Line).or_else(|| {
                    (!std::mem::replace(&mut is_over, true)).then_some(PlainInput::Over)
                })),
                1 => {
                    let answer = service.answers.pop_front();
                    inputs.extend(answer.map(|news| PlainInput::News(Box::new(news))));
                }
                2 => inputs.extend(service.events.pop_front().map(event)),
                _ => service.end(),
            }
            for effect in inputs.drain(..).flat_map(|input| machine.handle(input)) {
                match effect {
                    PlainEffect::Order(order) => service.order(order),
                    PlainEffect::Exit(code) => exits.push(code),
                    _ => {}
                }
            }
            if !exits.is_empty() {
                break;
            }
        }
        prop_assert_eq!(exits, [0]);
        // Who quits does not wait for the run of the last prompt.
        prop_assert!(quits || service.going.is_none());
        prop_assert_eq!(service.asked, typed);
    }
}
