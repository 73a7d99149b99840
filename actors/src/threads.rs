//! Threads: the one place that starts them while the program runs. A lack of threads is an error
//! that passes, never a panic.

use std::io;
use std::thread::Builder;

use derive_more::{Display, Error};
use tokio::sync::{Semaphore, oneshot};

/// The hint behind an error that passes.
pub(crate) const PASSES: &str = "this passes, try again in a moment";
/// How many pieces of work may block at once; further ones wait for their turn.
const MAX_BLOCKING: usize = 512;
static PLACES: Semaphore = Semaphore::const_new(MAX_BLOCKING);

/// Why work was not done on another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
pub enum BlockingError {
    /// The system gives no thread. The work was not begun and is dropped.
    #[display("the system gives no thread; {PASSES}")]
    NoThread,
    /// The work panicked.
    #[display("it panicked; this is a bug")]
    Panicked,
}

/// Starts a thread.
///
/// # Errors
/// The system's error if there is no thread to be had. The work is dropped then, with everything
/// that it holds.
pub fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = Builder::new().name(name.to_owned());
    #[cfg(test)]
    let thread = testing::limited(thread);
    thread.spawn(work).map(drop)
}

/// Does work that may block on a thread of its own. The runtime's threads for such work are not
/// used: without one to be had, the runtime panics and keeps the work in its queue, with the locks
/// that it holds.
///
/// # Errors
/// If there is no thread to be had, or the work panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BlockingError> {
    let place = PLACES.acquire().await;
    let (reply, answer) = oneshot::channel();
    let work = move || {
        let done = work();
        drop(place);
        // The receiver may be gone; nothing to do then.
        drop(reply.send(done));
    };
    start_thread("blocking", work).map_err(|error| {
        log::warn!("no thread can be started: {error}");
        BlockingError::NoThread
    })?;
    #[cfg(test)]
    let answer = testing::at_paused_time(answer);
    answer.await.map_err(|_| BlockingError::Panicked)
}

#[cfg(test)]
pub(crate) mod testing {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::thread::Builder;

    thread_local! {
        static IS_WITHOUT: Cell<bool> = const { Cell::new(false) };
    }

    /// More room than any thread can have.
    const TOO_MUCH: usize = 1 << 50;

    /// From now on until it is told otherwise, this thread can start no other.
    pub(crate) fn without_threads(is_without: bool) {
        IS_WITHOUT.set(is_without);
    }

    /// Time that is paused goes on by itself when nothing is left to do but to wait: this looks again
    /// and again instead, as if the thread were the runtime's.
    pub(super) async fn at_paused_time<T>(answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            answer.as_mut().poll(cx)
        })
        .await
    }

    pub(super) fn limited(thread: Builder) -> Builder {
        match IS_WITHOUT.get() {
            true => thread.stack_size(TOO_MUCH),
            false => thread,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::testing::without_threads;
    use super::*;

    /// Spec: [CONV-170]
    #[tokio::test]
    async fn work_is_done_and_one_that_panics_is_told() {
        assert_eq!(blocking(|| 7).await, Ok(7));
        let panics = || -> u8 { panic!("a bug") };
        assert_eq!(blocking(panics).await, Err(BlockingError::Panicked));
        assert_eq!(blocking(|| 8).await, Ok(8));
    }

    /// Spec: [CONV-170]
    #[tokio::test]
    async fn without_a_thread_the_work_is_dropped_with_all_that_it_holds() {
        let held = Arc::new(tokio::sync::Mutex::new(()));
        without_threads(true);
        for _ in 0..2 * MAX_BLOCKING {
            let guard = Arc::clone(&held).try_lock_owned().unwrap();
            let done = blocking(move || drop(guard)).await;
            assert_eq!(done, Err(BlockingError::NoThread));
        }
        without_threads(false);
        let guard = Arc::clone(&held).try_lock_owned().unwrap();
        assert_eq!(blocking(move || drop(guard)).await, Ok(()));
        let told = BlockingError::NoThread.to_string();
        assert!(told.ends_with(PASSES), "{told}");
    }
}
