//! The socket under a connection: ends it when its client owes something for too long, or when its
//! place is needed.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::door::ConnectionPlace;
use super::dues::Dues;
use super::peer::Peer;

/// Maximum number of requests that a stranger may send on one connection: the proof of the service, and a few after it.
const STRANGER_REQUESTS: u32 = 4;
/// Maximum number of bytes that are read from a stranger on one connection. With 128 KiB of unanswered requests the
/// HTTP server never rests.
const STRANGER_BYTES: usize = 64 * 1024;
/// Maximum number of bytes that are read at once from a stranger.
const PIECE: usize = 4096;
/// Grace period of a client after its deadline. A process that was stopped notices the deadline before it has read the
/// bytes that arrived in the meantime.
const SECOND_LOOK: Duration = Duration::from_millis(250);
/// The answer to a first request whose head does not arrive in time.
const LATE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// The state that is shared by the socket, which sees bytes, and by the guard, which sees requests.
#[derive(Debug)]
pub(in crate::http) struct ConnectionWatch {
    peer: Peer,
    local: SocketAddr,
    dues: Cell<Dues>,
    /// Number of requests that have begun.
    requests: Cell<u32>,
    /// Number of bytes that were read.
    bytes: Cell<usize>,
    /// True if the server has a complete head of a stranger. It decodes all requests that it receives and keeps them in
    /// a hundred times their size, so that it receives one at a time.
    has_head: Cell<bool>,
    place: RefCell<ConnectionPlace>,
    waker: RefCell<Option<Waker>>,
}

impl ConnectionWatch {
    /// Over a connection from `peer` to the address `local`, which has that place.
    pub(in crate::http) fn new(place: ConnectionPlace, peer: Peer, local: SocketAddr) -> Self {
        Self {
            peer,
            local,
            dues: Cell::new(Dues::accepted(Instant::now())),
            requests: Cell::new(0),
            bytes: Cell::new(0),
            has_head: Cell::new(false),
            place: RefCell::new(place),
            waker: RefCell::default(),
        }
    }

    /// The process at the other end.
    pub(in crate::http) fn peer(&self) -> Peer {
        self.peer
    }

    /// The address that the client connected to.
    pub(in crate::http) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Marks the client as one that may use the service. False if there are too many connections of such clients.
    pub(in crate::http) fn recognize(&self) -> bool {
        let has_place = self.place.borrow_mut().recognize();
        if has_place {
            self.change(Dues::recognized);
            // Bytes of a stranger that were left unread are read from now on.
            self.wake();
        }
        has_place
    }

    /// True if the client may use the service.
    pub(in crate::http) fn is_known(&self) -> bool {
        self.place.borrow().is_known()
    }

    /// True if a stranger has sent more requests than it may. Its connection is about to end.
    pub(in crate::http) fn is_overused(&self) -> bool {
        !self.is_known() && self.requests.get() > STRANGER_REQUESTS
    }

    /// Maximum number of bytes that may be read now.
    fn readable(&self) -> usize {
        if self.is_known() {
            return usize::MAX;
        }
        if self.has_head.get() {
            return 0;
        }
        STRANGER_BYTES.saturating_sub(self.bytes.get())
    }

    /// A head is whole.
    pub(in crate::http) fn begun(&self, has_body: bool) {
        self.requests.set(self.requests.get().saturating_add(1));
        if self.is_overused() {
            self.wake();
        }
        self.change(|dues| dues.begun(has_body, Instant::now()));
    }

    /// A body is whole.
    pub(in crate::http) fn body_ended(&self) {
        self.change(Dues::body_ended);
    }

    /// An answer was handed over to its end.
    pub(in crate::http) fn answered(&self) {
        self.change(|dues| dues.answered(Instant::now()));
        self.has_head.set(false);
        // The reading task checks the time that runs from now on.
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Dues)) {
        let mut dues = self.dues.get();
        change(&mut dues);
        self.dues.set(dues);
    }
}

/// A TCP connection of a client.
#[derive(Debug)]
pub(in crate::http) struct Socket {
    stream: TcpStream,
    watch: Rc<ConnectionWatch>,
    alarm: Pin<Box<Sleep>>,
    /// The deadline that passed, and the time until which the socket is read for bytes that came before it.
    second_look: Option<(Instant, Instant)>,
    /// The bytes that a stranger sent after a head that the server has.
    held: Vec<u8>,
    head: HeadScanner,
}

/// Finds the end of a head: the first empty line after a line with characters.
#[derive(Debug, Clone, Copy, Default)]
struct HeadScanner {
    has_begun: bool,
    line_has_begun: bool,
}

impl HeadScanner {
    /// Number of the bytes that belong to the head, and true if it ends with them.
    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if self.has_begun && !self.line_has_begun => {
                    *self = Self::default();
                    return (at + 1, true);
                }
                b'\n' => self.line_has_begun = false,
                b'\r' => {}
                _ => {
                    self.has_begun = true;
                    self.line_has_begun = true;
                }
            }
        }
        (bytes.len(), false)
    }
}

impl Socket {
    /// Watches over a connection.
    pub(in crate::http) fn new(stream: TcpStream, watch: Rc<ConnectionWatch>) -> Self {
        let at = watch.dues.get().due().unwrap_or_else(Instant::now);
        Self {
            stream,
            watch,
            alarm: Box::pin(tokio::time::sleep_until(at)),
            second_look: None,
            held: Vec::new(),
            head: HeadScanner::default(),
        }
    }

    /// The watch over it.
    pub(in crate::http) fn watch(&self) -> &Rc<ConnectionWatch> {
        &self.watch
    }

    /// True if the connection has to end. The task is woken when it has.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let is_kept = |waker: &Waker| waker.will_wake(cx.waker());
        if !self.watch.waker.borrow().as_ref().is_some_and(is_kept) {
            self.watch.waker.replace(Some(cx.waker().clone()));
        }
        if self.watch.is_overused() || self.watch.place.borrow().is_lost(cx) {
            return true;
        }
        let Some(due) = self.watch.dues.get().due() else {
            return false;
        };
        let second = self.second_look.filter(|(of, _)| *of == due);
        if !self.is_past(second.map_or(due, |(_, until)| until), cx) {
            return false;
        }
        if second.is_some() {
            self.say_late();
            return true;
        }
        let until = Instant::now() + SECOND_LOOK;
        self.second_look = Some((due, until));
        self.is_past(until, cx)
    }

    /// True if that time has passed. The task is woken when it has.
    fn is_past(&mut self, at: Instant, cx: &mut Context<'_>) -> bool {
        if self.alarm.deadline() != at {
            self.alarm.as_mut().reset(at);
        }
        self.alarm.as_mut().poll(cx).is_ready()
    }

    /// Tells the client that it was late, if it never completed a request.
    fn say_late(&self) {
        let watch = &self.watch;
        if watch.requests.get() == 0
            && watch.dues.get().is_head()
            && let Err(error) = self.stream.try_write(LATE)
        {
            log::debug!("a late client is not told so: {error}");
        }
    }
}

impl Socket {
    /// Reads of a stranger at most to the end of a head.
    fn read_of_stranger(
        &mut self,
        cx: &mut Context<'_>,
        readable: usize,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            let mut piece = [0; PIECE];
            let mut part = ReadBuf::new(&mut piece[..readable.min(PIECE)]);
            match Pin::new(&mut self.stream).poll_read(cx, &mut part) {
                Poll::Ready(Ok(())) => self.held.extend_from_slice(part.filled()),
                other => return other,
            }
        }
        let most = buffer.remaining().min(self.held.len());
        let (taken, is_whole) = self.head.take(&self.held[..most]);
        buffer.put_slice(&self.held[..taken]);
        self.held.drain(..taken);
        self.watch.has_head.set(is_whole);
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_over(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = match this.watch.readable() {
            // Woken up when it is answered, when the client is recognized, or when its time is over.
            0 => return Poll::Pending,
            usize::MAX if this.held.is_empty() => Pin::new(&mut this.stream).poll_read(cx, buffer),
            usize::MAX => {
                let most = buffer.remaining().min(this.held.len());
                buffer.put_slice(&this.held[..most]);
                this.held.drain(..most);
                Poll::Ready(Ok(()))
            }
            readable => this.read_of_stranger(cx, readable, buffer),
        };
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            let all = this.watch.bytes.get().saturating_add(bytes);
            this.watch.bytes.set(all);
            this.watch.change(|dues| dues.arrived(Instant::now()));
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-55]
    #[test]
    fn the_end_of_a_head_is_found_wherever_it_is_cut() {
        for text in [
            "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\nhost: x\n\n",
        ] {
            let both = [text, "GET /more"].concat();
            for cut in 0..text.len() {
                let mut head = HeadScanner::default();
                let first = head.take(&both.as_bytes()[..cut]);
                assert_eq!(first, (cut, false), "{text:?} {cut}");
                let second = head.take(&both.as_bytes()[cut..]);
                assert_eq!(second, (text.len() - cut, true), "{text:?} {cut}");
            }
        }
    }
}
