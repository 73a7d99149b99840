//! The log of the service: standard error, and a file in the state folder beside it.
//!
//! Invariant: who logs never waits for the file. A thread writes it; lines for which it has no room
//! are counted, and told as lost.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use env_logger::Target;
use harness_actors::{Clock, Redaction};

use crate::lock::LOG_FILE;
use crate::state::{StateError, io_error};
use crate::utc::utc;
use crate::{log_file, log_setup, visible};

/// How large the file may be, in bytes, before it is put aside. One that was put aside before goes.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// How many lines may wait for the file.
const MAX_LINES: usize = 4096;
/// How long the end of the program may wait for the file.
const LAST_LINES: Duration = Duration::from_millis(500);
/// The time between two looks whether there is room.
const LOOK: Duration = Duration::from_millis(5);

/// The way to the thread that writes the file, once there is one.
static FILE: OnceLock<Lines> = OnceLock::new();

/// Starts logging to standard error, and to the file as soon as [`keep`] says which.
pub(crate) fn start(filter: &str, is_detached: bool, redaction: Redaction) {
    let both = Target::Pipe(Box::new(Both { is_detached }));
    log_setup::start(filter, both, redaction);
}

/// Keeps what is logged from now on in the state folder, too; where. Only the service that has the
/// lock of the folder may do so: two would put the file aside under each other.
///
/// # Errors
/// If the file cannot be written, or somebody else could lead it elsewhere.
pub(crate) fn keep(home: &Path, is_detached: bool) -> Result<PathBuf, StateError> {
    let log = Kept::open(home, is_detached, MAX_BYTES)?;
    let path = log.path.clone();
    let (sender, lines) = sync_channel(MAX_LINES);
    std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || log.write_on(&lines))
        .map_err(io_error("write", &path))?;
    let lines = Lines {
        sender,
        lost: AtomicU64::new(0),
    };
    if FILE.set(lines).is_err() {
        log::debug!("the log was kept before");
    }
    Ok(path)
}

/// Says something in the file only: what the terminal was told in other words.
pub(crate) fn note(text: &str) {
    let time = utc(Clock::system().unix_millis());
    let text = visible::line(text);
    if let Some(file) = FILE.get() {
        file.keep(format!("{time} INFO  harness: {text}\n").as_bytes());
    }
}

/// Waits until all that was logged is in the file, for a while.
pub(crate) fn flush() {
    if let Some(file) = FILE.get() {
        file.flush();
    }
}

/// What the thread that writes the file is told.
enum Message {
    Line(Vec<u8>),
    /// The file has all lines before this one.
    Flushed(SyncSender<()>),
}

struct Lines {
    sender: SyncSender<Message>,
    /// How many lines had no room since one was told.
    lost: AtomicU64,
}

impl Lines {
    /// Hands a line over; whether there was room for it.
    fn keep(&self, line: &[u8]) -> bool {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let line = match lost {
            0 => line.to_vec(),
            lost => [format!("({lost} lines were lost here)\n").as_bytes(), line].concat(),
        };
        let is_kept = self.sender.try_send(Message::Line(line)).is_ok();
        if !is_kept {
            self.lost.fetch_add(lost, Ordering::Relaxed);
        }
        is_kept
    }

    /// Counts a line that had no room and is nowhere else in the file.
    fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        let mut message = Message::Flushed(done);
        let mut waited = Duration::ZERO;
        while let Err(TrySendError::Full(given_back)) = self.sender.try_send(message) {
            if waited >= LAST_LINES {
                return;
            }
            message = given_back;
            std::thread::park_timeout(LOOK);
            waited += LOOK;
        }
        is_done.recv_timeout(LAST_LINES).unwrap_or_default();
    }
}

/// Standard error, and the file once there is one. In the background standard error is the file.
struct Both {
    is_detached: bool,
}

impl Write for Both {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let is_kept = FILE.get().is_some_and(|file| file.keep(line));
        if !(is_kept && self.is_detached) {
            io::stderr().write_all(line)?;
        }
        if let (Some(file), false, false) = (FILE.get(), is_kept, self.is_detached) {
            file.lose();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file, and what to do when it is too large.
struct Kept {
    home: PathBuf,
    path: PathBuf,
    file: File,
    is_detached: bool,
    max_bytes: u64,
}

impl Kept {
    fn open(home: &Path, is_detached: bool, max_bytes: u64) -> Result<Self, StateError> {
        let (file, path) = log_file::open(home, LOG_FILE)?;
        Ok(Self {
            home: home.to_owned(),
            path,
            file,
            is_detached,
            max_bytes,
        })
    }

    fn write_on(mut self, messages: &Receiver<Message>) {
        for message in messages {
            match message {
                Message::Line(line) => self.write(&line),
                // The one who waits may have given up.
                Message::Flushed(done) => drop(done.try_send(())),
            }
        }
    }

    /// Writes a line. What a full disk does not take is lost: there is nowhere to tell it.
    fn write(&mut self, line: &[u8]) {
        let length = self.file.metadata().map_or(0, |found| found.len());
        if length > 0 && length.saturating_add(line.len() as u64) > self.max_bytes {
            // Without another file the line goes to this one.
            drop(self.put_aside());
        }
        drop(self.file.write_all(line));
    }

    fn put_aside(&mut self) -> Result<(), StateError> {
        let aside = self.path.with_extension("log.1");
        fs::rename(&self.path, &aside).map_err(io_error("put aside", &self.path))?;
        let (file, _) = log_file::open(&self.home, LOG_FILE)?;
        self.file = file;
        if self.is_detached {
            // What panics say goes there, too.
            let moved = nix::unistd::dup2_stdout(&self.file)
                .and_then(|()| nix::unistd::dup2_stderr(&self.file));
            moved.map_err(|error| io_error("write", &self.path)(error.into()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-97]
    #[test]
    fn a_log_that_grows_too_large_is_put_aside_while_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let mut log = Kept::open(home.path(), false, 10).unwrap();
        for line in [
            "one\n",
            "two\n",
            "three\n",
            "a line that is longer\n",
            "x\n",
        ] {
            log.write(line.as_bytes());
        }
        let read = |name| fs::read_to_string(log_file::path(home.path(), name)).unwrap();
        assert_eq!(read("serve.log"), "x\n");
        assert_eq!(read("serve.log.1"), "a line that is longer\n");
    }

    /// Spec: [CLI-97]
    #[test]
    fn lines_without_room_are_counted_and_those_with_room_are_written() {
        let home = tempfile::tempdir().unwrap();
        let (sender, messages) = sync_channel(2);
        let lines = Lines {
            sender,
            lost: AtomicU64::new(0),
        };
        let kept = ["one\n", "two\n", "three\n", "four\n"].map(|line| lines.keep(line.as_bytes()));
        assert_eq!(kept, [true, true, false, false]);
        lines.lose();
        lines.lose();
        let log = Kept::open(home.path(), false, MAX_BYTES).unwrap();
        let path = log.path.clone();
        let writing = std::thread::spawn(move || log.write_on(&messages));
        lines.flush();
        assert!(lines.keep(b"five\n"));
        lines.flush();
        let written = fs::read_to_string(path).unwrap();
        assert_eq!(written, "one\ntwo\n(2 lines were lost here)\nfive\n");
        drop(lines);
        writing.join().unwrap();
    }
}
