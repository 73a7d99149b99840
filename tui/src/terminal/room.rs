//! Waits until a terminal that took nothing takes more.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::guard::TerminalGuard;

/// Waits until the terminal takes more, after it did not.
#[derive(Debug)]
pub(crate) struct WriteRoom(AsyncFd<OwnedFd>);

impl WriteRoom {
    /// Watches the terminal.
    ///
    /// # Errors
    /// If the system refuses.
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe; this handle is our own as long as it is watched"
    )]
    pub(crate) fn measure(guard: &TerminalGuard) -> io::Result<Self> {
        let output = guard.device().output().try_clone_to_owned()?;
        let watched = AsyncFd::with_interest(output, Interest::WRITABLE)?;
        Ok(Self(watched))
    }

    /// Waits until the terminal takes more, and writes on. May be dropped and asked again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) async fn write_on(&self, guard: &TerminalGuard) -> io::Result<()> {
        let mut ready = self.0.writable().await?;
        guard.write_on()?;
        if guard.is_behind() {
            ready.clear_ready();
        }
        Ok(())
    }
}
