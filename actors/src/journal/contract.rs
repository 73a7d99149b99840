//! The contract that every store of journals keeps, in this crate or another.

#![expect(
    clippy::unwrap_used,
    reason = "a store that breaks its contract is told by a panic"
)]

use std::sync::Arc;

use bytes::Bytes;

use super::testing::*;
use super::*;

/// One part of the contract; takes a store that is empty.
type Rule = fn(&dyn JournalStore);

const RULES: [Rule; 9] = [
    records_come_back_as_they_were_appended,
    an_append_goes_to_the_end_that_was_expected_or_nowhere,
    appends_are_done_in_the_order_in_which_they_were_asked_for,
    pages_follow_one_another_and_hold_one_record_at_least,
    a_journal_is_made_or_replaced_with_records_that_keep_their_fields,
    the_list_begins_with_what_changed_last_and_a_removed_journal_is_gone,
    only_plain_names_are_conversations,
    what_is_kept_of_a_block_comes_back_until_a_record_ends_it,
    sixteen_journals_at_once_stay_apart,
];

/// Holds a store to its contract, for each part of it with a new one that is empty. The second value of `make`, for
/// example a folder, is dropped after the store.
///
/// Spec: [JRNL-96]
///
/// ```
/// use harness_actors::journal::{MemoryStore, contract};
///
/// contract::hold(|| (MemoryStore::default(), ()));
/// ```
///
/// # Panics
/// Where the store does something else.
pub fn hold<S: JournalStore, K>(make: impl Fn() -> (S, K)) {
    for rule in RULES {
        let (store, _kept) = make();
        rule(&store);
    }
}

fn new(store: &dyn JournalStore, name: &str) -> Arc<dyn Journal> {
    wait(store.open_or_new(header(name))).unwrap()
}

fn open_error(store: &dyn JournalStore, name: &str) -> OpenError {
    wait(store.open(&id(name))).err().unwrap()
}

fn is_missing(error: &OpenError) -> bool {
    matches!(error, OpenError::NotFound { .. })
}

/// Spec: [JRNL-01]
fn records_come_back_as_they_were_appended(store: &dyn JournalStore) {
    let journal = new(store, "a");
    assert_eq!(journal.end(), Position::start(journal.header().epoch));
    assert_eq!(everything(&journal), []);
    assert!(is_missing(&open_error(store, "a")));
    let first = say(&journal, "one", Durability::Written).unwrap();
    let batch = vec![prompt("two"), prompt("three")];
    let rest = wait(journal.append(1, batch, Durability::Synced)).unwrap();
    assert_eq!(journal.end(), rest[1]);
    let entries = everything(&journal);
    let positions: Vec<_> = entries.iter().map(|entry| entry.position).collect();
    assert_eq!(positions, [first, rest[0], rest[1]]);
    assert_eq!(entries[1].at, prompt("").at);
    assert_eq!(entries[1].record, prompt("two").record);
    let again = wait(store.open(&id("a"))).unwrap();
    assert_eq!(again.header(), journal.header());
    assert_eq!((again.end(), everything(&again)), (journal.end(), entries));
}

/// Spec: [JRNL-99] [JRNL-100]
fn what_is_kept_of_a_block_comes_back_until_a_record_ends_it(store: &dyn JournalStore) {
    let journal = new(store, "a");
    let piece = |index, offset, text: &str| BlockPiece {
        index,
        kind: harness_protocol::DeltaKind::Text,
        offset,
        text: text.to_owned(),
    };
    let kept = |after| wait(journal.kept(after)).unwrap();
    assert_eq!(kept(0), []);
    say(&journal, "one", Durability::Written).unwrap();
    wait(journal.keep(1, vec![piece(0, 0, "Hel"), piece(0, 3, "lo")])).unwrap();
    say(&journal, "two", Durability::Written).unwrap();
    wait(journal.keep(2, vec![piece(0, 5, " \u{1f642}\n")])).unwrap();
    assert_eq!(kept(1), [piece(0, 0, "Hello \u{1f642}\n")]);
    assert_eq!(kept(3), []);
    let block = piece(0, 0, "Hello").sealed().unwrap();
    let ended = NewRecord {
        record: block,
        ..prompt("")
    };
    wait(journal.append(2, vec![ended], Durability::Written)).unwrap();
    assert_eq!(kept(0), [], "a record has it");
    wait(journal.keep(3, vec![piece(1, 0, "more")])).unwrap();
    assert_eq!(kept(3), [piece(1, 0, "more")]);
    journal.forget();
    wait(journal.keep(3, vec![piece(2, 0, "anew")])).unwrap();
    assert_eq!(kept(3), [piece(2, 0, "anew")]);
    journal.forget();
    say(&journal, "three", Durability::Written).unwrap();
    assert_eq!(kept(0), []);
}

/// Spec: [JRNL-02]
fn an_append_goes_to_the_end_that_was_expected_or_nowhere(store: &dyn JournalStore) {
    let journal = new(store, "a");
    say(&journal, "one", Durability::Written).unwrap();
    for expected in [0, 2] {
        let append = journal.append(expected, vec![prompt("no")], Durability::Synced);
        let end = 1;
        assert_eq!(wait(append), Err(AppendError::Conflict { expected, end }));
    }
    let unknown = NewRecord {
        at: 1,
        record: Record::Unknown {
            kind: "later".to_owned(),
            data: serde_json::value::to_raw_value(&1).unwrap(),
        },
    };
    let batch = vec![prompt("no"), unknown];
    let refused = wait(journal.append(1, batch, Durability::Written));
    let kind = "later".to_owned();
    assert_eq!(refused, Err(AppendError::UnknownType { kind }));
    assert_eq!(
        wait(journal.append(1, vec![], Durability::Synced)),
        Ok(vec![])
    );
    assert_eq!(prompts(&journal), ["one"]);
}

/// Spec: [JRNL-02]
fn appends_are_done_in_the_order_in_which_they_were_asked_for(store: &dyn JournalStore) {
    let journal = new(store, "a");
    let appends: Vec<_> = (0..200)
        .map(|number| {
            let durability = match number % 3 {
                0 => Durability::Synced,
                _ => Durability::Written,
            };
            journal.append(number, vec![prompt(&number.to_string())], durability)
        })
        .collect();
    for (seq, append) in (1..).zip(appends) {
        assert_eq!(wait(append).unwrap()[0].seq, seq);
    }
    let expected: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    assert_eq!(prompts(&journal), expected);
}

/// Spec: [JRNL-01]
fn pages_follow_one_another_and_hold_one_record_at_least(store: &dyn JournalStore) {
    let journal = new(store, "a");
    let batch = (0..100).map(|number| prompt(&number.to_string())).collect();
    wait(journal.append(0, batch, Durability::Written)).unwrap();
    for limit in [(0, 0), (7, usize::MAX), (usize::MAX, 500), (100, 9_999_999)] {
        let (records, bytes) = limit;
        let limit = PageLimit { records, bytes };
        let (mut after, mut read) = (0, Vec::new());
        loop {
            let page = wait(journal.read(after, limit)).unwrap();
            let size: usize = page.entries.iter().map(|entry| entry.json.len()).sum();
            assert!(page.entries.len() <= records.max(1));
            assert!(size <= bytes || page.entries.len() == 1);
            read.extend(page.entries.iter().filter_map(text).map(str::to_owned));
            if page.at_end {
                break;
            }
            after = page.entries.last().unwrap().position.seq;
        }
        assert_eq!(read, prompts(&journal));
    }
    for after in [100, 101, u64::MAX] {
        let page = wait(journal.read(after, ALL)).unwrap();
        assert_eq!((page.entries, page.at_end), (vec![], true));
    }
}

/// Spec: [JRNL-21] [JRNL-22]
fn a_journal_is_made_or_replaced_with_records_that_keep_their_fields(store: &dyn JournalStore) {
    let journal = new(store, "a");
    say(&journal, "one", Durability::Written).unwrap();
    let odd = r#"{ "seq" : 77, "at":5,"extra":[1, 2.50],"type":"later","data":{"x":1e2} }"#;
    let entries = vec![Bytes::from(odd), everything(&journal)[0].json.clone()];
    let fork = wait(store.create(header("b"), entries.clone())).unwrap();
    let forked = everything(&fork);
    assert_eq!(fork.end().seq, 2);
    assert_eq!(fork.end(), forked[1].position);
    let mended = r#"{ "seq" : 1, "at":5,"extra":[1, 2.50],"type":"later","data":{"x":1e2} }"#;
    assert_eq!(forked[0].json, mended.as_bytes());
    assert_eq!(text(&forked[1]), Some("one"));
    let (sender, cut_off) = JournalEntries::channel();
    drop(sender);
    let broken_off = wait(store.create_from(header("d"), cut_off)).err().unwrap();
    assert!(
        matches!(broken_off, OpenError::Storage(_)),
        "{broken_off:?}"
    );
    assert!(is_missing(&open_error(store, "d")));
    let exists = wait(store.create(header("b"), vec![])).err().unwrap();
    assert_eq!(exists, OpenError::Exists { id: "b".into() });

    let old_epoch = journal.header().epoch;
    let new_header = header("a");
    let wrong = wait(journal.replace(0, new_header.clone(), entries.clone()));
    let (expected, end) = (0, 1);
    assert_eq!(wrong, Err(AppendError::Conflict { expected, end }));
    let replaced = wait(journal.replace(1, new_header.clone(), entries)).unwrap();
    let archive = format!("a.{old_epoch}.archive");
    assert!(replaced.archive.ends_with(&archive), "{replaced:?}");
    let end = replaced.position;
    assert_eq!((end, end.epoch), (journal.end(), new_header.epoch));
    assert_eq!(journal.header(), new_header);
    say(&journal, "three", Durability::Synced).unwrap();
    assert_eq!(prompts(&journal), ["one", "three"]);
    for bad in [
        "",
        "{}",
        "[]",
        "{\"seq\":1}",
        "{\n\"seq\":1,\"at\":1,\"type\":\"a\",\"data\":1}",
    ] {
        let bad = vec![Bytes::from_static(bad.as_bytes())];
        let refused = wait(journal.replace(3, header("a"), bad.clone()));
        assert!(
            matches!(refused, Err(AppendError::Storage(_))),
            "{refused:?}"
        );
        let refused = wait(store.create(header("c"), bad)).err().unwrap();
        assert!(matches!(refused, OpenError::Storage(_)), "{refused:?}");
    }
    assert!(is_missing(&open_error(store, "c")));
    assert_eq!(journal.end().seq, 3);
}

/// Spec: [JRNL-23] [JRNL-25]
fn the_list_begins_with_what_changed_last_and_a_removed_journal_is_gone(store: &dyn JournalStore) {
    for name in ["a", "b", "c"] {
        say(&new(store, name), name, Durability::Written).unwrap();
    }
    let all = wait(store.list(None, 9)).unwrap();
    let mut ordered = all.clone();
    ordered.sort_by_key(|listed| (std::cmp::Reverse(listed.changed_at), listed.id.clone()));
    assert_eq!((all.len(), &all), (3, &ordered));
    let mut paged = Vec::new();
    while let [listed] = &wait(store.list(paged.last().cloned(), 1)).unwrap()[..] {
        paged.push(listed.clone());
    }
    assert_eq!(paged, all);

    let journal = wait(store.open(&id("b"))).unwrap();
    wait(store.remove(&id("b"))).unwrap();
    let late = say(&journal, "late", Durability::Written);
    assert!(
        matches!(late, Err(AppendError::Tampered { .. })),
        "{late:?}"
    );
    assert!(is_missing(&open_error(store, "b")));
    assert!(is_missing(&wait(store.remove(&id("b"))).unwrap_err()));
    assert_eq!(wait(store.list(None, 9)).unwrap().len(), 2);
    let again = new(store, "b");
    say(&again, "again", Durability::Written).unwrap();
    assert_eq!(prompts(&again), ["again"]);
    drop(journal);
    assert_eq!(prompts(&wait(store.open(&id("b"))).unwrap()), ["again"]);
}

/// Spec: [JRNL-24]
fn only_plain_names_are_conversations(store: &dyn JournalStore) {
    let long = "a".repeat(65);
    for name in [
        "", "-a", ".", "..", "../a", "a/b", "A", "a.b", "é", "a b", "a\0", &long,
    ] {
        assert!(is_missing(&open_error(store, name)), "{name}");
        assert!(is_missing(
            &wait(store.open_or_new(header(name))).err().unwrap()
        ));
        assert!(is_missing(
            &wait(store.create(header(name), vec![])).err().unwrap()
        ));
        assert!(is_missing(&wait(store.remove(&id(name))).unwrap_err()));
    }
    for name in ["a", "0", "_-", &long[1..]] {
        drop(wait(store.create(header(name), vec![])).unwrap());
    }
    assert_eq!(wait(store.list(None, 9)).unwrap().len(), 4);
}

/// Spec: [JRNL-13]
fn sixteen_journals_at_once_stay_apart(store: &dyn JournalStore) {
    std::thread::scope(|scope| {
        for name in (0..16).map(|number| format!("j{number}")) {
            scope.spawn(move || {
                let journal = new(store, &name);
                for number in 0..50 {
                    let durability = match number % 10 {
                        9 => Durability::Synced,
                        _ => Durability::Written,
                    };
                    say(&journal, &format!("{name} {number}"), durability).unwrap();
                }
            });
        }
    });
    for name in (0..16).map(|number| format!("j{number}")) {
        let journal = wait(store.open(&id(&name))).unwrap();
        let expected: Vec<_> = (0..50).map(|number| format!("{name} {number}")).collect();
        assert_eq!(prompts(&journal), expected);
        assert_eq!(wait(journal.check()), Ok(JournalDamage::default()));
    }
}
