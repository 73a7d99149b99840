use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::conversation::testing::*;
use crate::part_view::FoldAmount;
use crate::viewport::Lay;
use crate::viewport::testing::plain;

/// Spec: [SCRL-11]
#[test]
fn capitals_matter_only_if_there_are_any() {
    for (query, source, expected) in [
        ("", "abc", &[][..]),
        ("b", "abc ABC", &[(1, 2), (5, 6)]),
        ("B", "abc ABC", &[(5, 6)]),
        ("aa", "aaaaa", &[(0, 2), (2, 4)]),
        ("über", "Über über", &[(0, 5), (6, 11)]),
        ("a\nb", "xa\nb", &[(1, 4)]),
        ("straße", "STRASSE straße", &[(8, 15)]),
        ("z", "abc", &[]),
        ("bcd", "abc", &[]),
        ("é", "e\u{301}é", &[(3, 5)]),
        // One letter whose small form is two.
        ("i\u{307}x", "İx", &[(0, 3)]),
        ("i", "İx", &[(0, 2)]),
    ] {
        let hits = Needle::new(query).all_in(source);
        let hits: Vec<_> = hits.iter().map(|hit| (hit.start, hit.end)).collect();
        assert_eq!(hits, expected, "{query} in {source}");
    }
}

fn counted() -> (Viewport, Rc<Cell<usize>>) {
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    let lay: Lay = Box::new(move |part, width, fold| {
        counter.set(counter.get() + 1);
        plain(part, width, fold)
    });
    (Viewport::with(lay), count)
}

/// Where it stands: the part from the top, the offset, and whether it went round.
fn at(found: SearchOutcome, known: &ConversationStore) -> Option<(usize, usize, bool)> {
    match found {
        SearchOutcome::At { place, is_wrapped } => {
            Some((known.index(place.part), place.offset, is_wrapped))
        }
        SearchOutcome::WantsOlder | SearchOutcome::Nowhere => None,
    }
}

/// Spec: [SCRL-11]
#[test]
fn hits_are_gone_through_and_round() {
    use Direction::{Next, Previous};
    let known = conversation(&[text("x fox"), text("none"), call("fox"), text("Fox fox")]);
    let (mut viewport, _) = counted();
    let mut search = Search::new("fox");
    let mut go = |direction| {
        let found = search.go(direction, &known, &mut viewport);
        assert_eq!(
            search.current().is_some(),
            matches!(found, SearchOutcome::At { .. })
        );
        at(found, &known)
    };
    for (direction, expected) in [
        (Previous, (3, 4, false)),
        (Previous, (3, 0, false)),
        (Previous, (2, 13, false)),
        (Previous, (2, 0, false)),
        (Previous, (0, 2, false)),
        (Previous, (3, 4, true)),
        (Next, (0, 2, true)),
        (Next, (2, 0, false)),
    ] {
        assert_eq!(go(direction), Some(expected), "{direction:?}");
    }
    let mut search = Search::new("FOX");
    assert_eq!(
        search.go(Next, &known, &mut viewport),
        SearchOutcome::Nowhere
    );
    search = Search::new("none");
    assert_eq!(
        at(search.go(Next, &known, &mut viewport), &known),
        Some((1, 0, false))
    );
    // The only hit is found again and again.
    assert_eq!(
        at(search.go(Next, &known, &mut viewport), &known),
        Some((1, 0, true))
    );
    assert_eq!(
        at(search.go(Previous, &known, &mut viewport), &known),
        Some((1, 0, true))
    );
    let part = known.at(1).unwrap();
    assert_eq!(search.hits(part, &mut viewport).first(), Some(&(0..4)));
    assert!(search.is_current(part.id, &(0..4)));
    assert!(!search.is_current(known.at(0).unwrap().id, &(0..4)));
}

/// Spec: [SCRL-12]
#[test]
fn at_the_oldest_part_older_ones_are_wanted() {
    let records: Vec<_> = ["fox", "a", "b", "fox"].map(text).into();
    let mut known = ConversationStore::new(String::new());
    known.restore(&snapshot(&records, 3, 4), Duration::ZERO);
    let (mut viewport, _) = counted();
    let mut search = Search::new("fox");
    let mut go = |known: &ConversationStore| search.go(Direction::Previous, known, &mut viewport);
    assert_eq!(at(go(&known), &known), Some((1, 0, false)));
    assert_eq!(go(&known), SearchOutcome::WantsOlder);
    known.prepend(&history(&records, 2, 2));
    assert_eq!(go(&known), SearchOutcome::WantsOlder);
    known.prepend(&history(&records, 1, 1));
    assert_eq!(at(go(&known), &known), Some((0, 0, false)));
    assert_eq!(at(go(&known), &known), Some((3, 0, true)));
}

/// Spec: [SCRL-12]
#[test]
fn only_parts_that_may_have_a_hit_are_laid_out() {
    let mut records: Vec<_> = (0..2000).map(|n| text(&format!("text {n}"))).collect();
    records[700] = text("the needle");
    records[800] = text("the nee\u{1b}[1mdle");
    records[900] = result("x", "ne");
    let known = conversation(&records);
    let (mut viewport, count) = counted();
    let mut search = Search::new("needle");
    assert!(at(search.go(Direction::Next, &known, &mut viewport), &known).is_some());
    assert!(at(search.go(Direction::Next, &known, &mut viewport), &known).is_some());
    // The one with the words, and the one that may have them when it is shown.
    assert_eq!(count.get(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [SCRL-12]
    #[test]
    fn no_hit_is_passed_over(
        said in "[abAB \n\t\r*\u{1b}\\[\u{200b}ä{}\":]{0,30}",
        query in "[abAB\n *\":ä]{1,3}",
    ) {
        let known = conversation(&[text(&said), user(&said), call("a"), result("a", &said)]);
        let needle = Needle::new(&query);
        for part in known.parts() {
            let source = crate::part_view::layout(part, 20, FoldAmount::Open).source;
            let hits = needle.all_in(&source);
            prop_assert!(hits.is_empty() || needle.may_be_in(part), "{query:?} in {source:?}");
            for hit in hits {
                let found = source[hit].to_lowercase();
                prop_assert_eq!(found, query.to_lowercase());
            }
        }
    }
}
