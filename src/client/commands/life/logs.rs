//! `harness logs`: the log of the service that runs, or that ran last.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_actors::Clock;
use nix::fcntl::OFlag;
use serde_json::json;

use crate::cli::exit_codes::exits;
use crate::client::api::discovery;
use crate::client::commands::life::log_lines::{last, since, time_of};
use crate::client::error::CommandError;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::config::{ClientConfig, parse_duration};
use crate::logging::log_file;
use crate::logging::utc::utc;
use crate::state_dir::lock::{self, LOG_FILE};
use crate::visible;
use clap::Args;

const LOGS_HELP: &str = "\
Examples:
  harness logs                                 its last 100 lines
  harness logs -n 20 -f                        its last 20 lines, and what comes
  harness logs --since 10m                     what was logged in the last 10 minutes";

/// The flags of `harness logs`.
#[derive(Debug, Args)]
#[command(after_help = exits(LOGS_HELP, "done", "failed, or there is no log", Some("stopped with Ctrl-C")))]
pub(crate) struct LogsArgs {
    /// At most so many of the last lines; 100 if neither this nor --since is given
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) lines: Option<usize>,
    /// Go on with what is logged from now on
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Only what was logged in so long a time, such as 30s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) since: Option<Duration>,
    /// Print JSON Lines, an object with `line` each, and `time` where it has one
    #[arg(long)]
    pub(super) json: bool,
}

/// How many lines are shown by default.
const LINES: usize = 100;
/// The most of a file that is read, in bytes; the service puts it aside long before.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// How long the log may be silent before it is looked at again.
const LOOK: Duration = Duration::from_millis(200);

fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("it must be a duration such as 30s, 10m or 2h")
}

/// Shows the log; the exit code.
///
/// # Errors
/// If there is none, or it cannot be shown.
pub(crate) async fn run(
    order: &LogsArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let path = log_file::path(&config.home, LOG_FILE);
    if !lock::is_held(&config.home).unwrap_or(false) {
        let home = config.home.display();
        output.note(&format!(
            "harness: no service runs for {home}; this is the log of the last one"
        ));
    } else if is_older(config) {
        output.note("harness: the service is older than 0.2: this is its log only if it was not started with `harness serve`");
    }
    let mut interrupts = Interrupts::of_process()?;
    let mut log = LogReader::new(path);
    show_past(order, &mut log, output)?;
    if !order.follow {
        return Ok(0);
    }
    let following = async {
        loop {
            let news = log.read().map_err(|error| log.failed(&error))?;
            for line in news.lines() {
                show(line, order.json, output)?;
            }
            if news.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        }
    };
    tokio::select! {
        ended = following => ended,
        () = interrupts.next() => Err(CommandError::Stopped),
    }
}

/// Whether the running service keeps a log of its own accord.
fn is_older(config: &ClientConfig) -> bool {
    let file = discovery::read(config).ok().flatten();
    file.is_some_and(|file| file.version.is_none())
}

/// Shows what is wanted of what was logged so far.
fn show_past(
    order: &LogsArgs,
    log: &mut LogReader,
    output: &mut Output,
) -> Result<(), CommandError> {
    let now = log.read().map_err(|error| log.failed(&error))?;
    if log.file.is_none() && !order.follow {
        let reason = format!("there is no log at {}", log.path.display());
        return Err(CommandError::System { reason });
    }
    let time = order.since.map(|since| {
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        utc(Clock::system().unix_millis().saturating_sub(since))
    });
    let count = match (order.lines, &time) {
        (Some(count), _) => count,
        (None, Some(_)) => usize::MAX,
        (None, None) => LINES,
    };
    let lines: Vec<&str> = now.lines().collect();
    let begins_later = time.as_ref().is_some_and(|time| {
        let first = lines.iter().find_map(|line| time_of(line));
        first.is_none_or(|first| first > time.as_str())
    });
    // What was put aside is read only if this does not reach back far enough.
    let aside = if begins_later || (time.is_none() && lines.len() < count) {
        LogReader::new(log.path.with_extension("log.1")).read()
    } else {
        Ok(String::new())
    };
    let aside = aside.map_err(|error| log.failed(&error))?;
    let lines: Vec<&str> = aside.lines().chain(lines).collect();
    let lines = match &time {
        Some(time) => since(&lines, time),
        None => lines,
    };
    for line in last(&lines, count) {
        show(line, order.json, output)?;
    }
    Ok(())
}

/// Prints a line. A log that was written elsewhere may hold anything.
fn show(line: &str, json: bool, output: &mut Output) -> io::Result<()> {
    if !json {
        return output.text(&visible::text(&format!("{line}\n")));
    }
    let mut shown = json!({ "line": line });
    if let Some(time) = time_of(line) {
        shown["time"] = time.into();
    }
    output.json(&shown)
}

/// Reads a log on from where it was, also when the file was put aside and another was begun.
struct LogReader {
    path: PathBuf,
    file: Option<File>,
    /// The bytes behind the last whole line.
    rest: Vec<u8>,
}

impl LogReader {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            rest: Vec::new(),
        }
    }

    /// The whole lines that came since; none if there is no file.
    fn read(&mut self) -> io::Result<String> {
        let mut bytes = std::mem::take(&mut self.rest);
        if self.file.is_none() {
            self.file = open(&self.path)?;
        }
        if let Some(file) = &mut self.file {
            read_on(file, &mut bytes)?;
            // Asked behind the reading: what was written before it was put aside was read.
            let is_put_aside = match std::fs::symlink_metadata(&self.path) {
                Ok(now) => (now.dev(), now.ino()) != identity(file)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            };
            if is_put_aside {
                read_on(file, &mut bytes)?;
                self.file = open(&self.path)?;
                if let Some(file) = &mut self.file {
                    read_on(file, &mut bytes)?;
                }
            }
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        self.rest = bytes.split_off(whole.map_or(0, |at| at + 1));
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn failed(&self, error: &io::Error) -> CommandError {
        CommandError::System {
            reason: format!("cannot read {}: {error}", self.path.display()),
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Reads what is behind the last reading. A file that became shorter is read from its beginning.
fn read_on(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<()> {
    let length = file.metadata()?.len();
    let at = file.stream_position()?;
    if length < at {
        file.seek(SeekFrom::Start(0))?;
    } else if length - at > MAX_BYTES {
        file.seek(SeekFrom::Start(length - MAX_BYTES))?;
    }
    file.take(MAX_BYTES).read_to_end(bytes)?;
    Ok(())
}

/// Opens the log, if there is one, and nothing that a link leads to.
fn open(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::other("it is not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    /// Spec: [CLI-99]
    #[test]
    fn a_log_is_read_on_across_the_file_that_is_put_aside() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("serve.log");
        let mut log = LogReader::new(path.clone());
        assert_eq!(log.read().unwrap(), "");
        fs::write(&path, "one\ntw").unwrap();
        assert_eq!(log.read().unwrap(), "one\n");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"o\nthree\n").unwrap();
        fs::rename(&path, path.with_extension("log.1")).unwrap();
        assert_eq!(log.read().unwrap(), "two\nthree\n");
        // Written by a process that has not seen it yet, and then the next file.
        file.write_all(b"four\n").unwrap();
        fs::write(&path, "five\n").unwrap();
        assert_eq!(log.read().unwrap(), "four\nfive\n");
        assert_eq!(log.read().unwrap(), "");
        fs::write(&path, "6\n").unwrap();
        assert_eq!(log.read().unwrap(), "6\n");
    }

    /// Spec: [CLI-99]
    #[test]
    fn a_link_and_what_is_no_file_are_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("serve.log");
        fs::create_dir(&path).unwrap();
        assert!(LogReader::new(path.clone()).read().is_err());
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(LogReader::new(path).read().is_err());
    }
}
