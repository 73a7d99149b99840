//! Runs the client without a screen.

use std::io::{self, Write};

use tokio::sync::mpsc::{Receiver, UnboundedSender};

use super::machine::{Effect, Input, Machine, Options};
use super::typed::Typed;
use crate::link::{News, Order};

/// Shows what happens and sends what is typed, to the end; the exit code. It is 0 if the last run
/// that was begun here was completed, 130 if it was cancelled, 1 if it failed.
///
/// # Errors
/// If the output cannot be written. A reader that closed the pipe early is not an error.
pub(crate) async fn run(
    mut news: Receiver<News>,
    orders: UnboundedSender<Order>,
    mut typed: Receiver<Typed>,
    output: impl Write,
    options: Options,
) -> io::Result<i32> {
    let mut machine = Machine::new(options);
    let mut writer = Lines(output);
    let mut is_typed_over = false;
    loop {
        let input = tokio::select! {
            // What happened before a line was typed is shown before it.
            biased;
            news = news.recv() => match news {
                Some(news) => Input::News(Box::new(news)),
                None => Input::LinkClosed,
            },
            typed = typed.recv(), if !is_typed_over => match typed {
                Some(Typed::Line(line)) => Input::Line(line),
                Some(Typed::Interrupt) => Input::Interrupt,
                Some(Typed::End) => Input::Over,
                None => {
                    is_typed_over = true;
                    Input::Over
                }
            },
        };
        for effect in machine.handle(input) {
            match effect {
                Effect::Show(lines) => match writer.write(&lines) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                    written => written?,
                },
                // A closed link is reported in the news.
                Effect::Order(order) => drop(orders.send(order)),
                Effect::Exit(code) => return Ok(code),
            }
        }
    }
}

/// Writes lines, once.
struct Lines<W>(W);

impl<W: Write> Lines<W> {
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
