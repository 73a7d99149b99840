//! Finds the words of a changed line that differ from before.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Maximum length of a line whose words are compared, in words.
const MAX_WORDS: usize = 400;
/// Maximum amount of comparison for one diff: the words of the old line times those of the new one, for each pair. That
/// is at most 50 ms, and the same on a slow machine.
const MAX_WORK: usize = 4_000_000;
/// Minimum part of a pair that must be the same, in hundredths; with less the whole line is another one.
const MIN_SAME: usize = 30;
/// Among how many lines the one is looked for that a line became.
const MAX_NEAR: usize = 20;

/// Ranges of a line.
type Ranges = Vec<Range<usize>>;

/// The changed words of added and removed lines, each by its line and its range in it, after the sign. The first
/// character of a line is its sign.
pub(crate) fn emphasis(lines: &[&str]) -> Vec<(usize, Range<usize>)> {
    let mut words = Vec::new();
    let mut work = MAX_WORK;
    for (old, new) in pairs(lines) {
        let (before, after) = (body(lines, old), body(lines, new));
        let Some((gone, added)) = changed(before, after, &mut work) else {
            continue;
        };
        let of = |line, ranges: Vec<Range<usize>>| {
            let behind_sign = move |range: Range<usize>| (line, range.start + 1..range.end + 1);
            ranges.into_iter().map(behind_sign)
        };
        words.extend(of(old, gone));
        words.extend(of(new, added));
    }
    words
}

/// The removed lines, each with the line that replaces it.
pub(super) fn pairs(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let run = |from: usize, sign: char| {
            let rest = lines.get(from..).unwrap_or_default();
            rest.iter()
                .take_while(|line| line.starts_with(sign))
                .count()
        };
        let gone = run(start, '-');
        let added = run(start + gone, '+');
        let middle = start + gone;
        if gone == added {
            pairs.extend((start..middle).zip(middle..middle + added));
        } else {
            let mut from = middle;
            for old in start..middle {
                let near = from..(from + MAX_NEAR).min(middle + added);
                if let Some(new) = likest(lines, old, near) {
                    pairs.push((old, new));
                    from = new + 1;
                }
            }
        }
        start = (middle + added).max(start + 1);
    }
    pairs
}

/// The line that has most of its beginning and its end in common with another, if that is enough.
fn likest(lines: &[&str], old: usize, near: Range<usize>) -> Option<usize> {
    let before = body(lines, old);
    let share = |new: &usize| {
        let after = body(lines, *new);
        let same = |(a, b): &(u8, u8)| a == b;
        let starts = before.bytes().zip(after.bytes());
        let start = starts.take_while(same).count();
        let most = before.len().min(after.len()) - start;
        let ends = before.bytes().rev().zip(after.bytes().rev());
        let end = ends.take(most).take_while(same).count();
        (start + end) * 100 / before.len().max(after.len()).max(1)
    };
    let likest = near.max_by_key(|new| (share(new), std::cmp::Reverse(*new)))?;
    (share(&likest) >= MIN_SAME).then_some(likest)
}

/// A line without its sign.
fn body<'a>(lines: &[&'a str], line: usize) -> &'a str {
    let line = lines.get(line).copied().unwrap_or_default();
    line.get(1..).unwrap_or_default()
}

/// The places in which two lines differ. `None` if they have too little in common, or are too long.
pub(super) fn changed(before: &str, after: &str, work: &mut usize) -> Option<(Ranges, Ranges)> {
    let (old, new) = (words(before)?, words(after)?);
    *work = work.checked_sub(old.len() * new.len())?;
    let mut same = 0;
    let (mut gone, mut added) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0, 0);
    for change in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (tag, of_old, of_new) = change.as_tag_tuple();
        let (of_old, of_new) = (old.get(of_old)?, new.get(of_new)?);
        let old_end = old_at + of_old.iter().map(|word| word.len()).sum::<usize>();
        let new_end = new_at + of_new.iter().map(|word| word.len()).sum::<usize>();
        if tag == DiffTag::Equal {
            same += of_old.iter().map(|word| word.trim().len()).sum::<usize>();
        } else {
            join(&mut gone, before, old_at..old_end);
            join(&mut added, after, new_at..new_end);
        }
        (old_at, new_at) = (old_end, new_end);
    }
    let length = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
    let most = length(before).max(length(after));
    (same * 100 >= most * MIN_SAME).then_some((gone, added))
}

/// Adds a place, together with the one before it if only blanks are between them.
fn join(places: &mut Vec<Range<usize>>, text: &str, place: Range<usize>) {
    if place.is_empty() {
        return;
    }
    match places.last_mut() {
        Some(last) if text[last.end..place.start].trim().is_empty() => last.end = place.end,
        _ => places.push(place),
    }
}

/// A line in words, blanks and signs. `None` if there are too many.
fn words(text: &str) -> Option<Vec<&str>> {
    let kind = |character: char| {
        if character.is_alphanumeric() || character == '_' {
            Some(true)
        } else {
            character.is_whitespace().then_some(false)
        }
    };
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if words.len() == MAX_WORDS {
            return None;
        }
        let end = match kind(first) {
            None => first.len_utf8(),
            of_first => rest
                .find(|character| kind(character) != of_first)
                .unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    Some(words)
}
