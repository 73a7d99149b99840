//! Reads the terminal on a thread of its own.
//!
//! Invariant: the thread waits for the terminal and for the order to end at the same time, so that it never takes a key
//! that is meant for the shell or an editor; and it ends when the other end of the terminal closed.

use std::collections::VecDeque;
use std::future::pending;
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;

use super::key::{TerminalInput, coalesce};
use super::parser::Parser;
use super::tty::Tty;

/// Time in which the terminal is expected to answer a question.
const ANSWER_DUE: Duration = Duration::from_secs(1);
/// Maximum number of reads that wait to be taken. Beyond it the terminal waits.
const MAX_WAITING: usize = 64;
/// Size of one read, in bytes.
const READ: usize = 64 * 1024;

/// A person's inputs at the terminal, one after the other.
#[derive(Debug)]
pub(crate) struct InputReader {
    batches: Receiver<Vec<TerminalInput>>,
    waiting: VecDeque<TerminalInput>,
    resizes: Signal,
    size: fn() -> io::Result<(u16, u16)>,
    is_lost: bool,
    thread: Option<(PipeWriter, JoinHandle<()>)>,
}

impl InputReader {
    /// Begins to read. The terminal is in raw mode.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn start(tty: &Tty) -> io::Result<Self> {
        Self::with_size(tty, size, None)
    }

    /// As [`InputReader::start`], of a terminal that was or will at once be asked something.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn start_expecting_answer(tty: &Tty) -> io::Result<Self> {
        Self::with_size(tty, size, Some(Instant::now() + ANSWER_DUE))
    }

    fn with_size(
        tty: &Tty,
        size: fn() -> io::Result<(u16, u16)>,
        answer_due: Option<Instant>,
    ) -> io::Result<Self> {
        let (sender, batches) = channel(MAX_WAITING);
        let (stopped, stop) = io::pipe()?;
        let source = ByteSource {
            input: tty.input().try_clone_to_owned()?,
            stopped,
            parser: Parser::new(tty.erase()),
            answer_due,
        };
        let resizes = signal(SignalKind::window_change())?;
        let builder = thread::Builder::new().name("terminal".to_owned());
        let thread = builder.spawn(move || source.run(&sender))?;
        Ok(Self {
            batches,
            waiting: VecDeque::new(),
            resizes,
            size,
            is_lost: false,
            thread: Some((stop, thread)),
        })
    }

    /// The next input. May be dropped and asked again. Behind [`TerminalInput::Lost`] nothing comes.
    pub(crate) async fn next(&mut self) -> TerminalInput {
        loop {
            if let Some(input) = self.waiting.pop_front() {
                self.is_lost = matches!(input, TerminalInput::Lost(_));
                return input;
            }
            if self.is_lost {
                pending::<()>().await;
            }
            tokio::select! {
                batch = self.batches.recv() => match batch {
                    Some(batch) => self.gather(batch),
                    None => self.waiting.push_back(TerminalInput::Lost(ErrorKind::UnexpectedEof.into())),
                },
                Some(()) = self.resizes.recv() => {
                    // Without a size, the old one is as good as any.
                    if let Ok((width, height)) = (self.size)() {
                        self.waiting.push_back(TerminalInput::Resized {
                            width: width.max(1),
                            height: height.max(1),
                        });
                    }
                }
            }
        }
    }

    /// True if there is something to take.
    #[cfg(test)]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.batches.is_empty()
    }

    /// Takes what has come so far as one.
    fn gather(&mut self, batch: Vec<TerminalInput>) {
        let mut all = batch;
        while let Ok(batch) = self.batches.try_recv() {
            all.extend(batch);
        }
        self.waiting.extend(coalesce(all));
    }

    /// Stops reading. From here on this reader takes no key: the next one is for the next reader.
    pub(crate) fn stop(self) {
        drop(self);
    }
}

impl Drop for InputReader {
    fn drop(&mut self) {
        // Whoever waits for room in the channel does not wait any more.
        self.batches.close();
        while self.batches.try_recv().is_ok() {}
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            if thread.join().is_err() {
                log::error!("the reader of the terminal panicked");
            }
        }
    }
}

/// The size of the terminal: one system call, at the start and on each change.
///
/// # Errors
/// If there is no terminal.
pub(crate) fn size() -> io::Result<(u16, u16)> {
    let (width, height) = crossterm::terminal::size()?;
    // Some pseudo terminals were never told.
    Ok(if width == 0 || height == 0 {
        (80, 24)
    } else {
        (width, height)
    })
}

/// The first event.
#[derive(Debug, PartialEq, Eq)]
enum Woken {
    /// The terminal has something to say.
    Ready,
    /// Nothing came in time.
    Late,
    /// It is over.
    Stopped,
}

/// The source of the bytes.
struct ByteSource {
    input: OwnedFd,
    /// Closed at its other end when it is over.
    stopped: PipeReader,
    parser: Parser,
    /// Until when an answer of the terminal is expected.
    answer_due: Option<Instant>,
}

impl ByteSource {
    fn run(mut self, sender: &Sender<Vec<TerminalInput>>) {
        let mut buffer = vec![0; READ];
        loop {
            let batch = match self.read(&mut buffer) {
                Ok(Some(batch)) => batch,
                Ok(None) => return,
                Err(error) => {
                    // If nobody is there to hear it, nobody needs to.
                    drop(sender.blocking_send(vec![TerminalInput::Lost(error)]));
                    return;
                }
            };
            if !batch.is_empty() && sender.blocking_send(batch).is_err() {
                return;
            }
        }
    }

    /// The next news, or the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Vec<TerminalInput>>> {
        let patience = self.parser.patience();
        let limit = match patience.map(PollTimeout::try_from) {
            None | Some(Err(_)) => PollTimeout::NONE,
            Some(Ok(limit)) => limit,
        };
        match self.wait(limit)? {
            Woken::Stopped => return Ok(None),
            Woken::Late => return Ok(Some(self.parser.expire())),
            Woken::Ready => {
                let is_due = |until: Instant| Instant::now() < until;
                self.parser
                    .expect_answer(self.answer_due.is_some_and(is_due));
            }
        }
        match nix::unistd::read(&self.input, buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                let is_more_waiting = self.wait(PollTimeout::ZERO)? == Woken::Ready;
                let read = buffer.get(..count).unwrap_or_default();
                Ok(Some(self.parser.feed(read, is_more_waiting)))
            }
            Err(Errno::EINTR | Errno::EAGAIN) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    fn wait(&self, limit: PollTimeout) -> io::Result<Woken> {
        let watch = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut watched = [watch(self.stopped.as_fd()), watch(self.input.as_fd())];
        match poll(&mut watched, limit) {
            // Nobody is late who was interrupted; it is looked at again.
            Err(Errno::EINTR) => return self.wait(limit),
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(Woken::Late),
            Ok(_) => {}
        }
        let [stopped, _] = watched;
        Ok(if stopped.any().unwrap_or(true) {
            Woken::Stopped
        } else {
            Woken::Ready
        })
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
