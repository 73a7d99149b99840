//! The places in a file that are nearly a text, and what differs there: the help for a text that was not
//! found.

use std::collections::HashMap;

/// Maximum number of places in a result.
const MAX_PLACES: usize = 3;
/// How many pairs of lines are looked at: what repeats itself has no end of them.
const MAX_PAIRS: usize = 1_000_000;
/// Maximum number of characters of a line in a result.
const MAX_LINE: usize = 200;

/// The places that are most like the text, the best first: each with the number of its first line and
/// the first line that differs, with invisible characters made visible.
pub(in crate::tool) fn nearest(file: &[u8], text: &str) -> Vec<String> {
    let file = String::from_utf8_lossy(file);
    let lines: Vec<&str> = file.split('\n').collect();
    let wanted: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let mut places: Vec<(usize, usize)> = votes(&lines, &wanted).into_iter().collect();
    if places.is_empty() {
        places.extend(by_beginning(&lines, &wanted));
    }
    // The most lines in common first, then the first in the file.
    places.sort_by(|(line, votes), (other, others)| others.cmp(votes).then(line.cmp(other)));
    let places = places.into_iter().take(MAX_PLACES);
    places
        .map(|(start, _)| excerpt(&lines, start, &wanted))
        .collect()
}

/// How many lines the text has in common with the file, by the line at which it would begin. Lines
/// are compared without blanks at their ends; empty ones do not count.
fn votes(lines: &[&str], wanted: &[&str]) -> HashMap<usize, usize> {
    let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, line) in wanted.iter().enumerate() {
        let line = line.trim();
        if !line.is_empty() {
            at.entry(line).or_default().push(number);
        }
    }
    let mut votes = HashMap::new();
    let pairs = lines.iter().enumerate().flat_map(|(number, line)| {
        let offsets = at.get(line.trim()).into_iter().flatten();
        offsets.map(move |offset| (number, *offset))
    });
    for (number, offset) in pairs.take(MAX_PAIRS) {
        if let Some(start) = number.checked_sub(offset) {
            *votes.entry(start).or_default() += 1;
        }
    }
    votes
}

/// The lines whose beginning is most like that of the text's first line, at least a third of it.
fn by_beginning(lines: &[&str], wanted: &[&str]) -> Vec<(usize, usize)> {
    let Some((offset, first)) = wanted
        .iter()
        .enumerate()
        .find(|(_, line)| !line.trim().is_empty())
    else {
        return Vec::new();
    };
    let first = first.trim();
    let in_common = |line: &str| {
        let pairs = line.trim().chars().zip(first.chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let enough = first.chars().count().div_ceil(3).max(2);
    let lines = lines.iter().enumerate();
    lines
        .map(|(number, line)| (number.saturating_sub(offset), in_common(line)))
        .filter(|(_, common)| *common >= enough)
        .collect()
}

/// A place in words.
fn excerpt(lines: &[&str], start: usize, wanted: &[&str]) -> String {
    for (offset, wanted) in wanted.iter().enumerate() {
        let number = start + offset;
        let found = lines.get(number).copied();
        if found != Some(*wanted) {
            let found = found.map_or_else(|| "the end of the file".to_owned(), visible);
            let (line, wanted) = (number + 1, visible(wanted));
            return format!("line {}: line {line} is {found}, not {wanted}", start + 1);
        }
    }
    // Only what is behind the last line differs.
    format!(
        "line {}: the lines are the same, and what follows them is not",
        start + 1
    )
}

/// A line in quotes, with its invisible characters as escapes.
fn visible(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{:?}…", &line[..end]),
        None => format!("{line:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-56] [TOOL-64]
    #[test]
    fn the_nearest_places_are_told_with_what_differs() {
        let file = b"fn a() {\n\tone();\n}\nfn b() {\n    one();\n}\n";
        assert_eq!(
            nearest(file, "fn a() {\n    one();\n}"),
            [
                r#"line 1: line 2 is "\tone();", not "    one();""#,
                r#"line 4: line 4 is "fn b() {", not "fn a() {""#,
            ]
        );
        assert_eq!(
            nearest(b"let x = 1;\n", "let x = 2;"),
            [r#"line 1: line 1 is "let x = 1;", not "let x = 2;""#]
        );
        assert_eq!(nearest(b"a\n", "nothing like it"), [""; 0]);
        let many = b"x\n".repeat(100);
        assert_eq!(nearest(&many, "x\ny").len(), MAX_PLACES);
        let alike = b"x\n".repeat(100_000);
        let text = "x\n".repeat(50_000) + "y";
        assert_eq!(nearest(&alike, &text).len(), MAX_PLACES);
        assert!(nearest(b"caf\xe9 one\n", "caf\u{e9} one")[0].contains("caf\u{fffd} one"));
    }
}
