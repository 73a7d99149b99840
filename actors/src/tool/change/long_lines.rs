//! Shortens the long lines of a unified diff so that every place that differs stays.

use std::ops::Range;

/// Maximum length of a line that is shown whole, in bytes.
pub(super) const MAX_LINE: usize = 2048;
/// Text that is kept on each side of a place that differs, in bytes.
const AROUND: usize = 200;
/// Maximum length of a piece of a line, in bytes.
const MAX_PIECE: usize = 64;
/// Maximum number of pieces that are new or gone, until the whole stretch counts as one place.
const MAX_EDITS: usize = 500;
/// Maximum number of comparisons of pieces, until the whole stretch counts as one place. A clock would make two looks
/// at one change differ.
const MAX_COMPARISONS: usize = 10_000_000;

/// Maximum number of pairs of lines that are compared, so that the time for a diff has a bound.
const MAX_PAIRS: usize = 200;

/// The diff with its long lines shortened. A line that is only new or only gone stays whole: all of it differs. So does
/// all of a diff in which a CR alone ends lines, since it has such lines without LF between them.
pub(super) fn shortened(diff: &str) -> String {
    if has_lone_cr(diff) {
        return diff.to_owned();
    }
    let mut room = MAX_PAIRS;
    let mut short = String::with_capacity(diff.len().min(128 * 1024));
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for line in diff.split_inclusive('\n') {
        match line.as_bytes().first() {
            Some(b'-') => {
                if !new.is_empty() {
                    flush(&mut gone, &mut new, &mut short, &mut room);
                }
                gone.push(line);
            }
            Some(b'+') => new.push(line),
            // "No newline at end of file" belongs to the line before it.
            Some(b'\\') if !new.is_empty() => new.push(line),
            Some(b'\\') if !gone.is_empty() => gone.push(line),
            _ => {
                flush(&mut gone, &mut new, &mut short, &mut room);
                short.push_str(&unchanged(line));
            }
        }
    }
    flush(&mut gone, &mut new, &mut short, &mut room);
    short
}

fn has_lone_cr(diff: &str) -> bool {
    let mut bytes = diff.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' && bytes.peek() != Some(&b'\n') {
            return true;
        }
    }
    false
}

/// Appends the removed lines and the added ones, and empties both lists. `room` is the number of pairs of long lines
/// that may still be compared; the others stay whole.
fn flush(gone: &mut Vec<&str>, new: &mut Vec<&str>, short: &mut String, room: &mut usize) {
    let mut after = Vec::with_capacity(new.len());
    for (at, old) in gone.iter().enumerate() {
        let (old, new) = match new.get(at) {
            Some(new) if *room > 0 && old.len().max(new.len()) > MAX_LINE => {
                *room -= 1;
                around(old, new)
            }
            Some(new) => ((*old).to_owned(), (*new).to_owned()),
            None => ((*old).to_owned(), String::new()),
        };
        short.push_str(&old);
        after.push(new);
    }
    after.truncate(new.len());
    after.extend(new.iter().skip(gone.len()).map(|line| (*line).to_owned()));
    after.iter().for_each(|line| short.push_str(line));
    gone.clear();
    new.clear();
}

/// A line that is the same on both sides: its beginning.
fn unchanged(line: &str) -> String {
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    let beginning = 0..line.ceil_char_boundary(AROUND);
    kept(line, std::slice::from_ref(&beginning))
}

/// Two lines of a diff, each with the places that differ from the other.
fn around(old: &str, new: &str) -> (String, String) {
    let (old_text, new_text) = (&old[1..], &new[1..]);
    let places = places(old_text, new_text);
    let old_places = places.iter().map(|place| place.0.clone());
    let new_places = places.iter().map(|place| place.1.clone());
    (
        around_places(old, old_places.collect()),
        around_places(new, new_places.collect()),
    )
}

/// A line of a diff with these places of its text and some characters around each.
fn around_places(line: &str, places: Vec<Range<usize>>) -> String {
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    // The first byte of a line of a diff is its sign.
    let shift = |range: Range<usize>| {
        let start = line.floor_char_boundary((range.start + 1).saturating_sub(AROUND));
        start..line.ceil_char_boundary((range.end + 1 + AROUND).min(line.len()))
    };
    let mut ranges: Vec<Range<usize>> = places.into_iter().map(shift).collect();
    if ranges.is_empty() {
        ranges.push(0..line.ceil_char_boundary(AROUND));
    }
    kept(line, &ranges)
}

/// The sign of a line and these ranges of it, with the number of characters between them.
fn kept(line: &str, ranges: &[Range<usize>]) -> String {
    let text = line.strip_suffix('\n').unwrap_or(line);
    let mut short = line[..1].to_owned();
    let mut at = 1;
    let leave_out = |short: &mut String, gap: &str| match gap.chars().count() {
        // The mark would be no shorter.
        count if count <= 40 => short.push_str(gap),
        count => short.push_str(&format!("… {count} characters …")),
    };
    for range in ranges {
        let (start, end) = (range.start.min(text.len()), range.end.min(text.len()));
        if start > at {
            leave_out(&mut short, &text[at..start]);
            at = start;
        }
        if end > at {
            short.push_str(&text[at..end]);
            at = end;
        }
    }
    leave_out(&mut short, &text[at..]);
    short.push_str(&line[text.len()..]);
    short
}

/// The places in which two texts differ, in bytes of each.
fn places(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let (old_pieces, new_pieces) = (pieces(old), pieces(new));
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = old_pieces.iter().zip(&new_pieces).take_while(same).count();
    let (old_rest, new_rest) = (&old_pieces[start..], &new_pieces[start..]);
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    let found = if old_middle.is_empty() || new_middle.is_empty() {
        None
    } else {
        edits(old_middle, new_middle)
    };
    let found = found.unwrap_or_else(|| vec![(0..old_middle.len(), 0..new_middle.len())]);
    let (old_starts, new_starts) = (starts(&old_pieces), starts(&new_pieces));
    let bytes = |starts: &[usize], range: &Range<usize>| {
        starts[start + range.start]..starts[start + range.end]
    };
    found
        .iter()
        .filter(|(old, new)| !old.is_empty() || !new.is_empty())
        .map(|(old, new)| (bytes(&old_starts, old), bytes(&new_starts, new)))
        .collect()
}

/// A text in pieces that end with what separates values and words.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if " \t,;{}[]()<>".contains(c) || end - start >= MAX_PIECE {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// The places at which pieces begin, and the end of the last.
fn starts(pieces: &[&str]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    for piece in pieces {
        at += piece.len();
        starts.push(at);
    }
    starts
}

type LineEdit = (Range<usize>, Range<usize>);

/// The least edits that make of one list the other (Myers). `None` if there are too many.
fn edits(old: &[&str], new: &[&str]) -> Option<Vec<LineEdit>> {
    let mut search = EditSearch {
        old,
        new,
        furthest: vec![None; 2 * MAX_EDITS + 3],
    };
    let mut trace = Vec::new();
    let mut comparisons = 0;
    for depth in 0..=MAX_EDITS {
        trace.push(search.furthest.clone());
        let before = search.furthest.clone();
        // Diagonals are numbered from the one in the middle of the list.
        for diagonal in (MAX_EDITS + 1 - depth..=MAX_EDITS + 1 + depth).step_by(2) {
            let step = search.step(&before, diagonal, depth);
            let Some((mut x, mut y, _)) = step else {
                search.furthest[diagonal] = None;
                continue;
            };
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
                comparisons += 1;
            }
            search.furthest[diagonal] = Some(x);
            if x == old.len() && y == new.len() {
                return Some(search.back(&trace, diagonal));
            }
        }
        if comparisons > MAX_COMPARISONS {
            return None;
        }
    }
    None
}

struct EditSearch<'p> {
    old: &'p [&'p str],
    new: &'p [&'p str],
    /// The furthest place in `old` that was reached on each diagonal.
    furthest: Vec<Option<usize>>,
}

impl EditSearch<'_> {
    /// The place on a diagonal that one more edit reaches, and whether that edit takes a piece of `new`.
    fn step(
        &self,
        before: &[Option<usize>],
        diagonal: usize,
        depth: usize,
    ) -> Option<(usize, usize, bool)> {
        let y_at = |x: usize| (x + MAX_EDITS + 1).checked_sub(diagonal);
        if depth == 0 {
            return Some((0, 0, false));
        }
        let down = before.get(diagonal + 1).copied().flatten();
        let down = down.and_then(|x| Some((x, y_at(x)?, true)));
        let down = down.filter(|(_, y, _)| *y <= self.new.len());
        let right = before.get(diagonal - 1).copied().flatten();
        let right = right.and_then(|x| Some((x + 1, y_at(x + 1)?, false)));
        let right = right.filter(|(x, ..)| *x <= self.old.len());
        match (down, right) {
            (Some(down), Some(right)) if down.0 > right.0 => Some(down),
            (down, right) => right.or(down),
        }
    }

    /// The edits of the way that ended on this diagonal at the ends of both lists.
    fn back(&self, trace: &[Vec<Option<usize>>], mut diagonal: usize) -> Vec<LineEdit> {
        let mut found: Vec<LineEdit> = Vec::new();
        for depth in (1..trace.len()).rev() {
            let Some((x, y, is_down)) = self.step(&trace[depth], diagonal, depth) else {
                break;
            };
            let edit = if is_down {
                diagonal += 1;
                (x..x, y - 1..y)
            } else {
                diagonal -= 1;
                (x - 1..x, y..y)
            };
            match found.last_mut() {
                Some((old, new)) if old.start == edit.0.end && new.start == edit.1.end => {
                    (old.start, new.start) = (edit.0.start, edit.1.start);
                }
                _ => found.push(edit),
            }
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Spec: [TOOL-590]
        #[test]
        fn outside_of_the_places_both_texts_are_the_same(
            old in "[ab,]{0,40}",
            new in "[ab,]{0,40}",
        ) {
            let (mut old_at, mut new_at) = (0, 0);
            for (in_old, in_new) in places(&old, &new) {
                prop_assert_eq!(&old[old_at..in_old.start], &new[new_at..in_new.start]);
                (old_at, new_at) = (in_old.end, in_new.end);
            }
            prop_assert_eq!(&old[old_at..], &new[new_at..]);
        }
    }

    /// Spec: [TOOL-590]
    #[test]
    fn a_diff_with_lines_that_end_in_a_cr_alone_stays_whole() {
        // The second line of the file has no LF, so the added one follows it at once.
        let diff = format!("@@ -1,2 +1,3 @@\n a\n {}\r+evil\r b\n", "x".repeat(3000));
        assert_eq!(shortened(&diff), diff);
        let usual = diff.replace('\r', "\r\n");
        assert!(shortened(&usual).len() < 1000 && shortened(&usual).contains("+evil\r\n"));
    }

    fn values(count: usize, changed: &[usize]) -> String {
        let value = |n: usize| match changed.contains(&n) {
            true => format!("\"k{n}\":\"changed {n}\""),
            false => format!("\"k{n}\":{n}"),
        };
        (0..count).map(value).collect::<Vec<_>>().join(",")
    }

    /// Spec: [TOOL-590]
    #[test]
    fn every_place_that_differs_is_seen_with_its_surroundings() {
        let changed = [0, 15_000, 29_999];
        let (old, new) = (values(30_000, &[]), values(30_000, &changed));
        let short = shortened(&format!("@@ -1,2 +1,2 @@\n // é\n-{old}\n+{new}\n"));
        assert!(short.len() < 4096, "{}", short.len());
        assert!(
            short.starts_with("@@ -1,2 +1,2 @@\n // é\n-\"k0\":0,"),
            "{short}"
        );
        for n in changed {
            assert!(
                short.contains(&format!("\"k{n}\":\"changed {n}\"")),
                "{short}"
            );
            assert!(short.contains(&format!("\"k{n}\":{n}")), "{short}");
        }
        assert!(short.contains(" characters …"), "{short}");
        assert_eq!(short.lines().count(), 4);
    }

    /// Spec: [TOOL-590]
    #[test]
    fn what_is_only_new_stays_whole_and_what_is_the_same_is_shortened() {
        let long = "é".repeat(3000);
        let new = format!("+{long}\n");
        assert_eq!(shortened(&new), new);
        let same = format!(" {}… 2900 characters …\n", "é".repeat(100));
        assert_eq!(shortened(&format!(" {long}\n")), same);
        // Too many places are one.
        let (old, new) = ("a,".repeat(3000), "b,".repeat(3000));
        let all = format!("-{old}\n\\ No newline at end of file\n+{new}\n");
        assert_eq!(shortened(&all), all);
    }
}
