//! Finds the user of the process at the other end of a local TCP connection.

#[cfg(target_os = "linux")]
use std::io;
use std::net::SocketAddr;

#[cfg(target_os = "linux")]
use harness_actors::start_thread;
#[cfg(target_os = "linux")]
use tokio::sync::{Mutex, oneshot};

#[cfg(target_os = "linux")]
use super::{descendants, outsiders};

/// The process at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Peer {
    /// A process of this user of this machine.
    Uid(u32),
    /// A descendant process of this one.
    Descendant,
    /// A process of the service's user that a command may have started: one runs that can reach the service, and no
    /// process of another origin was found to have the socket.
    Unproven,
    /// The process is on another machine, or has exited.
    Unknown,
    /// The system did not answer now; it may a little later.
    NotNow,
}

/// The owner of a socket.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    uid: u32,
    /// The number of the socket in the kernel.
    inode: u64,
}

/// Asks the system for the users at the other ends. Keeps its socket for these questions open, so that it can also ask
/// when the limit of open files is reached.
#[derive(Debug)]
pub(in crate::http) struct Peers {
    #[cfg(target_os = "linux")]
    link: Option<sock_diag::Link>,
    /// Held during a search among the processes that do not descend from this one: a client that connects again and
    /// again takes one thread for it.
    #[cfg(target_os = "linux")]
    outside: Mutex<()>,
    /// The same for those that descend. They choose how long it takes, so that no other search waits for it.
    #[cfg(target_os = "linux")]
    inside: Mutex<()>,
}

impl Peers {
    /// Prepares for questions.
    pub(in crate::http) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            link: sock_diag::Link::open()
                .inspect_err(|error| log::debug!("sock_diag is not available: {error}"))
                .ok(),
            #[cfg(target_os = "linux")]
            outside: Mutex::new(()),
            #[cfg(target_os = "linux")]
            inside: Mutex::new(()),
        }
    }

    /// The process that has the socket `peer`, connected to `local` on this machine. A process of the user `doubted` may
    /// be one that a command started; `None` if no command runs that can reach the service.
    #[cfg(target_os = "linux")]
    pub(in crate::http) async fn look_up(
        &self,
        peer: SocketAddr,
        local: SocketAddr,
        doubted: Option<u32>,
    ) -> Peer {
        let asked = self.link.as_ref().map(|link| link.owner(peer, local));
        let found = match asked {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => {
                log::debug!("sock_diag did not answer ({error}); reading /proc instead");
                proc_net::owner(peer, local)
            }
            None => proc_net::owner(peer, local),
        };
        match found {
            Err(_) => Peer::NotNow,
            Ok(None) => Peer::Unknown,
            Ok(Some(found)) => self.judge(found, doubted).await.unwrap_or(Peer::NotNow),
        }
    }

    /// Finds out if a socket is a tool's. One of the user `doubted` needs the proof that a process has it that does not
    /// descend from this one. `None` if that needs a look at processes that cannot be made now.
    #[cfg(target_os = "linux")]
    async fn judge(&self, Owner { uid, inode }: Owner, doubted: Option<u32>) -> Option<Peer> {
        if descendants::are_none() {
            return Some(Peer::Uid(uid));
        }
        let needs_proof = doubted == Some(uid);
        let prove = move || outsiders::have_socket(inode, uid);
        if needs_proof && found_by(&self.outside, prove).await? {
            return Some(Peer::Uid(uid));
        }
        let is_inside = found_by(&self.inside, move || descendants::have_socket(inode)).await;
        match (is_inside, needs_proof) {
            (Some(true), _) => Some(Peer::Descendant),
            (Some(false), true) => Some(Peer::Unproven),
            (None, true) => None,
            // No command is near, or a process of that user needs the token in any case.
            (Some(false) | None, false) => Some(Peer::Uid(uid)),
        }
    }

    /// The process that has the socket `peer`, connected to `local` on this machine.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::http) async fn look_up(
        &self,
        _: SocketAddr,
        _: SocketAddr,
        _: Option<u32>,
    ) -> Peer {
        Peer::Unknown
    }
}

/// The result of a search among processes, made when it is its turn. A command may have a thousand of them, and no
/// other work waits meanwhile. `None` if it cannot be made now.
#[cfg(target_os = "linux")]
async fn found_by(
    turn: &Mutex<()>,
    search: impl Fn() -> io::Result<bool> + Copy + Send + 'static,
) -> Option<bool> {
    let _turn = turn.lock().await;
    let (reply, answer) = oneshot::channel();
    let work = move || match reply.send(search()) {
        // The receiver may have been dropped; nothing to do then.
        Ok(()) | Err(_) => {}
    };
    let found = match start_thread("processes", work) {
        Ok(()) => answer.await.ok()?,
        Err(error) => {
            log::warn!("no thread can be started: {error}");
            search()
        }
    };
    found
        .inspect_err(|error| log::warn!("processes cannot be looked at: {error}"))
        .ok()
}

/// Asks the kernel for one socket. Source: `sock_diag(7)`, `linux/inet_diag.h`.
#[cfg(target_os = "linux")]
mod sock_diag {
    use std::cell::Cell;
    use std::net::{IpAddr, SocketAddr};
    use std::os::fd::{AsRawFd as _, OwnedFd};

    use nix::errno::Errno;
    use nix::libc::IPPROTO_TCP;
    use nix::sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto,
        socket,
    };

    /// `SOCK_DIAG_BY_FAMILY`.
    const BY_FAMILY: u16 = 20;
    /// `NLM_F_REQUEST`.
    const REQUEST: u16 = 1;
    /// `NLMSG_ERROR`.
    const ERROR: u16 = 2;
    /// The length of `struct nlmsghdr`.
    const HEADER: usize = 16;
    /// Offset of `nlmsg_seq` in the header.
    const SEQUENCE: usize = 8;
    /// The length of the header with `struct inet_diag_req_v2`.
    const QUESTION: usize = HEADER + 56;
    /// Offset of `idiag_uid` in the answer; `idiag_inode` follows.
    const UID: usize = HEADER + 64;
    const INODE: usize = HEADER + 68;

    use super::Owner;

    /// The way to the kernel.
    #[derive(Debug)]
    pub(in crate::http) struct Link {
        socket: OwnedFd,
        /// The number of the last question.
        asked: Cell<u32>,
    }

    impl Link {
        pub(in crate::http) fn open() -> nix::Result<Self> {
            let socket = socket(
                AddressFamily::Netlink,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::NetlinkSockDiag,
            )?;
            Ok(Self {
                socket,
                asked: Cell::new(0),
            })
        }

        /// The owner of a socket. `None` if there is no such socket, or if no process has it.
        pub(in crate::http) fn owner(
            &self,
            peer: SocketAddr,
            local: SocketAddr,
        ) -> nix::Result<Option<Owner>> {
            let number = self.asked.get().wrapping_add(1);
            self.asked.set(number);
            let mut question = question(peer, local);
            question[SEQUENCE..SEQUENCE + 4].copy_from_slice(&number.to_ne_bytes());
            let kernel = NetlinkAddr::new(0, 0);
            sendto(
                self.socket.as_raw_fd(),
                &question,
                &kernel,
                MsgFlags::empty(),
            )?;
            loop {
                // The kernel answers while it takes the question, so there is nothing to wait for.
                let mut answer = [0; 1024];
                let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
                let word = |at: usize| {
                    u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]])
                };
                // What is left of a question that failed.
                if length < HEADER + 4 || word(SEQUENCE) != number {
                    continue;
                }
                return match u16::from_ne_bytes([answer[4], answer[5]]) {
                    // A socket that no process has open is reported as root's.
                    BY_FAMILY if length >= INODE + 4 => Ok((word(INODE) != 0).then(|| Owner {
                        uid: word(UID),
                        inode: word(INODE).into(),
                    })),
                    ERROR => match Errno::from_raw(word(HEADER).cast_signed().wrapping_neg()) {
                        Errno::ENOENT => Ok(None),
                        error => Err(error),
                    },
                    _ => Err(Errno::EBADMSG),
                };
            }
        }
    }

    fn question(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
        let (peer_ip, local_ip) = (peer.ip().to_canonical(), local.ip().to_canonical());
        let family = match peer_ip {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        let mut bytes = Vec::with_capacity(QUESTION);
        // struct nlmsghdr
        bytes.extend((QUESTION as u32).to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend(REQUEST.to_ne_bytes());
        bytes.extend([0; 8]); // nlmsg_seq, nlmsg_pid
        // struct inet_diag_req_v2
        bytes.extend([family as u8, IPPROTO_TCP as u8, 0, 0]);
        bytes.extend(u32::MAX.to_ne_bytes()); // idiag_states: any
        bytes.extend(peer.port().to_be_bytes());
        bytes.extend(local.port().to_be_bytes());
        for ip in [peer_ip, local_ip] {
            let mut field = [0; 16];
            match ip {
                IpAddr::V4(ip) => field[..4].copy_from_slice(&ip.octets()),
                IpAddr::V6(ip) => field.copy_from_slice(&ip.octets()),
            }
            bytes.extend(field);
        }
        bytes.extend([0; 4]); // idiag_if: any
        bytes.extend([0xff; 8]); // idiag_cookie: none
        bytes
    }
}

/// Looks the socket up in the kernel's table. Source: `proc_net_tcp.rst` of the Linux kernel.
#[cfg(target_os = "linux")]
mod proc_net {
    use std::io;
    use std::net::{IpAddr, SocketAddr};

    use super::Owner;

    /// The owner of a socket. `None` if there is no such socket, or if no process has it.
    pub(super) fn owner(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<Owner>> {
        let mut unread = None;
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            match std::fs::read_to_string(path) {
                Ok(table) => {
                    if let Some(owner) = owner_in(&table, peer, local) {
                        return Ok(Some(owner));
                    }
                }
                // A machine without IPv6 has no such table.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => unread = Some(error),
            }
        }
        unread.map_or(Ok(None), Err)
    }

    /// Each row: number, local address, remote address, state, queues, timers, retransmissions,
    /// uid, timeout, inode.
    fn owner_in(table: &str, peer: SocketAddr, local: SocketAddr) -> Option<Owner> {
        table.lines().skip(1).find_map(|row| {
            let mut fields = row.split_ascii_whitespace().skip(1);
            let is_socket = address(fields.next()?)? == canonical(peer)
                && address(fields.next()?)? == canonical(local);
            let uid = fields.nth(4)?.parse().ok()?;
            let inode: u64 = fields.nth(1)?.parse().ok()?;
            // A socket that no process has open is reported as root's.
            (is_socket && inode != 0).then_some(Owner { uid, inode })
        })
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// An address as the table has it: words of the address in the machine's byte order.
    fn address(text: &str) -> Option<SocketAddr> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let words: Vec<[u8; 4]> = (0..ip.len() / 8)
            .map(|word| u32::from_str_radix(ip.get(word * 8..word * 8 + 8)?, 16).ok())
            .map(|word| word.map(u32::to_ne_bytes))
            .collect::<Option<_>>()?;
        let ip = match words.as_slice() {
            [v4] => IpAddr::from(*v4),
            [_, _, _, _] => {
                let octets: [u8; 16] = words.concat().try_into().ok()?;
                IpAddr::from(octets)
            }
            _ => return None,
        };
        Some(SocketAddr::new(ip.to_canonical(), port))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Spec: [SEC-05]
        #[test]
        #[cfg(target_endian = "little")]
        fn the_table_is_read_for_both_families_and_orphans_belong_to_nobody() {
            let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                   0: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4242 1\n\
                   1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4243 1\n\
                   2: 0100007F:C002 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 0 1\n\
                   3: 00000000000000000000000001000000:C003 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1003        0 7 1\n";
            let find = |peer: &str, local: &str| {
                owner_in(table, peer.parse().unwrap(), local.parse().unwrap())
                    .map(|owner| (owner.uid, owner.inode))
            };
            assert_eq!(
                find("127.0.0.1:49153", "127.0.0.1:8080"),
                Some((1001, 4243))
            );
            assert_eq!(find("127.0.0.1:49154", "127.0.0.1:8080"), None);
            assert_eq!(find("[::1]:49155", "[::1]:8080"), Some((1003, 7)));
            assert_eq!(find("127.0.0.1:1", "127.0.0.1:8080"), None);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    use nix::unistd::Uid;

    use super::super::descendants::testing::end;
    use super::*;

    /// Spec: [SEC-05]
    #[actix::test]
    async fn the_owner_of_a_connection_is_found_and_a_closed_one_has_none() {
        let peers = Peers::new();
        assert!(peers.link.is_some(), "sock_diag is part of every kernel");
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else {
                assert_eq!(host, "[::1]:0", "only IPv6 may be missing");
                continue;
            };
            let local = listener.local_addr().unwrap();
            let client = TcpStream::connect(local).unwrap();
            let peer = client.local_addr().unwrap();
            let (_accepted, _) = listener.accept().unwrap();
            let us = Uid::effective().as_raw();
            assert_eq!(peers.look_up(peer, local, Some(us)).await, Peer::Uid(us));
            let found = proc_net::owner(peer, local).unwrap().unwrap();
            assert_eq!(found.uid, us);
            let link = peers.link.as_ref().unwrap();
            assert_eq!(link.owner(peer, local), Ok(Some(found)));
            drop(client);
            assert_eq!(peers.look_up(peer, local, Some(us)).await, Peer::Unknown);
            assert_eq!(proc_net::owner(peer, local).unwrap(), None);
        }
    }

    /// Spec: [SEC-510]
    #[actix::test]
    async fn while_a_command_is_near_a_socket_that_no_process_is_found_to_have_is_unproven() {
        let peers = Peers::new();
        let us = Uid::effective().as_raw();
        let mut tool = Command::new("sleep").arg("60").spawn().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let peer = client.local_addr().unwrap();
        let (_accepted, _) = listener.accept().unwrap();
        // This process has it, and no process has one of that number.
        let owner = peers.link.as_ref().unwrap().owner(peer, local);
        let found = owner.unwrap().unwrap();
        let hidden = Owner { inode: 1, ..found };
        for (socket, doubted, expected) in [
            (found, Some(us), Peer::Uid(us)),
            (hidden, Some(us), Peer::Unproven),
            // Other processes of the service have no way to hide a socket.
            (hidden, None, Peer::Uid(us)),
            // A process of another user needs the token in any case.
            (hidden, Some(us + 1), Peer::Uid(us)),
        ] {
            let judged = peers.judge(socket, doubted).await;
            assert_eq!(judged, Some(expected), "{socket:?} {doubted:?}");
        }
        end(tool.id());
        tool.wait().unwrap();
    }
}
