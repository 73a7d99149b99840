//! The end of what a running call shows.

use std::collections::VecDeque;

use crate::output::{OutputLine, OutputLines};

/// Maximum number of finished lines that are kept.
const MAX_LINES: usize = 200;
/// Maximum size of those lines, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The kept part of a running call's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunningOutput {
    reading: OutputLines,
    lines: VecDeque<OutputLine>,
    bytes: usize,
    /// Number of lines before those.
    earlier: usize,
}

impl RunningOutput {
    /// Takes a piece; whether there is anything new in it.
    pub(crate) fn grow(&mut self, offset: u64, piece: &str) -> bool {
        let Some(lines) = self.reading.take(offset, piece) else {
            return false;
        };
        for line in lines {
            self.bytes += size(&line);
            self.lines.push_back(line);
            while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
                let Some(first) = self.lines.pop_front() else {
                    break;
                };
                self.bytes -= size(&first);
                self.earlier += 1;
            }
        }
        true
    }

    /// Number of all lines.
    pub(crate) fn len(&self) -> usize {
        self.earlier + self.lines.len() + usize::from(self.reading.open().is_some())
    }

    /// The last lines, at most so many, with the one that is not finished.
    pub(crate) fn last(&self, most: usize) -> Vec<OutputLine> {
        let open = self.reading.open();
        let whole = most.saturating_sub(usize::from(open.is_some()));
        let from = self.lines.len().saturating_sub(whole);
        let lines = self.lines.range(from..).cloned();
        lines.chain(open).collect()
    }
}

fn size(line: &OutputLine) -> usize {
    match line {
        OutputLine::Text(text) => text.len(),
        OutputLine::LeftOut(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-102]
    #[test]
    fn however_much_comes_only_the_last_lines_are_kept() {
        let mut output = RunningOutput::default();
        let mut offset = 0;
        for number in 0..5000 {
            let line = match number % 10 {
                0 => format!("{}\n", "x".repeat(20_000)),
                _ => format!("line {number}\n"),
            };
            assert!(output.grow(offset, &line));
            offset += line.len() as u64;
            assert!(output.lines.len() <= MAX_LINES && output.bytes <= MAX_BYTES);
            assert_eq!(output.len(), number + 1);
        }
        assert!(output.grow(offset, "open"));
        let last: Vec<_> = output.last(3).iter().map(OutputLine::words).collect();
        assert_eq!(last, ["line 4998", "line 4999", "open"]);
        assert_eq!((output.len(), output.last(0).len()), (5001, 1));
    }
}
