//! A unified diff, read: its lines with their numbers, made fit to be shown.

use std::ops::Range;

use super::words::{changed, emphasis, pairs};
use crate::text::{Hidden, sanitize};

/// Maximum amount of comparison to find changes of blanks alone.
const MAX_WORK: usize = 4_000_000;

/// A diff in its shown form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Diff {
    /// Its lines, with nothing in them that would steer a terminal.
    pub(crate) text: String,
    pub(super) lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffLine {
    pub(super) kind: DiffLineKind,
    /// Its number in the new file, or in the old one if the line was removed.
    pub(super) number: Option<u32>,
    /// Its range in the text, with its sign.
    pub(super) range: Range<usize>,
    /// The words of it that are new or gone, in the text.
    pub(super) words: Vec<Range<usize>>,
    /// Number of hunks that began up to it.
    pub(super) hunk: usize,
}

/// The kind of a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLineKind {
    /// The line is unchanged.
    Same,
    /// It is new.
    Added,
    /// The line was removed.
    Removed,
    /// The place of a hunk.
    Hunk,
    /// A remark about the line before.
    Remark,
}

impl Diff {
    /// Reads a unified diff without the names of files. In added and removed lines, blanks at the end of a line, and
    /// blanks that are the only change, are made visible.
    pub(crate) fn read(diff: &str) -> Self {
        let raw: Vec<&str> = match diff.trim_end_matches('\n') {
            "" => Vec::new(),
            diff => diff.split('\n').collect(),
        };
        let mut shown: Vec<String> = raw.iter().map(|line| with_blanks_at_end(line)).collect();
        show_changed_blanks(&raw, &mut shown);
        let mut read = Self::default();
        let mut place = Numbers::default();
        for line in &shown {
            // Each is one line: none of them can look like another.
            let line = sanitize(line, Hidden::Pictured).replace('\n', "␊");
            if !read.lines.is_empty() {
                read.text.push('\n');
            }
            let start = read.text.len();
            read.text.push_str(&line);
            let kind = DiffLineKind::from_line(&line);
            read.lines.push(DiffLine {
                kind,
                number: place.next(kind, &line),
                range: start..read.text.len(),
                words: Vec::new(),
                hunk: place.hunks,
            });
        }
        let text = &read.text;
        let lines: Vec<&str> = read
            .lines
            .iter()
            .map(|line| &text[line.range.clone()])
            .collect();
        for (line, word) in emphasis(&lines) {
            let line = &mut read.lines[line];
            let start = line.range.start;
            line.words.push(start + word.start..start + word.end);
        }
        read
    }
}

impl DiffLineKind {
    fn from_line(line: &str) -> Self {
        match line.as_bytes().first() {
            Some(b'+') => Self::Added,
            Some(b'-') => Self::Removed,
            Some(b'@') => Self::Hunk,
            Some(b'\\') => Self::Remark,
            _ => Self::Same,
        }
    }
}

/// The numbers that the next lines have.
#[derive(Default)]
struct Numbers {
    old: Option<u32>,
    new: Option<u32>,
    hunks: usize,
}

impl Numbers {
    fn next(&mut self, kind: DiffLineKind, line: &str) -> Option<u32> {
        let take = |number: &mut Option<u32>| {
            let taken = *number;
            *number = number.map(|number| number.saturating_add(1));
            taken
        };
        match kind {
            DiffLineKind::Hunk => {
                self.hunks += 1;
                (self.old, self.new) = begins(line).unzip();
                None
            }
            DiffLineKind::Remark => None,
            DiffLineKind::Added => take(&mut self.new),
            DiffLineKind::Removed => take(&mut self.old),
            DiffLineKind::Same => {
                take(&mut self.old);
                take(&mut self.new)
            }
        }
    }
}

/// The first lines of a hunk, old and new.
fn begins(line: &str) -> Option<(u32, u32)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let number = |word: &str| word.split(',').next()?.parse().ok();
    let old = number(words.next()?)?;
    let new = number(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// A line with the blanks at its end to be seen, where they are new or gone.
fn with_blanks_at_end(line: &str) -> String {
    if !line.starts_with(['+', '-']) {
        return line.to_owned();
    }
    with_blanks_in(line, &[])
}

/// Makes the blanks to be seen that are all that was changed of a line.
fn show_changed_blanks(raw: &[&str], shown: &mut [String]) {
    let mut work = MAX_WORK;
    for (old, new) in pairs(raw) {
        let (before, after) = (&raw[old][1..], &raw[new][1..]);
        if !without_blanks(before).eq(without_blanks(after)) {
            continue;
        }
        if let Some((gone, added)) = changed(before, after, &mut work) {
            shown[old] = with_blanks_in(raw[old], &gone);
            shown[new] = with_blanks_in(raw[new], &added);
        }
    }
}

fn without_blanks(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| !character.is_whitespace())
}

/// A line with the blanks made visible at its end and in some places after its sign.
fn with_blanks_in(line: &str, places: &[Range<usize>]) -> String {
    let end = line.trim_end_matches([' ', '\t']).len();
    let is_in = |at: usize| places.iter().any(|place| place.contains(&(at - 1)));
    let shown = line.char_indices().map(|(at, character)| match at {
        0 => character,
        at if at >= end || is_in(at) => picture(character),
        _ => character,
    });
    shown.collect()
}

fn picture(character: char) -> char {
    match character {
        '\t' => '→',
        ' ' => '·',
        other => other,
    }
}
