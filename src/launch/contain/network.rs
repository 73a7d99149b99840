//! Raises the loopback interface of a new network namespace: there is no other interface in it.

use std::io;
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

use super::error::{ContainError, system};

/// A new network namespace gives the loopback interface this number.
const LOOPBACK: i32 = 1;
/// The message as a whole: two heads and no attribute.
const LENGTH: u32 = 32;
/// Where the code of an answer is.
const CODE: std::ops::Range<usize> = 16..20;

/// Raises it, so that a server of the command's own can be reached on 127.0.0.1 and `::1`.
pub(super) fn raise_loopback() -> Result<(), ContainError> {
    let answer = ask(&message()?).map_err(system("raise the loopback interface"))?;
    if answer == 0 {
        return Ok(());
    }
    Err(ContainError::System {
        step: "raise the loopback interface",
        source: io::Error::from_raw_os_error(-answer),
    })
}

/// `RTM_NEWLINK` that sets `IFF_UP` (rtnetlink(7)).
fn message() -> Result<Vec<u8>, ContainError> {
    let number = |value: i32| {
        u16::try_from(value).map_err(|_| {
            ContainError::refused("raise the loopback interface", "a flag is too large".into())
        })
    };
    let up = u32::from(number(libc::IFF_UP)?);
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(libc::RTM_NEWLINK.to_ne_bytes());
    bytes.extend(number(libc::NLM_F_REQUEST | libc::NLM_F_ACK)?.to_ne_bytes());
    // The number of the message, and who asks.
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    // Any family, padding and any type.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    // Which flags, and which of them change.
    bytes.extend(up.to_ne_bytes());
    bytes.extend(up.to_ne_bytes());
    Ok(bytes)
}

/// Sends the message; the answer is zero or a negative error.
fn ask(message: &[u8]) -> nix::Result<i32> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let kernel = NetlinkAddr::new(0, 0);
    sendto(socket.as_raw_fd(), message, &kernel, MsgFlags::empty())?;
    let mut answer = [0; 1024];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let code = answer.get(..length).and_then(|bytes| bytes.get(CODE));
    let code = code.and_then(|bytes| bytes.try_into().ok());
    code.map(i32::from_ne_bytes).ok_or(Errno::EBADMSG)
}
