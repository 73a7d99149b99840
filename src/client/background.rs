//! Starts a service that keeps running when its starter leaves.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use derive_more::{Display, Error, From};
use tokio::time::Instant;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery::{self, DiscoveryError};
use crate::client::output::Output;
use crate::config::ClientConfig;
use crate::logging::log_file;
use crate::state_dir::lock::LOG_FILE;
use crate::state_dir::{StateError, io_error};

/// How many bytes of the log's end are looked at,
const TOLD_BYTES: u64 = 4096;
/// and how many of its lines are shown.
const TOLD_LINES: usize = 5;

/// How long to wait for a service that was started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartWaits {
    /// Until it answers.
    pub(crate) start: Duration,
    /// From its end on: another one may be starting, in whose way it was.
    pub(crate) other: Duration,
    /// Between two looks.
    pub(crate) look: Duration,
}

impl Default for StartWaits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            other: Duration::from_millis(500),
            look: Duration::from_millis(50),
        }
    }
}

/// Why the service could not be started.
#[derive(Debug, Display, Error, From)]
pub(crate) enum StartError {
    /// The state folder cannot be used.
    State(StateError),
    /// The one that is there cannot be used.
    Discovery(DiscoveryError),
    /// The program cannot be run.
    #[display("cannot start the service: {source}")]
    #[from(skip)]
    Spawn {
        /// The system's error.
        source: io::Error,
    },
    /// It ended at once.
    #[display("the service did not start ({status}); its log is {}", log.display())]
    #[from(skip)]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// Its last lines.
        last_lines: Vec<String>,
    },
    /// It does not answer.
    #[display("the service, process {pid}, does not answer after {waited:?}; see {}", log.display())]
    #[from(skip)]
    Late {
        /// Its process, which keeps running.
        pid: u32,
        /// How long it was waited for.
        waited: Duration,
        /// Its log.
        log: PathBuf,
    },
}

/// The running service; starts one if there is none, and tells the remark that it did.
///
/// # Errors
/// If there is none in the end.
pub(crate) async fn find_or_start(
    config: &ClientConfig,
    serve: Command,
    waits: StartWaits,
) -> Result<(ServiceConnection, Option<String>), StartError> {
    match discovery::find(config).await {
        Ok(connection) => return Ok((connection, None)),
        Err(DiscoveryError::None { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let (connection, is_ours) = start(config, serve, waits).await?;
    let remark = "started a service that goes on when you leave: `harness stop` ends it, `harness logs` shows its log";
    Ok((connection, is_ours.then(|| remark.to_owned())))
}

/// Starts a service and waits until one answers; whether it is this one.
///
/// # Errors
/// If there is none in the end.
pub(crate) async fn start(
    config: &ClientConfig,
    serve: Command,
    waits: StartWaits,
) -> Result<(ServiceConnection, bool), StartError> {
    let started = Started::new(&config.home, serve)?;
    started.answering(config, waits).await
}

/// Starts a service and waits until one answers; of one that has ended at once, it shows what that
/// said last.
///
/// # Errors
/// If there is none in the end.
pub(crate) async fn start_told(
    config: &ClientConfig,
    serve: Command,
    output: &mut Output,
) -> Result<ServiceConnection, StartError> {
    let started = start(config, serve, StartWaits::default()).await;
    tell_end(&started, output);
    Ok(started?.0)
}

/// Tells what a service said last that has ended at once.
pub(crate) fn tell_end<T>(started: &Result<T, StartError>, output: &mut Output) {
    if let Err(StartError::Ended { last_lines, .. }) = started {
        for line in last_lines {
            output.note(line);
        }
    }
}

/// The command that serves in the background.
///
/// # Errors
/// If this program has no file any more.
pub(crate) fn serve(home: &Path, is_demo: bool) -> Result<Command, StartError> {
    let program = std::env::current_exe().map_err(|source| StartError::Spawn { source })?;
    let mut command = Command::new(program);
    command.args(["serve", "--detached", "--home"]).arg(home);
    if is_demo {
        command.arg("--demo");
    }
    Ok(command)
}

/// A service that was started and may not answer yet.
struct Started {
    child: Child,
    log: PathBuf,
    /// Where in the log it began.
    log_start: u64,
}

impl Started {
    fn new(home: &Path, mut serve: Command) -> Result<Self, StartError> {
        let (log, path) = log_file::open(home, LOG_FILE)?;
        let log_start = log.metadata().map_or(0, |found| found.len());
        let also = log.try_clone().map_err(io_error("open", &path))?;
        serve.stdin(Stdio::null()).stdout(log).stderr(also);
        let child = serve.spawn();
        Ok(Self {
            child: child.map_err(|source| StartError::Spawn { source })?,
            log: path,
            log_start,
        })
    }

    /// Waits until a service answers, and says whether it is this one: another may have been
    /// started at the same time.
    async fn answering(
        mut self,
        config: &ClientConfig,
        waits: StartWaits,
    ) -> Result<(ServiceConnection, bool), StartError> {
        let mut give_up = Instant::now() + waits.start;
        let mut ended = None;
        loop {
            match discovery::find(config).await {
                Ok(connection) => {
                    let is_ours = self.child.try_wait().is_ok_and(|ended| ended.is_none());
                    return Ok((connection, is_ours));
                }
                // It may be about to answer.
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(error.into()),
            }
            if ended.is_none() {
                ended = self.child.try_wait().ok().flatten();
                if ended.is_some() {
                    give_up = Instant::now() + waits.other;
                }
            }
            if Instant::now() >= give_up {
                let log = self.log.clone();
                return Err(match ended {
                    Some(status) => StartError::Ended {
                        status,
                        log,
                        last_lines: last_lines(&self.log, self.log_start).unwrap_or_default(),
                    },
                    None => StartError::Late {
                        pid: self.child.id(),
                        waited: waits.start,
                        log,
                    },
                });
            }
            tokio::time::sleep(waits.look).await;
        }
    }
}

/// The last lines of the log, behind its start.
fn last_lines(log: &Path, start: u64) -> io::Result<Vec<String>> {
    let mut log = File::open(log)?;
    let end = log.metadata()?.len();
    log.seek(SeekFrom::Start(start.max(end.saturating_sub(TOLD_BYTES))))?;
    let mut bytes = Vec::new();
    log.take(TOLD_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    Ok(lines[lines.len().saturating_sub(TOLD_LINES)..].to_vec())
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;
