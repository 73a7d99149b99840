//! A separate thread for actors, with a tokio runtime and an actix system.

use std::io;
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use actix::{ArbiterHandle, System};
use tokio::runtime::{Builder, Handle};

use crate::threads::{BlockingError, start_thread};

/// Time limit of the drop: only a tool or a handler that blocks may hold it up.
const LIMIT: Duration = Duration::from_secs(1);

/// A thread on which actors live. It ends when this is dropped, with the actors that are left.
pub(crate) struct OwnThread {
    system: System,
    runtime: Handle,
    id: ThreadId,
    /// Receives nothing; it is closed when the thread ends.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl OwnThread {
    /// Starts it, and makes something on it, for which the arbiter of the thread is given.
    pub(crate) fn start<T: Send + 'static>(
        name: &str,
        make: impl FnOnce(ArbiterHandle) -> T + Send + 'static,
    ) -> io::Result<(Self, T)> {
        let (told, answer) = mpsc::channel();
        let (alive, ended) = mpsc::channel();
        start_thread(name, move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => {
                    // The receiver was dropped only if its thread has ended; nothing to do then.
                    drop(told.send(Err(error)));
                    return;
                }
            };
            let handle = runtime.handle().clone();
            let runner = System::with_tokio_rt(move || runtime);
            let thread = Self {
                system: System::current(),
                runtime: handle,
                id: thread::current().id(),
                ended: Mutex::new(ended),
            };
            let arbiter = thread.system.arbiter().clone();
            let made = runner.block_on(async { make(arbiter) });
            drop(told.send(Ok((thread, made))));
            if let Err(error) = runner.run() {
                log::warn!("a thread of actors ends: {error}");
            }
            drop::<mpsc::Sender<()>>(alive);
        })?;
        let panicked = |_| io::Error::other(BlockingError::Panicked);
        answer.recv().map_err(panicked)?
    }

    /// Its runtime, for work that needs one wherever it is waited for.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Its arbiter.
    pub(crate) fn arbiter(&self) -> ArbiterHandle {
        self.system.arbiter().clone()
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        self.system.stop();
        if thread::current().id() == self.id {
            return;
        }
        if let Ok(ended) = self.ended.get_mut()
            && ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout)
        {
            log::warn!("a thread of actors has not ended within {LIMIT:?}: something blocks it");
        }
    }
}
