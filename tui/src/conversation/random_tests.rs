use std::ops::Range;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::testing::*;

/// The records that a service would send, and the passing events behind them.
fn stream(moves: &[u8]) -> Vec<(Option<u64>, Event)> {
    let mut sent = Vec::new();
    let mut seq = 0;
    let mut open = Vec::new();
    for (number, chosen) in moves.iter().enumerate() {
        let name = format!("n{number}");
        let mut record = |event: Event| {
            seq += 1;
            sent.push((Some(seq), event));
        };
        match chosen % 8 {
            0 => record(user(&name)),
            1 => {
                open.push(name.clone());
                record(status("running_tool", "read"));
                record(call(&name));
            }
            2 if !open.is_empty() => record(result(&open.remove(0), &name.repeat(9))),
            3 => {
                open.clear();
                record(event(
                    json!({"type": "turn_ended", "run_id": 1, "turn": 1, "outcome": "completed"}),
                ));
                record(run_ended(
                    if chosen % 16 > 7 {
                        "cancelled"
                    } else {
                        "completed"
                    },
                    "",
                ));
                record(status("idle", ""));
            }
            4 => record(reasoning(&name)),
            5 => sent.push((None, event(json!({"type": "discarded"})))),
            _ => {
                let whole = format!("text {name} äöü");
                for (offset, piece) in [(0, "text "), (5, name.as_str())] {
                    sent.push((None, delta(0, "text", offset, piece)));
                }
                seq += 1;
                sent.push((Some(seq), text(&whole)));
            }
        }
    }
    sent
}

fn records(stream: &[(Option<u64>, Event)]) -> Vec<Event> {
    let lasting = stream.iter().filter(|(seq, _)| seq.is_some());
    lasting.map(|(_, event)| event.clone()).collect()
}

/// Takes a stretch of the stream, of which some may be known.
fn follow(known: &mut ConversationStore, stream: &[(Option<u64>, Event)], stretch: Range<usize>) {
    for place in stretch {
        let (seq, event) = &stream[place];
        if let Some(seq) = seq {
            assert_ne!(take(known, *seq, event), EventApplied::Missed);
            continue;
        }
        // What passes is not sent again for what is finished.
        let next = stream[place..].iter().find_map(|(seq, _)| *seq);
        let last = known.last.as_ref().map(|known| known.seq);
        if next.is_none_or(|next| Some(next) > last) {
            pass(known, event);
        }
    }
}

/// Follows the stream over connections that break. `breaks` says where, and how it goes on.
fn broken(stream: &[(Option<u64>, Event)], breaks: &[(usize, u8)]) -> ConversationStore {
    let records = records(stream);
    let mut known = conversation(&[]);
    let mut at = 0;
    for (length, how) in breaks {
        let end = (at + length).min(stream.len());
        follow(&mut known, stream, at..end);
        at = end;
        match how % 3 {
            // What was seen comes again, in part.
            0 => at = at.saturating_sub(usize::from(*how) / 8),
            // What passes is lost.
            1 => {
                while stream.get(at).is_some_and(|(seq, _)| seq.is_none()) {
                    at += 1;
                }
            }
            // Records are missed, which is seen, and a snapshot is taken.
            _ => {
                at = (at + usize::from(*how) / 8).min(stream.len());
                let last = stream[..at]
                    .iter()
                    .filter_map(|(seq, _)| *seq)
                    .max()
                    .unwrap_or(0);
                if let Some((Some(seq), event)) = stream.get(at)
                    && known.last.as_ref().is_some_and(|known| known.seq < last)
                {
                    assert_eq!(take(&mut known, *seq, event), EventApplied::Missed);
                }
                let first = last.saturating_sub(u64::from(*how) / 4).max(1);
                known.restore(&snapshot(&records, first, last), Duration::ZERO);
            }
        }
    }
    follow(&mut known, stream, at..stream.len());
    // All of the past is fetched, some records at a time.
    while let Some(before) = known.oldest_seq() {
        let first = before.saturating_sub(7).max(1);
        known.prepend(&history(&records, first, before - 1));
    }
    known
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [PART-14]
    #[test]
    fn however_the_stream_breaks_the_parts_are_the_same(
        moves in proptest::collection::vec(any::<u8>(), 1..60),
        breaks in proptest::collection::vec((0..20_usize, any::<u8>()), 0..12),
    ) {
        let stream = stream(&moves);
        let whole = conversation(&records(&stream));
        let known = broken(&stream, &breaks);
        prop_assert_eq!(all(&known), all(&whole));
        prop_assert_eq!(known.digest(), whole.digest());
        let ids = ids(&known);
        prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        for part in known.parts() {
            prop_assert_eq!(known.part(part.id), Some(part));
        }
    }
}
