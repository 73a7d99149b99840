//! What is known of a client's connection.

use std::any::Any;
use std::cell::OnceCell;
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use socket2::SockRef;

use super::peer;

/// How long a client may leave sent bytes unacknowledged, or its window closed, before its
/// connection is dropped. A stalled reader is not noticed otherwise: its response body is not
/// even polled.
const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(20);

/// One accepted connection.
#[derive(Debug)]
pub(super) struct Connection {
    peer: SocketAddr,
    local: SocketAddr,
    peer_uid: OnceCell<Option<u32>>,
}

impl Connection {
    /// Prepares a connection that was accepted. Called by the server for each one.
    pub(super) fn accepted(stream: &dyn Any, extensions: &mut Extensions) {
        let Some(stream) = stream.downcast_ref::<TcpStream>() else {
            return;
        };
        if let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(UNACKNOWLEDGED_LIMIT)) {
            log::warn!("a connection has no limit for unacknowledged bytes: {error}");
        }
        if let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) {
            extensions.insert(Self {
                peer,
                local,
                peer_uid: OnceCell::new(),
            });
        }
    }

    /// The address that the client connected to.
    pub(super) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether the client is a process of this machine that belongs to that user.
    pub(super) fn is_local_process_of(&self, uid: u32) -> bool {
        let same_machine = self.peer.ip().to_canonical().is_loopback()
            && self.local.ip().to_canonical().is_loopback();
        let peer_uid = || peer::uid(self.peer, self.local);
        same_machine && *self.peer_uid.get_or_init(peer_uid) == Some(uid)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::unistd::Uid;

    use super::*;

    /// Spec: [SEC-05]
    #[test]
    fn a_local_process_belongs_to_its_user_and_to_nobody_else() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(local).unwrap();
        let connection = |peer| Connection {
            peer,
            local,
            peer_uid: OnceCell::new(),
        };
        let us = Uid::effective().as_raw();
        let ours = connection(client.local_addr().unwrap());
        assert!(ours.is_local_process_of(us));
        assert!(!ours.is_local_process_of(us + 1));
        let elsewhere = connection("192.0.2.1:80".parse().unwrap());
        assert!(!elsewhere.is_local_process_of(us));
    }
}
