//! One request over one connection, to nothing but the service that was found: what answers there
//! proves itself first, on the same connection, and receives nothing before.
//!
//! On hyper, and not on awc as the calls of the model: awc keeps a clock for each open connection
//! that wakes the process up four times a second, which a client that only waits must not be, and
//! it does not say which connection a request goes over.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use harness_actors::within;
use harness_protocol::Health;
use http_body_util::{BodyExt as _, BodyStream, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::proof::{ProofKey, nonce};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the service may take to prove itself. It does so without looking at anything.
const PROOF_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest proof, in bytes, with what may be around it.
const MAX_PROOF_BYTES: usize = 4096;

/// A service as its file names it.
#[derive(Debug, Clone)]
pub(crate) struct NamedService {
    /// Where to connect to.
    pub(crate) address: SocketAddr,
    /// Its address in its own words, which it proves.
    pub(crate) listens_on: String,
    /// The key that it proves itself by.
    pub(crate) key: ProofKey,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    /// Nothing came in time.
    Silent,
    /// The connection failed.
    Failed(String),
    /// Another program than the service listens there.
    Unproven,
}

/// An answer whose body is read as it comes. Its connection closes with it.
pub(crate) struct OpenedAnswer {
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

type Sender = SendRequest<Full<Bytes>>;

impl OpenedAnswer {
    /// Sends a request on a connection of its own, if the service answers there. The answer may
    /// take `head` to begin.
    pub(crate) async fn open(
        named: &NamedService,
        request: Request<Full<Bytes>>,
        head: Duration,
    ) -> Result<Self, ExchangeError> {
        let stream = within(CONNECT_TIMEOUT, TcpStream::connect(named.address)).await;
        let stream = stream.ok_or(ExchangeError::Silent)?;
        let stream = stream.map_err(|error| failed(&error))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let driven = Driven(tokio::spawn(async move {
            if let Err(error) = connection.await {
                log::debug!("a connection to the service ended: {error}");
            }
        }));
        let proving = within(PROOF_TIMEOUT, prove(named, &mut sender)).await;
        proving.ok_or(ExchangeError::Silent)??;
        let answer = within(head, sender.send_request(request)).await;
        let answer = answer.ok_or(ExchangeError::Silent)?;
        let answer: Response<Incoming> = answer.map_err(|error| failed(&error))?;
        Ok(Self {
            status: answer.status(),
            body: BodyStream::new(answer.into_body()),
            _connection: driven,
        })
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The whole body, if it is no longer than that; for an answer that is no stream.
    pub(crate) async fn read_body(
        self,
        max_bytes: usize,
        limit: Duration,
    ) -> Result<Bytes, ExchangeError> {
        let body = Limited::new(http_body_util::StreamBody::new(self.body), max_bytes);
        let collected = within(limit, body.collect()).await;
        let collected = collected.ok_or(ExchangeError::Silent)?;
        let collected = collected.map_err(|error| failed(&*error))?;
        Ok(collected.to_bytes())
    }
}

impl Stream for OpenedAnswer {
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

/// Has the other side prove that it is the service. It is sent a nonce and nothing else.
async fn prove(named: &NamedService, sender: &mut Sender) -> Result<(), ExchangeError> {
    let nonce = nonce().map_err(|error| failed(&error))?;
    let question = Request::get(format!("/healthz?nonce={nonce}"))
        .header("host", named.address.to_string())
        .body(Full::default())
        .map_err(|error| failed(&error))?;
    let answer = sender.send_request(question).await;
    let answer = answer.map_err(|error| failed(&error))?;
    let body = Limited::new(answer.into_body(), MAX_PROOF_BYTES);
    let body = body.collect().await.map_err(|_| ExchangeError::Unproven)?;
    let health = serde_json::from_slice::<Health>(&body.to_bytes());
    let proof = health.ok().and_then(|health| health.proof);
    let proof = proof.ok_or(ExchangeError::Unproven)?;
    if !named.key.is_proved_by(&proof, &nonce, &named.listens_on) {
        return Err(ExchangeError::Unproven);
    }
    sender.ready().await.map_err(|error| failed(&error))
}

fn failed(error: &dyn std::error::Error) -> ExchangeError {
    // The outermost words of hyper do not say what happened.
    let cause = error.source().map(ToString::to_string);
    ExchangeError::Failed(cause.unwrap_or_else(|| error.to_string()))
}

/// Whether the other side closed the connection in the middle of a body.
fn is_end(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error);
    let io = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    error.is_incomplete_message()
        || io.is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof)
}
