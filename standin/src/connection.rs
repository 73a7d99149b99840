//! One client's connection: requests in, replies out, step by step, with an eye on whether the
//! client is still there.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::api_error::ApiError;
use crate::incoming::{Arrival, Incoming, next_request};
use crate::journal::{Outcome, Received};
use crate::reply::Step;
use crate::routes::Service;
use crate::wire::{Rendered, Wire};

/// Time limit for a client to notice that its connection was ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// The end of a reply.
enum Ending {
    /// The reply is whole and the connection can take another request.
    Reusable,
    /// Nothing more is sent on this connection.
    Close,
    /// The connection is torn down with a reset.
    Reset,
    /// The client was faster.
    ClientLeft,
}

/// Serves one connection until either side ends it.
pub(crate) async fn serve(mut stream: TcpStream, number: u64, service: Arc<Service>) {
    let departure = watch::Sender::new(None);
    let mut inbox = BytesMut::new();
    loop {
        let arrival = next_request(&mut stream, &mut inbox).await;
        let (keep_alive, wire) = match arrival {
            Arrival::Left => {
                departure.send_replace(Some(Instant::now()));
                return;
            }
            Arrival::Malformed(what) => (false, service.refuse(ApiError::invalid(what)).0.framed()),
            Arrival::TooLarge(incoming) => {
                let answer = service.refuse_too_large();
                (false, note(&service, &incoming, number, &departure, answer))
            }
            Arrival::Request(incoming) => {
                let answer = service.answer(&incoming);
                let wire = note(&service, &incoming, number, &departure, answer);
                (incoming.wants_keep_alive(), wire)
            }
        };
        match deliver(&mut stream, &mut inbox, wire).await {
            Ending::Reusable if keep_alive => {}
            Ending::Reusable | Ending::Close => {
                if say_farewell(&mut stream).await {
                    departure.send_replace(Some(Instant::now()));
                }
                return;
            }
            Ending::Reset => {
                if let Err(error) = stream.set_zero_linger() {
                    log::warn!("a connection could not be reset: {error}");
                }
                return;
            }
            Ending::ClientLeft => {
                departure.send_replace(Some(Instant::now()));
                return;
            }
        }
    }
}

/// Notes a request with its answer before anything of the answer is sent.
fn note(
    service: &Service,
    incoming: &Incoming,
    number: u64,
    departure: &watch::Sender<Option<Instant>>,
    (reply, outcome): (Rendered, Outcome),
) -> Wire {
    let received = Received::new(incoming, number, departure.subscribe(), outcome);
    service.journal.note_request(received);
    reply.framed()
}

/// Sends a reply, and gives up as soon as the client has closed the connection.
async fn deliver(stream: &mut TcpStream, inbox: &mut BytesMut, wire: Wire) -> Ending {
    let (mut reader, mut writer) = stream.split();
    tokio::select! {
        biased;
        ending = send(&mut writer, wire) => ending,
        () = until_gone(&mut reader, inbox) => Ending::ClientLeft,
    }
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), wire: Wire) -> Ending {
    for step in wire.steps {
        match step {
            Step::Send(bytes) => {
                if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
                    return Ending::ClientLeft;
                }
            }
            Step::Wait(gate) => gate.pass().await,
            Step::Sleep(duration) => sleep(duration).await,
            Step::Finish => break,
            Step::Cut => return Ending::Close,
            Step::Reset => return Ending::Reset,
            Step::Hang => pending().await,
        }
    }
    if wire.reusable {
        Ending::Reusable
    } else {
        Ending::Close
    }
}

/// Reads ahead until the connection ends. What is read belongs to the next request.
async fn until_gone(reader: &mut (impl AsyncRead + Unpin), inbox: &mut BytesMut) {
    while reader.read_buf(inbox).await.is_ok_and(|read| read > 0) {}
}

/// Ends this side properly and waits for the client to end its side: closing with unread bytes would turn into a reset.
/// Returns true if the client did.
async fn say_farewell(stream: &mut TcpStream) -> bool {
    if stream.shutdown().await.is_err() {
        return true;
    }
    let mut scrap = vec![0; 64 * 1024];
    let drained = timeout(FAREWELL, async {
        while stream.read(&mut scrap).await.is_ok_and(|read| read > 0) {}
    });
    drained.await.is_ok()
}
