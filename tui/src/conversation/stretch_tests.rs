use std::collections::BTreeSet;
use std::time::Duration;

use harness_protocol::{ConversationSnapshot, Damage, Event, HistoryPage, PastEvent};
use proptest::prelude::*;
use serde_json::json;

use crate::conversation::testing::*;
use crate::conversation::{ConversationStore, EventApplied};

/// A journal of which some records cannot be read, as a service shows it.
struct Journal {
    records: Vec<Event>,
    holes: BTreeSet<u64>,
}

impl Journal {
    fn new(holes: impl IntoIterator<Item = u64>) -> Self {
        Self {
            records: (1..=12).map(|seq| text(&format!("t{seq}"))).collect(),
            holes: holes.into_iter().collect(),
        }
    }

    /// The page up to record `end`.
    fn page(&self, end: u64, limit: u64) -> HistoryPage {
        let start = end.saturating_sub(limit);
        let is_there = |past: &PastEvent| !self.holes.contains(&past.seq);
        let events = history(&self.records, start + 1, end).events;
        let events: Vec<_> = events.into_iter().filter(is_there).collect();
        let first = events.first().map_or(start + 1, |first| first.seq);
        HistoryPage {
            before: (first > 1).then_some(first),
            after: None,
            events,
        }
    }

    fn snapshot(&self, end: u64, limit: u64) -> ConversationSnapshot {
        ConversationSnapshot {
            history: self.page(end, limit),
            ..snapshot(&self.records, 1, end)
        }
    }

    /// The passing events behind a record, up to the next one.
    fn follow(&self, known: &mut ConversationStore, after: u64, end: u64) {
        let mut at = after;
        for seq in after + 1..=end + 1 {
            if self.holes.contains(&seq) && seq <= end {
                continue;
            }
            if seq > at + 1 {
                let gap = event(json!({"type": "gap", "after": at, "before": seq}));
                assert_eq!(pass(known, &gap), EventApplied::Changed);
            }
            if seq <= end {
                let taken = take(known, seq, &self.records[usize::try_from(seq - 1).unwrap()]);
                assert_eq!(taken, EventApplied::Changed);
            }
            at = seq;
        }
    }

    /// Loads all that is older.
    fn load(&self, known: &mut ConversationStore, limit: u64) {
        while let Some(before) = known.oldest_seq() {
            let page = self.page(before - 1, limit);
            known.prepend(&page);
            if !page.events.is_empty() {
                // The answer to the same question again.
                known.prepend(&page);
            }
        }
    }

    /// The extent to show of all of it.
    fn shown(&self) -> Vec<String> {
        let mut shown = Vec::new();
        let mut seq = 1;
        while seq <= 12 {
            let end = (seq..=12).find(|seq| !self.holes.contains(seq));
            let end = end.unwrap_or(13);
            match end - seq {
                0 => {
                    shown.push(format!("t{seq}"));
                    seq += 1;
                    continue;
                }
                1 => shown.push(format!("! record {seq} cannot be read")),
                _ => shown.push(format!("! records {seq} to {} cannot be read", end - 1)),
            }
            seq = end;
        }
        shown
    }
}

fn attached(snapshot: &ConversationSnapshot) -> ConversationStore {
    let mut known = ConversationStore::new(String::new());
    known.restore(snapshot, Duration::ZERO);
    known
}

/// Spec: [PART-15]
#[test]
fn what_is_missing_is_said_in_its_place() {
    for (holes, expected) in [
        (3..=4, "! records 3 to 4 cannot be read"),
        (1..=2, "! records 1 to 2 cannot be read"),
        (1..=1, "! record 1 cannot be read"),
        (11..=12, "! records 11 to 12 cannot be read"),
        (1..=12, "! records 1 to 12 cannot be read"),
    ] {
        let journal = Journal::new(holes);
        let shown = journal.shown();
        assert!(shown.contains(&expected.to_owned()), "{shown:?}");
        let all_at_once = attached(&journal.snapshot(12, 20));
        for limit in 1..=12 {
            let mut known = attached(&journal.snapshot(12, limit));
            journal.load(&mut known, limit);
            assert_eq!(all(&known), shown, "{expected} {limit}");
            assert_eq!(known.digest(), all_at_once.digest());
        }
    }
}

/// Spec: [PART-15]
#[test]
fn what_is_missing_before_what_is_loaded_is_not_said_before_its_page_is_there() {
    let journal = Journal::new(3..=4);
    let mut known = attached(&journal.snapshot(12, 9));
    assert_eq!(
        (all(&known)[0].as_str(), known.oldest_seq()),
        ("t5", Some(5))
    );
    // A page on which nothing can be read says nothing of what is before it.
    known.prepend(&journal.page(4, 1));
    assert_eq!(
        (all(&known)[0].as_str(), known.oldest_seq()),
        ("t5", Some(4))
    );
    let seen = ids(&known);
    known.prepend(&journal.page(3, 2));
    let gap = "! records 3 to 4 cannot be read";
    assert_eq!(all(&known)[..3], ["t2", gap, "t5"]);
    assert!(ids(&known).ends_with(&seen));
}

/// Spec: [PART-15]
#[test]
fn a_new_snapshot_keeps_the_remark_and_the_ids_behind_it() {
    let journal = Journal::new([3, 4, 9, 11]);
    let mut known = attached(&journal.snapshot(2, 20));
    journal.follow(&mut known, 2, 10);
    let parts: Vec<_> = known.parts().cloned().collect();
    for limit in [12, 10, 7, 3] {
        known.restore(&journal.snapshot(12, limit), Duration::ZERO);
        assert_eq!(all(&known), journal.shown(), "{limit}");
        let kept: Vec<_> = known.parts().take(parts.len()).cloned().collect();
        assert_eq!(kept, parts, "{limit}");
    }
    assert_eq!(known.last_seq(), 12);
    assert_eq!(known.digest(), attached(&journal.snapshot(12, 20)).digest());
}

/// Spec: [PART-16]
#[test]
fn what_is_damaged_is_said_once_behind_what_was_loaded() {
    let journal = Journal::new([3]);
    let damaged = |end, limit| ConversationSnapshot {
        damage: Some(Damage {
            parts: 1,
            bytes: 130,
            file: "/s/c.damaged".to_owned(),
        }),
        ..journal.snapshot(end, limit)
    };
    let said = "! 130 bytes of the record cannot be read; a copy is in /s/c.damaged";
    let mut known = attached(&damaged(10, 20));
    let digest = attached(&journal.snapshot(10, 20)).digest();
    assert_eq!((all(&known)[10].as_str(), known.digest()), (said, digest));
    journal.follow(&mut known, 10, 11);
    assert_eq!(all(&known)[10..], [said, "t11"]);
    for limit in [20, 5, 1] {
        known.restore(&damaged(12, limit), Duration::ZERO);
        let shown = all(&known);
        assert_eq!(shown.iter().filter(|part| *part == said).count(), 1);
        assert_eq!(shown[shown.len() - 2..], ["t12", said], "{limit}");
        assert!(ids(&known).is_sorted());
    }
    // It was repaired.
    known.restore(&journal.snapshot(12, 20), Duration::ZERO);
    assert_eq!(all(&known), journal.shown());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [PART-14] [PART-15]
    #[test]
    fn however_it_was_loaded_the_same_is_missing(
        holes in proptest::collection::btree_set(1..=12_u64, 0..12),
        begin in 0..=12_u64,
        tails in proptest::collection::vec((0..=12_u64, 1..=12_u64), 0..4),
        limit in 1..=12_u64,
    ) {
        let journal = Journal::new(holes);
        // No position lies at a record that cannot be read.
        let place = |end: &u64| (0..=*end).rev().find(|seq| !journal.holes.contains(seq));
        let mut at = place(&begin).unwrap_or(0);
        let mut known = attached(&journal.snapshot(at, limit));
        for (end, tail) in &tails {
            let end = place(end).unwrap_or(0).max(at);
            if end % 2 == 0 {
                journal.follow(&mut known, at, end);
            } else {
                known.restore(&journal.snapshot(end, *tail), Duration::ZERO);
            }
            at = end;
        }
        known.restore(&journal.snapshot(12, limit), Duration::ZERO);
        journal.load(&mut known, limit);
        prop_assert_eq!(all(&known), journal.shown());
        prop_assert_eq!(known.digest(), attached(&journal.snapshot(12, 20)).digest());
        let ids = ids(&known);
        prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", ids);
    }
}
