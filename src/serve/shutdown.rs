//! The signals that stop the service, and the end that they bring in any case.
//!
//! Invariant: a thread of its own waits for them. Whatever holds the others up, the program ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use harness_actors::start_thread;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::logging::service_log;

/// How long the program may run after the first signal.
const LIMIT: Duration = Duration::from_millis(4500);
/// How long it may run after the second one.
const SECOND_LIMIT: Duration = Duration::from_millis(300);

/// Tells of the signals that stop the service. The first one sets the program an end.
pub(crate) struct StopSignals {
    arrived: Arc<Notify>,
}

impl StopSignals {
    /// Waits for them from now on.
    ///
    /// # Errors
    /// If the system does not let it.
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let signals = {
            let _here = runtime.enter();
            ShutdownSignals::new()?
        };
        let arrived = Arc::new(Notify::new());
        let told = Arc::clone(&arrived);
        start_thread("signals", move || {
            runtime.block_on(end_in_time(signals, &told));
            service_log::flush_overdue();
            std::process::exit(0);
        })?;
        Ok(Self { arrived })
    }

    /// The next signal.
    pub(crate) async fn next(&self) {
        self.arrived.notified().await;
    }
}

/// Returns when the program was asked to stop and has not done so in time.
async fn end_in_time(mut signals: ShutdownSignals, arrived: &Notify) {
    signals.next().await;
    arrived.notify_one();
    tokio::select! {
        () = tokio::time::sleep(LIMIT) => {
            log::warn!("what stops the service hangs; it ends now");
            return;
        }
        () = signals.next() => arrived.notify_one(),
    }
    tokio::time::sleep(SECOND_LIMIT).await;
}

struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
