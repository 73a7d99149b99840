//! The line ends of what is put into a file: those of its surroundings.

use std::borrow::Cow;
use std::ops::Range;

use super::matching::Level;

/// A text with the line ends that stand at a place in a file: in it, else before it, else behind it. A
/// file without any takes the text as it is. So does one with CR LF in it, if the place was found byte for
/// byte: then it is meant so.
pub(in crate::tool) fn with_line_ends_of<'t>(
    file: &[u8],
    place: &Range<usize>,
    text: &'t str,
    level: Level,
) -> Cow<'t, str> {
    let has_own = text.contains("\r\n");
    if has_own && level == Level::Exact {
        return Cow::Borrowed(text);
    }
    let inside = first_end(&file[place.clone()]);
    let before = || last_end(&file[..place.start]);
    let behind = || first_end(&file[place.end..]);
    match inside.or_else(before).or_else(behind) {
        None => Cow::Borrowed(text),
        Some(false) if !has_own => Cow::Borrowed(text),
        Some(false) => Cow::Owned(text.replace("\r\n", "\n")),
        Some(true) => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
    }
}

/// Whether the first line end is CR LF; none if there is none.
fn first_end(bytes: &[u8]) -> Option<bool> {
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(at > 0 && bytes[at - 1] == b'\r')
}

/// The same of the last one.
fn last_end(bytes: &[u8]) -> Option<bool> {
    let at = bytes.iter().rposition(|byte| *byte == b'\n')?;
    Some(at > 0 && bytes[at - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-55]
    #[test]
    fn new_lines_take_the_line_end_of_their_surroundings() {
        for (file, place, text, exact, loose) in [
            (&b"a\r\nb\r\n"[..], 0..1, "x\ny", "x\r\ny", "x\r\ny"),
            (b"a\nb\r\n", 0..1, "x\ny", "x\ny", "x\ny"),
            (b"a\nb\r\nc", 5..6, "x\ny", "x\r\ny", "x\r\ny"),
            (b"a\r\nb\nc", 3..5, "x\ny", "x\ny", "x\ny"),
            (b"a\nb", 0..1, "x\r\ny", "x\r\ny", "x\ny"),
            (b"a\r\nb", 0..1, "x\r\ny\nz", "x\r\ny\nz", "x\r\ny\r\nz"),
            (b"a", 0..1, "x\ny", "x\ny", "x\ny"),
            (b"", 0..0, "x\ny", "x\ny", "x\ny"),
        ] {
            for (level, expected) in [(Level::Exact, exact), (Level::LineEnds, loose)] {
                assert_eq!(
                    with_line_ends_of(file, &place, text, level),
                    expected,
                    "{file:?} {place:?} {level:?}"
                );
            }
        }
    }
}
