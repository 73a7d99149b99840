//! Checks the order of features: each feature that another comes after exists, and none waits for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::problem::FileProblem;
use super::spot::ValueSpot;
use crate::nearest::nearest;
use crate::workflow::manifest::Feature;

/// Number of problems after which no suggestion is looked for: the search takes time.
const MAX_MEANT: usize = 100;

/// Tells features that wait for one that there is not, and circles.
pub(super) fn check(
    features: &[Feature],
    spots: &[ValueSpot<'_>],
    problems: &mut Vec<FileProblem>,
) {
    let ids = || features.iter().map(|feature| &*feature.id);
    // Of two with one name, which is reported elsewhere, the first counts.
    let at: BTreeMap<&str, usize> = ids().enumerate().map(|(at, id)| (id, at)).rev().collect();
    let mut waits: Vec<Vec<usize>> = Vec::new();
    for (feature, spot) in features.iter().zip(spots) {
        let known = feature.after.iter().filter_map(|id| at.get(&**id).copied());
        waits.push(known.collect());
        for item in spot.items("after") {
            let Some(id) = item.as_text().filter(|id| !at.contains_key(id)) else {
                continue;
            };
            let meant = (problems.len() < MAX_MEANT).then(|| nearest(id, ids()));
            let way_out = match meant.flatten() {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => "name one of this file".to_owned(),
            };
            problems.push(item.problem(format!("there is no feature {id:?}; {way_out}")));
        }
    }
    for circle in circles(&waits) {
        let first = circle[0];
        let names: Vec<&str> = circle
            .iter()
            .chain([&first])
            .map(|at| &*features[*at].id)
            .collect();
        let spot = spots[first].section("after");
        problems.push(spot.problem(format!(
            "{} is a circle; take one of them out",
            names.join(" -> ")
        )));
    }
}

/// Circles in what waits for what, each from its first; every one that waits in a circle is in one of them
/// or behind one.
fn circles(waits: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let stuck = stuck(waits);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in &stuck {
        let mut path = Vec::new();
        let mut next = Some(*start);
        while let Some(at) = next.filter(|at| !seen.contains(at)) {
            seen.insert(at);
            path.push(at);
            next = waits[at]
                .iter()
                .copied()
                .find(|other| stuck.contains(other));
        }
        // A path that ends in an older one adds no circle.
        let Some(from) = path.iter().position(|at| Some(*at) == next) else {
            continue;
        };
        let mut circle = path.split_off(from);
        let first = (0..circle.len())
            .min_by_key(|at| circle[*at])
            .unwrap_or_default();
        circle.rotate_left(first);
        found.push(circle);
    }
    found
}

/// Those that would never have their turn.
fn stuck(waits: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut open: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut waited_for_by: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (at, others) in waits.iter().enumerate() {
        for other in others {
            waited_for_by[*other].push(at);
        }
    }
    let is_free = |at: &usize| open[*at] == 0;
    let mut free: VecDeque<usize> = (0..waits.len()).filter(is_free).collect();
    let mut stuck: BTreeSet<usize> = (0..waits.len()).collect();
    while let Some(at) = free.pop_front() {
        stuck.remove(&at);
        for other in &waited_for_by[at] {
            open[*other] -= 1;
            if open[*other] == 0 {
                free.push_back(*other);
            }
        }
    }
    stuck
}
