//! The process of a server: started by the launcher of commands, and talked with over two pipes.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::log_tail::LogTail;
use crate::start_thread;
use crate::tool::{LaunchOrder, Launcher, Lifeline, ProcessEnd, TempFolder, run_with_pipes};

/// Maximum time in which a server ends by itself once its input is closed.
const END_TIME: Duration = Duration::from_secs(2);
/// Maximum time once it was asked to end by a signal.
const STOP_TIME: Duration = Duration::from_secs(1);

/// A process that runs until this is dropped, with all that it has started.
#[derive(Debug)]
pub(super) struct ServerProcess {
    lifeline: Lifeline,
    log: Arc<Mutex<LogTail>>,
    /// True from the signal to end on.
    is_cut: AtomicBool,
    /// Its end in words, once there is one.
    ended: watch::Receiver<Option<String>>,
}

/// The two pipes to a process: what it reads, and what it writes.
pub(super) struct ServerPipes {
    pub(super) input: PipeWriter,
    pub(super) output: PipeReader,
}

impl ServerProcess {
    /// Starts it. `temp` is the folder for temporary files that the order names.
    ///
    /// # Errors
    /// The system's error. The reason that keeps the program itself from starting is what [`Self::wait`] returns.
    pub(super) fn start(
        launcher: Arc<dyn Launcher>,
        order: LaunchOrder,
        temp: TempFolder,
    ) -> io::Result<(Self, ServerPipes)> {
        let (read_by_it, input) = io::pipe()?;
        let (output, written_by_it) = io::pipe()?;
        let pipes = vec![OwnedFd::from(read_by_it), OwnedFd::from(written_by_it)];
        let lifeline = Lifeline::default();
        let log = Arc::new(Mutex::new(LogTail::default()));
        let (tell, ended) = watch::channel(None);
        let (line, written) = (lifeline.clone(), Arc::clone(&log));
        start_thread("mcp-server", move || {
            let mut sink = |bytes: &[u8]| lock(&written).add(bytes);
            let end = run_with_pipes(&*launcher, &order, &line, pipes, &mut sink);
            drop(temp);
            let end = match end {
                Ok(end) => end_text(&end),
                Err(error) => error.to_string(),
            };
            tell.send_replace(Some(end));
        })?;
        let process = Self {
            lifeline,
            log,
            is_cut: AtomicBool::new(false),
            ended,
        };
        Ok((process, ServerPipes { input, output }))
    }

    /// The last lines of its standard error.
    pub(super) fn log(&self) -> Vec<String> {
        lock(&self.log).lines()
    }

    /// True until the signal to end, or an end by itself.
    pub(super) fn runs(&self) -> bool {
        !self.is_cut.load(Ordering::Relaxed) && self.ended.borrow().is_none()
    }

    /// Waits for its end, for that long.
    pub(super) async fn wait(&self, most: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some);
        let end = tokio::time::timeout(most, end).await.ok()?.ok()?;
        end.clone()
    }

    /// Ends it at once.
    pub(super) fn end_now(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        self.lifeline.cut();
    }

    /// Ends it, of which the input is closed already: it ends by itself, or by a signal, or is killed.
    pub(super) async fn close(&self) {
        if self.wait(END_TIME).await.is_none() {
            self.lifeline.stop();
            self.wait(STOP_TIME).await;
        }
        self.lifeline.cut();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.lifeline.cut();
    }
}

fn lock(log: &Mutex<LogTail>) -> std::sync::MutexGuard<'_, LogTail> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of a process in words.
fn end_text(end: &ProcessEnd) -> String {
    if let Some(over) = &end.over {
        return format!("it was ended, because it had {over}");
    }
    match (end.code, end.signal) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it was ended".to_owned(),
    }
}
