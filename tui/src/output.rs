//! The lines of what a running tool shows, as a terminal would leave them.
//!
//! Invariant: nothing in a line can steer the terminal, a line is bounded, and each byte is looked at
//! once, however the output was cut into pieces.

use crate::text::{Hidden, sanitize};

/// Maximum size of one line that is kept, in bytes.
const MAX_LINE: usize = 4 * 1024;

/// A line of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputLine {
    /// Its text, fit to be shown.
    Text(String),
    /// So many bytes are not shown here.
    LeftOut(u64),
}

impl OutputLine {
    /// Its readable text.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::LeftOut(1) => "… 1 byte not shown".to_owned(),
            Self::LeftOut(bytes) => format!("… {bytes} bytes not shown"),
        }
    }
}

/// Makes lines of the pieces in which an output comes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OutputLines {
    /// The line that is not finished, as it came.
    open: String,
    /// Number of its bytes that are not kept.
    more: usize,
    /// True if the program went back to the start of the line.
    is_back: bool,
    /// Offset of the next piece, if nothing is left out.
    end: u64,
}

impl OutputLines {
    /// Takes a piece that begins at that offset. Returns the lines that it finishes. `None` if all of it is known.
    pub(crate) fn take(&mut self, offset: u64, piece: &str) -> Option<Vec<OutputLine>> {
        let known = usize::try_from(self.end.saturating_sub(offset)).ok()?;
        let piece = piece.get(known..).filter(|new| !new.is_empty())?;
        let mut lines = Vec::new();
        if let Some(left_out) = offset.checked_sub(self.end)
            && left_out > 0
        {
            lines.extend(self.open());
            self.begin();
            lines.push(OutputLine::LeftOut(left_out));
        }
        self.end = self.end.max(offset).saturating_add(piece.len() as u64);
        for part in piece.split_inclusive(['\n', '\r']) {
            let text = part.trim_end_matches(['\n', '\r']);
            self.write(text);
            if part.ends_with('\n') {
                lines.push(OutputLine::Text(self.text()));
                self.begin();
            } else {
                self.is_back |= part.ends_with('\r');
            }
        }
        Some(lines)
    }

    /// The line that is not finished, unless it is empty.
    pub(crate) fn open(&self) -> Option<OutputLine> {
        let text = self.text();
        (!text.is_empty()).then_some(OutputLine::Text(text))
    }

    fn begin(&mut self) {
        self.open.clear();
        self.more = 0;
        self.is_back = false;
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.is_back {
            self.begin();
        }
        // After a part that was left out nothing fits any longer.
        let room = match self.more {
            0 => MAX_LINE.saturating_sub(self.open.len()),
            _ => 0,
        };
        let (kept, more) = text.split_at(text.floor_char_boundary(room));
        self.open.push_str(kept);
        self.more += more.len();
    }

    fn text(&self) -> String {
        let text = sanitize(&self.open, Hidden::Dropped);
        match self.more {
            0 => text,
            more => format!("{text} … ({more} more bytes)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of an output that comes in pieces of that size, with the open one.
    fn lines(output: &str, size: usize) -> Vec<String> {
        let mut lines = OutputLines::default();
        let (mut at, mut said) = (0, Vec::new());
        while at < output.len() {
            let end = output.ceil_char_boundary((at + size).min(output.len()));
            said.extend(lines.take(at as u64, &output[at..end]).unwrap());
            at = end;
        }
        said.extend(lines.open());
        said.iter().map(OutputLine::words).collect()
    }

    /// Spec: [TUI-103]
    #[test]
    fn however_an_output_is_cut_its_lines_are_those_that_a_terminal_would_leave() {
        let long = format!("{}end\nx", "y".repeat(MAX_LINE));
        let long_line = format!("{} … (3 more bytes)", "y".repeat(MAX_LINE));
        let cases: [(&str, &[&str]); 9] = [
            ("a\nb\n", &["a", "b"]),
            ("a\n\nb", &["a", "", "b"]),
            ("10%\r20%\r\ndone\r", &["20%", "done"]),
            ("100%\r5%\r\r7%", &["7%"]),
            ("\x1b[31mred\x1b[0m \x1b]0;title\x07é🦀\n", &["red é🦀"]),
            ("\x1b[2K\x1b[1Gone\r\x1b[2Ktwo\n", &["two"]),
            ("a\u{202e}b\u{200b}c\x08\x00\n", &["a<202E>bc"]),
            ("\u{9b}2Jx\u{9d}52;c;aGk=\u{9c}y", &["xy"]),
            (&long, &[&long_line, "x"]),
        ];
        for (output, expected) in cases {
            for size in [1, 2, 3, 7, 1000, 100_000] {
                assert_eq!(lines(output, size), expected, "{output:?} by {size}");
            }
        }
    }

    /// Spec: [TUI-103]
    #[test]
    fn what_is_left_out_is_a_line_and_what_comes_twice_is_not_shown_twice() {
        let mut lines = OutputLines::default();
        let text = |text: &str| OutputLine::Text(text.to_owned());
        // Who attaches late gets the end first.
        let first = lines.take(100, "a\nb");
        assert_eq!(first, Some(vec![OutputLine::LeftOut(100), text("a")]));
        assert_eq!(lines.take(100, "a\nb"), None);
        assert_eq!(lines.take(101, "\n"), None);
        assert_eq!(lines.take(103, ""), None);
        assert_eq!(lines.take(101, "\nbc\nd"), Some(vec![text("bc")]));
        let behind = lines.take(107, "e\n");
        assert_eq!(
            behind,
            Some(vec![text("d"), OutputLine::LeftOut(1), text("e")])
        );
        // A place inside a character is none.
        assert_eq!(lines.take(108, "éé"), None);
        assert!(lines.take(u64::MAX, "f").is_some());
    }
}
