//! The one stage of a program that only looks: it ends with the service, and can write nothing.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use super::contain;

/// The shell's exit code for a program that it cannot start.
const NOT_STARTED: i32 = 127;

/// Becomes the program; the exit code if it cannot. `words` are the process that the service is, the
/// program, and its arguments.
pub(super) fn run(words: impl Iterator<Item = OsString>) -> i32 {
    let Err(error) = become_it(words);
    drop(writeln!(io::stderr(), "cannot be started: {error}"));
    NOT_STARTED
}

fn become_it(mut words: impl Iterator<Item = OsString>) -> io::Result<std::convert::Infallible> {
    let service = words.next().and_then(|id| id.to_str()?.parse().ok());
    // The signal follows the thread that started this, which is one that lasts as long as the service.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if service.map(Pid::from_raw) != Some(getppid()) {
        return Err(io::Error::other("the service is gone"));
    }
    contain::write_nothing().map_err(io::Error::other)?;
    let program = words
        .next()
        .ok_or_else(|| io::Error::other("there is no program"))?;
    Err(Command::new(program).args(words).exec())
}
