//! Lines that wait for the thread that writes them.
//!
//! Invariant: who adds a line never waits for the place where it is written. Lines for which there is
//! no room are counted, and told as lost where they would have been.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness_actors::start_thread;

/// How many bytes of lines may wait. A longer line may wait alone.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Lines that wait for the thread that writes them.
#[derive(Debug, Clone)]
pub(crate) struct LogQueue {
    shared: Arc<LogShared>,
}

#[derive(Debug, Default)]
struct LogShared {
    waiting: Mutex<WaitingLines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    entries: VecDeque<LogEntry>,
    /// How many bytes the lines have.
    bytes: usize,
    /// How many entries there were,
    added: u64,
    /// and how many of them were written.
    written: u64,
}

#[derive(Debug)]
enum LogEntry {
    Line(Vec<u8>),
    /// So many lines had no room here.
    Lost(u64),
}

impl LogQueue {
    /// Starts a thread of that name that gives each line to `write`.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start(name: &str, write: impl FnMut(&[u8]) + Send + 'static) -> io::Result<Self> {
        let queue = Self {
            shared: Arc::default(),
        };
        let shared = Arc::clone(&queue.shared);
        start_thread(name, move || shared.write_on(write))?;
        Ok(queue)
    }

    /// Adds a line, or counts it as lost.
    pub(crate) fn add(&self, line: &[u8]) {
        self.shared.lock().add(line);
        self.shared.changed.notify_all();
    }

    /// Waits until all that was added is written, or for that long.
    pub(crate) fn flush(&self, limit: Duration) {
        let waiting = self.shared.lock();
        let all = waiting.added;
        let waited = self
            .shared
            .changed
            .wait_timeout_while(waiting, limit, |waiting| waiting.written < all);
        drop(waited);
    }
}

impl LogShared {
    fn lock(&self) -> MutexGuard<'_, WaitingLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_on(&self, mut write: impl FnMut(&[u8])) {
        loop {
            let waiting = self.lock();
            let next = self
                .changed
                .wait_while(waiting, |waiting| waiting.entries.is_empty());
            let next = next.unwrap_or_else(PoisonError::into_inner).take();
            match next {
                Some(LogEntry::Line(line)) => write(&line),
                Some(LogEntry::Lost(1)) => write(b"(1 line was lost here)\n"),
                Some(LogEntry::Lost(lost)) => {
                    write(format!("({lost} lines were lost here)\n").as_bytes());
                }
                None => {}
            }
            self.lock().written += 1;
            self.changed.notify_all();
        }
    }
}

impl WaitingLines {
    fn add(&mut self, line: &[u8]) {
        if self.bytes == 0 || self.bytes.saturating_add(line.len()) <= MAX_BYTES {
            self.bytes += line.len();
            self.added += 1;
            self.entries.push_back(LogEntry::Line(line.to_vec()));
        } else if let Some(LogEntry::Lost(lost)) = self.entries.back_mut() {
            *lost += 1;
        } else {
            self.added += 1;
            self.entries.push_back(LogEntry::Lost(1));
        }
    }

    fn take(&mut self) -> Option<LogEntry> {
        let entry = self.entries.pop_front()?;
        if let LogEntry::Line(line) = &entry {
            self.bytes -= line.len();
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A queue whose writer says what it is about to write, and goes on when it is told to.
    fn held_up() -> (LogQueue, Receiver<Vec<u8>>, Sender<()>) {
        let (told, lines) = channel();
        let (go_on, may_go_on) = channel();
        let queue = LogQueue::start("log", move |line| {
            told.send(line.to_vec()).unwrap();
            may_go_on.recv().unwrap_or_default();
        });
        (queue.unwrap(), lines, go_on)
    }

    fn next(lines: &Receiver<Vec<u8>>) -> String {
        String::from_utf8(lines.recv_timeout(LONG).unwrap()).unwrap()
    }

    /// Spec: [HTTP-97]
    #[test]
    fn a_writer_that_hangs_holds_nobody_up_and_what_was_lost_is_told_where_it_was() {
        let (queue, lines, go_on) = held_up();
        queue.add(b"hangs\n");
        assert_eq!(next(&lines), "hangs\n");
        let half = vec![b'x'; MAX_BYTES / 2];
        for line in [&*half, &*half, b"lost\n", b"lost\n"] {
            queue.add(line);
        }
        // All that waits is not written in that time, which nobody waits longer for.
        queue.flush(Duration::from_millis(1));
        go_on.send(()).unwrap();
        assert_eq!(next(&lines).len(), half.len());
        queue.add(b"room again\n");
        queue.add(&half);
        // This goes on, and so does all the rest.
        drop(go_on);
        assert_eq!(next(&lines).len(), half.len());
        assert_eq!(next(&lines), "(2 lines were lost here)\n");
        assert_eq!(next(&lines), "room again\n");
        assert_eq!(next(&lines), "(1 line was lost here)\n");
        queue.add(b"last\n");
        queue.flush(LONG);
        assert_eq!(next(&lines), "last\n");
    }

    /// Spec: [HTTP-97]
    #[test]
    fn a_line_that_is_larger_than_all_that_may_wait_waits_alone() {
        let (queue, lines, go_on) = held_up();
        drop(go_on);
        queue.add(&vec![b'x'; MAX_BYTES + 1]);
        queue.flush(LONG);
        assert_eq!(next(&lines).len(), MAX_BYTES + 1);
    }
}
