//! Sending an order to a process that starts a command, with descriptors.

use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};

/// Sends the order; the descriptors go along with its first byte.
///
/// # Errors
/// The system's error: the process may have ended.
pub fn send_order<'d>(
    mut input: &UnixStream,
    order: &[u8],
    descriptors: impl IntoIterator<Item = &'d OwnedFd>,
) -> io::Result<()> {
    let mut sent = 0;
    let numbers: Vec<RawFd> = descriptors.into_iter().map(AsRawFd::as_raw_fd).collect();
    if !numbers.is_empty() {
        let (pieces, rights) = ([IoSlice::new(order)], [ControlMessage::ScmRights(&numbers)]);
        let flags = MsgFlags::empty();
        sent = sendmsg::<UnixAddr>(input.as_raw_fd(), &pieces, &rights, flags, None)?;
    }
    input.write_all(order.get(sent..).unwrap_or_default())
}
