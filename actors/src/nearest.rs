//! The known name that a mistyped one most likely means, for "did you mean".

/// The known name that takes the fewest letters to reach, if those are at most half of its length. Upper case
/// counts as lower case, and `-` as `_`.
#[must_use]
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No name is that long, and the time grows with it.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_ascii_lowercase().replace('-', "_");
    names
        .map(|known| (distance(&name, known), known))
        .filter(|(distance, known)| distance * 2 <= known.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many letters must be added, dropped or changed to turn one name into the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        row[0] = left;
        for (cell, b) in row[1..].iter_mut().zip(to.bytes()) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
    }
    row[to.len()]
}
