//! Limits on waiting for another program, counted in time in which this process ran.
//!
//! A process that was stopped finds each of its timers over when it continues, before it has looked
//! at a socket. What the other side sent in the meantime came in time.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

/// In how many parts a limit is counted. Time without the process counts as one part at most.
const PARTS: u32 = 8;
/// How late a part may end on a machine that is busy.
const LATE: Duration = Duration::from_millis(100);

/// The result of the work; nothing if it takes longer than the limit.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let part = limit / PARTS;
    let mut parts = 0;
    while parts < PARTS {
        let began = Instant::now();
        if let Ok(output) = tokio::time::timeout(part, work.as_mut()).await {
            return Some(output);
        }
        // A part that took far too long was one without the process; it is waited for again.
        if began.elapsed() <= part * 2 + LATE {
            parts += 1;
        }
    }
    // The runtime looks at the sockets before it comes back here.
    tokio::task::yield_now().await;
    work.now_or_never()
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io::Write as _;
    use std::thread;

    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(300);

    /// Spec: [MODEL-63]
    #[tokio::test(start_paused = true)]
    async fn a_limit_is_over_when_it_is() {
        let began = Instant::now();
        assert_eq!(within(LIMIT, pending::<()>()).await, None);
        assert_eq!(began.elapsed().as_secs(), LIMIT.as_secs());
        assert_eq!(within(Duration::ZERO, pending::<()>()).await, None);
        let late = tokio::time::sleep(LIMIT - Duration::from_secs(1));
        assert_eq!(within(LIMIT, late).await, Some(()));
    }

    /// Spec: [MODEL-63]
    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_process_did_not_run_is_not_counted() {
        let began = Instant::now();
        let mut waiting = pin!(within(LIMIT, pending::<()>()));
        let stop = Duration::from_secs(3600);
        for _ in 0..3 {
            assert_eq!(waiting.as_mut().now_or_never(), None);
            tokio::time::advance(stop).await;
        }
        assert_eq!(waiting.await, None);
        assert_eq!(began.elapsed().as_secs(), (stop * 3 + LIMIT).as_secs());
    }

    /// A thread that does not look at its sockets until the limit is over, as after a stop.
    ///
    /// Spec: [MODEL-63]
    #[tokio::test]
    async fn what_came_before_the_limit_was_looked_at_came_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _): (TcpStream, _) = listener.accept().await.unwrap();
        let limit = Duration::from_millis(40);
        let mut waiting = pin!(within(limit, stream.read_u8()));
        assert!(waiting.as_mut().now_or_never().is_none());
        let sent = thread::spawn(move || peer.write_all(b"x").map(|()| peer));
        let _peer = sent.join().unwrap().unwrap();
        let until = Instant::now() + limit * 3;
        while Instant::now() < until {
            thread::yield_now();
        }
        assert_eq!(waiting.await.unwrap().unwrap(), b'x');
    }
}
