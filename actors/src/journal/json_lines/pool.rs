//! A few threads that do what may block.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::threads::start_thread;

/// The work of a thread.
pub(super) type PoolJob = Box<dyn FnOnce() + Send>;

/// A few threads with one queue. They end when the pool is dropped and the queue is empty.
pub(super) struct Pool {
    name: &'static str,
    /// Number of threads that the pool keeps.
    threads: usize,
    running: Arc<AtomicUsize>,
    queue: Sender<PoolJob>,
    jobs: Arc<Mutex<Receiver<PoolJob>>>,
}

/// Counts one thread, until it ends.
struct RunningThread(Arc<AtomicUsize>);

impl Pool {
    /// Starts the threads. Those that cannot be started now are started with a later job.
    pub(super) fn start(name: &'static str, threads: usize) -> Self {
        let (queue, jobs) = channel();
        let pool = Self {
            name,
            threads,
            running: Arc::default(),
            queue,
            jobs: Arc::new(Mutex::new(jobs)),
        };
        pool.fill();
        pool
    }

    /// Queues a job; tells whether there is a thread that will do it. Without one the job is
    /// dropped.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.has_threads() && self.queue.send(Box::new(job)).is_ok()
    }

    /// True if there is a thread, or one can be started.
    pub(super) fn has_threads(&self) -> bool {
        self.fill();
        self.running.load(Ordering::Acquire) > 0
    }

    /// Starts the missing threads, or as many as the system allows.
    fn fill(&self) {
        while let Some(running) = RunningThread::admit(&self.running, self.threads) {
            let jobs = Arc::clone(&self.jobs);
            let work = move || {
                let _running = running;
                loop {
                    let job = lock(&jobs).recv();
                    let Ok(job) = job else { return };
                    job();
                }
            };
            if let Err(error) = start_thread(self.name, work) {
                log::warn!("cannot start the thread {}: {error}", self.name);
                return;
            }
        }
    }
}

impl RunningThread {
    /// One more, if there are fewer than that.
    fn admit(running: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |now| (now < most).then_some(now + 1);
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        running.fetch_update(set, fetch, more).ok()?;
        Some(Self(Arc::clone(running)))
    }
}

impl Drop for RunningThread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::testing::without_threads;

    /// The result of a job that adds one to a number; nothing if there is no thread.
    fn added(pool: &Pool) -> Option<u32> {
        let (reply, answer) = channel();
        pool.run(move || reply.send(1 + 1).unwrap());
        answer.recv().ok()
    }

    /// Spec: [CONV-170]
    #[test]
    fn threads_that_cannot_be_started_are_started_later() {
        without_threads(true);
        let pool = Pool::start("test", 2);
        assert_eq!(added(&pool), None);
        assert_eq!(added(&pool), None);
        without_threads(false);
        assert_eq!(added(&pool), Some(2));
        assert_eq!(pool.running.load(Ordering::Acquire), 2);
        // A thread that there is goes on when no further one can be had.
        without_threads(true);
        assert_eq!(added(&pool), Some(2));
    }

    /// Spec: [CONV-170]
    #[test]
    fn a_job_that_panics_costs_one_thread_until_the_next_job() {
        let pool = Pool::start("test", 1);
        for _ in 0..3 {
            let (reply, ended) = channel::<()>();
            pool.run(move || {
                let _reply = reply;
                panic!("a bug");
            });
            assert!(ended.recv().is_err());
            while pool.running.load(Ordering::Acquire) > 0 {
                std::thread::yield_now();
            }
            assert_eq!(added(&pool), Some(2));
        }
    }
}
