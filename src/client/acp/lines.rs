//! The lines on standard input and standard output.
//!
//! Both are read and written on threads of their own: an editor that does not read holds up only what is written to it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::time::Duration;

use harness_actors::start_thread;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};
use tokio::sync::oneshot;

use crate::client::acp::message::{answer, notification, request};

/// Maximum length of a line of the editor, in bytes. A longer one is dropped.
const MAX_LINE: usize = 64 * 1024 * 1024;
/// Number of lines that wait to be dispatched or written.
const WAITING_LINES: usize = 256;
/// Time for the last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// A line of the editor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditorLine {
    /// The bytes, without the line break.
    Bytes(Vec<u8>),
    /// A line that was dropped for its length.
    TooLong,
}

/// Reads the lines of standard input until it ends.
///
/// # Errors
/// If there is no thread to be had.
pub(super) fn read_lines() -> io::Result<Receiver<EditorLine>> {
    let (lines, read) = channel(WAITING_LINES);
    start_thread("acp-input", move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(Some(line)) = next_line(&mut input) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(read)
}

/// The next line that is not blank; none at the end.
fn next_line(input: &mut impl io::BufRead) -> io::Result<Option<EditorLine>> {
    loop {
        let mut line = Vec::new();
        input
            .take(MAX_LINE as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > MAX_LINE && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            return Ok(Some(EditorLine::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(EditorLine::Bytes(line)));
        }
    }
}

/// The receiver of an answer of the editor; none if the editor refused.
pub(super) type OnAnswer = Box<dyn FnOnce(Option<Value>)>;

/// The way to the editor.
pub(super) struct EditorOutbox {
    lines: Sender<Option<Value>>,
    /// Dropped when the writer has ended.
    written: RefCell<Option<oneshot::Receiver<()>>>,
    requests: Cell<u64>,
    /// The requests without an answer.
    asked: RefCell<HashMap<u64, OnAnswer>>,
}

impl EditorOutbox {
    /// An outbox that writes to standard output. `broken` receives a word when that cannot be written.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(super) fn new(broken: UnboundedSender<()>) -> io::Result<Self> {
        let (lines, mut to_write) = channel::<Option<Value>>(WAITING_LINES);
        let (end, written) = oneshot::channel();
        start_thread("acp-output", move || {
            let mut output = io::stdout();
            while let Some(Some(line)) = to_write.blocking_recv() {
                let written = writeln!(output, "{line}").and_then(|()| output.flush());
                if let Err(error) = written {
                    log::info!("the editor does not read any more: {error}");
                    if broken.send(()).is_err() {
                        log::debug!("the bridge has ended before");
                    }
                    break;
                }
            }
            drop(end);
        })?;
        Ok(Self {
            lines,
            written: RefCell::new(Some(written)),
            requests: Cell::default(),
            asked: RefCell::default(),
        })
    }

    /// Answers a request of the editor.
    pub(super) async fn answer(&self, id: &Value, result: &Value) {
        self.send(answer(id, result)).await;
    }

    /// Sends a message that wants no answer.
    pub(super) async fn notify(&self, method: &str, params: &Value) {
        self.send(notification(method, params)).await;
    }

    /// Asks the editor. Returns the name of the request.
    pub(super) async fn ask(&self, method: &str, params: &Value, on_answer: OnAnswer) -> u64 {
        let id = self.requests.get() + 1;
        self.requests.set(id);
        self.asked.borrow_mut().insert(id, on_answer);
        self.send(request(id, method, params)).await;
        id
    }

    /// Takes a request back, if it has no answer yet.
    pub(super) async fn withdraw(&self, id: u64) {
        let is_open = self.asked.borrow_mut().remove(&id).is_some();
        if is_open {
            let params = serde_json::json!({"requestId": id});
            self.notify("$/cancel_request", &params).await;
        }
    }

    /// Hands an answer of the editor to the request that it belongs to. Late and foreign ones are ignored.
    pub(super) fn answered(&self, id: &Value, result: Option<Value>) {
        let on_answer = id
            .as_u64()
            .and_then(|id| self.asked.borrow_mut().remove(&id));
        if let Some(on_answer) = on_answer {
            on_answer(result);
        }
    }

    /// Sends a whole message.
    pub(super) async fn send(&self, message: Value) {
        if self.lines.send(Some(message)).await.is_err() {
            log::debug!("the editor is not there any more");
        }
    }

    /// Writes the lines that wait, and ends.
    pub(super) async fn close(&self) {
        let written = self.written.borrow_mut().take();
        let end = async {
            // The writer may have ended.
            drop(self.lines.send(None).await);
            if let Some(written) = written {
                written.await.unwrap_or_default();
            }
        };
        if tokio::time::timeout(LAST_LINES, end).await.is_err() {
            log::warn!("the editor did not read the last lines");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ACP-02]
    #[test]
    fn lines_are_read_to_the_end_and_what_is_too_long_is_dropped() {
        let mut input = b"{}\n\n \r\n[1]\r\n".to_vec();
        input.extend(vec![b'x'; MAX_LINE + 2]);
        input.extend(b"\nlast");
        let mut input = input.as_slice();
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line);
        }
        let bytes = |line: &str| EditorLine::Bytes(line.as_bytes().to_vec());
        let expected = [
            bytes("{}\n"),
            bytes("[1]\r\n"),
            EditorLine::TooLong,
            bytes("last"),
        ];
        assert_eq!(lines, expected);
    }
}
