//! Ctrl-C, one press after the other.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::client::error::CommandError;

/// The presses of Ctrl-C that are still to be answered.
pub(super) struct Interrupts(UnboundedReceiver<()>);

impl Interrupts {
    /// Those of this process, which then does not end by itself any more.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn of_process() -> Result<Self, CommandError> {
        let presses = signal(SignalKind::interrupt());
        let mut presses = presses.map_err(|error| CommandError::System {
            reason: format!("cannot take notice of Ctrl-C: {error}"),
        })?;
        let (sender, receiver) = unbounded_channel();
        actix::spawn(
            async move { while presses.recv().await.is_some() && sender.send(()).is_ok() {} },
        );
        Ok(Self(receiver))
    }

    #[cfg(test)]
    pub(super) fn new(receiver: UnboundedReceiver<()>) -> Self {
        Self(receiver)
    }

    /// The next press. May be dropped and asked again.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Does the work, unless Ctrl-C ends it; the exit code.
///
/// # Errors
/// If the work fails, or Ctrl-C was pressed.
pub(super) async fn until_interrupted(
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<i32, CommandError> {
    let mut interrupts = Interrupts::of_process()?;
    tokio::select! {
        done = work => done.map(|()| 0),
        () = interrupts.next() => Err(CommandError::Stopped),
    }
}
