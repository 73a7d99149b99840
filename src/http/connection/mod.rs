//! The facts about a client's connection.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use socket2::SockRef;
use tokio::time::Instant;

use self::peer::Peers;
use super::shared::CommandsAreNear;
use crate::os::user_ns;

#[cfg(target_os = "linux")]
mod descendants;
mod door;
mod dues;
#[cfg(target_os = "linux")]
mod outsiders;
mod peer;
mod socket;
#[cfg(target_os = "linux")]
mod socket_search;

pub(crate) use self::door::ConnectionDoor;
pub(super) use self::peer::Peer;
pub(super) use self::socket::{ConnectionWatch, Socket};

/// Time limit for a client that leaves sent bytes unacknowledged, or its window closed, before its connection is
/// dropped. A stalled reader is not noticed otherwise: its response body is not even polled.
const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(20);

/// One accepted connection.
#[derive(Debug)]
pub(super) struct Connection {
    watch: Rc<ConnectionWatch>,
}

/// The parts that one worker needs to take connections.
pub(super) struct Reception {
    door: Arc<ConnectionDoor>,
    owner: u32,
    are_near: CommandsAreNear,
    peers: Peers,
}

impl Reception {
    /// For connections that come through this door to a service of that user.
    pub(super) fn new(door: Arc<ConnectionDoor>, owner: u32, are_near: CommandsAreNear) -> Self {
        Self {
            door,
            owner,
            are_near,
            peers: Peers::new(),
        }
    }

    /// Prepares a connection that was accepted. Called by the server for each one, before anything is read. `None` if
    /// the client has already disconnected.
    pub(super) async fn take(&self, stream: TcpStream) -> Option<(Socket, Option<SocketAddr>)> {
        let (Ok(address), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
            return None;
        };
        let socket = SockRef::from(&stream);
        if let Err(error) = socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_LIMIT)) {
            log::warn!("a connection has no limit for unacknowledged bytes: {error}");
        }
        if let Err(error) = stream.set_nodelay(true) {
            log::warn!("a connection delays small answers: {error}");
        }
        let place = self.door.admit(Instant::now());
        let is_local = [address, local].map(|it| it.ip().to_canonical().is_loopback());
        // Judged once: a command that starts later gets this socket only from a process that no command started, and
        // that one could as well send requests for it. A command counts before it can connect, and the connection was
        // made before this line.
        let doubted = (self.are_near)().then_some(self.owner);
        let peer = self.peers.look_up(address, local, doubted).await;
        let peer = match (is_local, peer) {
            ([true, true], peer) | (_, peer @ Peer::Descendant) => peer,
            _ => Peer::Unknown,
        };
        let watch = ConnectionWatch::new(place, peer, local);
        if matches!(peer, Peer::Uid(uid) if uid == self.owner && user_ns::can_be_told(uid)) {
            // The owner's connections do not count as strangers'. One above the limit is refused at its first request.
            watch.recognize();
        }
        let watch = Rc::new(watch);
        Some((Socket::new(stream, watch), Some(address)))
    }
}

impl Connection {
    /// That of a socket. Called by the server before the first request.
    pub(super) fn insert_into(socket: &Socket, extensions: &mut Extensions) {
        extensions.insert(Self {
            watch: Rc::clone(socket.watch()),
        });
    }

    /// The address that the client connected to.
    pub(super) fn local(&self) -> SocketAddr {
        self.watch.local()
    }

    /// True if the client is a process of this machine that belongs to that user and to no other.
    pub(super) fn is_local_process_of(&self, uid: u32) -> bool {
        self.watch.peer() == Peer::Uid(uid) && user_ns::can_be_told(uid)
    }

    /// True if the client is a process that the service started, for example by a tool.
    pub(super) fn is_descendant(&self) -> bool {
        self.watch.peer() == Peer::Descendant
    }

    /// True if a command may have started the client, and no other process was found to be the client.
    pub(super) fn may_descend(&self) -> bool {
        self.watch.peer() == Peer::Unproven
    }

    /// True if the system did not name the client's user now, but may a little later.
    pub(super) fn may_be_told_later(&self) -> bool {
        self.watch.peer() == Peer::NotNow
    }

    /// The watch over its client: the bytes that it owes, and whether it is known.
    pub(super) fn watch(&self) -> &Rc<ConnectionWatch> {
        &self.watch
    }
}

#[cfg(test)]
impl Connection {
    /// One of a test.
    pub(super) fn from(peer: Peer, local: SocketAddr) -> Self {
        let place = Arc::new(ConnectionDoor::new(1)).admit(Instant::now());
        Self {
            watch: Rc::new(ConnectionWatch::new(place, peer, local)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-05] [SEC-19]
    #[test]
    fn a_local_process_belongs_to_its_user_and_to_nobody_else() {
        let local = "127.0.0.1:1".parse().unwrap();
        let ours = Connection::from(Peer::Uid(1000), local);
        assert!(ours.is_local_process_of(1000));
        assert!(!ours.is_local_process_of(1001));
        for (peer, later) in [(Peer::Unknown, false), (Peer::NotNow, true)] {
            let connection = Connection::from(peer, local);
            assert!(!connection.is_local_process_of(0));
            assert_eq!(connection.may_be_told_later(), later);
        }
        // The number that stands for all users without one.
        let overflow = std::fs::read_to_string("/proc/sys/kernel/overflowuid");
        let overflow = overflow.map_or(65534, |text| text.trim().parse().unwrap());
        let anybody = Connection::from(Peer::Uid(overflow), local);
        assert!(!anybody.is_local_process_of(overflow));
    }
}
