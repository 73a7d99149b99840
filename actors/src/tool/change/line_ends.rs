//! The line ends and the byte order mark of what is put into a file: those of its surroundings.

use std::borrow::Cow;
use std::ops::Range;

use super::matching::{MatchLevel, has_only_cr};

/// The byte order mark of UTF-8.
const MARK: &str = "\u{feff}";

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
    /// Only where no line ends with LF: elsewhere a CR is a character like others.
    Cr,
}

impl LineEnd {
    /// The text with this line end in place of LF and CR LF.
    fn apply(self, text: &str) -> String {
        text.replace("\r\n", "\n").replace('\n', self.text())
    }

    fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CR LF",
            Self::Cr => "CR",
        }
    }
}

/// The line ends of a file, found once for all the places that are replaced in it.
pub(in crate::tool) struct LineEnds<'f> {
    file: &'f [u8],
    /// The places of the line feeds, in their order.
    feeds: Vec<usize>,
    has_only_cr: bool,
}

impl<'f> LineEnds<'f> {
    /// Looks through a file.
    pub(in crate::tool) fn find(file: &'f [u8]) -> Self {
        let feeds = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self {
            file,
            feeds: feeds.map(|(at, _)| at).collect(),
            has_only_cr: has_only_cr(file),
        }
    }

    /// A text with the line ends of the place in the file where it is put: a line that was there keeps its own, a new
    /// one takes that of the line that it replaces or follows. A file without any takes the text unchanged. So does one
    /// with CR LF in it, if the place was found byte for byte: then it is meant so.
    pub(in crate::tool) fn applied<'t>(
        &self,
        place: &Range<usize>,
        text: &'t str,
        level: MatchLevel,
    ) -> Cow<'t, str> {
        if !text.contains('\n') || text.contains("\r\n") && level == MatchLevel::Exact {
            return Cow::Borrowed(text);
        }
        if self.has_only_cr {
            return Cow::Owned(LineEnd::Cr.apply(text));
        }
        let Some(old) = self.lines_at(place) else {
            return Cow::Borrowed(text);
        };
        let plain = text.replace("\r\n", "\n");
        let new: Vec<&str> = plain.split('\n').collect();
        let is_same = |(old, new): &(&OldLine<'_>, &&str)| old.bytes == new.as_bytes();
        let kept = old.iter().zip(&new).take_while(is_same).count();
        let rest = old.len().min(new.len()) - kept;
        let from_behind = old.iter().rev().zip(new.iter().rev()).take(rest);
        let kept_behind = from_behind.take_while(is_same).count();
        // The last line that is replaced, or else the one before the new lines.
        let last_replaced = (old.len() - kept_behind).saturating_sub(1);
        let mut put = String::with_capacity(text.len());
        for (at, line) in new.iter().enumerate() {
            put.push_str(line);
            let behind = new.len() - at;
            let own = match behind <= kept_behind {
                true => old.len() - behind,
                false => at.min(last_replaced),
            };
            if behind > 1 {
                put.push_str(old[own].end.text());
            }
        }
        Cow::Owned(put)
    }

    /// The lines at a place; `None` if the file has no line end.
    fn lines_at(&self, place: &Range<usize>) -> Option<Vec<OldLine<'f>>> {
        let file = self.file;
        let first = self.feeds.partition_point(|feed| *feed < place.start);
        let mut lines = Vec::new();
        let mut at = place.start;
        for feed in &self.feeds[first..] {
            let end = end_at(file, *feed);
            if *feed >= place.end {
                let bytes = &file[at..place.end];
                lines.push(OldLine { bytes, end });
                return Some(lines);
            }
            let bytes = file[at..=*feed].strip_suffix(end.text().as_bytes());
            let bytes = bytes.unwrap_or_default();
            lines.push(OldLine { bytes, end });
            at = feed + 1;
        }
        let end = end_at(file, *self.feeds.last()?);
        let bytes = &file[at..place.end];
        lines.push(OldLine { bytes, end });
        Some(lines)
    }
}

/// A line that a new text replaces, in whole or in part.
struct OldLine<'f> {
    bytes: &'f [u8],
    /// The line end that it has in the file. The last line of the file has that of the line before.
    end: LineEnd,
}

/// A text that replaces the whole content of a file, with the byte order mark and the line end of the file if
/// it has none of its own, and remarks about that.
pub(in crate::tool) fn with_marks_of<'t>(
    file: &[u8],
    text: &'t str,
) -> (Cow<'t, str>, Vec<String>) {
    let (mut text, mut notes) = (Cow::Borrowed(text), Vec::new());
    let takes_ends = text.contains('\n') && !text.contains("\r\n");
    match only_end(file) {
        Some(end @ (LineEnd::CrLf | LineEnd::Cr)) if takes_ends => {
            text = Cow::Owned(end.apply(&text));
            notes.push(format!("the {} line ends of the file are kept", end.name()));
        }
        None if takes_ends && first_end(file).is_some() => {
            notes.push("the file had both LF and CR LF line ends, and has LF only now".to_owned());
        }
        Some(_) | None => {}
    }
    if file.starts_with(MARK.as_bytes()) && !text.starts_with(MARK) && !text.is_empty() {
        text = Cow::Owned(format!("{MARK}{text}"));
        notes.push("the byte order mark of the file is kept".to_owned());
    }
    (text, notes)
}

/// The line end of a file; `None` if it has none, or LF here and CR LF there.
fn only_end(file: &[u8]) -> Option<LineEnd> {
    if has_only_cr(file) {
        return Some(LineEnd::Cr);
    }
    let first = first_end(file)?;
    let mut lines = file.split_inclusive(|byte| *byte == b'\n');
    let is_same = |line: &[u8]| !line.ends_with(b"\n") || first_end(line) == Some(first);
    lines.all(is_same).then_some(first)
}

/// The first line end; `None` if there is none.
fn first_end(bytes: &[u8]) -> Option<LineEnd> {
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(end_at(bytes, at))
}

/// The line end of which the LF is there.
fn end_at(bytes: &[u8], at: usize) -> LineEnd {
    match at > 0 && bytes[at - 1] == b'\r' {
        true => LineEnd::CrLf,
        false => LineEnd::Lf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-55] [TOOL-443] [TOOL-622]
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
            (b"a\rb\rc\r", 2..3, "x\ny", "x\ry", "x\ry"),
            (b"a\rb\rc\r", 2..3, "x\r\ny", "x\r\ny", "x\ry"),
            (b"a\rb\n", 2..3, "x\ny", "x\ny", "x\ny"),
            // Where both are mixed: that of the line itself, not of the one before.
            (b"a\nb\r\nc\n", 2..3, "b\nx", "b\r\nx", "b\r\nx"),
            (b"a\nb\r\nc\n", 2..3, "x\nb", "x\r\nb", "x\r\nb"),
            (b"a\nb\r\nc\n", 2..5, "b\nx\n", "b\r\nx\r\n", "b\r\nx\r\n"),
            (b"a\r\nb\nc\r\n", 3..4, "b\nx", "b\nx", "b\nx"),
            // Lines that stay keep their own, and a new one has that of the line that it follows.
            (
                b"a\r\nb\nc",
                0..6,
                "a\nb\nx\nc",
                "a\r\nb\nx\nc",
                "a\r\nb\nx\nc",
            ),
            (
                b"a\r\nb\nc",
                0..6,
                "a\nx\nb\nc",
                "a\r\nx\r\nb\nc",
                "a\r\nx\r\nb\nc",
            ),
            (
                b"a\nb\r\nc\n",
                0..7,
                "A\nB\nC\n",
                "A\nB\r\nC\n",
                "A\nB\r\nC\n",
            ),
            (b"a\nb\r\nc\n", 0..7, "c\n", "c\n", "c\n"),
            (b"a\nb\r\nc", 2..6, "c\nx", "c\r\nx", "c\r\nx"),
        ] {
            for (level, expected) in [(MatchLevel::Exact, exact), (MatchLevel::LineEnds, loose)] {
                assert_eq!(
                    LineEnds::find(file).applied(&place, text, level),
                    expected,
                    "{file:?} {place:?} {level:?}"
                );
            }
        }
    }

    /// Spec: [TOOL-770]
    #[test]
    fn of_many_places_in_a_long_line_each_costs_the_same() {
        let mut file = "0123456789".repeat(400_000).into_bytes();
        file.extend_from_slice(b"\r\n");
        let ends = LineEnds::find(&file);
        for number in 0..400_000 {
            let place = number * 10..number * 10 + 1;
            let put = ends.applied(&place, "x\ny", MatchLevel::Exact);
            assert_eq!(put, "x\r\ny");
        }
    }

    /// Spec: [TOOL-442]
    #[test]
    fn a_new_content_takes_the_marks_of_the_file_once() {
        let (crlf, mark) = (
            "the CR LF line ends of the file are kept",
            "the byte order mark",
        );
        for (file, text, expected, parts) in [
            ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", &[crlf][..]),
            ("a\r\nb\r\n", "x\r\ny\r\n", "x\r\ny\r\n", &[]),
            ("\u{feff}a\r\n", "x\n", "\u{feff}x\r\n", &[crlf, mark]),
            ("\u{feff}a\n", "\u{feff}x\n", "\u{feff}x\n", &[]),
            ("\u{feff}a\n", "x", "\u{feff}x", &[mark]),
            ("\u{feff}a\n", "", "", &[]),
            ("a\rb\r", "x\ny\n", "x\ry\r", &["the CR line ends"]),
            ("a\nb\r\n", "x\ny\n", "x\ny\n", &["both LF and CR LF"]),
            ("a\nb\n", "x\ny\n", "x\ny\n", &[]),
            ("a\r\nb", "x\n", "x\r\n", &[crlf]),
            ("a", "x\n", "x\n", &[]),
            ("", "x\n", "x\n", &[]),
        ] {
            let (content, notes) = with_marks_of(file.as_bytes(), text);
            assert_eq!(content, expected, "{file:?} {text:?}");
            assert_eq!(notes.len(), parts.len(), "{file:?} {text:?}: {notes:?}");
            let mut pairs = notes.iter().zip(parts);
            assert!(pairs.all(|(note, part)| note.contains(part)), "{notes:?}");
        }
    }
}
