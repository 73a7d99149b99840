//! Counts the commands that run in the network of the service, and so can reach its address.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time after the end of a command for which the command counts. The service may not have accepted a connection yet that
/// the command made, and another command may have its socket.
const COUNTS_ON: Duration = Duration::from_secs(2);

/// The count of those commands. Clones count the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct NearCommands(Arc<Mutex<CommandCount>>);

#[derive(Debug, Default)]
struct CommandCount {
    running: usize,
    /// The time at which the last one ended.
    ended: Option<Instant>,
}

/// One command, which counts until this is dropped, and for a short time after that.
#[derive(Debug)]
pub(super) struct NearCommand(NearCommands);

impl NearCommands {
    /// Counts one more command. Called before its first process starts.
    pub(super) fn begin(&self) -> NearCommand {
        self.lock().running += 1;
        NearCommand(self.clone())
    }

    /// True if a connection that is accepted now may be that of such a command.
    pub(crate) fn are_there(&self) -> bool {
        let counted = self.lock();
        let counts_on = |ended: Instant| ended.elapsed() < COUNTS_ON;
        counted.running > 0 || counted.ended.is_some_and(counts_on)
    }

    fn lock(&self) -> MutexGuard<'_, CommandCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NearCommand {
    fn drop(&mut self) {
        let mut counted = self.0.lock();
        counted.running -= 1;
        counted.ended = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-510]
    #[tokio::test(start_paused = true)]
    async fn a_command_counts_until_shortly_after_its_end() {
        let near = NearCommands::default();
        assert!(!near.are_there());
        let (first, second) = (near.begin(), near.begin());
        drop(first);
        tokio::time::advance(COUNTS_ON).await;
        assert!(near.are_there());
        drop(second);
        assert!(near.are_there());
        tokio::time::advance(COUNTS_ON).await;
        assert!(!near.are_there());
    }
}
