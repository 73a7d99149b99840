use std::time::Duration;

use harness_protocol::Event;
use proptest::prelude::*;

use super::*;
use crate::conversation::testing::*;
use crate::viewport::TravelStep;
use crate::viewport::testing::*;

/// Events that come while a person reads.
#[derive(Debug, Clone, Copy)]
enum Move {
    Go(TravelStep),
    /// So many records come.
    Comes(u64),
    /// A piece of a text that grows.
    Grows(u8),
    Discarded,
    /// The page before comes.
    Older,
    Resize(u16, u16),
    FoldAll,
    /// The snapshot is taken anew.
    Again,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        (0..40_usize).prop_map(|rows| Move::Go(TravelStep::Up(rows))),
        (0..20_usize).prop_map(|rows| Move::Go(TravelStep::Down(rows))),
        Just(Move::Go(TravelStep::PageUp)),
        Just(Move::Go(TravelStep::PageDown)),
        Just(Move::Go(TravelStep::Top)),
        Just(Move::Go(TravelStep::Bottom)),
        Just(Move::Go(TravelStep::PreviousPrompt)),
        Just(Move::Go(TravelStep::NextPrompt)),
        (1..5_u64).prop_map(Move::Comes),
        any::<u8>().prop_map(Move::Grows),
        Just(Move::Discarded),
        Just(Move::Older),
        (1..60_u16, 1..20_u16).prop_map(|(width, height)| Move::Resize(width, height)),
        Just(Move::FoldAll),
        Just(Move::Again),
    ]
}

fn records(kinds: &[u8]) -> Vec<Event> {
    let mut calls = Vec::new();
    let mut record = |(number, kind): (usize, &u8)| {
        let words = format!("w{number} ").repeat(usize::from(*kind));
        match kind % 4 {
            0 => user(&format!("p{number}")),
            1 => {
                calls.push(number.to_string());
                call(&number.to_string())
            }
            2 if !calls.is_empty() => result(&calls.remove(0), &words.replace(' ', "\n")),
            _ => text(&words),
        }
    };
    kinds.iter().enumerate().map(&mut record).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [SCRL-01] [SCRL-04]
    #[test]
    fn what_stands_does_not_move(
        kinds in proptest::collection::vec(0..60_u8, 40..80),
        steps in proptest::collection::vec(moves(), 1..50),
    ) {
        let records = records(&kinds);
        let mut known = ConversationStore::new(String::new());
        let mut last = 30;
        known.restore(&snapshot(&records, 20, last), Duration::ZERO);
        let mut viewport = Viewport::with(Box::new(plain));
        viewport.resize(30, 8);
        let mut live = String::new();
        for step in steps {
            let before = viewport.held();
            match step {
                Move::Go(step) => viewport.go(step, &known),
                Move::Comes(count) => {
                    for _ in 0..count.min(records.len() as u64 - last) {
                        last += 1;
                        take(&mut known, last, &records[usize::try_from(last).unwrap() - 1]);
                        live.clear();
                    }
                }
                Move::Grows(count) => {
                    let piece = "live ".repeat(usize::from(count) / 8);
                    pass(&mut known, &delta(0, "text", live.len(), &piece));
                    live += &piece;
                }
                Move::Discarded => {
                    pass(&mut known, &Event::Discarded {});
                    live.clear();
                }
                Move::Older => {
                    if let Some(before) = known.oldest_seq() {
                        let first = before.saturating_sub(5).max(1);
                        known.prepend(&history(&records, first, before - 1));
                    }
                }
                Move::Resize(width, height) => viewport.resize(width, height),
                Move::FoldAll => {
                    viewport.folds.toggle_all();
                }
                Move::Again => {
                    live.clear();
                    known.restore(&snapshot(&records, last - 5, last), Duration::ZERO);
                }
            }
            let mut seen = screen(&mut viewport, &known);
            let rows = everything(&mut viewport, &known);
            let height = viewport.height();
            prop_assert!(seen.len() <= height);
            seen.resize(height.min(rows.len()), String::new());
            prop_assert!(rows.windows(seen.len().max(1)).any(|window| window == seen), "{seen:?}");
            if viewport.is_following() {
                prop_assert!(rows.ends_with(&seen));
            } else {
                // No row is wasted while there is more to show.
                prop_assert_eq!(seen.len(), height);
            }
            let (Some(before), Some(after)) = (before, viewport.held()) else {
                continue;
            };
            if !matches!(step, Move::Go(_)) && known.part(before.0).is_some() {
                prop_assert_eq!((before.0, before.1), (after.0, after.1));
                let part = known.part(after.0).unwrap();
                let block = viewport.block(part);
                let Some(offset) = after.1.filter(|offset| *offset < block.source.len()) else {
                    continue; // The text became a shorter one.
                };
                // A result replaces words of its call; all else only grows.
                let is_tool = matches!(part.kind, crate::conversation::PartKind::Tool(_));
                if !is_tool && !matches!(step, Move::Resize(..)) {
                    prop_assert_eq!(before.2, after.2);
                }
                if let Some(range) = block.rows.get(after.2).and_then(rows::range) {
                    prop_assert!(range.contains(&offset) || range.is_empty() || range.end == offset);
                }
            }
        }
    }
}
