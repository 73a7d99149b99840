//! The stage that makes the world that the commands of a conversation share, hands it over and ends.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use harness_actors::tool::send_order;

use super::contain;

/// The time that it may take, in seconds: a home folder may be on a server that does not answer.
const LIMIT_SECONDS: u32 = 10;

/// Runs the stage; its standard input is the socket that the descriptors are sent to. `home` is the home folder, by its
/// real path.
pub(super) fn run(home: Option<OsString>) -> io::Result<()> {
    nix::unistd::alarm::set(LIMIT_SECONDS);
    let home = home.map(PathBuf::from);
    let made = contain::new_world(home.as_deref()).map_err(io::Error::other)?;
    let input = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    send_order(&input, b"\n", &made)
}
