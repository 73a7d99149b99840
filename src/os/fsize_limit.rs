//! The limit on the size of files (`RLIMIT_FSIZE`) refuses what goes beyond it and ends nothing.

use std::io;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// From now on a write beyond the limit fails with `EFBIG` and does not end the program: a signal
/// that is handled does nothing more, and the handler stays when its receiver is gone. What this
/// program starts has the system's action again.
///
/// # Errors
/// The system's error.
pub(crate) fn survive() -> io::Result<()> {
    signal(SignalKind::from_raw(Signal::SIGXFSZ as i32)).map(drop)
}
