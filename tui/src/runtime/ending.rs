//! Gives the terminal to another program: for a while, or for good.

use std::io::{self, ErrorKind};

use super::{Client, LAST_WRITES, RunError};
use crate::app::Msg;
use crate::terminal::TerminalInput;

impl Client {
    /// Waits for the terminal's answer, if it was asked a moment ago: the next reader would take the answer for typed
    /// text.
    pub(super) async fn hear_answer(&mut self) {
        let (Some(until), Some(reader)) = (self.answer_until.take(), &mut self.reader) else {
            return;
        };
        loop {
            match tokio::time::timeout_at(until, reader.next()).await {
                Ok(TerminalInput::Background { is_light }) => {
                    let now = self.begun.elapsed();
                    self.app.update(Msg::Background { is_light }, now);
                    return;
                }
                Ok(TerminalInput::Lost(_)) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Restores the terminal, and prints the command that returns to the conversation. Returns the exit code.
    pub(super) async fn end(mut self, result: Result<i32, RunError>) -> Result<i32, RunError> {
        self.hear_answer().await;
        if let Some(reader) = self.reader.take() {
            reader.stop();
        }
        let given = self.guard.leave();
        if let Some(draft) = self.app.draft() {
            // Not sent, and not lost either: it is the last of the prompts of the past.
            self.remember(draft);
        }
        let last = async {
            while self.pending > 0 && self.done.1.recv().await.is_some() {
                self.pending -= 1;
            }
        };
        if tokio::time::timeout(LAST_WRITES, last).await.is_err() {
            log::warn!("the end did not wait for all that was still being written");
        }
        let told = match (&result, self.app.farewell()) {
            (Ok(_), Some(farewell)) => given.and_then(|()| self.guard.say_last(&farewell)),
            _ => given,
        };
        match told {
            Ok(()) => result,
            Err(error) => ended_unread(error, result),
        }
    }
}

/// The result of a client that could not restore its terminal. If the terminal's other end reads nothing, nothing is
/// written: a write would wait for ever.
fn ended_unread(error: io::Error, result: Result<i32, RunError>) -> Result<i32, RunError> {
    let is_stalled = error.kind() == ErrorKind::TimedOut;
    match result {
        Ok(0) if !is_stalled => Err(error.into()),
        Ok(code) => {
            log::warn!("the terminal was not given back: {error}");
            Ok(code)
        }
        Err(reason) if is_stalled => {
            log::error!("{reason}");
            Ok(1)
        }
        Err(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TERM-26]
    #[test]
    fn a_terminal_that_nobody_reads_is_told_nothing_and_the_code_stays() {
        let ended = |kind: ErrorKind, result| match ended_unread(kind.into(), result) {
            Ok(code) => code.to_string(),
            Err(error) => error.to_string(),
        };
        let refused = || {
            let reason = "no".to_owned();
            Err(RunError::Refused { reason })
        };
        let gone = "the terminal: broken pipe";
        for (kind, result, expected) in [
            (ErrorKind::TimedOut, Ok(143), "143"),
            (ErrorKind::TimedOut, Ok(0), "0"),
            (ErrorKind::TimedOut, refused(), "1"),
            (ErrorKind::BrokenPipe, Ok(129), "129"),
            (ErrorKind::BrokenPipe, Ok(0), gone),
            (ErrorKind::BrokenPipe, refused(), "no"),
        ] {
            assert_eq!(ended(kind, result), expected);
        }
    }
}
