//! The log of the service: standard error, and a file in the state folder beside it.
//!
//! Invariant: who logs waits neither for standard error nor for the file. Each has a thread that
//! writes it, so that one that hangs does not hold the other up.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use env_logger::Target;
use harness_actors::{Clock, Redaction};

use crate::logging::log_file;
use crate::logging::log_queue::LogQueue;
use crate::logging::log_setup;
use crate::logging::utc::utc;
use crate::state_dir::lock::LOG_FILE;
use crate::state_dir::{StateError, io_error, is_at};
use crate::visible;

/// How large the file may be, in bytes, before it is put aside. One that was put aside before goes.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Time limit at the end of the program for lines that are not written yet.
const LAST_LINES: Duration = Duration::from_millis(200);
/// The same for the file at an end that is not overdue: a machine under load may take longer, and the file tells how the
/// service ended.
const LAST_LINES_OF_FILE: Duration = Duration::from_secs(1);

/// The lines for standard error.
static TERMINAL: OnceLock<LogQueue> = OnceLock::new();
/// The lines for the file, once there is one.
static FILE: OnceLock<LogQueue> = OnceLock::new();

/// Starts logging to standard error, and to the file as soon as [`keep`] says which. Panics are
/// logged, too: what a panic writes by itself, a thread would wait for.
///
/// # Errors
/// If there is no thread to be had.
pub(crate) fn start(filter: &str, is_detached: bool, redaction: Redaction) -> io::Result<()> {
    // A standard error that is closed takes nothing, and there is nowhere to tell it.
    let terminal = LogQueue::start("log", |line| drop(io::stderr().write_all(line)))?;
    let both = Target::Pipe(Box::new(Both { is_detached }));
    if TERMINAL.set(terminal).is_ok() {
        log_setup::start(filter, both, redaction);
        std::panic::set_hook(Box::new(|panic| {
            let thread = std::thread::current();
            log::error!("thread '{}' {panic}", thread.name().unwrap_or_default());
        }));
    }
    Ok(())
}

/// Keeps what is logged from now on in the state folder, too; where. Only the service that has the
/// lock of the folder may do so: two would put the file aside under each other.
///
/// # Errors
/// If the file cannot be written, or another user could lead it elsewhere.
pub(crate) fn keep(home: &Path, is_detached: bool) -> Result<PathBuf, StateError> {
    let mut log = LogFile::open(home, is_detached, MAX_BYTES)?;
    let path = log.path.clone();
    // In the background both are one file, and its lines stay in order.
    flush();
    let lines = LogQueue::start("log file", move |line| log.write(line));
    if FILE.set(lines.map_err(io_error("write", &path))?).is_err() {
        log::debug!("the log was kept before");
    }
    Ok(path)
}

/// Logs to the file only: the terminal has it in other words.
pub(crate) fn note(text: &str) {
    let time = utc(Clock::system().unix_millis());
    let text = visible::line(text);
    if let Some(file) = FILE.get() {
        file.add(format!("{time} INFO  harness: {text}\n").as_bytes());
    }
}

/// Writes to standard error only, unchanged.
pub(crate) fn tell(line: &str) {
    if let Some(terminal) = TERMINAL.get() {
        terminal.add(line.as_bytes());
    }
}

/// Waits until all that was logged is written, for a while.
pub(crate) fn flush() {
    flush_within(LAST_LINES_OF_FILE);
}

/// Waits for what was logged at an end that is overdue.
pub(crate) fn flush_overdue() {
    flush_within(LAST_LINES);
}

fn flush_within(of_file: Duration) {
    for (lines, limit) in [(&TERMINAL, LAST_LINES), (&FILE, of_file)] {
        if let Some(lines) = lines.get() {
            lines.flush(limit);
        }
    }
}

/// Waits for the last lines when the thread that has it ends, be it by a panic.
pub(crate) struct FlushAtEnd;

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        flush();
    }
}

/// Standard error, and the file once there is one. In the background standard error is the file.
struct Both {
    is_detached: bool,
}

impl Write for Both {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let file = FILE.get();
        let terminal = TERMINAL
            .get()
            .filter(|_| file.is_none() || !self.is_detached);
        for lines in file.into_iter().chain(terminal) {
            lines.add(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file, and what to do when it is too large.
struct LogFile {
    home: PathBuf,
    path: PathBuf,
    file: File,
    is_detached: bool,
    max_bytes: u64,
}

impl LogFile {
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
        // Not the log of another state folder, in the place of this one.
        if !is_at(&self.file, &self.path) {
            let error = io::Error::from(io::ErrorKind::NotFound);
            return Err(io_error("put aside", &self.path)(error));
        }
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
        let mut log = LogFile::open(home.path(), false, 10).unwrap();
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
}
