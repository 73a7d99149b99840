//! Where a command writes: results to standard output, remarks to standard error.

use std::io::{self, IsTerminal as _, Write};

use crate::cli::color::ColorFlag;
use crate::client::reply_file::ReplyFile;
use crate::visible;

/// How wide the time of an event is, with the blank behind it.
const TIME_WIDTH: usize = 10;
/// How wide the type of an event is.
const KIND_WIDTH: usize = 18;
const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// The two streams of a command.
pub(super) struct Output {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether the results go to a terminal, which foreign text must not steer.
    terminal: bool,
    /// Whether remarks are left out.
    quiet: bool,
    /// The flag for colours.
    color: ColorFlag,
    /// Whether results have colours.
    out_has_colors: bool,
    /// Whether remarks have colours.
    err_has_colors: bool,
}

impl Output {
    /// Those of this process.
    pub(super) fn of_process(color: ColorFlag) -> Self {
        let is_on = |is_terminal| color.is_on(is_terminal, |name| std::env::var(name).ok());
        Self {
            color,
            out_has_colors: is_on(io::stdout().is_terminal()),
            err_has_colors: is_on(io::stderr().is_terminal()),
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            terminal: io::stdout().is_terminal(),
            quiet: false,
        }
    }

    #[cfg(test)]
    pub(super) fn new(out: Box<dyn Write>, err: Box<dyn Write>) -> Self {
        Self {
            out,
            err,
            terminal: false,
            quiet: false,
            color: ColorFlag::default(),
            out_has_colors: false,
            err_has_colors: false,
        }
    }

    /// Leaves remarks out from here on; errors and questions are still told.
    pub(super) fn hush(&mut self) {
        self.quiet = true;
    }

    /// Writes the results to a file from here on, exactly.
    pub(super) fn write_to(&mut self, file: &ReplyFile) {
        self.out = file.writer();
        self.terminal = false;
        self.out_has_colors = false;
    }

    /// Whether the flag says that there are colours, or that there are none.
    pub(super) fn chosen_colors(&self) -> Option<bool> {
        self.color.chosen()
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
        // A reader wants it as it arrives.
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

    /// Writes the line of an event: its time, its type, and what there is to say of it.
    ///
    /// # Errors
    /// If it cannot be written; a reader that is gone is a broken pipe.
    pub(super) fn event_line(&mut self, line: &str) -> io::Result<()> {
        match (line.split_at_checked(TIME_WIDTH), self.out_has_colors) {
            (Some((time, rest)), true) => {
                let kind = rest.get(..KIND_WIDTH).unwrap_or(rest);
                let rest = &rest[kind.len()..];
                self.line(&format!("{DIM}{time}{PLAIN}{BOLD}{kind}{PLAIN}{rest}"))
            }
            _ => self.line(line),
        }
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// If it cannot be written; a reader that is gone is a broken pipe.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let line = visible::json(value)?;
        self.line(&line)
    }

    /// Says something to the person who watches, if there is one and they want to hear it.
    pub(super) fn note(&mut self, remark: &str) {
        if !self.quiet {
            self.write_remark(remark, DIM);
        }
    }

    /// Says what has to be said to the person who watches, if there is one: an error, or a question.
    pub(super) fn tell(&mut self, remark: &str) {
        self.write_remark(remark, BOLD);
    }

    fn write_remark(&mut self, remark: &str, style: &str) {
        let remark = visible::line(remark);
        let line = if self.err_has_colors {
            format!("{style}{remark}{PLAIN}\n")
        } else {
            format!("{remark}\n")
        };
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

    /// Spec: [CONF-340]
    #[test]
    fn colours_set_apart_the_parts_of_a_line() {
        let (mut output, record) = recorded();
        (output.out_has_colors, output.err_has_colors) = (true, true);
        output
            .event_line("21:20:00Z user               Hi")
            .unwrap();
        output.note("> read");
        output.tell("harness: no");
        assert_eq!(
            record.out(),
            "\x1b[2m21:20:00Z \x1b[0m\x1b[1muser              \x1b[0m Hi\n"
        );
        assert_eq!(
            record.err(),
            "\x1b[2m> read\x1b[0m\n\x1b[1mharness: no\x1b[0m\n"
        );
    }

    /// Spec: [CLI-349]
    #[test]
    fn who_wants_no_remarks_is_told_errors_only() {
        let (mut output, record) = recorded();
        output.hush();
        output.note("> read");
        output.tell("harness: no");
        assert_eq!(record.err(), "harness: no\n");
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
