//! The places of a text in a file, byte for byte, or but for invisible differences.
//!
//! Invariant: a file is never decoded and encoded again. What is found is a range of its bytes.

use std::ops::Range;

/// How exactly a text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tool) enum MatchLevel {
    /// Byte for byte.
    Exact,
    /// But for line ends.
    LineEnds,
    /// But for blanks at line ends, and quotes, dashes and blanks that look alike.
    LookAlikes,
}

impl MatchLevel {
    /// True if a match counts only where it is the only one.
    pub(in crate::tool) fn is_loose(self) -> bool {
        self == Self::LookAlikes
    }

    /// The differences that were passed over, for the model; nothing at the first level.
    pub(in crate::tool) fn note(self) -> Option<&'static str> {
        match self {
            Self::Exact => None,
            Self::LineEnds => Some("matched without regard to line ends"),
            Self::LookAlikes => Some(
                "matched without regard to line ends, blanks at line ends, and quotes, dashes and \
                 blanks that look alike",
            ),
        }
    }
}

/// The places of a text, in their order; they do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct Matches {
    pub(in crate::tool) level: MatchLevel,
    /// In bytes of the file.
    pub(in crate::tool) places: Vec<Range<usize>>,
}

/// Finds a text, which is not empty: at the first level that has it anywhere. At the last one it
/// counts only if it has one place.
pub(in crate::tool) fn find(file: &[u8], text: &str) -> Option<Matches> {
    let cr_ends = has_only_cr(file);
    for level in [
        MatchLevel::Exact,
        MatchLevel::LineEnds,
        MatchLevel::LookAlikes,
    ] {
        let file = folded(file, level, cr_ends);
        let text = folded(text.as_bytes(), level, cr_ends);
        let places = file.places_of(&text);
        let is_wanted = match level {
            MatchLevel::Exact | MatchLevel::LineEnds => !places.is_empty(),
            MatchLevel::LookAlikes => places.len() == 1,
        };
        if is_wanted {
            return Some(Matches { level, places });
        }
    }
    None
}

/// Bytes as a level compares them, each with the bytes that it replaces.
struct Folded<'f> {
    bytes: Vec<u8>,
    /// Where each begins and ends in the file; none if they are the file's own.
    origins: Option<Vec<Range<usize>>>,
    exact: &'f [u8],
}

impl Folded<'_> {
    fn bytes(&self) -> &[u8] {
        match self.origins {
            Some(_) => &self.bytes,
            None => self.exact,
        }
    }

    fn places_of(&self, text: &Folded<'_>) -> Vec<Range<usize>> {
        let places = positions(self.bytes(), text.bytes()).into_iter();
        match &self.origins {
            Some(origins) => places
                .map(|place| origins[place.start].start..origins[place.end - 1].end)
                .collect(),
            // A CR LF is one line end, so that no place begins inside of it.
            None => places
                .filter(|place| !is_inside_line_end(self.exact, place.start))
                .collect(),
        }
    }
}

fn is_inside_line_end(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at - 1..].starts_with(b"\r\n")
}

/// The places of bytes in others, without overlap. Empty ones have none. Takes time in proportion to both.
///
/// Source: Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", 1977.
fn positions(bytes: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    if text.is_empty() || text.len() > bytes.len() {
        return Vec::new();
    }
    // By how many bytes the text begins that also end its part up to there.
    let mut borders = vec![0; text.len()];
    let mut length = 0;
    for at in 1..text.len() {
        while length > 0 && text[at] != text[length] {
            length = borders[length - 1];
        }
        length += usize::from(text[at] == text[length]);
        borders[at] = length;
    }
    let mut places = Vec::new();
    length = 0;
    for (at, byte) in bytes.iter().enumerate() {
        while length > 0 && *byte != text[length] {
            length = borders[length - 1];
        }
        length += usize::from(*byte == text[length]);
        if length == text.len() {
            places.push(at + 1 - length..at + 1);
            length = 0;
        }
    }
    places
}

/// True if the lines of a file end with CR, as those of old Macs do.
pub(super) fn has_only_cr(file: &[u8]) -> bool {
    !file.contains(&b'\n') && file.contains(&b'\r')
}

/// Bytes at a level; `cr_ends` says that a CR without LF ends a line.
fn folded(bytes: &[u8], level: MatchLevel, cr_ends: bool) -> Folded<'_> {
    let mut folded = Folded {
        bytes: Vec::new(),
        origins: None,
        exact: bytes,
    };
    if level == MatchLevel::Exact {
        return folded;
    }
    let mut origins = Vec::with_capacity(bytes.len());
    let mut push = |byte: u8, origin: Range<usize>| {
        if byte == b'\n' && level == MatchLevel::LookAlikes {
            while matches!(folded.bytes.last(), Some(b' ' | b'\t')) {
                folded.bytes.pop();
                origins.pop();
            }
        }
        folded.bytes.push(byte);
        origins.push(origin);
    };
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"\r\n") {
            push(b'\n', at..at + 2);
            at += 2;
            continue;
        }
        if cr_ends && bytes[at] == b'\r' {
            push(b'\n', at..at + 1);
            at += 1;
            continue;
        }
        let alike = (level == MatchLevel::LookAlikes)
            .then(|| look_alike(&bytes[at..]))
            .flatten();
        let (byte, length) = alike.unwrap_or((bytes[at], 1));
        push(byte, at..at + length);
        at += length;
    }
    folded.origins = Some(origins);
    folded
}

/// The plain character that the first one looks like, and how many bytes it has.
///
/// Source: the Unicode Character Database, names of general punctuation (U+2000 to U+206F).
fn look_alike(bytes: &[u8]) -> Option<(u8, usize)> {
    let plain = match bytes {
        // NO-BREAK SPACE
        [0xc2, 0xa0, ..] => return Some((b' ', 2)),
        [0xe2, 0x80, third, ..] => match third {
            // EN QUAD to HAIR SPACE, NARROW NO-BREAK SPACE
            0x80..=0x8a | 0xaf => b' ',
            // HYPHEN to HORIZONTAL BAR
            0x90..=0x95 => b'-',
            // Single quotes
            0x98..=0x9b => b'\'',
            // Double quotes
            0x9c..=0x9f => b'"',
            _ => return None,
        },
        // MEDIUM MATHEMATICAL SPACE
        [0xe2, 0x81, 0x9f, ..] => b' ',
        // MINUS SIGN
        [0xe2, 0x88, 0x92, ..] => b'-',
        // IDEOGRAPHIC SPACE
        [0xe3, 0x80, 0x80, ..] => b' ',
        _ => return None,
    };
    Some((plain, 3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(file: &[u8], text: &str) -> Option<(MatchLevel, Vec<Vec<u8>>)> {
        let matches = find(file, text)?;
        let bytes = |place: &Range<usize>| file[place.clone()].to_vec();
        Some((matches.level, matches.places.iter().map(bytes).collect()))
    }

    fn one(level: MatchLevel, bytes: &[u8]) -> Option<(MatchLevel, Vec<Vec<u8>>)> {
        Some((level, vec![bytes.to_vec()]))
    }

    /// Spec: [TOOL-54] [TOOL-443]
    #[test]
    fn a_text_is_found_at_the_first_level_that_has_it() {
        for (file, text, expected) in [
            (&b"a b c"[..], "b", one(MatchLevel::Exact, b"b")),
            (b"a\xe9b c", "b c", one(MatchLevel::Exact, b"b c")),
            (b"x\r\ny\r\nz", "x\ny", one(MatchLevel::LineEnds, b"x\r\ny")),
            (b"x\r\ny\r\nz", "y\n", one(MatchLevel::LineEnds, b"y\r\n")),
            (b"x\ny\nz", "x\r\ny", one(MatchLevel::LineEnds, b"x\ny")),
            (b"x\r\ny", "\ny", one(MatchLevel::LineEnds, b"\r\ny")),
            (b"x\r\ny\ny", "\ny", one(MatchLevel::Exact, b"\ny")),
            (b"x\ry\rz", "x\ny", one(MatchLevel::LineEnds, b"x\ry")),
            (b"x\ry\rz", "y\r\n", one(MatchLevel::LineEnds, b"y\r")),
            (b"x  \ry\r", "x\ny", one(MatchLevel::LookAlikes, b"x  \ry")),
            (b"x  \ny\nz", "x\ny", one(MatchLevel::LookAlikes, b"x  \ny")),
            (
                b"x\t\r\ny",
                "x\ny",
                one(MatchLevel::LookAlikes, b"x\t\r\ny"),
            ),
            (b"x\ny", "x \ny", one(MatchLevel::LookAlikes, b"x\ny")),
            (
                "say \u{201c}hi\u{201d} \u{2014} now".as_bytes(),
                "\"hi\" - now",
                one(
                    MatchLevel::LookAlikes,
                    "\u{201c}hi\u{201d} \u{2014} now".as_bytes(),
                ),
            ),
            (
                b"a\xc2\xa0b",
                "a b",
                one(MatchLevel::LookAlikes, b"a\xc2\xa0b"),
            ),
            // What is said with look-alikes is found where it is plain.
            (b"it's", "it\u{2019}s", one(MatchLevel::LookAlikes, b"it's")),
            // Blanks behind the match are no part of it.
            (
                "a\u{2019}s  \nb".as_bytes(),
                "a's",
                one(MatchLevel::LookAlikes, "a\u{2019}s".as_bytes()),
            ),
        ] {
            assert_eq!(found(file, text), expected, "{file:?} {text:?}");
        }
    }

    /// Spec: [TOOL-54]
    #[test]
    fn nothing_looser_is_found_and_a_loose_match_stands_alone() {
        for (file, text) in [
            (&b"  x\n    y"[..], "x\ny"),
            (b"x\n\ny", "x\ny"),
            // Beside LF, a CR is a character like others.
            (b"x\ry\n", "x\ny"),
            (b"X", "x"),
            (b"a\xc2\xa0b a\xe2\x80\x80b", "a b"),
            (b"", "x"),
        ] {
            assert_eq!(found(file, text), None, "{file:?} {text:?}");
        }
        let twice = find(b"ab ab", "ab").unwrap();
        assert_eq!(twice.places, [0..2, 3..5]);
        assert_eq!(
            find(b"aaa", "aa").unwrap().places,
            std::slice::from_ref(&(0..2))
        );
        assert_eq!(find(b"a\r\nb a\r\nb", "a\nb").unwrap().places.len(), 2);
    }

    /// Spec: [TOOL-64]
    #[test]
    fn what_repeats_itself_is_not_looked_at_again_and_again() {
        let file = vec![b'a'; 8 * 1024 * 1024];
        let text = "a".repeat(1024 * 1024) + "b";
        let begun = tokio::time::Instant::now();
        assert_eq!(find(&file, &text), None);
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(
            positions(b"aabaabaaab", b"aabaaab"),
            std::slice::from_ref(&(3..10))
        );
        assert_eq!(positions(b"abababab", b"abab"), [0..4, 4..8]);
        assert!(positions(b"ab", b"").is_empty());
    }

    proptest! {
        /// Spec: [TOOL-54]
        #[test]
        fn what_is_in_a_file_is_found_there(
            before in proptest::collection::vec(any::<u8>(), 0..40),
            text in "[a-c \t\r\n\u{2019}\u{a0}é]{1,12}",
            behind in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            // No place begins inside of a line end.
            prop_assume!(!(before.ends_with(b"\r") && text.starts_with('\n')));
            let file = [before.as_slice(), text.as_bytes(), &behind].concat();
            let matches = find(&file, &text).unwrap();
            prop_assert_eq!(matches.level, MatchLevel::Exact);
            prop_assert!(matches.places.iter().all(|place| file[place.clone()] == *text.as_bytes()));
            prop_assert!(matches.places.is_sorted_by_key(|place| place.start));
        }
    }
}
