//! A program that the service runs for a workflow: through the launcher, with a time limit, and stopped from
//! another thread.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::start_thread;
use crate::tool::{LaunchOrder, Launcher, Lifeline, ProcessEnd, run_into};

/// Time that a program has to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// Stops a program from another thread. Clones stop the same one; one that has not started yet is not
/// started.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Mutex<ProgramStop>>);

#[derive(Debug, Default)]
struct ProgramStop {
    is_asked: bool,
    watcher: Option<Sender<WatcherMessage>>,
}

/// The message to the thread that watches a program.
#[derive(Debug)]
enum WatcherMessage {
    Stop,
    Ended,
}

impl StopHandle {
    /// Asks the program to end, and ends it a little later. Does not wait for that.
    pub fn stop(&self) {
        let mut stop = self.lock();
        let is_first = !std::mem::replace(&mut stop.is_asked, true);
        if let Some(watcher) = stop.watcher.as_ref().filter(|_| is_first) {
            // One that has ended needs no word.
            drop(watcher.send(WatcherMessage::Stop));
        }
    }

    /// True if it was asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.lock().is_asked
    }

    /// Watches a program by that sender; false if it is not to be started.
    fn watch(&self, watcher: Sender<WatcherMessage>) -> bool {
        let mut stop = self.lock();
        stop.watcher = Some(watcher);
        !stop.is_asked
    }

    fn lock(&self) -> MutexGuard<'_, ProgramStop> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason why a program was ended that had not ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramStopReason {
    TimedOut,
    Cancelled,
}

/// The end of a program.
#[derive(Debug)]
pub(super) struct ProgramEnd {
    pub(super) ended: ProcessEnd,
    pub(super) stopped: Option<ProgramStopReason>,
    pub(super) took: Duration,
}

/// Runs a program to its end or to its limit; `sink` gets what it writes. Blocks for as long as it runs.
/// The processes that it started end with it.
///
/// # Errors
/// Why it was not started, or how its launcher failed.
pub(super) fn run(
    launcher: &dyn Launcher,
    order: &LaunchOrder,
    limit: Duration,
    stop: &StopHandle,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<ProgramEnd> {
    let began = Instant::now();
    let (words, told) = mpsc::channel();
    let done = |ended, stopped| ProgramEnd {
        ended,
        stopped,
        took: began.elapsed(),
    };
    if !stop.watch(words.clone()) {
        return Ok(done(
            ProcessEnd::default(),
            Some(ProgramStopReason::Cancelled),
        ));
    }
    let lifeline = Lifeline::default();
    let stopped = Arc::new(Mutex::new(None));
    {
        let (lifeline, stopped) = (lifeline.clone(), Arc::clone(&stopped));
        start_thread("limit", move || watch(&told, limit, &lifeline, &stopped))?;
    }
    let ended = run_into(launcher, order, &lifeline, sink);
    // The thread may have ended before.
    drop(words.send(WatcherMessage::Ended));
    let stopped = *stopped.lock().unwrap_or_else(PoisonError::into_inner);
    match ended {
        Ok(ended) => Ok(done(ended, stopped)),
        // It was ended before it was there.
        Err(_) if stopped.is_some() => Ok(done(ProcessEnd::default(), stopped)),
        Err(error) => Err(error),
    }
}

/// Stops a program when it is asked to or its time is over.
fn watch(
    told: &Receiver<WatcherMessage>,
    limit: Duration,
    lifeline: &Lifeline,
    stopped: &Mutex<Option<ProgramStopReason>>,
) {
    let why = match told.recv_timeout(limit) {
        Ok(WatcherMessage::Stop) => ProgramStopReason::Cancelled,
        Err(RecvTimeoutError::Timeout) => ProgramStopReason::TimedOut,
        Ok(WatcherMessage::Ended) | Err(RecvTimeoutError::Disconnected) => return,
    };
    *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    lifeline.stop();
    // Whatever comes, it has ended or is ended now.
    drop(told.recv_timeout(GRACE));
    lifeline.cut();
}
