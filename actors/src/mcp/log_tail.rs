//! The end of what a server writes to its standard error.

use std::collections::VecDeque;

/// Number of lines that are kept.
const MAX_LINES: usize = 20;
/// Maximum length of a line, in bytes; the rest of it is dropped.
const MAX_LINE: usize = 500;

/// The last lines, each cut at a bounded length.
#[derive(Debug, Default)]
pub(super) struct LogTail {
    lines: VecDeque<String>,
    /// The line that has not ended yet.
    open: Vec<u8>,
}

impl LogTail {
    /// Adds a piece of what was written.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// The lines, the last one at the end.
    pub(super) fn lines(&self) -> Vec<String> {
        let open = text_of(&self.open);
        let lines = self.lines.iter().cloned();
        lines
            .chain(Some(open).filter(|open| !open.is_empty()))
            .collect()
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.open.len());
        self.open.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn end_line(&mut self) {
        let line = text_of(&std::mem::take(&mut self.open));
        if line.is_empty() {
            return;
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

fn text_of(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MCP-07]
    #[test]
    fn only_the_last_lines_are_kept_and_none_is_long() {
        let mut tail = LogTail::default();
        for number in 0..100 {
            tail.add(format!("line {number}\r\n\n").as_bytes());
        }
        tail.add(&[b'x'; 10_000]);
        tail.add(b"y\nopen");
        let lines = tail.lines();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0], "line 81");
        assert_eq!(lines[MAX_LINES - 1], "x".repeat(MAX_LINE));
        assert_eq!(lines[MAX_LINES], "open");
        tail.add(&[b'z'; 10_000]);
        assert!(tail.open.capacity() < 4 * MAX_LINE);
    }
}
