//! The socket under a connection: ends it when its client owes something for too long, or when its
//! place is needed.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::door::Place;
use super::dues::Dues;
use super::peer::Peer;

/// What is shared by the socket, which sees bytes, and by the guard, which sees requests.
#[derive(Debug)]
pub(super) struct Watch {
    peer: Peer,
    local: SocketAddr,
    dues: Cell<Dues>,
    place: RefCell<Place>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    /// Over a connection from `peer` to the address `local`, which has that place.
    pub(super) fn new(place: Place, peer: Peer, local: SocketAddr) -> Self {
        Self {
            peer,
            local,
            dues: Cell::new(Dues::accepted(Instant::now())),
            place: RefCell::new(place),
            waker: RefCell::default(),
        }
    }

    /// Who is at the other end.
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    /// The address that the client connected to.
    pub(super) fn local(&self) -> SocketAddr {
        self.local
    }

    /// The client may use the service. False if there are too many connections of such clients.
    pub(super) fn recognize(&self) -> bool {
        let has_place = self.place.borrow_mut().recognize();
        if has_place {
            self.change(Dues::recognized);
        }
        has_place
    }

    /// Whether the client is one of those who may use the service.
    pub(super) fn is_known(&self) -> bool {
        self.place.borrow().is_known()
    }

    /// A head is whole.
    pub(super) fn begun(&self, has_body: bool) {
        self.change(|dues| dues.begun(has_body, Instant::now()));
    }

    /// A body is whole.
    pub(super) fn body_ended(&self) {
        self.change(Dues::body_ended);
    }

    /// An answer was handed over to its end.
    pub(super) fn answered(&self) {
        self.change(|dues| dues.answered(Instant::now()));
        // The time that runs from now on is looked at by who reads.
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
pub(super) struct Socket {
    stream: TcpStream,
    watch: Rc<Watch>,
    alarm: Pin<Box<Sleep>>,
}

impl Socket {
    /// Watches over a connection.
    pub(super) fn new(stream: TcpStream, watch: Rc<Watch>) -> Self {
        let at = watch.dues.get().due().unwrap_or_else(Instant::now);
        Self {
            stream,
            watch,
            alarm: Box::pin(tokio::time::sleep_until(at)),
        }
    }

    /// What watches over it.
    pub(super) fn watch(&self) -> &Rc<Watch> {
        &self.watch
    }

    /// Whether the connection has to end. The task is woken up when it has.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let is_kept = |waker: &Waker| waker.will_wake(cx.waker());
        if !self.watch.waker.borrow().as_ref().is_some_and(is_kept) {
            self.watch.waker.replace(Some(cx.waker().clone()));
        }
        if self.watch.place.borrow().is_lost(cx) {
            return true;
        }
        let Some(due) = self.watch.dues.get().due() else {
            return false;
        };
        if self.alarm.deadline() != due {
            self.alarm.as_mut().reset(due);
        }
        self.alarm.as_mut().poll(cx).is_ready()
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
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
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
