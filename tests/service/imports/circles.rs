//! The circles of a graph: what reaches itself.

use std::collections::{BTreeMap, BTreeSet};

/// The groups of at least two that reach each other, largest first.
pub(crate) fn circles<N: Ord + Copy>(arrows: &BTreeSet<(N, N)>) -> Vec<BTreeSet<N>> {
    let mut next: BTreeMap<N, Vec<N>> = BTreeMap::new();
    for (from, to) in arrows {
        next.entry(*from).or_default().push(*to);
    }
    let reach: BTreeMap<N, BTreeSet<N>> = next
        .keys()
        .map(|start| (*start, reachable(*start, &next)))
        .collect();
    let mut found: BTreeSet<BTreeSet<N>> = BTreeSet::new();
    for (start, reached) in &reach {
        let back = |other: &N| reach.get(other).is_some_and(|its| its.contains(start));
        let circle: BTreeSet<N> = reached.iter().copied().filter(back).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

fn reachable<N: Ord + Copy>(start: N, next: &BTreeMap<N, Vec<N>>) -> BTreeSet<N> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for to in next.get(&at).into_iter().flatten() {
            if seen.insert(*to) {
                open.push(*to);
            }
        }
    }
    seen
}
