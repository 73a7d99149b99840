//! The lines of a running check, made of the pieces in which they come.

use crate::visible;

/// The indent of such a line: as wide as the time of a record.
const MARGIN: &str = "         |";
/// How many characters of a line are shown.
const MAX_SHOWN: usize = 400;
/// How much of a line without an end is kept, in bytes.
const MAX_LINE: usize = 8 * 1024;

/// Makes lines of pieces.
#[derive(Debug, Default)]
pub(super) struct StepLines {
    step: String,
    /// Where the next piece begins, if nothing is left out.
    end: u64,
    /// The line that has no end yet.
    open: String,
}

impl StepLines {
    /// The next line is of another step, or of another try.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// The lines that a piece ends.
    pub(super) fn take(&mut self, step: &str, offset: u64, text: &str) -> Vec<String> {
        if self.step != step {
            *self = Self {
                step: step.to_owned(),
                end: offset,
                open: String::new(),
            };
        }
        let known = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(new) = text.get(known..) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if offset > self.end {
            self.open.clear();
            let left_out = offset - self.end;
            lines.push(format!("{MARGIN} … {left_out} bytes not shown"));
        }
        self.end = self.end.max(offset) + new.len() as u64;
        for part in new.split_inclusive('\n') {
            let room = MAX_LINE.saturating_sub(self.open.len());
            let line = part.trim_end_matches('\n');
            self.open.push_str(&line[..line.floor_char_boundary(room)]);
            if part.ends_with('\n') {
                let line = visible::short(&self.open, MAX_SHOWN);
                lines.push(format!("{MARGIN} {line}").trim_end().to_owned());
                self.open.clear();
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-115]
    #[test]
    fn a_line_is_printed_when_it_is_whole_and_what_is_missing_is_told() {
        let mut lines = StepLines::default();
        assert_eq!(lines.take("check:a", 0, "one\ntw"), ["         | one"]);
        assert_eq!(
            lines.take("check:a", 6, "o\n\n"),
            ["         | two", "         |"]
        );
        // A client that comes back is sent the end of what it has.
        assert_eq!(lines.take("check:a", 4, "two\n\n"), [""; 0]);
        assert_eq!(
            lines.take("check:a", 4, "two\n\nthree\n"),
            ["         | three"]
        );
        assert_eq!(
            lines.take("check:a", 115, "\x1b[2Jlast\n"),
            [
                "         | … 100 bytes not shown",
                "         | \\u{1b}[2Jlast"
            ]
        );
        // Another step begins anew, and so does another try.
        assert_eq!(lines.take("check:b", 0, "a\n"), ["         | a"]);
        lines.end();
        assert_eq!(lines.take("check:b", 0, "a\n"), ["         | a"]);
        // The first piece of one who comes late begins with what was kept.
        assert_eq!(lines.take("check:c", 900, "z\n"), ["         | z"]);
    }
}
