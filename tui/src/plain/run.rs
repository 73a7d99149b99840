//! Runs the client without a screen.

use std::io::{self, Write};

use tokio::sync::mpsc::{Receiver, UnboundedSender};

use super::machine::{PlainEffect, PlainInput, PlainMachine, PlainOptions};
use super::typed::Typed;
use crate::link::{ClientOrder, News};

/// Shows what happens and sends what is typed, to the end; the exit code. It is 0 if the last run
/// that was begun here was completed, 130 if it was cancelled, 1 if it failed.
///
/// # Errors
/// If the output cannot be written. A reader that closed the pipe early is not an error.
pub(crate) async fn run(
    mut news: Receiver<News>,
    orders: UnboundedSender<ClientOrder>,
    mut typed: Receiver<Typed>,
    output: impl Write,
    options: PlainOptions,
) -> io::Result<i32> {
    let mut machine = PlainMachine::new(options);
    let mut writer = PlainLines(output);
    let mut is_typed_over = false;
    loop {
        let input = tokio::select! {
            // What happened before a line was typed is shown before it.
            biased;
            news = news.recv() => match news {
                Some(news) => PlainInput::News(Box::new(news)),
                None => PlainInput::LinkClosed,
            },
            typed = typed.recv(), if !is_typed_over => match typed {
                Some(Typed::Line(line)) => PlainInput::Line(line),
                Some(Typed::Interrupt) => PlainInput::Interrupt,
                Some(Typed::End) => PlainInput::Over,
                None => {
                    is_typed_over = true;
                    PlainInput::Over
                }
            },
        };
        for effect in machine.handle(input) {
            match effect {
                PlainEffect::Show(lines) => match writer.write(&lines) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                    written => written?,
                },
                // A closed link is reported in the news.
                PlainEffect::Order(order) => drop(orders.send(order)),
                PlainEffect::Exit(code) => return Ok(code),
            }
        }
    }
}

/// Writes lines, once.
struct PlainLines<W>(W);

impl<W: Write> PlainLines<W> {
    /// Writes these lines at once: a person who listens to them wants no delay.
    fn write(&mut self, lines: &str) -> io::Result<()> {
        // The lines need no control characters, and none may reach the output.
        let is_shown = |c: &char| *c == '\n' || !c.is_control();
        let mut shown: String = lines.chars().filter(is_shown).collect();
        shown.push('\n');
        self.0.write_all(shown.as_bytes())?;
        self.0.flush()
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
