//! Where a command writes: results to standard output, remarks to standard error.

use std::io::{self, IsTerminal as _, Write};

use crate::visible;

/// The two streams of a command.
pub(super) struct Output {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether the results go to a terminal, which foreign text must not steer.
    terminal: bool,
}

impl Output {
    /// Those of this process.
    pub(super) fn of_process() -> Self {
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            terminal: io::stdout().is_terminal(),
        }
    }

    #[cfg(test)]
    pub(super) fn new(out: Box<dyn Write>, err: Box<dyn Write>) -> Self {
        Self {
            out,
            err,
            terminal: false,
        }
    }

    /// Writes a piece of foreign text: exactly, unless it goes to a terminal.
    ///
    /// # Errors
    /// If it cannot be written; a reader that is gone is a broken pipe.
    pub(super) fn text(&mut self, piece: &str) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        if self.terminal {
            self.out.write_all(visible::text(piece).as_bytes())?;
        } else {
            self.out.write_all(piece.as_bytes())?;
        }
        // Whoever reads wants it as it arrives.
        self.out.flush()
    }

    /// Writes a line of our own.
    ///
    /// # Errors
    /// If it cannot be written; a reader that is gone is a broken pipe.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(format!("{line}\n").as_bytes())?;
        self.out.flush()
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// If it cannot be written; a reader that is gone is a broken pipe.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let line = visible::json(value)?;
        self.line(&line)
    }

    /// Says something to whoever watches. Nobody may be there, which does not matter.
    pub(super) fn note(&mut self, remark: &str) {
        let line = format!("{}\n", visible::line(remark));
        drop(self.err.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::recorded;

    /// Spec: [CLI-09]
    #[test]
    fn a_reader_that_left_is_seen_at_once_and_nobody_to_be_told_is_no_failure() {
        let (reader, writer) = io::pipe().unwrap();
        let other = writer.try_clone().unwrap();
        drop(reader);
        let mut output = Output::new(Box::new(writer), Box::new(other));
        output.note("to nobody");
        for result in [output.text("x"), output.line("x"), output.json(&1)] {
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }

    /// Spec: [CLI-10]
    #[test]
    fn a_reply_is_exact_in_a_file_and_harmless_on_a_terminal() {
        for (terminal, written) in [(false, "a\n\x1b[2J"), (true, "a\n\\u{1b}[2J")] {
            let (mut output, record) = recorded();
            output.terminal = terminal;
            output.text("a\n\x1b[2J").unwrap();
            assert_eq!(record.out(), written);
        }
    }
}
