//! A few threads that do what may block.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What a thread is to do.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads with one queue. They end when the pool is dropped and the queue is
/// empty.
pub(super) struct Pool(Sender<Job>);

impl Pool {
    /// Starts the threads. Those that cannot be started are missing; with none, every job is
    /// dropped, and who waits for it is told so.
    pub(super) fn start(name: &str, threads: usize) -> Self {
        let (sender, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..threads {
            let jobs = Arc::clone(&jobs);
            let work = move || {
                loop {
                    let job = lock(&jobs).recv();
                    let Ok(job) = job else { return };
                    job();
                }
            };
            if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(work) {
                log::error!("cannot start the thread {name}: {error}");
            }
        }
        Self(sender)
    }

    /// Queues a job; tells whether there is a thread that will do it.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let is_queued = self.0.send(Box::new(job)).is_ok();
        if !is_queued {
            log::error!("no thread of the journals is left");
        }
        is_queued
    }
}

/// Locks a mutex; what a panic left behind it is as good as before.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
