//! The device that the client is attached to.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    FlushArg, SetArg, SpecialCharacterIndices, Termios, cfmakeraw, tcflush, tcgetattr, tcsetattr,
};
use nix::unistd::ttyname;

/// The device whose terminal modes are set.
pub(crate) trait Device: Send + Sync + 'static {
    /// Writes as much as there is room for; how much that was.
    ///
    /// # Errors
    /// If it cannot be written, above all because the other end closed, or `WouldBlock` if the terminal is full.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits for room, no longer than that; whether there is any.
    ///
    /// # Errors
    /// If the system refuses.
    fn wait_for_room(&self, limit: Duration) -> io::Result<bool>;

    /// Gives every key to us, unchanged and at once.
    ///
    /// # Errors
    /// If the system refuses.
    fn enter_raw_mode(&self) -> io::Result<()>;

    /// Restores the mode from before raw mode.
    ///
    /// # Errors
    /// If the system refuses.
    fn leave_raw_mode(&self) -> io::Result<()>;
}

/// A terminal.
#[derive(Debug)]
pub(crate) struct Tty {
    input: OwnedFd,
    output: File,
    /// The mode before raw mode.
    before: Mutex<Option<Termios>>,
}

impl Tty {
    /// Standard input and standard output, if both are terminals.
    pub(crate) fn of_process() -> io::Result<Option<Self>> {
        let (input, output) = (io::stdin(), io::stdout());
        if !input.is_terminal() || !output.is_terminal() {
            return Ok(None);
        }
        let input = input.as_fd().try_clone_to_owned()?;
        let output = match opened_anew(output.as_fd()) {
            Ok(output) => output,
            Err(error) => {
                log::debug!("writing to the terminal may wait: {error}");
                output.as_fd().try_clone_to_owned()?
            }
        };
        Ok(Some(Self::new(input, output)))
    }

    /// A terminal by its two ends.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self {
            input,
            output: File::from(output),
            before: Mutex::new(None),
        }
    }

    /// The source of keys.
    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// The target of the screen's bytes.
    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// The character that deletes backward. Raw mode does not change it.
    pub(super) fn erase(&self) -> u8 {
        let index = SpecialCharacterIndices::VERASE as usize;
        tcgetattr(self.input()).map_or(0x7f, |modes| modes.control_chars[index])
    }
}

/// The same terminal, written without waiting. It has a separate handle, because other programs that share the first
/// one, for example the shell, do wait.
pub(super) fn opened_anew(terminal: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let anew = OpenOptions::new()
        .write(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(ttyname(terminal)?)?;
    let known = File::from(terminal.try_clone_to_owned()?).metadata()?;
    // In a container the name may be that of another.
    if anew.metadata()?.rdev() != known.rdev() {
        return Err(io::Error::other("the terminal has no name of its own here"));
    }
    Ok(anew.into())
}

impl Device for Tty {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.output).write(bytes)
    }

    fn wait_for_room(&self, limit: Duration) -> io::Result<bool> {
        let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        let mut output = [PollFd::new(self.output.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut output, limit) {
            // Perhaps there is; the next write tells.
            Err(Errno::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
            Ok(count) => Ok(count > 0),
        }
    }

    fn enter_raw_mode(&self) -> io::Result<()> {
        let modes = tcgetattr(self.input())?;
        let mut raw = modes.clone();
        cfmakeraw(&mut raw);
        tcsetattr(self.input(), SetArg::TCSANOW, &raw)?;
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.get_or_insert(modes);
        Ok(())
    }

    fn leave_raw_mode(&self) -> io::Result<()> {
        let before = self.before.lock();
        let before = before.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(modes) = before {
            // The mouse's last events would be typed into the shell. This does not wait until the output is taken,
            // which may never happen.
            tcflush(self.input(), FlushArg::TCIFLUSH)?;
            tcsetattr(self.input(), SetArg::TCSANOW, &modes)?;
        }
        Ok(())
    }
}
