//! An answer that is read as it comes.
//!
//! On hyper, and not on awc as the other requests: awc keeps a clock for each open connection that
//! wakes the process up four times a second, which a client that only waits must not be.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::{BodyExt as _, BodyStream, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Nothing came in time.
    Silent,
    /// The connection failed.
    Failed(String),
}

/// An answer whose body is read as it comes. Its connection closes with it.
pub(super) struct Opened {
    status: StatusCode,
    body: BodyStream<Incoming>,
    _connection: Driven,
}

/// The task that reads and writes a connection; it ends with this value.
struct Driven(JoinHandle<()>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Opened {
    /// Sends a request on a connection of its own. Connecting may take `connect`, and from then on
    /// the answer may take `head` to begin.
    pub(super) async fn open(
        address: SocketAddr,
        request: Request<Empty<Bytes>>,
        connect: Duration,
        head: Duration,
    ) -> Result<Self, OpenError> {
        let failed = |error: &dyn std::error::Error| OpenError::Failed(error.to_string());
        let stream = timeout(connect, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| OpenError::Silent)?;
        let stream = stream.map_err(|error| failed(&error))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let driven = Driven(tokio::spawn(async move {
            if let Err(error) = connection.await {
                log::debug!("an event stream ended: {error}");
            }
        }));
        let answer = timeout(head, sender.send_request(request)).await;
        let answer = answer.map_err(|_| OpenError::Silent)?;
        let answer: Response<Incoming> = answer.map_err(|error| failed(&error))?;
        Ok(Self {
            status: answer.status(),
            body: BodyStream::new(answer.into_body()),
            _connection: driven,
        })
    }

    /// The HTTP status.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The whole body, if it is no longer than that; for an answer that is no stream.
    pub(super) async fn whole(self, max_bytes: usize, limit: Duration) -> Option<Bytes> {
        let body = Limited::new(http_body_util::StreamBody::new(self.body), max_bytes);
        let collected = timeout(limit, body.collect()).await.ok()?;
        Some(collected.ok()?.to_bytes())
    }
}

impl Stream for Opened {
    type Item = Result<Bytes, hyper::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_next(cx));
            match frame {
                None => return Poll::Ready(None),
                // A stream has no end of its own: where the service closes it, it ends.
                Some(Err(error)) if is_end(&error) => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }
}

/// Whether the other side closed the connection in the middle of a body.
fn is_end(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error);
    let io = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    error.is_incomplete_message()
        || io.is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof)
}
